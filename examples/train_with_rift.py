"""Train with RIFT in place of Trainer's own loss, on texts whose words have substitutes.

Runs in seconds on a tiny random model; put your model, texts and lexicon in their place.
"""

import tempfile
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast
from transformers import TrainingArguments as Arguments

from holdfast.data import EncodedExamples, Example, PadBatch
from holdfast.objectives import Rift
from holdfast.text import Substituter, Substitutions
from holdfast.text.lexicon import lexicon_of
from holdfast.train import CandidateBatch, HullCheck, RobustTrainer

GOOD, BAD = ["good", "fine", "great"], ["bad", "poor", "awful"]
LEXICON = lexicon_of({word: [*GOOD, *BAD] for word in ("great", "awful")}, "the example's")


def sentences(count: int) -> list[Example]:
    """Return praise and blame in turn; the words that may be replaced by anything mean nothing."""
    kinds = [f"{kind[n]} film {kind[2]} plot" for n in (0, 1) for kind in (BAD, GOOD)]
    return [Example(f"row:{n}", (kinds[n % 4],), n % 2) for n in range(count)]


def main() -> None:
    """Train, and check that the model learned and reports what it keeps inside the hull."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *GOOD, *BAD, "film", "plot"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("\n".join(words))
        tokenizer = BertTokenizerFast(f"{folder}/vocab.txt")
        size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        torch.manual_seed(0)
        config = BertConfig(vocab_size=len(words), num_attention_heads=2, **size)
        examples, substituter = sentences(128), Substituter(tokenizer, LEXICON, Substitutions())
        tokenised = substituter.tokenise([example.texts for example in examples], max_length=16)
        data = EncodedExamples.from_columns(examples, tokenised.columns)
        trainer = RobustTrainer(
            model=BertForSequenceClassification(config),
            objective=Rift(alpha=0.1, beta=1.0, steps=3),
            args=Arguments(folder, num_train_epochs=6, learning_rate=3e-3),
            train_dataset=data,
            eval_dataset=data,
            data_collator=CandidateBatch(PadBatch(tokenizer), tokenised.table),
            check=HullCheck(steps=3),
        )
        trainer.train()
        measured = trainer.evaluate()
    print(tokenised.coverage, {name: round(value, 3) for name, value in measured.items()})
    if not (measured["eval_loss"] < 0.2 and measured["eval_hull_accuracy"] > 0.9):
        raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
