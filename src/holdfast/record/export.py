"""Records for other tools: rows, CSV, pandas."""

import csv
import io
from collections.abc import Iterable
from typing import Any

from holdfast.errors import InputError
from holdfast.record.run_record import Metric, RunRecord

Row = dict[str, Any]

COLUMNS = (
    *("kind", "model", "task", "attack", "seed", "metric", "group", "value", "low", "high"),
    *("count", "total", "majority", "chance", "commit", "device", "seconds"),
)
_WHOLE = ("seed", "count", "total")
_DECIMAL = ("value", "low", "high", "majority", "chance", "seconds")


def to_rows(records: Iterable[RunRecord]) -> list[Row]:
    """Return one row for each metric, with the names of `COLUMNS`."""
    return [_row(record, metric) for record in records for metric in record.metrics]


def _row(record: RunRecord, metric: Metric) -> Row:
    known = vars(record) | vars(metric) | {"metric": metric.name}
    known["commit"] = record.environment.get("commit")
    return {name: known[name] for name in COLUMNS}


def to_csv(records: Iterable[RunRecord]) -> str:
    """Return the rows as CSV with a header; what is not known is empty."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(to_rows(records))
    return text.getvalue()


def to_pandas(records: Iterable[RunRecord]) -> Any:
    """Return the rows as a `pandas.DataFrame`; needs the extra `holdfast[pandas]`."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError(
            "A data frame needs pandas, which is not installed; install it (pip install "
            "'holdfast[pandas]'), or take to_csv or to_rows."
        ) from error
    kinds = dict.fromkeys(_WHOLE, "Int64") | dict.fromkeys(_DECIMAL, "float64")
    return pandas.DataFrame(to_rows(records), columns=list(COLUMNS)).astype(kinds)
