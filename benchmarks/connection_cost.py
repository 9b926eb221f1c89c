"""What a connection costs, beside the plain model and beside the paper's algorithm, in one run.

    python benchmarks/connection_cost.py --output results.json
    python benchmarks/connection_cost.py --model PATH --texts texts.txt --output results.json

Without `--model` the model is BERT-base in shape with random weights, whose equations are easy:
its solves end after few evaluations, so `evaluations` stands beside every figure, and rows with
a fixed number of them tell what the machinery costs.
"""

import argparse
import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from side_by_side import (
    add_record_options,
    device_name,
    median_seconds,
    papers_descent,
    peak_bytes,
    print_table,
    write,
)
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedModel,
)

from holdfast.implicit import Connection, ImplicitEuler, Theta, connect, im_bert
from holdfast.solve import Anderson, Phantom, Unrolled

BATCH, TOKENS, SEED = 32, 128, 0
Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One row: a connection, and the limits set for it as multiples of the plain model."""

    name: str
    connection: Connection | None
    forward_limit: float | None = None
    step_limit: float | None = None
    memory_limit: float | None = None


def cases() -> list[Case]:
    """Return the rows for layers 4 to 6."""
    # the residual of the theta equation as printed is (1 + theta) times that of the map solved
    im = Connection("4-6", ImplicitEuler(), Anderson(max_steps=16), Phantom(), on_failure="keep")
    half = replace(im, scheme=Theta(0.5), solver=Anderson(max_steps=16, tolerance=1e-2 / 1.5))
    full = replace(im, scheme=Theta(1.0), solver=Anderson(max_steps=16, tolerance=1e-2 / 2))
    fixed = replace(im, solver=Anderson(max_steps=4, tolerance=0.0))
    paper = replace(im_bert, layers="4-6", solver=papers_descent())
    return [
        Case("plain", None),
        Case("ImplicitEuler, Anderson to 1e-2", im, 2.2, 2.5, 1.6),
        Case("Theta(0.5), Anderson to 1e-2", half, 1.9, 2.5, 1.6),
        Case("Theta(1.0), Anderson to 1e-2", full, 1.9, 2.5, 1.6),
        Case("ImplicitEuler, Anderson, 4 evaluations", fixed),
        Case("paper's Descent, 5 steps, Detached", paper),
    ]


def all_layer_cases() -> list[Case]:
    """Return the rows for the memory of training with every layer connected."""
    paper = replace(im_bert, layers="all", solver=papers_descent())
    ours = Connection("all", ImplicitEuler(), Anderson(), Phantom(), on_failure="keep")
    return [
        Case("plain", None),
        Case("ImplicitEuler, Anderson, Phantom", ours),
        Case("Theta(0.5), Anderson, Phantom", replace(ours, scheme=Theta(0.5))),
        Case("paper's Descent, 5 steps, Detached", paper),
        Case("paper's Descent, 5 steps, Unrolled", replace(paper, gradient=Unrolled())),
    ]


def build(path: str | None, dtype: torch.dtype, attention: str) -> PreTrainedModel:
    """Return the classifier under test."""
    torch.manual_seed(SEED)
    if path is None:
        config = BertConfig(attn_implementation=attention)
        model: PreTrainedModel = BertForSequenceClassification(config)
    else:
        model = AutoModelForSequenceClassification.from_pretrained(
            path, attn_implementation=attention, dtype=torch.float32, use_safetensors=True
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.to(device=device, dtype=dtype)


def make_batch(path: str | None, texts: Path | None, device: torch.device) -> Batch:
    """Return 32 sequences of 128 tokens: real ones where texts are given."""
    generator = torch.Generator().manual_seed(SEED)
    labels = torch.randint(2, (BATCH,), generator=generator)
    if texts is None or path is None:
        ids = torch.randint(1000, 30000, (BATCH, TOKENS), generator=generator)
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    else:
        lines = texts.read_text(encoding="utf-8").splitlines()[:BATCH]
        tokenizer = AutoTokenizer.from_pretrained(path)
        batch = dict(
            tokenizer(
                lines,
                truncation=True,
                max_length=TOKENS,
                padding="max_length",
                return_tensors="pt",
            )
        )
    return {name: value.to(device) for name, value in {**batch, "labels": labels}.items()}


def forward(model: PreTrainedModel, batch: Batch) -> Callable[[], object]:
    """Return one inference over the batch."""

    def work() -> None:
        model.eval()
        with torch.no_grad():
            model(**batch)

    return work


def train_step(model: PreTrainedModel, batch: Batch) -> Callable[[], object]:
    """Return one forward and backward pass; the optimiser's own cost is the same for all."""

    def work() -> None:
        model.train()
        model.zero_grad(set_to_none=True)
        model(**batch).loss.backward()

    return work


