"""How long a report takes and how large its page is: a thousand records, 100,000 outcomes.

    python benchmarks/report_scale.py --output runs/bench/report_scale.json

The records are made up: ten models of five seeds on four tasks, as they are and under four
attacks, with marks of 1,000 examples each, and curves of their trainings. Nothing of torch is
imported. Seconds are given as the clock shows them and as the processor spent them: on a machine
that others use too, the second is the one to read. The model card beside the page is timed apart.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.record import (
    Metric,
    Outcome,
    RunRecord,
    Series,
    describe_environment,
    find_records,
    model_card_section,
    write_record,
)
from holdfast.record.outcome import Change
from holdfast.report import report
from holdfast.statistics import wilson

MODELS = [f"model-{letter}" for letter in "abcdefghij"]
TASKS = ("sst2", "imdb", "snli", "rte")
ATTACKS = ("pwws_rift", "genetic_jia", "textfooler", "bert_attack")
SEEDS = range(5)
EXAMPLES, OUTCOMES = 1000, 125
WORDS = ("the", "film", "is", "a", "gorgeous", "and", "witty", "piece", "of", "work")


def main() -> None:
    """Make records, then a page of them, and say what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_AsWritten)
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    parser.add_argument("--page", type=Path, help="where the page itself is kept")
    parser.add_argument("--words", type=int, default=60, help="of each text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = make(Path(folder), options.words)
        found = measure(Path(folder), options.page)
    found |= {"outcomes": outcomes, "environment": describe_environment()}
    print(json.dumps(found, indent=2))
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    """Keep the lines of the description."""


def measure(folder: Path, page: Path | None) -> dict[str, Any]:
    """Return how long reading and showing took, and how large the page is."""
    clock, processor = time.perf_counter(), time.process_time()
    records = find_records([folder])
    read = time.process_time() - processor
    html = report(records).html()
    found = {
        "records": len(records.records),
        "page_mb": len(html.encode()) / 1e6,
        "seconds": time.perf_counter() - clock,
        "processor_seconds": time.process_time() - processor,
        "of_which_reading": read,
    }
    if page is not None:
        page.write_text(html, encoding="utf-8")
    begun = time.process_time()
    card = model_card_section(record for _, record in records.records)
    return found | {
        "card_mb": len(card.encode()) / 1e6,
        "card_seconds": time.process_time() - begun,
    }


def make(folder: Path, words: int) -> int:
    """Write the records and their outcomes, and return how many outcomes there are."""
    rng, count = random.Random(0), 0
    for number, model in enumerate(MODELS):
        for seed in SEEDS:
            for task in TASKS:
                for attack in (None, *ATTACKS):
                    place = folder / model / str(seed) / task / f"{attack or 'clean'}-0.json"
                    found = _record(rng, number, seed, task, attack)
                    write_record(found, place)
                    if found.outcomes is not None:
                        _write_outcomes(rng, place.with_name(found.outcomes), words)
                        count += OUTCOMES
    return count


def _record(rng: random.Random, number: int, seed: int, task: str, attack: str | None) -> RunRecord:
    name = "accuracy" if attack is None else "accuracy_under_attack"
    share = 0.9 if attack is None else 0.2 + 0.04 * number
    marks = "".join("1" if rng.random() < share else "0" for _ in range(EXAMPLES))
    right = marks.count("1")
    low, high = wilson(right, EXAMPLES)
    series = () if attack else tuple(_curves(rng))
    return RunRecord(
        kind="evaluation",
        model=MODELS[number],
        task=task,
        seed=seed,
        config={},
        attack=attack,
        training={"objective": {"type": "Rift", "alpha": number / 10}, "seed": seed},
        metrics=(Metric(name, right / EXAMPLES, low, high, right, EXAMPLES, "", 0.51, 0.5),),
        series=series,
        marks={name: marks},
        checksums={"data": task, "model": f"{number} {seed}"},
        environment={"holdfast": "0.1.0"},
        outcomes=None if attack is None else f"{attack}-0.outcomes.jsonl",
    )


def _curves(rng: random.Random) -> Iterator[Series]:
    steps = tuple(map(float, range(0, 20_000, 100)))
    for name, group in (("loss", "train"), ("accuracy", "validation"), ("distance", "")):
        yield Series(name, steps, tuple(rng.random() for _ in steps), group)


def _write_outcomes(rng: random.Random, path: Path, words: int) -> None:
    lines = [{"outcomes": 1, "examples": OUTCOMES}]
    lines += [_outcome(rng, number, words).to_json() for number in range(OUTCOMES)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _outcome(rng: random.Random, number: int, words: int) -> Outcome:
    old = rng.choices(WORDS, k=words)
    at = rng.randrange(words)
    new = [*old[:at], "splendid", *old[at + 1 :]]
    broken = rng.random() < 0.6
    return Outcome(
        id=f"{number}",
        texts=(" ".join(old),),
        label=number % 2,
        status="succeeded" if broken else "failed",
        prediction=number % 2,
        probabilities=(0.2, 0.8),
        adversarial=(" ".join(new),) if broken else None,
        adversarial_prediction=1 - number % 2 if broken else None,
        changes=(Change(0, at, old[at], "splendid"),) if broken else (),
        words=words,
        queries=rng.randrange(50, 500),
    )


if __name__ == "__main__":
    main()
