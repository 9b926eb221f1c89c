"""Which words may stand for which: a lexicon, read from a file and found without being named."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError
from holdfast.record import write_atomically
from holdfast.text.words import is_one_word

FILE_NAME = "lexicon.json"


@dataclass(frozen=True)
class Lexicon:
    """The substitutes of each word, the nearest first; words are single and in lower case."""

    neighbours: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Only words that have a substitute; none is its own."""
    source: str
    """Where it came from, for people."""
    sha256: str
    """Checksum of the file it was read from, or would be written as."""

    def of(self, word: str) -> tuple[str, ...]:
        """Return the substitutes of `word`, looked up in lower case; empty if it has none."""
        return self.neighbours.get(word.lower(), ())

    @property
    def edges(self) -> int:
        """How many substitutes there are in all."""
        return sum(map(len, self.neighbours.values()))

    def symmetric(self) -> "Lexicon":
        """Return the lexicon in which a word also has those words that have it.

        Its own substitutes come first, then the others in the alphabetical order of their words.
        """
        both = {word: list(neighbours) for word, neighbours in self.neighbours.items()}
        for word in sorted(self.neighbours):
            for neighbour in self.neighbours[word]:
                mirrored = both.setdefault(neighbour, [])
                if word not in mirrored:
                    mirrored.append(word)
        return lexicon_of(both, f"{self.source}, symmetrised")

    def joined(self, other: "Lexicon") -> "Lexicon":
        """Return the lexicon of both: of a word its own substitutes first, then the other's."""
        words = sorted({*self.neighbours, *other.neighbours})
        both = {word: [*self.of(word), *other.of(word)] for word in words}
        return lexicon_of(both, f"{self.source}, joined with {other.source}")

    def further(self, most: int) -> "Lexicon":
        """Return the lexicon in which a word also has the substitutes of its substitutes.

        Its own come first, then all of its nearest one's, of the next one's and so on; `most` of
        them at most.
        """
        if most < 1:
            raise InputError(f"A word was to have {most} substitutes; expected 1 or more.")
        reached = {
            word: [*own, *(beyond for one in own for beyond in self.of(one))]
            for word, own in self.neighbours.items()
        }
        kept = {word: list(found[:most]) for word, found in _tidy(reached).items()}
        return lexicon_of(kept, f"{self.source}, two steps, {most} words at most")

    def json(self) -> str:
        """Return the lexicon as the text of its file."""
        return json.dumps(self.neighbours, ensure_ascii=False) + "\n"


def lexicon_of(neighbours: Mapping[str, list[str]], source: str) -> Lexicon:
    """Return a lexicon made here, with the checksum of the file that it would be."""
    made = Lexicon(_tidy(neighbours), source, "")
    return Lexicon(made.neighbours, source, hashlib.sha256(made.json().encode()).hexdigest())


def read_lexicon(path: Path) -> Lexicon:
    """Read a JSON file `{word: [word, ...]}`, such as counterfitted_neighbors.json."""
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"The lexicon {path} cannot be read ({reason}); give a JSON file of substitutes."
        ) from error
    neighbours = _tidy(_checked(_parsed(content, path), path))
    if not neighbours:
        raise InputError(f"The lexicon {path} holds no word with a substitute; expected some.")
    return Lexicon(neighbours, str(path), hashlib.sha256(content).hexdigest())


def _parsed(content: bytes, path: Path) -> object:
    try:
        parsed: object = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The lexicon {path} is not JSON in UTF-8 ({error}); expected "
            '{"word": ["substitute", ...], ...}.'
        ) from error
    return parsed


def _checked(content: object, path: Path) -> Mapping[str, list[str]]:
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise InputError(
            f"The lexicon {path} holds a {kind}; expected one JSON object of lists of words."
        )
    for word, substitutes in content.items():
        if not isinstance(substitutes, list) or not all(isinstance(s, str) for s in substitutes):
            raise InputError(
                f"The lexicon {path} gives {word[:40]!r} something that is not a list of words; "
                'expected {"word": ["substitute", ...], ...}.'
            )
    return content


def _tidy(neighbours: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Lower the case, and leave out phrases, repetitions, a word itself and words without any."""
    merged: dict[str, dict[str, None]] = {}
    for key, substitutes in neighbours.items():
        word = key.lower()
        if is_one_word(word):
            lowered = (substitute.lower() for substitute in substitutes)
            kept = (item for item in lowered if item != word and is_one_word(item))
            merged.setdefault(word, {}).update(dict.fromkeys(kept))
    return {word: tuple(kept) for word, kept in merged.items() if kept}


def cache_folder() -> Path:
    """Return where Holdfast keeps what it need not make twice; it may not exist yet."""
    if own := os.environ.get("HOLDFAST_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "holdfast"


def cached_lexicon() -> Path:
    """Return the lexicon that is used where none is named; it may not exist yet."""
    return cache_folder() / FILE_NAME


def cache_lexicon(content: bytes) -> Path:
    """Keep the content of a lexicon file for later runs; it is there entirely or not at all."""
    path = cached_lexicon()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content, shared=True)
    except OSError as error:
        raise InputError(
            f"The lexicon cannot be kept in {path} ({error.strerror or error}); set HOLDFAST_CACHE "
            "to a folder that can be written."
        ) from error
    return path


def find_lexicon(path: Path | None = None) -> Lexicon:
    """Return the lexicon in `path`; without one the cached one, or one built from WordNet."""
    if path is not None:
        return read_lexicon(path)
    if cached_lexicon().is_file():
        return read_lexicon(cached_lexicon())
    from holdfast.text.wordnet import find_wordnet, wordnet_lexicon  # it makes lexicons itself

    try:
        folder = find_wordnet()
    except InputError as error:
        raise InputError(
            "There is no substitution lexicon: none was named, none is cached, and WordNet was not "
            "found; name a file, or run `holdfast lexicon`, which says how to get one."
        ) from error
    return wordnet_lexicon(folder)
