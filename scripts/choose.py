"""Choose what is measured on test, by the records of the search; see --help.

    python scripts/choose.py --runs runs --model all-MiniLM-L6-v2 --seeds 0,1,2

Prints for each search an order for campaign.py: plain fine-tuning and two candidates among those
that lose at most a point on clean development examples. One keeps most under the worst of the
attacks that exchange words, the other under the worst of all, misspellings too; means over seeds.
Of two that keep as much the one with the higher clean accuracy is taken. Numbers on other examples
than plain fine-tuning's, or under another build of an attacker, compare with none of its own: they
are left out, and stderr says so.
"""

import argparse
import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

from studies import STUDIES

from holdfast.record import RunRecord, find_records

WORDS = ("pwws_rift", "genetic_jia", "pwws_ren")
ALL = (*WORDS, "deepwordbug")
PLAIN, LOSS = "Plain", 0.01
Met = tuple[str, str]
"""Checksums of the examples and of the attack with its files."""


def accuracies(records: list[RunRecord]) -> dict[str, dict[str, float]]:
    """Return model to attack to accuracy; "clean" is an attack that changes nothing.

    Only what was measured on the examples that `PLAIN` was measured on, under the same attack.
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seen: dict[str, dict[str, set[Met]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        wanted = "accuracy" if record.attack is None else "accuracy_under_attack"
        metric = record.metric(wanted) if record.kind == "evaluation" else None
        if metric is not None and metric.value is not None:
            found[record.model][record.attack or "clean"].append(metric.value)
            met = record.checksums.get("data", ""), record.checksums.get("attack", "")
            seen[record.model][record.attack or "clean"].add(met)
    for model, attacks in elsewhere(seen).items():
        on = ", ".join(attacks)
        print(
            f"left out: {model} met other examples, or another attacker, than {PLAIN} ({on})",
            file=sys.stderr,
        )
        for attack in attacks:
            del found[model][attack]
    return {
        model: {attack: mean(values) for attack, values in scores.items()}
        for model, scores in found.items()
    }


def elsewhere(seen: Mapping[str, Mapping[str, set[Met]]]) -> dict[str, list[str]]:
    """Return model to the attacks that it met on other examples, or in another form, than `PLAIN`.

    `seen` has what it met, by model and attack.
    """
    own = seen.get(PLAIN, {})
    found = {
        model: [attack for attack, met in attacks.items() if met != own.get(attack, met)]
        for model, attacks in seen.items()
    }
    return {model: attacks for model, attacks in found.items() if attacks}


def choose(found: dict[str, dict[str, float]], attacks: tuple[str, ...]) -> str:
    """Return the candidate that keeps most under its worst attack and is clean enough."""
    whole = {m: scores for m, scores in found.items() if scores.keys() >= {"clean", *attacks}}
    if PLAIN not in whole:
        raise SystemExit(f"The search has not measured {PLAIN} yet, which the others are held to.")
    least = whole[PLAIN]["clean"] - LOSS
    allowed = [model for model, scores in whole.items() if scores["clean"] >= least]
    return max(allowed, key=lambda model: (worst(found[model], attacks), found[model]["clean"]))


def worst(scores: dict[str, float], attacks: tuple[str, ...]) -> float:
    """Return what the attack that hurts most leaves."""
    return min(scores[attack] for attack in attacks)


def main() -> None:
    """Print the orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    for study in (study for study in STUDIES.values() if study.development):
        folder = options.runs / options.model / study.name / "records"
        if folder.is_dir():
            read = find_records([folder])
            for problem in read.problems:
                print(f"left out: {problem}", file=sys.stderr)
            found = accuracies([record for _, record in read.records])
            rows = dict.fromkeys((PLAIN, choose(found, WORDS), choose(found, ALL)))
            (task,) = study.tasks
            order = f"{options.model}:strongest-{task}:{options.seeds}:{','.join(rows)}"
            print(shlex.quote(order))


if __name__ == "__main__":
    main()
