"""What one step of RIFT costs, beside the released scheme written straightforwardly, in one run.

    python benchmarks/rift_step.py --output results.json

Both train a model of BERT-base's shape (random weights) on the same batch with the same hull, ten
inner steps, teacher and heads. The released scheme runs its inner loop in fp32 with the gradients
of all parameters, which it then clears, and runs the adversarial forward twice: for the divergence
and for the information term. Ours is `Rift` as users run it, in fp32 and under bf16 autocast.
`inner loss` is the divergence reached at the end of the ascent: a cheaper step that attacked less
would show there.
"""

import argparse
import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from side_by_side import (
    add_record_options,
    device_name,
    median_seconds,
    peak_bytes,
    print_table,
    write,
)
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, PreTrainedModel

from holdfast.adversary import ConvexHull, ascend, attacking, look_up, run_on
from holdfast.adversary.hull import with_candidate_vectors
from holdfast.objectives import Informative, Loss, Rift
from holdfast.objectives.divergence import kl

SEED, SLOTS, COVERED = 0, 9, 0.5
LIMIT = 0.4
RESULTS = Path("rift-step.json")
Batch = dict[str, Tensor]


def model_of(size: str) -> PreTrainedModel:
    """Return a classifier with random weights: BERT-base's shape, or a tiny one to try this."""
    shape: dict[str, Any] = {"num_labels": 2}
    if size == "tiny":
        shape |= {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        shape |= {"intermediate_size": 64}
    torch.manual_seed(SEED)
    model = BertForSequenceClassification(BertConfig(**shape))
    # random weights all but agree on every text; with a large head there is something to attack
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    return model


def batch_of(model: PreTrainedModel, examples: int, tokens: int) -> Batch:
    """Return random token ids, half of them with eight random substitutes."""
    generator = torch.Generator().manual_seed(SEED)

    def ids(*shape: int) -> Tensor:
        return torch.randint(1000, model.config.vocab_size, shape, generator=generator)

    words = ids(examples, tokens)
    candidates = torch.cat([words.unsqueeze(2), ids(examples, tokens, SLOTS - 1)], dim=2)
    mask = (torch.rand(examples, tokens, 1, generator=generator) < COVERED).repeat(1, 1, SLOTS)
    mask[:, [0, -1]] = False
    mask[:, :, 0] = True
    batch = {
        "input_ids": words,
        "attention_mask": torch.ones_like(words),
        "labels": torch.arange(examples) % 2,
        "movable": torch.ones_like(words),
        "candidates": candidates,
        "candidate_mask": mask,
    }
    return {name: value.to(model.device) for name, value in batch.items()}


@dataclass
class Released:
    """The step of the released code: nothing is wrong with its result, only with its cost."""

    rift: Rift
    hull: ConvexHull
    informative: Informative

    def step(self, model: PreTrainedModel, extras: nn.Module, batch: Batch) -> None:
        """Leave the gradients of one step in the parameters."""
        state = self.attack(model, batch)
        model.zero_grad()  # what the inner loop has left there
        model.train()
        clean = model(**_inputs(batch)).logits
        loss = functional.cross_entropy(clean, batch["labels"])
        first = self.mixed_forward(model, batch, state)
        loss = loss + self.rift.beta * kl(clean, first.logits).mean()
        again = self.mixed_forward(model, batch, state)  # the same forward, for its features
        self.informative.add_to(
            Loss(loss), model, extras, again.hidden_states[-1], batch
        ).total.backward()

    def attack(self, model: PreTrainedModel, batch: Batch) -> Tensor:
        """Return the hull's state after the ascent; parameters collect gradients on the way."""
        model.eval()
        with torch.no_grad():
            clean = model(**_inputs(batch)).logits
        embeds = look_up(model, batch["input_ids"])
        state = self.hull.start(embeds, batch)
        for _ in range(self.rift.steps):
            state = state.detach().requires_grad_()
            adversarial = self.mixed_forward(model, batch, state).logits
            kl(clean, adversarial).sum().backward()
            assert state.grad is not None
            state = self.hull.step(state.detach(), state.grad, batch)
        return state.detach()

    def mixed_forward(self, model: PreTrainedModel, batch: Batch, state: Tensor) -> Any:
        """Return the output on the mixtures, whose vectors are looked up anew."""
        full = with_candidate_vectors(model, batch)
        vectors = self.hull.embed(state, look_up(model, batch["input_ids"]), full)
        return run_on(model, batch, vectors, states=True)


def _inputs(batch: Batch) -> Batch:
    return {name: batch[name] for name in ("input_ids", "attention_mask")}


def ours(rift: Rift, model: PreTrainedModel, extras: nn.Module, batch: Batch, bf16: bool) -> None:
    """Leave the gradients of one step in the parameters, as the trainer does."""
    model.train()
    model.zero_grad()
    with _precision(model, bf16):
        losses = [loss.total for loss in rift.losses(model, extras, batch)]
    losses[0].backward()


def _precision(model: PreTrainedModel, bf16: bool) -> Any:
    return torch.autocast(model.device.type, dtype=torch.bfloat16) if bf16 else nullcontext()


def inner_loss(model: PreTrainedModel, batch: Batch, state: Tensor, hull: ConvexHull) -> float:
    """Return the divergence at a state, in fp32."""
    with attacking(model) as attacked, torch.no_grad():
        clean = attacked(**_inputs(batch)).logits
        full = with_candidate_vectors(attacked, batch)
        vectors = hull.embed(state, look_up(attacked, batch["input_ids"]), full)
        return float(kl(clean, run_on(attacked, batch, vectors).logits).mean())


def our_state(model: PreTrainedModel, batch: Batch, rift: Rift, bf16: bool) -> Tensor:
    """Return where our ascent ends."""
    with attacking(model) as attacked, _precision(model, bf16):
        with torch.no_grad():
            clean = attacked(**_inputs(batch)).logits
            embeds, full = (
                look_up(attacked, batch["input_ids"]),
                with_candidate_vectors(model, batch),
            )
        return ascend(
            rift.hull,
            lambda vectors: kl(clean, run_on(attacked, batch, vectors).logits).sum(),
            embeds,
            full,
            rift.steps,
        )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_record_options(parser, RESULTS)
    parser.add_argument("--size", choices=("base", "tiny"), default="base")
    parser.add_argument("--examples", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    model = model_of(arguments.size).to("cuda" if torch.cuda.is_available() else "cpu")
    batch = batch_of(model, arguments.examples, arguments.tokens)
    rift = Rift()
    extras = rift.extras(model).to(model.device)
    released = Released(rift, rift.hull, Informative(alpha=rift.alpha, tau=rift.tau))
    works: dict[str, Callable[[], object]] = {
        "released scheme, fp32": lambda: released.step(model, extras, batch),
        "Rift, fp32": lambda: ours(rift, model, extras, batch, bf16=False),
        "Rift, bf16": lambda: ours(rift, model, extras, batch, bf16=True),
    }
    seconds = median_seconds(works, rounds=arguments.rounds, warm_up=2)
    states = {
        "released scheme, fp32": _seeded(lambda: released.attack(copy.deepcopy(model), batch)),
        "Rift, fp32": _seeded(lambda: our_state(model, batch, rift, bf16=False)),
        "Rift, bf16": _seeded(lambda: our_state(model, batch, rift, bf16=True)),
    }
    base = seconds["released scheme, fp32"]
    rows = [
        {
            "step": name,
            "milliseconds": 1000 * seconds[name],
            "of released": seconds[name] / base,
            "memory MiB": _mebibytes(peak_bytes(work)),
            "inner loss": inner_loss(model, batch, states[name], rift.hull),
        }
        for name, work in works.items()
    ]
    print_table(f"{device_name()}, {arguments.examples} x {arguments.tokens} tokens", rows)
    shape = {name: getattr(arguments, name) for name in ("size", "examples", "tokens", "rounds")}
    content = {"limit": LIMIT, "settings": shape, "rows": rows}
    write(arguments.output, content, seed=SEED, commit=arguments.commit)


def _seeded(work: Callable[[], Tensor]) -> Tensor:
    torch.manual_seed(SEED)
    return work()


def _mebibytes(count: int | None) -> float | None:
    return None if count is None else count / 2**20


if __name__ == "__main__":
    main()
