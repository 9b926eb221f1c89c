"""The lexicons of a run: for the substitutes of its words, and for their canonical form."""

from dataclasses import dataclass

from holdfast.text import Canonical, Lexicon, find_lexicon, lexicon_of
from holdfast.train.config import TrainConfig

NO_WORDS = lexicon_of({}, "no lexicon")


@dataclass(frozen=True)
class Lexicons:
    """What a run looks words up in; none where it needs none."""

    substitutes: Lexicon | None = None
    canonical: Lexicon | None = None

    def describe(self) -> dict[str, str]:
        """Return their checksums: a run with another lexicon is another run."""
        used = {"substitutes": self.substitutes, "canonical": self.canonical}
        return {name: lexicon.sha256 for name, lexicon in used.items() if lexicon is not None}


def lexicons_of(config: TrainConfig, given: Lexicon | None = None) -> Lexicons:
    """Read the lexicons; `given` stands in for what `config.substitutions` names."""
    canonical = config.canonical
    shared = None
    if config.needs_substitutes or (canonical is not None and _looks_up(canonical)):
        shared = find_lexicon(config.substitutions.lexicon) if given is None else given
    return Lexicons(
        substitutes=shared if config.needs_substitutes else None,
        canonical=_canonical(canonical, shared),
    )


def _looks_up(canonical: Canonical) -> bool:
    """Whether the canonical form needs a lexicon that it does not name; its spelling does not."""
    return canonical.rewrites and canonical.lexicon is None


def _canonical(canonical: Canonical | None, shared: Lexicon | None) -> Lexicon | None:
    if canonical is None or canonical.changes_nothing:
        return None
    if canonical.lexicon is not None:
        return find_lexicon(canonical.lexicon)
    # what the spelling knows must not depend on what the objective substitutes
    return shared if canonical.rewrites else NO_WORDS
