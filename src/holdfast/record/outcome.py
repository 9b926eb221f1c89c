"""What became of one example, as it is written to a file."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from holdfast.errors import InputError

Status = Literal["succeeded", "failed", "skipped", "untouched", "certain", "unanswered"]


class Change(NamedTuple):
    """A word that was replaced."""

    text: int
    word: int
    old: str
    new: str


@dataclass(frozen=True)
class Outcome:
    """One example after the attack."""

    id: str
    """The example's."""
    texts: tuple[str, ...]
    """The example as it was."""
    label: int
    """Its right class."""
    status: Status
    """succeeded; failed; skipped: wrong before any change; untouched: no word may change; certain:
    no text of the attack changes the answer, which was proved and not searched; unanswered: the
    victim's answer was no number."""
    prediction: int | None
    """The class the victim gives to the example as it was; none: it gave no number."""
    probabilities: tuple[float, ...] = ()
    """Of each class, for the example as it was."""
    adversarial: tuple[str, ...] | None = None
    """The changed texts; only of a success."""
    adversarial_prediction: int | None = None
    """The class the victim gives to them."""
    adversarial_probabilities: tuple[float, ...] = ()
    """Of each class, for the changed texts."""
    changes: tuple[Change, ...] = ()
    """The words that were replaced, in reading order."""
    words: int = 0
    """How many words the attack could have looked at."""
    queries: int = 0
    """Texts that were asked for, repeats included."""
    forwards: int = 0
    """Different texts that the victim ran."""
    note: str = ""
    """Why the attack ended early, where it did."""

    @property
    def survived(self) -> bool:
        """Whether the victim was right before and after."""
        return self.status in ("failed", "untouched", "certain")

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as one line of a file holds it."""
        known = {name: _plain(value) for name, value in vars(self).items()}
        return known | {"changes": [change._asdict() for change in self.changes]}

    @classmethod
    def from_json(cls, line: Any) -> "Outcome":
        """Return the outcome that a line of a file holds."""
        try:
            known = {name: _frozen(value) for name, value in line.items() if name != "changes"}
            changes = tuple(Change(**change) for change in line["changes"])
            outcome = cls(**known, changes=changes)
        except (TypeError, KeyError, AttributeError) as error:
            raise InputError(f"This is no outcome of an attack ({error}): {line!r}.") from error
        if outcome.status not in get_args(Status):
            raise InputError(f"An outcome has the status {outcome.status!r}, which does not exist.")
        return outcome


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
