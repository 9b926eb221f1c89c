"""The lexicons of a run: for the substitutes of its words, and for their canonical form."""

from dataclasses import dataclass

from holdfast.text import Lexicon, find_lexicon
from holdfast.train.config import TrainConfig


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
    own = None if canonical is None else canonical.lexicon
    shared = None
    if config.needs_substitutes or (canonical is not None and own is None):
        shared = find_lexicon(config.substitutions.lexicon) if given is None else given
    return Lexicons(
        substitutes=shared if config.needs_substitutes else None,
        canonical=None if canonical is None else find_lexicon(own) if own is not None else shared,
    )
