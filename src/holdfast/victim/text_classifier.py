"""A trained model as a function of texts, in the form that a pipeline of transformers has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.data.files import text_of
from holdfast.data.rows import Row
from holdfast.errors import InputError, RunFailed
from holdfast.implicit.checkpoint import model_folder
from holdfast.text import TextSettings
from holdfast.victim.checkpoint import load
from holdfast.victim.model import ModelVictim
from holdfast.victim.precision import Precision
from holdfast.victim.window import ENDLESS

Text = str | tuple[str, ...]
"""A text, or a pair of them."""


class Answer(TypedDict):
    """The label of a text, and its probability."""

    label: str
    score: float


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """Labels texts as the model was trained to read them: rewritten, read twice, connected.

    It takes the place of `pipeline("text-classification")`, which knows of none of that.
    """

    system: ModelVictim
    trained: TextSettings | None = None
    """What the model was trained to read; none: that is not known."""
    batch_size: int = 32
    """Texts read by the model at once."""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError(f"The batch_size is {self.batch_size}; expected 1 or more.")

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        max_length: int | None = None,
        precision: Precision = "fp32",
        device: str | torch.device | None = None,
        batch_size: int = 32,
    ) -> "TextClassifier":
        """Load the model of a training run; without `device` a GPU where there is one.

        Without `max_length` as much of a text is read as in training, and where that is not known
        as much as the model can.
        """
        model = model_folder(folder)
        system = load(
            model, max_length=max_length, longest=ENDLESS, precision=precision, device=device
        )
        return cls(system, TextSettings.load(model), batch_size)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of `probabilities`."""
        return self.system.labels

    def __call__(self, texts: Text | Sequence[Text]) -> list[Answer]:
        """Return the label of each text; that of one text is a list of one, too."""
        rows = self.probabilities(texts)
        best = rows.argmax(axis=1)
        return [
            {"label": self.labels[b], "score": float(row[b])}
            for row, b in zip(rows, best, strict=True)
        ]

    def probabilities(self, texts: Text | Sequence[Text]) -> NDArray[np.float64]:
        """Return the probability of every class, a row for each text."""
        if isinstance(texts, (str, tuple)):
            texts = [texts]
        asked = [_parts(number, text) for number, text in enumerate(texts)]
        if len(set(map(len, asked))) > 1:
            raise InputError("Single texts and pairs cannot be mixed; label them apart.")
        if asked and (unlike := self.unlike_training(len(asked[0]))):
            raise InputError(f"{unlike}; give each text as a string, and each pair as a tuple.")
        found = np.zeros((len(asked), len(self.labels)))
        order = sorted(range(len(asked)), key=lambda at: sum(map(len, asked[at])))
        for start in range(0, len(order), self.batch_size):  # of like length: little is padding
            batch = order[start : start + self.batch_size]
            found[batch] = self._answer([asked[at] for at in batch])
        return found

    def unlike_training(self, parts: int) -> str | None:
        """Say so where a model of pairs is given single texts, or one of single texts pairs."""
        return None if self.trained is None else self.trained.unlike(parts)

    def _answer(self, batch: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):  # what comes of it is refused here
            rows = np.exp(self.system.answer(batch))
        missing = np.isnan(rows).any(axis=1)
        if missing.any():
            text = " | ".join(batch[int(missing.argmax())])
            raise RunFailed(f"The model's answer to {text!r:.80} is no number; {self._advice()}")
        return rows

    def _advice(self) -> str:
        if self.system.precision == "fp16":
            return "what it computes is too large for fp16: take the precision bf16 or fp32."
        return "look for weights that are no numbers, and take another checkpoint if it has any."


def _parts(number: int, text: Text) -> tuple[str, ...]:
    parts = (text,) if isinstance(text, str) else text
    if not isinstance(parts, (tuple, list)) or not 1 <= len(parts) <= 2:
        raise InputError(
            f"Text {number} (counted from 0) is {text!r}; expected a text, or a pair of texts as a "
            "tuple."
        )
    named = dict(zip(("text", "text_pair"), parts, strict=False))
    row = Row(number, f"Text {number} (counted from 0)", named)
    return tuple(text_of(row, column) for column in named)
