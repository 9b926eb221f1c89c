"""How small the residual gets for the same work: Anderson against the paper's descent.

    python benchmarks/residuals.py --model PATH --texts texts.txt --output results.json

Each layer's equation h' = h + phi(h') is solved from the same h by both. The work of `Descent`
(forward passes and vector-Jacobian products) is counted in FLOPs, and Anderson is given at most
half of it. Descent on the printed norm without a square is there beside the preset's.
"""

import argparse
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from side_by_side import add_record_options, papers_descent, print_table, write
from transformers import AutoModel, AutoTokenizer

from holdfast.implicit import Connection, ImplicitEuler, connect
from holdfast.implicit.capture import capture_layers
from holdfast.implicit.connection import LayerMap
from holdfast.implicit.flops import flop_counter
from holdfast.solve import Anderson
from holdfast.solve.descent import Norm

SEED = 0
UNSQUARED: dict[str, Norm] = {"by example": "l2_example", "by token": "l2_token"}
"""Other readings of the inner loss: the paper prints a subscript 2 and no reduction."""


def solve_layer(g: LayerMap, h: torch.Tensor) -> dict[str, Any]:
    """Return the residual norms both methods reach, and the work each was given."""
    h = g.masked(h)
    with torch.no_grad(), flop_counter() as counter:
        start = g(h)
    evaluation = counter.get_total_flops()
    with flop_counter() as counter:
        descended = papers_descent()(g, start).value
    work = counter.get_total_flops()
    calls = int(work / 2 // evaluation)
    with torch.no_grad():
        accelerated = Anderson(max_steps=calls, tolerance=0.0)(g, start, (h, start)).value
    return {
        "start": _norm(g, start),
        "descent": _norm(g, descended),
        **{name: _norm(g, _descended(g, start, norm)) for name, norm in UNSQUARED.items()},
        "descent work": work / evaluation,
        "anderson": _norm(g, accelerated),
        "anderson work": float(calls),
        "times smaller": _norm(g, descended) / _norm(g, accelerated),
    }


def _descended(g: LayerMap, start: torch.Tensor, norm: Norm) -> torch.Tensor:
    return replace(papers_descent(), norm=norm)(g, start).value


def _norm(g: LayerMap, point: torch.Tensor) -> float:
    with torch.no_grad():
        return float((g(point) - point).norm())


def compare(path: str, texts: list[str]) -> list[dict[str, Any]]:
    """Return a row for each layer; its input is what solved layers before it pass on."""
    model = AutoModel.from_pretrained(path, dtype=torch.float32, use_safetensors=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(path)
    batch = tokenizer(texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
    solver = Anderson(max_steps=40, tolerance=1e-3)
    connect(model, Connection(scheme=ImplicitEuler(), solver=solver, on_failure="keep"))
    rows = []
    for record in capture_layers(model, batch):
        g = LayerMap(record.phi, record.before, 1.0, record.real)
        rows.append({"layer": record.number, **solve_layer(g, record.before)})
    return rows


def main() -> None:
    """Compare on every layer and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="checkpoint folder")
    parser.add_argument("--texts", type=Path, required=True, help="a text a line; 16 are used")
    parser.add_argument("--name", required=True, help="what to call the model in the results")
    add_record_options(parser, Path("runs/residuals.json"))
    options = parser.parse_args()
    torch.manual_seed(SEED)
    texts = options.texts.read_text(encoding="utf-8").splitlines()[:16]
    rows = compare(options.model, texts)
    print_table("Residual norms; work in evaluations of the layer", rows)
    gains = [row["times smaller"] for row in rows]
    print(
        f"Times smaller: median {statistics.median(gains):.1f} (10 asked), least {min(gains):.1f}"
    )
    content = {"model": options.name, "texts": options.texts.stem, "rows": rows}
    write(options.output, content, seed=SEED, commit=options.commit)


if __name__ == "__main__":
    main()
