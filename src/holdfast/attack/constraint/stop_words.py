"""Words that carry little meaning stay as they are."""

from dataclasses import dataclass

from holdfast.attack.core import Substitutes
from holdfast.text import Words

# The list in TextFooler's released code, which BERT-Attack and TextAttack took over; what its
# tokenizer left of words with an apostrophe (ain, aren, ll, ve ...) is in it.
ENGLISH: tuple[str, ...] = tuple(
    """
    a about above across after afterwards again against ain all almost alone along already also
    although am among amongst an and another any anyhow anyone anything anyway anywhere are aren
    aren't around as at back been before beforehand behind being below beside besides between beyond
    both but by can cannot could couldn couldn't d didn didn't doesn doesn't don don't down due
    during either else elsewhere empty enough even ever everyone everything everywhere except first
    for former formerly from hadn hadn't hasn hasn't haven haven't he hence her here hereafter
    hereby herein hereupon hers herself him himself his how however hundred i if in indeed into is
    isn isn't it it's its itself just latter latterly least ll may me meanwhile mightn mightn't mine
    more moreover most mostly must mustn mustn't my myself namely needn needn't neither never
    nevertheless next no nobody none noone nor not nothing now nowhere o of off on once one only
    onto or other others otherwise our ours ourselves out over per please s same shan shan't she
    she's should've shouldn shouldn't somehow something sometime somewhere such t than that that'll
    the their theirs them themselves then thence there thereafter thereby therefore therein
    thereupon these they this those through throughout thru thus to too toward towards under unless
    until up upon used ve was wasn wasn't we were weren weren't what whatever when whence whenever
    where whereafter whereas whereby wherein whereupon wherever whether which while whither who
    whoever whole whom whose why with within without won won't would wouldn wouldn't y yet you you'd
    you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list literal of it has no shape to read
)


@dataclass(frozen=True)
class StopWords:
    """Words of a list are not replaced."""

    words: tuple[str, ...] = ENGLISH
    """The list, in lower case."""
    as_substitutes: bool = True
    """Whether a word of the list may stand for another."""

    def keep(self, text: Words, substitutes: Substitutes) -> Substitutes:
        """Return no substitutes for the words of the list."""
        frozen = frozenset(self.words)
        barred = frozenset() if self.as_substitutes else frozen
        return [
            ()
            if word.text.lower() in frozen
            else tuple(new for new in found if new.lower() not in barred)
            for word, found in zip(text.words, substitutes, strict=True)
        ]
