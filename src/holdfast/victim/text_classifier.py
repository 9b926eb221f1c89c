"""A trained model as a function of texts, in the form that a pipeline of transformers has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.victim.checkpoint import load
from holdfast.victim.model import ModelVictim
from holdfast.victim.precision import Precision

Text = str | tuple[str, str]
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

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        max_length: int | None = None,
        precision: Precision = "fp32",
        device: str | torch.device | None = None,
    ) -> "TextClassifier":
        """Load the folder `model` of a training run; without `device` a GPU where there is one."""
        return cls(load(folder, max_length=max_length, precision=precision, device=device))

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
        pairs = [_parts(number, text) for number, text in enumerate(texts)]
        if len(set(map(len, pairs))) > 1:
            raise InputError("Single texts and pairs cannot be mixed; label them apart.")
        if not pairs:
            return np.zeros((0, len(self.labels)))
        return np.exp(self.system.score(pairs))


def _parts(number: int, text: Text) -> tuple[str, ...]:
    parts = (text,) if isinstance(text, str) else text
    of_texts = isinstance(parts, (tuple, list)) and all(isinstance(part, str) for part in parts)
    if not of_texts or not 1 <= len(parts) <= 2:
        raise InputError(
            f"Text {number} (counted from 0) is {text!r}; expected a text, or a pair of texts as a "
            "tuple."
        )
    return tuple(parts)
