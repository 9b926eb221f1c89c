"""What a classification task is: its columns, its labels, its splits."""

from dataclasses import dataclass

from holdfast.errors import InputError


@dataclass(frozen=True)
class Example:
    """One labelled text or pair of texts; `id` is "<split>:<row>", rows counted from 0."""

    id: str
    texts: tuple[str, ...]
    label: int


@dataclass(frozen=True)
class Task:
    """Names of a task's columns, labels and splits, as the Hugging Face Hub writes them.

    `labels` are the label names, and a name's place is its code. `no_label` is the code of rows
    without a gold label; they are left out and counted. Splits that do not exist are None.
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    label: str = "label"
    hub: str | None = None
    hub_config: str | None = None
    train: str = "train"
    validation: str | None = "validation"
    test: str | None = None
    no_label: int | None = None

    def __post_init__(self) -> None:
        if len(self.texts) not in (1, 2):
            raise InputError(
                f"Task {self.name} names {len(self.texts)} text columns; "
                "a model reads one text or a pair, so name one or two."
            )
        if len({*self.texts, self.label}) < len(self.texts) + 1:
            raise InputError(
                f"Task {self.name} names the same column twice among the texts "
                f"{self.texts} and the label {self.label!r}; name different columns."
            )
        if len(set(self.labels)) < max(2, len(self.labels)):
            raise InputError(
                f"Task {self.name} has the labels {self.labels}; "
                "classification needs at least two, all different."
            )


def label_codes(task: Task) -> dict[str, int]:
    """Map what a file may say, a label's name or its code in digits, to the code.

    Digits that are names themselves (stars "1" to "5") are names only: reading them as codes
    would shift every label by one without a word.
    """
    names = {name: code for code, name in enumerate(task.labels)}
    if any(name.lstrip("-").isdigit() for name in names):
        return names
    return names | {str(code): code for code in names.values()}
