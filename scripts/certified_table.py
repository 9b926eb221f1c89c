"""What was proved, as a table: answers that no text of an attack can change."""

from collections.abc import Iterable, Iterator, Mapping

from holdfast.record import RunRecord
from holdfast.record.attacks import settings_apart, with_settings
from holdfast.record.pooling import pool

CERTIFIED = "certified_accuracy"


def certified_table(records: Iterable[RunRecord], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines; `names` is what the tables call an attack."""
    proved: dict[tuple[str, str, str, str], list[RunRecord]] = {}
    known = [record for record in records if record.metric(CERTIFIED) is not None]
    for record, settings in zip(known, settings_apart(known), strict=True):
        subject = record.model, record.task, str(record.attack), settings
        proved.setdefault(subject, []).append(record)
    yield "|  | against | seeds | clean | left | certified | 95 % interval |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for (model, _, attack, settings), own in proved.items():
        found = pool(own, CERTIFIED)
        assert found is not None
        before = (_mean(own, name) for name in ("accuracy", "accuracy_under_attack"))
        interval = f"{_percent(found.metric.low)} to {_percent(found.metric.high)}"
        numbers = " | ".join((*before, _percent(found.metric.value), interval))
        against = with_settings(names.get(attack, attack), settings)
        yield f"| {model} | {against} | {found.trainings} | {numbers} |"
    yield ""


def _mean(records: Iterable[RunRecord], name: str) -> str:
    found = pool(records, name)
    return _percent(None if found is None else found.metric.value)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
