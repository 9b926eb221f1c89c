"""What is certain is proved: every text of an attack is tried, and none changes the answer."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import text_tokenizers as kinds
from attack_tiny import labelled, sentences, victim

from holdfast.attack import Neighbours, recipes
from holdfast.attack.certify import Forms, certify, verdict
from holdfast.attack.core import Attack
from holdfast.attack.search import PWWS
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.text import CanonicalMap, Words
from holdfast.victim import ModelVictim

ONE_WORD = CanonicalMap(
    {"film": "movie", "picture": "movie", "cinematograph": "movie", "great": "good"}, "", 1
)
ATTACK = Attack("all", PWWS(), Neighbours(kinds.LEXICON))


def right(found: ModelVictim, count: int = 12) -> list[Example]:
    examples = labelled(found, sentences(count))
    answers = found.score([example.texts for example in examples]).argmax(axis=1)
    return [e for e, answer in zip(examples, answers, strict=True) if answer == e.label]


def every_text(example: Example) -> list[tuple[str, ...]]:
    words = tuple(map(Words.of, example.texts))
    space = build_space(ATTACK, words, [len(of.words) for of in words])
    rows = product(*(range(size) for size in space.sizes))
    return [space.spelt(np.array(row, dtype=np.int16)) for row in rows]


@pytest.mark.parametrize("seed", [0, 1])
def test_with_one_reading_every_verdict_is_what_trying_all_texts_says(seed: int) -> None:
    found = victim(kinds.wordpiece(), seed=seed, canonical=ONE_WORD)
    examples = right(found)
    verdicts = certify(ATTACK, found, examples)
    for example, said in zip(examples, verdicts, strict=True):
        answers = found.score(every_text(example)).argmax(axis=1)
        assert said == ("certain" if (answers == example.label).all() else "broken")
    assert set(verdicts) == {"certain", "broken"}  # or the test would say little


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_two_readings_no_text_contradicts_a_verdict(seed: int) -> None:
    found = victim(kinds.wordpiece(), seed=seed, canonical=replace(ONE_WORD, trust=0.8))
    examples = right(found)
    verdicts = certify(ATTACK, found, examples)
    for example, said in zip(examples, verdicts, strict=True):
        wrong = found.score(every_text(example)).argmax(axis=1) != example.label
        assert not (said == "certain" and wrong.any())
        assert not (said == "broken" and not wrong.any())
    assert "certain" in verdicts


def test_texts_that_the_model_reads_alike_are_one_form() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    words = (Words.of("the film was bad"),)
    space = build_space(ATTACK, words, [4])
    opened = found.reader.open(found.reader.read([words]), [space])
    forms = Forms.of(space, opened[0])
    assert [space.spelt(row) for row in forms.all()] == [
        ("the film was bad",),
        ("the film was wretchedness",),
    ]
    assert np.array_equal(forms.near(), forms.all())


def test_all_forms_are_there_once() -> None:
    found = victim(kinds.wordpiece())
    words = (Words.of("good film"),)
    space = build_space(ATTACK, words, [2])
    forms = Forms.of(space, found.reader.open(found.reader.read([words]), [space])[0])
    assert len({tuple(row) for row in forms.all().tolist()}) == len(forms) == 16
    assert len(forms.near()) == 7


def test_more_forms_than_may_be_read_leave_it_open() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    examples = right(found)
    whole, few = certify(ATTACK, found, examples), certify(ATTACK, found, examples, most=1)
    assert "open" not in whole
    assert "open" in few
    assert all(less in ("open", more) for less, more in zip(few, whole, strict=True))


def test_nothing_is_asked_of_no_examples() -> None:
    assert certify(ATTACK, victim(kinds.wordpiece(), canonical=ONE_WORD), []) == []


def test_a_premise_that_may_not_change_has_one_form() -> None:
    """Recipes say which text of a pair moves; the other is read as it is."""
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    pair = ("bad bad bad", "the film")
    label = int(found.score([pair]).argmax())
    example = Example("pair", pair, label)
    assert certify(recipes.pwws_rift(kinds.LEXICON), found, [example]) == ["certain"]


@pytest.mark.parametrize(
    ("ahead", "trust", "expected"),
    [
        ([0.9, 0.6], 1.0, "certain"),
        ([0.9, -0.1], 1.0, "broken"),
        ([0.9, 0.0], 1.0, "open"),  # a tie
        ([0.9, 0.7], 0.6, "certain"),  # the bound is 2/3
        ([0.9, 0.6], 0.6, "open"),
        ([0.9, -0.6], 0.6, "open"),
        ([0.9, -0.7], 0.6, "broken"),
        ([0.9, float("nan")], 1.0, "open"),
    ],
)
def test_the_least_sure_form_decides(ahead: list[float], trust: float, expected: str) -> None:
    answers = np.log([[(1 - a) / 2, (1 + a) / 2] for a in ahead])
    assert verdict(answers, 1, trust) == expected
