"""Each model at the learning rate that suits it, chosen on examples held out of its training.

One rate for all is the plain model's rate; a connected model may want another. results.py reads two
studies that differ in nothing else, and takes of each model the one that answers more of the
held-out examples right. The test examples have no part in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from holdfast.record import RunRecord

Tried = Mapping[float, Sequence[RunRecord]]
"""Learning rate to the records of its study."""


def held_out(records: Sequence[RunRecord]) -> dict[str, dict[int, float]]:
    """Return each model's accuracy on held-out examples, by seed."""
    found: dict[str, dict[int, float]] = {}
    for record in records:
        for metric in record.metrics:
            if record.kind == "training" and metric.name == "accuracy":
                found.setdefault(record.model, {})[record.seed] = metric.value
    return found


def compared(tried: Tried) -> dict[str, dict[float, float]]:
    """Return each model's mean held-out accuracy at each rate, in the order of their names.

    A model is left out that was not trained with all rates and the same seeds: it would win or lose
    by its seeds, or by having had one chance where others had two.
    """
    by_rate = {rate: held_out(records) for rate, records in tried.items()}
    first, *others = by_rate.values()
    fair = (
        model
        for model, seeds in first.items()
        if all(model in other and other[model].keys() == seeds.keys() for other in others)
    )
    return {
        model: {rate: mean(models[model].values()) for rate, models in by_rate.items()}
        for model in sorted(fair, key=natural)
    }


def natural(name: str) -> list[tuple[str, int]]:
    """Return a key by which T5 comes before T10."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D+)(\d*)", name)]


def best_rates(tried: Tried) -> dict[str, float]:
    """Return each model's rate; of equals the one that was named first."""
    return {model: max(of, key=lambda rate: of[rate]) for model, of in compared(tried).items()}


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
    best, seeds = best_rates(tried), held_out(next(iter(tried.values())))
    yield f"| held out of training | seeds | {' | '.join(f'{rate:.0e}' for rate in tried)} |"
    yield "| --- | ---: |" + " ---: |" * len(tried)
    for model, of in compared(tried).items():
        marks = {rate: "**" if rate == best[model] else "" for rate in tried}
        shown = (f"{mark}{100 * of[rate]:.1f}{mark}" for rate, mark in marks.items())
        yield f"| {model} | {len(seeds[model])} | {' | '.join(shown)} |"
    yield ""
