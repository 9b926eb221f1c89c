"""Any objective in a loop of your own, in seconds, on a tiny random model with made-up ids."""

import torch
from transformers import BertConfig, BertForSequenceClassification

from holdfast.adversary import Batch
from holdfast.objectives import FreeLB, Rift


def batch(number: int) -> Batch:
    """Return rows of a special token and seven bad (5 to 24) or good ones (25 to 44)."""
    draw, labels = torch.Generator().manual_seed(number), torch.arange(32) % 2
    candidates = torch.randint(5, 25, (32, 8, 3), generator=draw) + 20 * labels[:, None, None]
    candidates[:, 0] = 1
    movable = torch.ones(32, 8, dtype=torch.long)
    movable[:, 0] = 0  # the special token stays
    mask = movable.bool().unsqueeze(2).repeat(1, 1, 3)
    mask[:, :, 0] = True  # a token may always stay itself
    return {
        "input_ids": candidates[:, :, 0],
        "attention_mask": torch.ones_like(movable),
        "labels": labels,
        "movable": movable,
        "candidates": candidates,
        "candidate_mask": mask,
    }


def train(objective: Rift | FreeLB) -> list[float]:
    """Return the losses of 30 steps."""
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    config = BertConfig(vocab_size=45, num_hidden_layers=2, **size)
    model = BertForSequenceClassification(config)
    extras = objective.extras(model)  # RIFT keeps the frozen model and its heads in it
    trained = [p for p in (*model.parameters(), *extras.parameters()) if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=3e-3)
    history: list[float] = []
    for number in range(30):
        for loss in objective.losses(model, extras, batch(number)):
            loss.total.backward()
        history.append(loss.total.item())
        optimizer.step()
        optimizer.zero_grad()
    return history


def main() -> None:
    """Train with two objectives, and check that each learned."""
    for objective in (Rift(alpha=0.05, beta=1.0, steps=2), FreeLB()):
        history = train(objective)
        print(f"{type(objective).__name__}: loss {history[0]:.2f} -> {history[-1]:.2f}")
        if history[-1] > 0.5 * history[0]:
            raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
