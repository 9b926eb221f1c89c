"""Train an implicit model with Hugging Face's Trainer: two lines differ from a plain script.

Runs in seconds on a tiny random model; put the name of your model and your texts in its place.
"""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments, set_seed

from holdfast.implicit import connected, load, recommended
from holdfast.objectives import Standard
from holdfast.train import RobustTrainer

HALF = 25  # tokens below this are bad news, the 25 above it good


def example(number: int) -> dict[str, list[int] | int]:
    """Return eight random tokens, all of them bad news or all good."""
    label, draw = number % 2, torch.Generator().manual_seed(number)
    tokens = torch.randint(HALF, (8,), generator=draw) + HALF * label
    return {"input_ids": tokens.tolist(), "attention_mask": [1] * 8, "labels": label}


def main() -> None:
    """Train, save, load, and check that the loaded model answers as the trained one."""
    set_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3}
    config = BertConfig(vocab_size=2 * HALF, num_attention_heads=2, **size)
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        trainer = RobustTrainer(
            model,
            Standard(),
            recommended,  # or any `Connection(...)`
            args=TrainingArguments(folder, num_train_epochs=2, learning_rate=3e-3),
            train_dataset=[example(number) for number in range(200)],
            eval_dataset=[example(number) for number in range(1000, 1032)],
        )
        before = trainer.evaluate()["eval_loss"]
        trainer.train()
        after = trainer.evaluate()["eval_loss"]
        trainer.save_model(f"{folder}/model")
        again = load(f"{folder}/model").eval()
    probe = torch.tensor([example(1)["input_ids"]])
    device = model.device
    same = torch.allclose(
        model.eval()(probe.to(device)).logits.cpu(), again(probe).logits, atol=1e-5
    )
    print(f"validation loss {before:.2f} -> {after:.2f}; loaded model answers the same: {same}")
    print(*connected(model).readings(), sep="\n")
    if not (after < 0.5 * before and same):
        raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
