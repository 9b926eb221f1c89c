"""Two attacks that carry the name genetic, and are not the same."""

from pathlib import Path

from holdfast.attack.allowed_sets import AllowedSets
from holdfast.attack.constraint import LanguageModel, ModificationRate, StopWords
from holdfast.attack.core import Attack, Transformation
from holdfast.attack.search import Alzantot, Genetic
from holdfast.attack.sources import ModelFolder, VectorFile
from holdfast.attack.transformation import Neighbours
from holdfast.attack.vectors import VectorNeighbours
from holdfast.text import Lexicon, find_lexicon


def genetic_jia(
    lexicon: Lexicon | None = None,
    allowed: AllowedSets | None = None,
    language_model: Path | None = None,
) -> Attack:
    """The genetic attack of Jia et al., EMNLP 2019, which RIFT and ASCC report.

    Unlike TextAttack's recipe of that name it sets no limit on the number of replaced words,
    freezes no stop words, and may take a replacement back.
    """
    # Jia et al. keep of the lexicon's neighbours those whose log-probability in a language model
    # falls by at most 5: those are the `allowed` sets. A causal model can judge anew, with the
    # window of 6 words on either side; it is not theirs, and what it lets through will differ.
    # Without either every neighbour is allowed, which makes the attack stronger than published.
    chosen: Transformation = allowed or Neighbours(lexicon or find_lexicon())
    judge = LanguageModel(ModelFolder.of(language_model)) if language_model else None
    return Attack(
        "genetic_jia",
        search=Genetic(population=60, iterations=40),
        transformation=chosen,
        word_constraints=(judge,) if judge else (),
    )


def genetic_alzantot(
    lexicon: Lexicon | None = None,
    vectors: Path | None = None,
    language_model: Path | None = None,
) -> Attack:
    """The genetic attack of Alzantot et al., EMNLP 2018 (`nesl/nlp_adversarial_examples`).

    Theirs is targeted; with two classes that is the same. TextAttack's recipe draws parents by
    exp(-score / 0.3), so that the worse members have more children: a slip, not followed here.
    """
    # 8 neighbours (paper; 20 in the code) with a squared distance of at most 0.5: a cosine of 0.75
    # for vectors of length 1, as counter-fitted ones are. A lexicon was cut when it was made.
    chosen: Transformation = (
        VectorNeighbours(VectorFile.of(vectors), limit=8, cosine=0.75)
        if vectors
        else Neighbours(lexicon or find_lexicon(), limit=8)
    )
    # The code passes over the 26 most frequent words of its vocabulary; a list of stop words is
    # longer, and is what TextAttack takes.
    constraints: tuple[StopWords | LanguageModel, ...] = (StopWords(),)
    if language_model:
        # Google's 1B model ranks the candidates after the one word before, and the best 4 stay
        # (paper; 5 in the code). There the word before is that of the current text.
        judge = ModelFolder.of(language_model)
        constraints += (LanguageModel(judge, before=1, after=0, drop=None, best=4),)
    return Attack(
        "genetic_alzantot",
        # 60 members over 20 generations in the paper, 20 over 100 in the code
        search=Alzantot(population=60, iterations=20, temperature=0.3),
        transformation=chosen,
        word_constraints=constraints,
        # the paper's limit for sentiment; the code is given one and never looks at it
        text_constraints=(ModificationRate(0.2),),
    )
