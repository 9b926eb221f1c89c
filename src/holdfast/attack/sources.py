"""Files and models that an attack reads beside its lexicon: named by a path, known by a checksum.

Two attacks are the same if their files are, wherever these lie: a record holds the checksum and
leaves the path out.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.text import find_wordnet
from holdfast.text.part_of_speech import tagger_files

_PARTS_OF_A_MODEL = ("config.json", "*.safetensors", "tokenizer*", "vocab*", "merges.txt")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class WordNetFolder:
    """WordNet's files."""

    source: Path
    sha256: str

    @classmethod
    def of(cls, folder: Path | None = None) -> "WordNetFolder":
        """Return the folder given, or the first usual place that has the files."""
        found = find_wordnet(folder)
        files = (found / name for name in tagger_files())
        return cls(found, _checksum(file for file in files if file.is_file()))


@dataclass(frozen=True)
class ModelFolder:
    """A Hugging Face model that helps an attack, on this machine."""

    source: Path
    sha256: str

    @classmethod
    def of(cls, folder: Path) -> "ModelFolder":
        """Return a folder that holds a model and its tokenizer; nothing is loaded yet."""
        found = {file for pattern in _PARTS_OF_A_MODEL for file in folder.glob(pattern)}
        if not (folder / "config.json").is_file():
            raise InputError(
                f"{folder} holds no model; expected a folder with config.json, model.safetensors "
                "and a tokenizer."
            )
        return cls(folder, _checksum(sorted(found)))


@dataclass(frozen=True)
class EntityFile:
    """Names by their kind, as JSON."""

    source: Path
    sha256: str

    @classmethod
    def of(cls, file: Path) -> "EntityFile":
        """Return a file; it is read when it is first needed."""
        if not file.is_file():
            raise InputError(f"There are no named entities at {file}; expected a JSON file.")
        return cls(file, _checksum([file]))


@dataclass(frozen=True)
class VectorFile:
    """Word vectors as text: a word and its numbers on each line, as GloVe is written."""

    source: Path
    sha256: str

    @classmethod
    def of(cls, file: Path) -> "VectorFile":
        """Return a file; it is read when it is first needed."""
        if not file.is_file():
            raise InputError(f"There are no word vectors at {file}; expected a text file.")
        return cls(file, _checksum([file]))


def _checksum(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()
