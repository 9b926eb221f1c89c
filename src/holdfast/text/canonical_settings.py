"""The settings of canonical text: what is rewritten, and how far it is trusted."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError


@dataclass(frozen=True)
class Canonical:
    """Write every text in canonical form before it is tokenised, in training and in use."""

    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the cached lexicon, or one built from WordNet. The
    spelling alone needs none."""
    rounds: int = 2
    """How often a word is replaced by the most frequent of its substitutes; 0: never, so that at
    most its spelling changes."""
    spelling: bool = False
    """Read a word that nobody knows as the known word, one letter away, that was likely meant."""
    misspelt: float = 0.0
    """Share of words that are expected to be misspelt. Above 0 (0.1 to 0.3) a rare word that is
    known is read as the frequent one it is a likely slip of, too, and so are short words. 0: a
    known word is right."""
    apart: float | None = None
    """No word becomes one that the training labels tell it apart from by more than this, in log
    odds; two such words may still meet in a third. None: any word may."""
    frequent: float | None = None
    """Words that make up at least this share of the training texts' words stay as they are; none:
    no word does because of that."""
    groups: float | None = None
    """Words are written as the most frequent of their group, not of their neighbours: groups are
    joined as long as that hides so many exchanges of words for each nat of information it costs
    (0.05 to 0.2), whatever `rounds` says. None: there are no groups."""
    slips: bool = False
    """Whether groups also hide slips that the spelling reads as another word: "hat" and "that" may
    come into one. Needs `groups` and `spelling`."""
    trust: float = 1.0
    """Weight of the answer on the canonical text, above 0.5 and at most 1; the rest is that of the
    answer on the text's own words. 1: the canonical text alone is read. Below, texts are read
    twice, in training and in use, and what the rewriting loses can be made up for. An answer that
    the canonical text gives a probability above 1 / (2 trust) cannot be changed by words that leave
    this text as it is."""
    gives_way: bool = False
    """Whether the canonical text has that weight only where it gives some answer a probability
    above 1 / (2 trust), and the text's own words have it elsewhere."""

    def __post_init__(self) -> None:
        check_rounds(self.rounds)
        if self.apart is not None and not self.apart >= 0:
            raise InputError(
                f"Words were to be kept apart by log odds of {self.apart}; expected 0 or more."
            )
        if self.frequent is not None and not 0 < self.frequent <= 1:
            raise InputError(
                f"A word was to be frequent from a share of {self.frequent} on; expected a number "
                "above 0 and at most 1, such as 0.0005."
            )
        check_groups(self.groups, alone=self.apart is None and self.frequent is None)
        check_slips(self.slips, grouped=self.groups is not None, undone=self.spelling)
        check_misspelt(self.misspelt, undone=self.spelling)
        if self.rounds == 0 and not (self.apart is None and self.frequent is None):
            raise InputError(
                "Words were to be kept apart, or as they are where frequent, and none is to be "
                "rewritten (0 rounds); leave that out, or give 1 round or more."
            )
        check_trust(self.trust)
        if self.gives_way and self.trust == 1:
            raise InputError(
                "The canonical text was to give way to the text's own words, which are not read "
                "(canonical.trust is 1); give a trust below 1, such as 0.65."
            )
        if not self.rewrites and self.trust < 1:
            raise InputError(
                "Texts were to be read twice (canonical.trust below 1), and no word is to be "
                "rewritten (0 rounds), so that both readings are the same; give "
                "--canonical.rounds 2, or leave the trust out."
            )

    @property
    def rewrites(self) -> bool:
        """Whether words become other words, beyond their spelling; that needs a lexicon."""
        return self.rounds > 0 or self.groups is not None

    @property
    def changes_nothing(self) -> bool:
        """Whether texts stay as they are."""
        return not self.rewrites and not self.spelling


def check_trust(trust: float) -> None:
    """Refuse a weight that is none, or with which own words could always outvote."""
    if not 0.5 < trust <= 1:
        raise InputError(
            f"The canonical text was to be trusted with a weight of {trust}; expected a number "
            "above 0.5 and at most 1: with 0.5 the text's own words could always outvote it."
        )


def check_misspelt(misspelt: float, *, undone: bool) -> None:
    """Refuse what is no share of words or leaves none right, and slips that nobody undoes."""
    if not 0 <= misspelt < 1:
        raise InputError(
            f"A share of {misspelt} of the words was expected to be misspelt; expected a number "
            "from 0 to below 1, such as 0.1."
        )
    if misspelt and not undone:
        raise InputError(
            "Words were expected to be misspelt, and misspellings are not undone; give "
            "--canonical.spelling true, or leave canonical.misspelt out."
        )


def check_groups(groups: float | None, *, alone: bool) -> None:
    """Refuse groups that would hide nothing, or that something else is to keep words out of."""
    if groups is None:
        return
    if not groups > 0:
        raise InputError(
            f"Groups of words were to hide {groups} exchanges for a nat; expected a number above "
            "0, such as 0.08."
        )
    if not alone:
        raise InputError(
            "Words were to be written as their group, which goes with neither `apart` nor "
            "`frequent`; leave those out."
        )


def check_slips(slips: bool, *, grouped: bool, undone: bool) -> None:
    """Refuse to hide slips in groups that there are not, or that nobody reads as other words."""
    if slips and not (grouped and undone):
        raise InputError(
            "Groups were to hide slips that are read as other words, and there are no groups or "
            "misspellings are not undone; give --canonical.groups 0.15 and --canonical.spelling "
            "true, or leave canonical.slips out."
        )


def check_rounds(rounds: int) -> None:
    """Refuse fewer rounds than none."""
    if rounds < 0:
        raise InputError(f"Words were to be rewritten {rounds} times; expected 0 or more.")
