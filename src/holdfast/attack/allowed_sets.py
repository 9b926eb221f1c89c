"""Substitutes that were worked out beforehand, text by text.

The files of Jia et al. hold what their language-model constraint leaves over:
`{text: {position: [word, ...]}}`, the text in lower case with spaces between all tokens, whose
positions are counted. A text finds its entry by its letters and digits alone, so that neither
case nor spacing nor punctuation matters.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.attack.core import Substitutes
from holdfast.data import Example
from holdfast.errors import InputError
from holdfast.text import Words, is_one_word, like

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)  # the files were made without them
Span = tuple[int, int]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class AllowedSets:
    """The substitutes of each text; a text that is not among them has none."""

    sets: Mapping[str, Mapping[Span, tuple[str, ...]]] = field(repr=False)
    """By the letters and digits of a text: for a span of them the words that may stand there."""
    sha256: str
    """Checksum of the file."""

    def covers(self, texts: Sequence[str]) -> bool:
        """Whether one of an example's texts is among them."""
        return any(letters(text) in self.sets for text in texts)

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        plain = _Plain.of(text.text)
        known = self.sets.get(plain.letters, {})
        return [
            tuple(like(word.text, new) for new in known.get(plain.span(word.start, word.end), ()))
            for word in text.words
        ]


def letters(text: str) -> str:
    """Return the letters and digits of a text in lower case, by which its sets are found."""
    return "".join(c.lower() for c in _BREAK.sub(" ", text) if c.isalnum())


@dataclass(frozen=True)
class _Plain:
    """A text's letters and digits in lower case, and where each character of it went."""

    letters: str
    before: tuple[int, ...]
    """For each place in the text how many letters and digits stand before it."""

    @classmethod
    def of(cls, text: str) -> "_Plain":
        hidden = _BREAK.sub(lambda found: " " * len(found[0]), text)
        pieces: list[str] = []
        before = [0]
        for character in hidden:
            piece = character.lower() if character.isalnum() else ""
            pieces.append(piece)
            before.append(before[-1] + len(piece))
        return cls("".join(pieces), tuple(before))

    def span(self, start: int, end: int) -> Span:
        return self.before[start], self.before[end]


def read_allowed_sets(path: Path) -> AllowedSets:
    """Read a JSON file `{text: {position: [word, ...]}}`."""
    try:
        content = path.read_bytes()
        parsed = json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"The allowed sets {path} cannot be read ({reason}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"The allowed sets {path} are not JSON in UTF-8 ({error}).") from error
    try:
        sets = {letters(text): dict(_spans(text, of)) for text, of in parsed.items()}
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"The allowed sets {path} do not have the form "
            f'{{"text": {{"position": ["word", ...]}}}} ({error}).'
        ) from error
    return AllowedSets(sets, hashlib.sha256(content).hexdigest())


def covered(examples: Iterable[Example], path: Path) -> list[Example]:
    """Return the examples that the allowed sets in a file know.

    The others have no substitutes: none of them could be broken, and drawn among the rest they
    would make every model look robust.
    """
    known, every = read_allowed_sets(path), list(examples)
    found = [example for example in every if known.covers(example.texts)]
    if not found:
        raise InputError(
            f"None of the {len(every):,} examples is among the allowed sets {path}; give those "
            "that belong to these examples, or none."
        )
    if len(found) < len(every):
        told = "drawn from the %d of %d examples that the allowed sets know"
        _LOG.info(told, len(found), len(every))
    return found


def _spans(text: str, allowed: Mapping[str, Any]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    plain = _Plain.of(text)
    tokens = list(re.finditer(r"\S+", text))
    for position, words in allowed.items():
        token = tokens[int(position)]
        own = token[0].lower()
        kept = tuple(dict.fromkeys(w for w in words if w.lower() != own and is_one_word(w)))
        if kept:
            yield plain.span(token.start(), token.end()), kept
