"""Words by their importance, as TextFooler and DeepWordBug go through them; misspellings."""

import dataclasses

import attack_naive as naive
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from attack_bag import LEXICON, BagOfWords, bag, examples

from holdfast.attack import Attack, Neighbours, Verdict, run_attack
from holdfast.attack.any_of import AnyOf
from holdfast.attack.search import Greedy
from holdfast.attack.typos import Typos
from holdfast.errors import InputError
from holdfast.text import Words
from holdfast.victim import FunctionVictim

TEXTS = (
    "a great film with a dull plot",
    "good good film , dull story",
    "great great great film",
    "the plot was good",
    "nothing to replace here",
    "dull",
    "a good film about a film , no story",
)
WAYS = ("hidden", "hidden_or_flipped", "deleted", "combined")


def attack(search: Greedy, **settings) -> Attack:
    return Attack("greedy", search, Neighbours(LEXICON), placeholder="<oov>", **settings)


def one(attack: Attack, text: str, victim: FunctionVictim | None = None, label: int = 1):
    (outcome,) = run_attack(attack, victim or bag(), examples(text, label=label), seed=0)
    return outcome


@pytest.mark.parametrize("way", WAYS)
def test_the_only_word_that_flips_is_found(way: str) -> None:
    victim = FunctionVictim(BagOfWords(bias=-0.9))
    outcome = one(attack(Greedy(way)), "a great plot", victim)
    assert [(c.old, c.new) for c in outcome.changes] == [("great", "fine")]
    assert one(attack(Greedy(way)), "great great great film").status == "failed"


@pytest.mark.parametrize("way", WAYS)
def test_the_most_important_word_comes_first(way: str) -> None:
    # great 2, good 1, film .3, bias -2.2: "great" by "fine" is enough, "good" by "okay" is not
    victim = FunctionVictim(BagOfWords(bias=-2.2))
    outcome = one(attack(Greedy(way)), "good film great", victim)
    assert [(c.old, c.new) for c in outcome.changes] == [("great", "fine")]
    probes = 2 * 3 if way == "combined" else 3
    assert outcome.queries == 1 + probes + 2


def textfooler(naive: naive.Naive) -> list[str] | None:
    """Algorithm 1 of TextFooler as released, without the checks of meaning and part of speech."""
    original, label = naive.words, naive.example.label
    before = np.exp(naive.victim.score([naive.example.texts])[0])
    importance = []
    for at in range(len(original)):
        answer = np.exp(naive.ask([*original[:at], "<oov>", *original[at + 1 :]]))
        new = int(answer.argmax())
        flipped = answer[new] - before[new] if new != label else 0.0
        importance.append(before[label] - answer[label] + flipped)
    current = list(original)
    for at in sorted(range(len(original)), key=lambda at: -importance[at]):
        tried = [[*current[:at], new, *current[at + 1 :]] for new in naive.choices[at][1:]]
        answers = [np.exp(naive.ask(words)) for words in tried]
        for words, answer in zip(tried, answers, strict=True):
            if answer[label] < np.delete(answer, label).max():
                return words  # all are equally similar: the first
        if tried:
            best = min(range(len(tried)), key=lambda n: answers[n][label])
            if answers[best][label] < before[label]:
                current = tried[best]
    return None


@pytest.mark.parametrize("bias", [-0.5, 0.0, 0.8])
def test_textfooler_is_the_naive_one(bias: float) -> None:
    search = Greedy("hidden_or_flipped", prefer="similar", improve_on="original")
    made, victim = attack(search), FunctionVictim(BagOfWords(bias=bias))
    outcomes = sorted(run_attack(made, victim, examples(*TEXTS), seed=0), key=lambda o: o.id)
    for example, outcome in zip(examples(*TEXTS), outcomes, strict=True):
        found = outcome.status, outcome.adversarial and outcome.adversarial[0], outcome.queries
        assert found == naive.Naive(victim, made, example).run(textfooler)


class PrefersShort:
    """A text constraint that allows all, and likes a text the better the shorter it is."""

    against_original = True

    def judge(self, comparisons):
        return [Verdict(np.ones(len(of.rows), bool), self._scores(of)) for of in comparisons]

    def _scores(self, of):
        return np.array([1 / len(of.space.spelt(row)[0]) for row in of.rows])


