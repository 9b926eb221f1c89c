"""Hull training on SST-2 under PWWS: one cell is trained and attacked, or cells are merged.

    python benchmarks/sst2_hull.py cell --objective adversarial --seed 1 --model MODEL \
        --data FOLDER --lexicon FILE --output cells/adversarial-1.json
    python benchmarks/sst2_hull.py merge cells/*.json --output results/sst2-hull.json

A cell fine-tunes for one epoch and attacks the published validation sentences with `pwws_rift`;
every success is verified. The attacker uses the lexicon of the training. Cells are independent:
run several side by side.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from side_by_side import device_name, print_table, write

from holdfast.attack import recipes, run_attack, summarise, verify
from holdfast.data import find_task, read_split
from holdfast.objectives import Adversarial, AnyObjective, Rift, Standard
from holdfast.record import encode
from holdfast.text import Canonical, Substitutions, read_lexicon
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune
from holdfast.victim import load

OBJECTIVES: dict[str, AnyObjective] = {
    "standard": Standard(),
    "adversarial": Adversarial(beta=10.0, steps=10),
    "adversarial-light": Adversarial(beta=5.0, steps=3),
    "rift": Rift(alpha=0.1, beta=10.0, steps=10, features="mean"),
}


def configuration(arguments: argparse.Namespace, output: Path) -> TrainConfig:
    """Return what one cell trains."""
    name, _, canonical = arguments.objective.partition("+")
    return TrainConfig(
        model=arguments.model,
        output=output,
        data=DataConfig(
            task="sst2", folder=arguments.data, validation_share=0.02, max_length=64,
            examples=arguments.examples,
        ),
        objective=OBJECTIVES[name],
        substitutions=Substitutions(lexicon=arguments.lexicon),
        canonical=Canonical(rounds=2) if canonical else None,
        optimisation=Optimisation(
            learning_rate=1e-4, batch_size=128, epochs=1, log_every=50,
            precision=arguments.precision,
        ),
        seed=arguments.seed,
    )  # fmt: skip


def cell(arguments: argparse.Namespace) -> None:
    """Train one model, attack it, write what came out."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        config = configuration(arguments, Path(folder) / "run")
        result = fine_tune(config, progress=False)
        trained = time.perf_counter()
        victim = load(result.model)
        task = find_task("sst2")
        examples = read_split(task, "validation", arguments.data).examples[: arguments.attacked]
        attack = recipes.pwws_rift(read_lexicon(arguments.lexicon))
        outcomes = list(run_attack(attack, victim, examples, seed=arguments.seed))
        verify(attack, victim, outcomes, examples)
        attacked = time.perf_counter()
        record = json.loads((result.output / "run.json").read_text(encoding="utf-8"))
    content = {
        "objective": arguments.objective,
        "seed": arguments.seed,
        "config": record["config"],
        "metrics": record["metrics"],
        "lexicon": record.get("lexicon"),
        "coverage": record.get("coverage"),
        "attack": encode(summarise(outcomes)),
        "seconds": {"training": trained - began, "attack": attacked - trained},
        "device": device_name(),
        "environment": record["environment"],
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(arguments.objective, arguments.seed, content["metrics"], content["attack"])


def merge(arguments: argparse.Namespace) -> None:
    """Print the means over the seeds and write all cells into one record."""
    cells = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.cells]
    by_objective: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in sorted(cells, key=lambda one: one["seed"]):
        by_objective[one["objective"]].append(one)
    rows = [_row(name, group) for name, group in by_objective.items()]
    print_table("SST-2 validation, accuracy in %, mean over seeds", rows)
    write(arguments.output, {"rows": rows, "cells": cells}, seed=0, commit=arguments.commit)


def _row(name: str, group: list[dict[str, Any]]) -> dict[str, Any]:
    clean = [100 * one["metrics"]["held_out_accuracy"] for one in group]
    robust = [100 * one["attack"]["accuracy_under_attack"]["value"] for one in group]
    return {
        "objective": name,
        "seeds": len(group),
        "clean": statistics.mean(clean),
        "clean range": f"{min(clean):.1f}-{max(clean):.1f}",
        "under PWWS": statistics.mean(robust),
        "PWWS range": f"{min(robust):.1f}-{max(robust):.1f}",
        "seconds": statistics.mean(sum(one["seconds"].values()) for one in group),
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("cell")
    one.set_defaults(work=cell)
    one.add_argument("--objective", required=True, help="a name, or a name+canonical")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--model", required=True)
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--lexicon", type=Path, required=True)
    one.add_argument("--examples", type=int)
    one.add_argument("--attacked", type=int, default=872)
    one.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    one.add_argument("--output", type=Path, required=True)
    all_ = commands.add_parser("merge")
    all_.set_defaults(work=merge)
    all_.add_argument("cells", type=Path, nargs="+")
    all_.add_argument("--commit", help="of the code that ran the cells")
    all_.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # cells run side by side
    arguments.work(arguments)


if __name__ == "__main__":
    main()