def compare(
    model: PreTrainedModel, batch: Batch, rows: list[Case], rounds: int
) -> list[dict[str, Any]]:
    """Measure every case on the same weights and batch, in turn with the plain model."""
    plain = copy.deepcopy(model)
    measured = [_measure(model, plain, batch, case, rounds) for case in rows]
    return [_row(case, result, measured[0]) for case, result in zip(rows, measured, strict=True)]


def _measure(
    model: PreTrainedModel, plain: PreTrainedModel, batch: Batch, case: Case, rounds: int
) -> dict[str, Any]:
    handle = connect(model, case.connection) if case.connection else None
    works = {
        "plain forward": forward(plain, batch),
        "forward": forward(model, batch),
        "plain step": train_step(plain, batch),
        "step": train_step(model, batch),
    }
    works["forward"]()
    readings = handle.readings() if handle else []
    seconds = median_seconds(works, rounds=rounds, warm_up=3)
    plain.zero_grad(set_to_none=True)
    memory = peak_bytes(works["step"])
    if handle:
        handle.remove()
    model.zero_grad(set_to_none=True)
    return {
        "seconds": seconds,
        "memory": memory,
        "evaluations": [reading.evaluations for reading in readings],
        "residual": max((reading.residual_after for reading in readings), default=None),
    }


def _row(case: Case, measured: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    seconds = measured["seconds"]
    ratio = {kind: seconds[kind] / seconds[f"plain {kind}"] for kind in ("forward", "step")}
    memory = measured["memory"] / plain["memory"] if measured["memory"] else None
    return {
        "case": case.name,
        "forward ms": 1e3 * seconds["forward"],
        "x plain": ratio["forward"],
        "limit": case.forward_limit,
        "step ms": 1e3 * seconds["step"],
        "x plain step": ratio["step"],
        "limit step": case.step_limit,
        "memory GB": measured["memory"] / 1e9 if measured["memory"] else None,
        "x plain memory": memory,
        "limit memory": case.memory_limit,
        "evaluations": "+".join(f"{n:g}" for n in measured["evaluations"]) or None,
        "residual": measured["residual"],
    }


def memory_of_all_layers(path: str | None, batch: Batch) -> list[dict[str, Any]]:
    """Return the peak memory of a training step with every layer connected (eager attention)."""
    model = build(path, torch.float32, "eager")
    rows = []
    for case in all_layer_cases():
        handle = connect(model, case.connection) if case.connection else None
        train_step(model, batch)()
        rows.append({"case": case.name, "memory": peak_bytes(train_step(model, batch))})
        if handle:
            handle.remove()
    most = rows[-1]["memory"]
    for row in rows:
        row["share of unrolled"] = row["memory"] / most if most else None
    return rows


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="checkpoint folder; BERT-base's shape if not given")
    parser.add_argument("--texts", type=Path, help="a text a line, for the real model")
    parser.add_argument("--name", default="BERT-base shape, random weights")
    parser.add_argument("--rounds", type=int, default=20)
    add_record_options(parser, Path("runs/connection_cost.json"))
    options = parser.parse_args()
    print(f"Device: {device_name()}; batch {BATCH} of {TOKENS} tokens")
    tables: dict[str, Any] = {}
    for name, dtype, tf32 in PRECISIONS:
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        model = build(options.model, dtype, "sdpa")
        batch = make_batch(options.model, options.texts, model.device)
        tables[name] = compare(model, batch, cases(), options.rounds)
        print_table(f"Layers 4-6, {name}", tables[name])
    torch.set_float32_matmul_precision("highest")
    tables["all layers, memory"] = memory_of_all_layers(options.model, batch)
    print_table("All layers, training memory in bytes, fp32, eager", tables["all layers, memory"])
    texts = options.texts.stem if options.texts else "random tokens"
    content = {"model": options.name, "texts": texts, "batch": [BATCH, TOKENS], "tables": tables}
    write(options.output, content, seed=SEED, commit=options.commit)


PRECISIONS = (
    ("fp32", torch.float32, False),
    ("tf32", torch.float32, True),
    ("bf16", torch.bfloat16, False),
)


if __name__ == "__main__":
    main()
