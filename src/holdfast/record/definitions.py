"""What each name in a record means, in one line."""

METRICS = {
    "accuracy": "share of the examples that the model gets right",
    "f1": "F1 of the positive class, as GLUE counts it for this task",
    "glue": "the metric by which GLUE ranks this task",
    "accuracy_under_attack": "share of all examples that are right before and after the attack",
    "certified_accuracy": "share of all examples of which it is proved that no text of the attack "
    "changes the right answer",
    "success_rate": "share of the attacks that succeeded, of the examples that were right before",
    "changed_words": "words replaced in a successful attack, mean",
    "changed_share": "the same as a share of the words the attack could look at, mean",
    "queries": "texts an attack asked the model for, mean over the attacked examples",
    "similarity": "cosine of the sentence encoder between text and adversarial text, mean",
    "paired_accuracy": "share of the examples whose original and adversarial text are both right",
    "original_accuracy": "share of the original texts of the adversarial rows that are right",
    "robustness_gap": "accuracy on the original texts less accuracy on the adversarial ones",
    "plain_mean": "mean of the accuracies of the six AdvGLUE tasks, as IM-BERT counts",
    "official_score": "AdvGLUE's own: QQP is the mean of accuracy and F1, MNLI that of its two "
    "parts, then the mean of five",
    "transfer_accuracy": "share of the examples still right on the texts that broke another model",
    "white_box_accuracy": "accuracy under the strongest attack that uses the model's gradients",
    "hull_accuracy": "share of the examples right at the worst point found in the convex hull",
    "parameters": "weights of the model",
    "gflops": "billions of floating-point operations of one forward pass, multiply and add apart",
    "latency_ms": "milliseconds of one forward pass of one text, median",
    "memory_mib": "mebibytes at the peak of a forward pass",
    "distance": "distance of the weights from the pre-trained ones, relative to their norm",
    "loss": "mean loss on the validation examples",
    "growth": "relative size of a random move after the last layer over that at the embeddings",
    "neighbour_agreement": "share of the texts whose nearest neighbour by features has their class",
}
"""Metric to definition."""

SERIES = {
    "residual": "relative residual of each layer's equation after its solve",
    "moved_attack": "how far the hidden states of each layer move under the attack, relative",
    "moved_random": "the same under random substitutions of as many words",
    "distance": "distance of the weights from the pre-trained ones, over the steps",
    "loss": "the loss over the steps",
    "accuracy": "the accuracy on the validation examples, over the steps",
    "hull_accuracy": "the accuracy in the hull on the validation examples, over the steps",
    "features": "the features of the texts in two dimensions, by t-SNE",
    "growth": "relative size of a random move after each layer over that at the embeddings",
}
"""Series to definition."""
