"""Train an implicit model in a loop of your own: connect, train, read, save.

Runs in seconds on a tiny random model; nothing of Holdfast's trainer is needed.
"""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, set_seed

from holdfast.implicit import Connection, Theta, connect, load, save
from holdfast.objectives import Standard
from holdfast.solve import Anderson, Phantom

HALF = 25  # tokens below this are bad news, the 25 above it good


def batch(number: int) -> dict[str, torch.Tensor]:
    """Return 32 rows of eight random tokens, all of them bad news or all good."""
    draw = torch.Generator().manual_seed(number)
    labels = torch.randint(2, (32,), generator=draw)
    tokens = torch.randint(HALF, (32, 8), generator=draw) + HALF * labels[:, None]
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}


def main() -> None:
    """Train, and check that the model learned, solved its equations and survives saving."""
    set_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3}
    config = BertConfig(vocab_size=2 * HALF, num_attention_heads=2, **size)
    model = BertForSequenceClassification(config)
    handle = connect(model, Connection("2-3", Theta(0.5), Anderson(), Phantom()))
    objective = Standard()
    extras = objective.extras(model)  # empty here; other objectives keep heads in it
    optimizer = torch.optim.Adam([*model.parameters(), *extras.parameters()], lr=3e-3)
    history = []
    for number in range(25):
        model.train()
        for loss in objective.losses(model, extras, batch(number)):
            loss.total.backward()
            history.append(loss.total.item())
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss {history[0]:.2f} -> {history[-1]:.2f}")
    print(*handle.readings(), sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        save(model, folder)
        again = load(folder).eval()
    probe = batch(1000)
    with torch.no_grad():
        same = torch.allclose(model.eval()(**probe).logits, again(**probe).logits, atol=1e-5)
    solved = all(r.residual_after < r.residual_before for r in handle.readings())
    if not (history[-1] < 0.5 * history[0] and solved and same):
        raise SystemExit("this example does not do what it says")


if __name__ == "__main__":
    main()
