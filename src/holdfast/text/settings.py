"""How the texts of a checkpoint are read: what a saved model needs beside its tokenizer.

A checkpoint of another making has no such notes: its texts are read as its tokenizer does.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError
from holdfast.record import decode, encode, version, write_atomically

FILE_NAME = "text.json"
FORMAT = 1


@dataclass(frozen=True)
class TextSettings:
    """What a model was trained to read; saved beside it, so that it is used the same way."""

    max_length: int
    """Tokens kept of each example."""
    mode: Literal["aligned", "word_level"] = "aligned"
    """The tokenizer's own pieces, or one id for each word."""

    def save(self, folder: Path) -> None:
        """Write `text.json` into a checkpoint folder, entirely or not at all."""
        content = {"format": FORMAT, "holdfast": version(), "text": encode(self)}
        write_atomically(folder / FILE_NAME, json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "TextSettings | None":
        """Return the settings of a checkpoint; None when it has none, as any other model."""
        file = folder / FILE_NAME
        if not file.exists():
            return None
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{file} is not valid JSON ({error}); train again.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(
                f"{file} is not of format {FORMAT}, which this version of Holdfast reads; use the "
                "version that wrote it."
            )
        return decode(TextSettings, content.get("text"), where=str(file))
