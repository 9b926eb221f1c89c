"""Each model at the best of its learning rates, chosen on examples held out of its training.

A rate that suits one model need not suit another. results.py reads studies that differ in nothing
but the rate, and takes of each model the one that answers more of the held-out examples right. The
test examples have no part in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from holdfast.record import RunRecord

Tried = Mapping[float, Sequence[RunRecord]]
"""Learning rate to the records of its study."""
Training = tuple[str, int | None]
"""Task and seed."""


def held_out(records: Sequence[RunRecord]) -> dict[str, dict[Training, float]]:
    """Return each model's accuracy on the held-out examples of each training."""
    found: dict[str, dict[Training, float]] = {}
    for record in records:
        if record.kind == "training":
            held = [m for m in record.metrics if (m.name, m.group) == ("accuracy", "validation")]
            if held and (accuracy := held[0].value) is not None:
                found.setdefault(record.model, {})[record.task, record.seed] = accuracy
    return found


def accuracies(tried: Tried) -> dict[str, dict[float, float]]:
    """Return each model's mean held-out accuracy at each rate, in the order of their names.

    A model is left out that was not trained alike at all rates: it would win or lose by its seeds
    or its tasks, or by having had one chance where others had two.
    """
    by_rate = {rate: held_out(records) for rate, records in tried.items()}
    first, *others = by_rate.values()
    fair = (
        model
        for model, trainings in first.items()
        if all(model in other and other[model].keys() == trainings.keys() for other in others)
    )
    return {
        model: {rate: mean(models[model].values()) for rate, models in by_rate.items()}
        for model in sorted(fair, key=natural)
    }


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which T5 comes before T10."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


def best_rates(tried: Tried) -> dict[str, float]:
    """Return each model's rate; of equals the one that was named first."""
    return {model: best_rate(means) for model, means in accuracies(tried).items()}


def best_rate(means: Mapping[float, float]) -> float:
    """Return the rate of the highest accuracy."""
    return max(means, key=means.__getitem__)


def at_own_rate(tried: Tried) -> tuple[RunRecord, ...]:
    """Return the records of every model at its rate."""
    best = best_rates(tried)
    return tuple(
        record
        for rate, records in tried.items()
        for record in records
        if best.get(record.model) == rate
    )


def rates_table(tried: Tried) -> Iterator[str]:
    """Yield the held-out accuracy of every model at every rate; bold: the rate it gets."""
    trainings = held_out(next(iter(tried.values())))
    yield f"| held out of training | seeds | {' | '.join(f'{rate:g}' for rate in tried)} |"
    yield "| --- | ---: |" + " ---: |" * len(tried)
    for model, means in accuracies(tried).items():
        seeds = {seed for _, seed in trainings[model]}
        marks = {rate: "**" if rate == best_rate(means) else "" for rate in tried}
        shown = (f"{mark}{100 * means[rate]:.1f}{mark}" for rate, mark in marks.items())
        yield f"| {model} | {len(seeds)} | {' | '.join(shown)} |"
    yield ""
