"""Records as far as they make sense: what is not a mark, a checksum or a seed is left out and told.

A record can be written by hand or by another program; one that is wrong in a corner must cost that
corner and not the page. One whose numbers contradict each other was not even read.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.record import Found, Metric, RunRecord
from holdfast.record.contradictions import is_marks

RUN = "run.json"  # that holdfast train writes


def sound(found: Found) -> Found:
    """Return the records without what cannot be meant, and a sentence for each thing left out.

    A training that has a record beside its own run.json counts once, under the record's name.
    """
    records, problems = [], list(found.problems)
    named = {_training(record) for path, record in found.records if path.name != RUN}
    for path, record in found.records:
        if path.name == RUN and _training(record) in named:
            continue
        mended, told = _mended(record)
        records.append((path, mended))
        problems += [f"{path}: {sentence}" for sentence in told]
    return Found(tuple(records), tuple(problems))


def _training(record: RunRecord) -> str | None:
    """Return what no two trainings share: the configuration, with its seed and folder."""
    if record.kind != "training":
        return None
    return json.dumps(record.config, sort_keys=True, default=str)


def _mended(record: RunRecord) -> tuple[RunRecord, list[str]]:
    kept: dict[str, dict[str, Any]] = {
        "marks": {k: v for k, v in record.marks.items() if is_marks(v)},
        "checksums": {k: v for k, v in record.checksums.items() if isinstance(v, str)},
        "seeds": {k: v for k, v in record.seeds.items() if type(v) is int},
    }
    told = [
        f"the {name} {', '.join(sorted(lost))} are not what they should be and are left out."
        for name, values in kept.items()
        if (lost := set(getattr(record, name)) - set(values))
    ]
    changes: dict[str, Any] = dict(kept) if told else {}
    metrics = tuple(_finite(metric) for metric in record.metrics)
    if metrics != record.metrics:
        changes["metrics"] = metrics
    training: Any = record.training
    if not isinstance(training, Mapping | None):
        changes["training"] = None
    return (replace(record, **changes) if changes else record), told


def _finite(metric: Metric) -> Metric:
    baselines = {name: getattr(metric, name) for name in ("majority", "chance")}
    if all(value is None or math.isfinite(value) for value in baselines.values()):
        return metric
    return replace(metric, majority=None, chance=None)
