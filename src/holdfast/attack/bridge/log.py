"""TextAttack's CSV log (`log_to_csv`, read as version 0.3.11 writes it) as outcomes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.attack.bridge.marked import Compared, changes, column_names, compare, split_columns
from holdfast.data.rows import Row, read_rows
from holdfast.errors import InputError
from holdfast.record import Outcome, Status
from holdfast.text import split_words

_KINDS = ("Successful", "Failed", "Skipped", "Maximized")
_COLUMNS = (
    "original_text",
    "perturbed_text",
    "original_output",
    "perturbed_output",
    "ground_truth_output",
    "num_queries",
    "result_type",
)


class _Fate(NamedTuple):
    """What became of an example, in our words."""

    status: Status
    note: str = ""


def read_textattack_log(path: Path, *, columns: Sequence[str] = ()) -> list[Outcome]:
    """Return an outcome for each row, with the row's number from 0 in its id.

    `columns` names the texts of an example, such as `("premise", "hypothesis")`; it is needed only
    where a log of pairs has no marks that tell them. What the log does not say stays empty:
    `probabilities`, `adversarial_probabilities`, and `forwards`, which is 0. `words` counts the
    words of all texts as Holdfast cuts them; a change is a word as TextAttack cuts it. A word that
    was put in is a change of its neighbour, and one that was taken out has the empty `new`.

    Where TextAttack counts otherwise, the `note` of an outcome says so. An example that was wrong
    before is skipped, though some goals attack it. One that was right and is skipped there, as it
    has the class a targeted attack is after, is untouched. One whose score was maximised is a
    success only if the answer changed.
    """
    rows = read_rows(path)
    missing = [name for name in _COLUMNS if name not in rows[0].values]
    if missing:
        raise InputError(
            f"{rows[0].header or path}: there is no column {missing[0]!r}; expected a CSV log of "
            "TextAttack, whose columns have their names in the first line."
        )
    names = tuple(name.capitalize() for name in columns) or _names(rows)
    return [_outcome(row, names) for row in rows]


def _names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what the texts of a pair are called, from the first row that tells."""
    found = (column_names(_text(row, "original_text")) for row in rows)
    return next((names for names in found if names), ())


def _outcome(row: Row, names: Sequence[str]) -> Outcome:
    label, prediction = _number(row, "ground_truth_output"), _number(row, "original_output")
    after = _number(row, "perturbed_output")
    fate = _fate(_kind(row), label, prediction, after)
    texts = _texts(row, names)
    won = fate.status == "succeeded"
    return Outcome(
        f"textattack:{row.number}",
        tuple(text.original for text in texts),
        label,
        fate.status,
        prediction,
        adversarial=tuple(text.perturbed for text in texts) if won else None,
        adversarial_prediction=after if won else None,
        changes=tuple(c for n, text in enumerate(texts) for c in changes(n, text) if won),
        words=sum(len(split_words(text.original)) for text in texts),
        queries=_number(row, "num_queries"),
        note=fate.note,
    )


def _fate(kind: str, label: int, before: int, after: int) -> _Fate:
    if before != label:
        all_the_same = "" if kind == "Skipped" else f"TextAttack attacked it all the same: {kind}."
        return _Fate("skipped", all_the_same)
    if kind == "Skipped":
        return _Fate("untouched", "TextAttack skipped it: its goal was reached from the start.")
    if kind == "Maximized":
        changed = after != label
        return _Fate("succeeded" if changed else "failed", "TextAttack maximised a score.")
    if kind == "Successful" and after == label:
        return _Fate("succeeded", "The answer did not change: TextAttack had another goal.")
    return _Fate("succeeded" if kind == "Successful" else "failed")


def _texts(row: Row, names: Sequence[str]) -> list[Compared]:
    original = split_columns(_text(row, "original_text"), names)
    perturbed = split_columns(_text(row, "perturbed_text"), names)
    if original is None or perturbed is None:
        raise InputError(
            f"{row.where}: the texts {' and '.join(map(repr, names))} are not all there; expected "
            f"'{names[0]}: ...<SPLIT>{names[-1]}: ...', as in TextAttack's log of pairs."
        )
    return [compare(*both) for both in zip(original, perturbed, strict=True)]


def _kind(row: Row) -> str:
    kind = _text(row, "result_type")
    if kind not in _KINDS:
        raise InputError(
            f"{row.where}: result_type is {kind!r}; expected one of {', '.join(_KINDS)}."
        )
    return kind


def _number(row: Row, name: str) -> int:
    """Return a class or a count; pandas writes 1.0 where another row of the column has none."""
    given = _text(row, name)
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not value.is_integer() or value < 0:
        raise InputError(
            f"{row.where}: {name} is {given!r}; expected a whole number, as in the log of an "
            "attack on a classifier."
        )
    return int(value)


def _text(row: Row, name: str) -> str:
    return str(row.values[name])
