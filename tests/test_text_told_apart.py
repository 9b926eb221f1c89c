"""Words that the labels tell apart: when they are, and that they do not become one."""

import dataclasses
from pathlib import Path

import pytest

from holdfast.data import Example, Task
from holdfast.errors import InputError
from holdfast.text import Canonical, CanonicalMap, lexicon_of
from holdfast.text.told_apart import WordLabels
from holdfast.train import DataConfig, TrainConfig
from holdfast.train.examples import RunExamples
from holdfast.train.wording import wording_of

LEXICON = lexicon_of({"good": ["decent", "nice"], "decent": ["bad"]}, "here")
EXAMPLES = [
    *[Example(f"good:{n}", ("good film",), 1) for n in range(40)],
    *[Example(f"nice:{n}", ("a Nice film", "so nice"), 1) for n in range(30)],
    *[Example(f"decent:{n}", ("decent film",), n % 2) for n in range(20)],
    *[Example(f"bad:{n}", ("bad",), 0) for n in range(30)],
]
LABELS = WordLabels.of(((one.texts, one.label) for one in EXAMPLES), classes=2)


def test_an_example_counts_once_for_each_of_its_words() -> None:
    assert LABELS.counts["nice"] == (0, 30)
    assert LABELS.counts["film"] == (10, 80)


def test_words_of_other_classes_are_told_apart_and_rare_ones_are_not() -> None:
    assert LABELS.apart("good", "bad", 1.0)
    assert LABELS.apart("bad", "good", 1.0)
    assert not LABELS.apart("good", "nice", 0.0)
    assert not LABELS.apart("good", "unheard-of", 0.0)
    few = WordLabels({"good": (0, 2), "bad": (2, 0)})
    assert not few.apart("good", "bad", 0.0)


def test_a_larger_limit_tells_fewer_words_apart() -> None:
    limits = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
    told = [LABELS.apart("good", "decent", limit) for limit in limits]
    assert told == sorted(told, reverse=True)
    assert told[0]
    assert not told[-1]


def test_any_class_of_three_can_tell_two_words_apart() -> None:
    three = WordLabels({"one": (40, 0, 40), "other": (40, 40, 0)})
    assert three.apart("one", "other", 1.0)
    assert not three.apart("one", "one", 0.0)


def fitted(apart: float | None) -> CanonicalMap:
    limited = (
        (lambda one, other: False)
        if apart is None
        else (lambda one, other: LABELS.apart(one, other, apart))
    )
    texts = [text for example in EXAMPLES for text in example.texts]
    return CanonicalMap.fit(texts, LEXICON, rounds=2, apart=limited)


def test_no_word_becomes_one_that_it_is_told_apart_from() -> None:
    assert fitted(None).mapping["decent"] == "nice"  # in two examples' texts, so most frequent
    kept = fitted(0.5).mapping
    assert "decent" not in kept
    assert "bad" not in kept


def test_the_second_round_does_not_bring_together_what_the_first_kept_apart() -> None:
    """A word between two others must not carry the one to the other."""
    lexicon = lexicon_of({"bad": ["middling"], "middling": ["good"]}, "here")
    labels = WordLabels({"bad": (30, 0), "middling": (3, 3), "good": (0, 60)})
    texts = ["bad"] * 5 + ["middling"] * 10 + ["good"] * 20
    plain = CanonicalMap.fit(texts, lexicon, rounds=2)
    assert plain.mapping == {"bad": "good", "middling": "good"}
    kept = CanonicalMap.fit(texts, lexicon, rounds=2, apart=lambda a, b: labels.apart(a, b, 2.0))
    assert kept.mapping == {"bad": "middling", "middling": "good"}


def test_two_words_that_are_told_apart_may_meet_in_a_third() -> None:
    """Each is held against the word it becomes, and against no other."""
    lexicon = lexicon_of({"bad": ["middling"], "good": ["middling"]}, "here")
    labels = WordLabels({"bad": (40, 5), "middling": (100, 100), "good": (5, 40)})
    texts = ["bad"] * 5 + ["middling"] * 10 + ["good"] * 5
    assert labels.apart("bad", "good", 1.5)
    made = CanonicalMap.fit(texts, lexicon, rounds=1, apart=lambda a, b: labels.apart(a, b, 1.5))
    assert made.mapping == {"bad": "middling", "good": "middling"}


def test_training_takes_the_labels_of_its_own_examples(tmp_path: Path) -> None:
    config = TrainConfig(
        "model", tmp_path, DataConfig(file=tmp_path / "own.csv"), canonical=Canonical(apart=0.5)
    )
    examples = RunExamples(Task("own", ("text",), ("bad", "good")), EXAMPLES, [])
    made = wording_of(examples, config, LEXICON).canonical
    assert made is not None
    assert made.mapping == fitted(0.5).mapping
    loose = dataclasses.replace(config, canonical=Canonical())
    other = wording_of(examples, loose, LEXICON).canonical
    assert other is not None
    assert other.mapping == fitted(None).mapping


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="expected 0 or more"):
        Canonical(apart=-1.0)
    for kept in ({"apart": 1.5}, {"frequent": 0.001}):
        with pytest.raises(InputError, match="give 1 round or more"):
            Canonical(rounds=0, spelling=True, **kept)
