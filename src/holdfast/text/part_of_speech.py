"""Noun, verb, adjective or adverb: a tagger that needs WordNet's files and no training.

A word's parts of speech are weighed by how often WordNet's concordance has it as each of them; the
words beside it then tip the scales, by a handful of rules. It agrees with NLTK's tagger, which is
a download of its own, on about nine words in ten: enough to keep a verb from standing for an
adjective, and no more than that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from holdfast.text.wordnet import PartOfSpeech, read_wordnet

Tag = Literal["noun", "verb", "adj", "adv", "other"]
"""Other: function words and numbers, which are not told apart."""

_PARTS: tuple[PartOfSpeech, ...] = get_args(PartOfSpeech)
_KINDS = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}  # in WordNet's sense keys
_RARE = 0.2  # what a sense weighs that the concordance never met


class Ending(NamedTuple):
    """How an inflected word becomes its base form."""

    part: PartOfSpeech
    suffix: str
    base: str


_ENDINGS = tuple(
    Ending(*ending)  # type: ignore[arg-type] # the parts are among those of WordNet
    for part, endings in {
        "noun": "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y",
        "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
        "adj": "er: est: er:e est:e",
    }.items()
    for ending in ((part, *pair.split(":")) for pair in endings.split())
)

# For words that WordNet does not know; others are taken for nouns.
_SUFFIXES: Mapping[PartOfSpeech, tuple[str, ...]] = {
    "adv": ("ly",),
    "verb": ("ing", "ed", "ise", "ize", "ify"),
    "adj": ("ous", "ful", "ive", "able", "ible", "ic", "ish", "less", "al", "est", "ary"),
}

_DETERMINERS = "a an the this these those my your his her its our their some any every each no"
_PRONOUNS = "i you he she it we they who"
_BE = "am is are was were be been being 's 're 'm isn't wasn't aren't weren't"
_HAVE = "have has had having haven't hasn't hadn't"
_BEFORE_A_VERB = (
    "to will would can could may might must shall should do does did don't doesn't didn't can't "
    "won't couldn't wouldn't cannot not never let let's"
)
_DEGREES = "very so too more most quite rather really extremely as pretty truly"
_PREPOSITIONS = (
    "of in on at by for with about from into through over after before under against between "
    "during without within like despite than"
)
_OTHERS = (
    "and or but nor if because while when where what which whom whose that there here up down out "
    "off all both few many much another such own same other one two three four five six seven "
    "eight nine ten how why else me him us them myself himself herself itself themselves yourself "
    "ourselves mine yours hers ours theirs everyone everything everybody anyone anything someone "
    "something nobody nothing none since until though although whether upon onto per yet toward "
    "towards among across behind beyond along around above below near unless except "
    "that's it's there's s t d m ll re ve"  # what is left of words that were cut at apostrophes
)


def _words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


_CLOSED = _words(_DETERMINERS, _PRONOUNS, _PREPOSITIONS, _OTHERS, "to")
_AUXILIARIES = _words(
    _BE,
    _HAVE,
    "do does did will would can could may might must shall should don't doesn't "
    "didn't can't won't couldn't wouldn't cannot",
)
_ADVERBS = _words("not never very so too quite rather really pretty truly extremely just also then")


class Rule(NamedTuple):
    """What stands before a word, and what it does to the weights of its parts of speech."""

    before: frozenset[str]
    weights: Mapping[str, float]


_RULES = (
    Rule(_words(_DETERMINERS), {"verb": 0.05, "adv": 0.3}),
    Rule(_words(_BEFORE_A_VERB), {"verb": 10.0, "noun": 0.3}),
    Rule(_words(_PRONOUNS), {"verb": 8.0, "noun": 0.2, "adj": 0.3}),
    Rule(_words(_BE), {"adj": 3.0, "base": 0.05}),
    Rule(_words(_HAVE), {"verb": 2.0, "base": 0.1}),
    Rule(_words(_DEGREES), {"adj": 4.0, "adv": 3.0, "verb": 0.1}),
    Rule(_words(_PREPOSITIONS), {"noun": 2.0, "base": 0.1}),
)


@dataclass(frozen=True)
class Tagger:
    """Tells the part of speech of a word in its sentence."""

    weights: Mapping[str, Mapping[PartOfSpeech, float]] = field(repr=False)
    """Of each lemma, how much it is each part of speech."""
    exceptions: Mapping[str, tuple[tuple[PartOfSpeech, str], ...]] = field(repr=False)
    """Irregular forms and what they are forms of."""

    def tags(self, words: Sequence[str]) -> list[Tag]:
        """Return the tag of each word of a sentence."""
        return [self.tag(words, at) for at in range(len(words))]

    def tag(self, words: Sequence[str], at: int, word: str | None = None) -> Tag:
        """Return the tag of the word at a place; or of another `word`, if it stood there."""
        before = words[at - 1].lower() if at > 0 else ""
        after = words[at + 1].lower() if at + 1 < len(words) else ""
        return self._known(before, word or words[at], after)

    @cached_property
    def _known(self) -> Callable[[str, str, str], Tag]:
        return lru_cache(maxsize=100_000)(self._in_context)

    def _in_context(self, before: str, word: str, after: str) -> Tag:
        if (fixed := _fixed(word.lower())) is not None:
            return fixed
        weights = self._alone(word.lower())
        if word[:1].isupper() and before:  # a name, most likely
            weights["noun"] = 2 * weights.get("noun", 0.0) + 1
        for rule in _RULES:
            if before in rule.before:
                _apply(rule.weights, weights, word.lower())
        if before and _fixed(before) is None and self._likeliest(before) == "adj":
            _apply({"noun": 3.0, "verb": 0.2}, weights, word.lower())
        if after and _fixed(after) is None and self._likeliest(after) == "noun":
            _apply({"adj": 2.0}, weights, word.lower())
        return max(weights, key=lambda part: weights[part])

    def _likeliest(self, word: str) -> PartOfSpeech:
        weights = self._alone(word)
        return max(weights, key=lambda part: weights[part])

    def _alone(self, word: str) -> dict[PartOfSpeech, float]:
        """Return the weights of a word out of context: its own and those of its base forms."""
        found: dict[PartOfSpeech, float] = dict(self.weights.get(word, {}))
        for part, base in self._bases(word):
            weight = self.weights.get(base, {}).get(part, 0.0)
            found[part] = max(found.get(part, 0.0), weight)
        return {part: weight for part, weight in found.items() if weight} or {_guess(word): 1.0}

    def _bases(self, word: str) -> Iterator[tuple[PartOfSpeech, str]]:
        yield from self.exceptions.get(word, ())
        for part, suffix, base in _ENDINGS:
            if word.endswith(suffix) and len(word) > len(suffix) + 1:
                yield part, word.removesuffix(suffix) + base


def _fixed(word: str) -> Tag | None:
    """Return the tag of a word that has but one."""
    if word in _CLOSED or word[:1].isdigit():
        return "other"
    if word in _AUXILIARIES:
        return "verb"
    return "adv" if word in _ADVERBS else None


def _apply(rule: Mapping[str, float], weights: dict[PartOfSpeech, float], word: str) -> None:
    for part in weights:
        weights[part] *= rule.get(part, 1.0)
    if "verb" in weights and not word.endswith(("ing", "ed", "en")):
        weights["verb"] *= rule.get("base", 1.0)


def _guess(word: str) -> PartOfSpeech:
    return next((part for part, ends in _SUFFIXES.items() if word.endswith(ends)), "noun")


def tagger_files() -> tuple[str, ...]:
    """Return the names of the files a tagger is read from; those of the last two kinds may lack."""
    needed = [f"{kind}.{part}" for part in _PARTS for kind in ("index", "data")]
    return (*needed, *(f"{part}.exc" for part in _PARTS), "index.sense")


@lru_cache(maxsize=2)
def read_tagger(folder: Path) -> Tagger:
    """Read a tagger from WordNet's files; it is better with its counts and irregular forms."""
    weights: dict[str, dict[PartOfSpeech, float]] = {}
    for part, lemmas in read_wordnet(folder).senses.items():
        for lemma, senses in lemmas.items():
            weights.setdefault(lemma, {})[part] = _RARE * len(senses)
    for lemma, part, count in _counts(folder / "index.sense"):
        if part in weights.get(lemma, ()):
            weights[lemma][part] += count
    exceptions: dict[str, tuple[tuple[PartOfSpeech, str], ...]] = {}
    for part in _PARTS:
        for form, *bases in _fields(folder / f"{part}.exc"):
            exceptions[form] = (*exceptions.get(form, ()), *((part, base) for base in bases))
    return Tagger(weights, exceptions)


def _counts(path: Path) -> Iterator[tuple[str, PartOfSpeech, int]]:
    """Yield lemma, part of speech and count of each sense that the concordance met.

    A line: lemma%kind:and:more, offset, number of the sense, count.
    """
    for key, _, _, count in _fields(path):
        if count != "0":
            lemma, _, rest = key.partition("%")
            yield lemma, _KINDS[rest[:1]], int(count)  # type: ignore[misc]


def _fields(path: Path) -> Iterable[list[str]]:
    if not path.is_file():
        return ()
    return (line.split() for line in path.read_text(encoding="latin-1").splitlines() if line)
