"""How the texts of a checkpoint are read: what a saved model needs beside its tokenizer.

A checkpoint of another making has no such notes: its texts are read as its tokenizer does.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.record import decode, encode, read_note, write_note

FILE_NAME = "text.json"
FORMAT = 1
KINDS = {1: "single texts", 2: "pairs"}


@dataclass(frozen=True)
class TextSettings:
    """What a model was trained to read; saved beside it, so that it is used the same way."""

    max_length: int
    """Tokens kept of each example."""
    mode: Literal["aligned", "word_level"] = "aligned"
    """The tokenizer's own pieces, or one id for each word."""
    texts: tuple[str, ...] = ()
    """Text columns that it was trained on, of a file or of a known task; none: not known."""
    label: str | None = None
    """Label column of these."""

    def unlike(self, parts: int) -> str | None:
        """Say so where a model of pairs is given single texts, or one of single texts pairs."""
        if len(self.texts) in (0, parts):  # 0: that is not known
            return None
        return (
            f"The model was trained on {KINDS[len(self.texts)]} ({', '.join(self.texts)}) and is "
            f"given {KINDS[parts]}"
        )

    def save(self, folder: Path) -> None:
        """Write `text.json` into a checkpoint folder, entirely or not at all."""
        write_note(folder / FILE_NAME, FORMAT, {"text": encode(self)})

    @classmethod
    def load(cls, folder: Path) -> "TextSettings | None":
        """Return the settings of a checkpoint; None when it has none, as any other model."""
        file = folder / FILE_NAME
        content = read_note(file, FORMAT, "does not say how texts are read")
        if content is None:
            return None
        return decode(TextSettings, content.get("text"), where=str(file))