@pytest.mark.parametrize(
    ("prefer", "found"), [("similar", "a bad"), ("strongest", "a terrible"), ("first", "a lousy")]
)
def test_of_several_that_flip_one_is_taken(prefer: str, found: str) -> None:
    weights = {"fun": 1.0, "lousy": -1.0, "bad": -0.5, "terrible": -3.0}
    lexicon = dataclasses.replace(LEXICON, neighbours={"fun": ("lousy", "terrible", "bad")})
    made = Attack(
        "x",
        Greedy(prefer=prefer),
        Neighbours(lexicon),
        text_constraints=(PrefersShort(),),
    )
    outcome = one(made, "a fun", FunctionVictim(BagOfWords(weights)))
    assert outcome.adversarial == (found,)


def test_a_word_is_replaced_if_it_helps_against_the_text_that_counts() -> None:
    # "big" is the most important; then "small" rises above the current text, not the original
    weights = {"big": 3.0, "less": 1.0, "small": 0.5, "smaller": 0.6, "end": 0.3, "stop": -1.0}
    neighbours = {"big": ("less",), "small": ("smaller",), "end": ("stop",)}
    lexicon = dataclasses.replace(LEXICON, neighbours=neighbours)
    victim = FunctionVictim(BagOfWords(weights, bias=-0.65))
    for bound, changed in (("current", {"big", "end"}), ("original", {"big", "small", "end"})):
        made = Attack("x", Greedy(improve_on=bound), Neighbours(lexicon))
        outcome = one(made, "big small end", victim)
        assert {change.old for change in outcome.changes} == changed


def test_combined_scores_are_those_of_heads_and_tails() -> None:
    function = BagOfWords()
    made = attack(Greedy("combined"))
    list(run_attack(made, FunctionVictim(function), examples("good film great"), seed=0))
    probes = [" ".join(text.split()) for text in function.asked[1:5]]  # the rest is known by then
    assert probes == ["good", "good film", "film great", "great"]


KINDS = ("swap", "substitute", "delete", "insert", "space", "lookalike")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("swap", {"iflm", "flim", "fiml"}),
        ("delete", {"ilm", "flm", "fim", "fil"}),
        ("space", {"f ilm", "fi lm", "fil m"}),
        ("lookalike", {"f1lm", "fi1m", "filn"}),
    ],
)
def test_misspellings_of_a_kind(kind: str, expected: set[str]) -> None:
    (found,) = Typos((kind,), each=None).substitutes(Words.of("film"))
    assert set(found) == expected
    (first,) = Typos((kind,)).substitutes(Words.of("film"))
    assert first == found[:1]


def test_letters_are_put_in_or_exchanged() -> None:
    (found,) = Typos(("substitute",), each=None).substitutes(Words.of("ab"))
    assert len(found) == 2 * 25
    assert all(len(word) == 2 for word in found)
    (found,) = Typos(("insert",), each=3).substitutes(Words.of("ab"))
    assert len(set(found)) == 3
    assert all(len(word) == 3 for word in found)


def test_the_ends_of_a_word_can_be_left_alone() -> None:
    (found,) = Typos(("swap", "delete", "lookalike"), each=None, ends=False).substitutes(
        Words.of("solo")
    )
    assert set(found) == {"sloo", "slo", "soo", "s0lo", "so1o"}
    assert Typos(("swap", "delete"), ends=False).substitutes(Words.of("is a")) == [(), ()]


@hypothesis.given(st.text(max_size=30))
def test_any_word_can_be_misspelt(text: str) -> None:
    words = Words.of(text)
    found = Typos(KINDS).substitutes(words)
    assert found == Typos(KINDS).substitutes(words)
    for word, new in zip(words.words, found, strict=True):
        assert word.text not in new
        assert len(new) <= len(KINDS)
        assert all(new)


def test_sources_are_joined_in_their_order() -> None:
    joined = AnyOf((Neighbours(LEXICON, limit=1), Typos(("delete",)), Neighbours(LEXICON)))
    plot, great = joined.substitutes(Words.of("plot great"))
    assert (plot[0], len(plot)) == ("story", 2)
    assert (great[0], great[-1], len(great)) == ("good", "fine", 3)


@pytest.mark.parametrize("make", [lambda: Typos(()), lambda: Typos(KINDS, each=0)])
def test_misspellings_of_no_kind_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()
