"""What is certain is proved: every text of an attack is tried, and none changes the answer."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import text_tokenizers as kinds
from attack_tiny import labelled, sentences, victim

from holdfast.attack import (
    Neighbours,
    ScoreDecrease,
    Targeted,
    attack_to_file,
    read_outcomes,
    recipes,
    run_attack,
    summarise,
    verify,
)
from holdfast.attack.certify import MOST, Certainty, Forms, Proof, certainty, certify, provable
from holdfast.attack.core import Attack
from holdfast.attack.search import PWWS
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.errors import InputError, RunFailed
from holdfast.evaluate import record_of_outcomes
from holdfast.record import OutcomesFile
from holdfast.text import CanonicalMap, Words, lexicon_of
from holdfast.text.two_readings import Blend
from holdfast.victim import ModelVictim

ONE_WORD = CanonicalMap(
    {"film": "movie", "picture": "movie", "cinematograph": "movie", "great": "good"}, "", 1
)
ATTACK = Attack("all", PWWS(), Neighbours(kinds.LEXICON))


def right(found: ModelVictim, count: int = 12) -> list[Example]:
    examples = labelled(found, sentences(count))
    answers = found.score([example.texts for example in examples]).argmax(axis=1)
    return [e for e, answer in zip(examples, answers, strict=True) if answer == e.label]


def verdicts_of(found: ModelVictim, examples: list[Example], most: int = MOST) -> list[Certainty]:
    return [proof.verdict for proof in certify(ATTACK, found, examples, most=most)]


def every_text(example: Example) -> list[tuple[str, ...]]:
    words = tuple(map(Words.of, example.texts))
    space = build_space(ATTACK, words, [len(of.words) for of in words])
    rows = product(*(range(size) for size in space.sizes))
    return [space.spelt(np.array(row, dtype=np.int16)) for row in rows]


@pytest.mark.parametrize("seed", [0, 1])
def test_with_one_reading_every_verdict_is_what_trying_all_texts_says(seed: int) -> None:
    found = victim(kinds.wordpiece(), seed=seed, canonical=ONE_WORD)
    examples = right(found)
    verdicts = verdicts_of(found, examples)
    for example, said in zip(examples, verdicts, strict=True):
        answers = found.score(every_text(example)).argmax(axis=1)
        assert said == ("certain" if (answers == example.label).all() else "broken")
    assert set(verdicts) == {"certain", "broken"}  # or the test would say little


@pytest.mark.parametrize("gives_way", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_two_readings_no_text_contradicts_a_verdict(seed: int, gives_way: bool) -> None:
    canonical = replace(ONE_WORD, trust=0.8, gives_way=gives_way)
    found = victim(kinds.wordpiece(), seed=seed, canonical=canonical)
    examples = right(found)
    verdicts = verdicts_of(found, examples)
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
    assert len({tuple(row) for row in forms.all().tolist()}) == forms.count == 16
    assert len(forms.near()) == 7


def test_more_forms_than_may_be_read_leave_it_open() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    examples = right(found)
    whole, few = verdicts_of(found, examples), verdicts_of(found, examples, most=1)
    assert "open" not in whole
    assert "open" in few
    assert all(less in ("open", more) for less, more in zip(few, whole, strict=True))


def all_agree(found: ModelVictim, attack: Attack, example: Example) -> None:
    """What is certain stands in every text there is; all texts move."""
    words = tuple(map(Words.of, example.texts))
    space = build_space(attack, words, found.read([words])[0].visible)
    rows = product(*(range(size) for size in space.sizes))
    texts = [space.spelt(np.array(row, dtype=np.int16)) for row in rows]
    wrong = (found.score(texts).argmax(axis=1) != example.label).any()
    (proof,) = certify(attack, found, [example])
    assert (proof.verdict == "certain") <= (not wrong)
    if found.blend.trust == 1:
        assert proof.verdict == ("broken" if wrong else "certain")


LONGER = CanonicalMap({"film": "cinematograph", "great": "good"}, "", 1)
"""Of many pieces, so that texts are cut, and where depends on their words."""


@pytest.mark.parametrize("canonical", [LONGER, ONE_WORD, replace(LONGER, trust=0.7)])
@pytest.mark.parametrize("length", [8, 12])
def test_texts_that_are_cut_are_proved_as_they_are_read(
    canonical: CanonicalMap, length: int
) -> None:
    found = victim(kinds.wordpiece(), canonical=canonical, max_length=length)
    for text in ("a film was good, the movie bad", "movie movie film good", "bad film good film"):
        label = int(found.score([(text,)]).argmax())
        all_agree(found, ATTACK, Example(text, (text,), label))


def test_both_texts_of_a_pair_may_move() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    both = replace(ATTACK, moving=(0, -1))
    for pair in (("the film", "was good"), ("a bad movie", "good film")):
        all_agree(found, both, Example("pair", pair, int(found.score([pair]).argmax())))


def test_words_that_are_misspelt_and_mended_are_one_form() -> None:
    spelt = CanonicalMap.fit(["a wonderful film"] * 3, kinds.LEXICON, rounds=1, spelling=True)
    found = victim(kinds.wordpiece(), canonical=spelt)
    slips = Attack("slips", PWWS(), Neighbours(lexicon_of({"wonderful": ["wonderfl"]}, "here")))
    text = ("a wonderful film",)
    all_agree(found, slips, Example("one", text, int(found.score([text]).argmax())))


def test_a_text_of_more_forms_than_can_be_counted_stays_open() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD, max_length=64)
    text = ("bad " * 40 + "good " * 40,)
    example = Example("long", text, int(found.score([text]).argmax()))
    (proof,) = certify(ATTACK, found, [example])
    assert (proof.verdict, proof.texts) == ("open", 0)


def test_nothing_is_asked_of_no_examples() -> None:
    assert verdicts_of(victim(kinds.wordpiece(), canonical=ONE_WORD), []) == []


def test_a_premise_that_may_not_change_has_one_form() -> None:
    """Recipes say which text of a pair moves; the other is read as it is."""
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    pair = ("bad bad bad", "the film")
    label = int(found.score([pair]).argmax())
    example = Example("pair", pair, label)
    (proof,) = certify(recipes.pwws_rift(kinds.LEXICON), found, [example])
    assert proof == Proof("certain", texts=3, words=2, changeable=1)  # the one form, thrice


# In an attack -------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [1.0, 0.8])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_certain_is_not_searched_and_nothing_else_changes(
    trust: float, workers: int
) -> None:
    found = victim(kinds.wordpiece(), canonical=replace(ONE_WORD, trust=trust))
    examples = labelled(found, sentences(20))
    plain = {o.id: o for o in run_attack(ATTACK, found, examples, seed=0)}
    proved = {
        o.id: o for o in run_attack(ATTACK, found, examples, seed=0, workers=workers, certify=True)
    }
    assert verify(ATTACK, found, proved.values(), examples) == sum(
        outcome.status == "succeeded" for outcome in plain.values()
    )
    certain = {key for key, outcome in proved.items() if outcome.status == "certain"}
    assert certain
    assert all(plain[key].status == "failed" for key in certain)
    assert all(proved[key].probabilities == plain[key].probabilities for key in certain)
    assert all(proved[key] == plain[key] for key in plain.keys() - certain)
    one, other = summarise(plain.values()), summarise(proved.values())
    assert one.accuracy_under_attack == other.accuracy_under_attack
    assert (one.certain.count, other.certain.count) == (0, len(certain))


def test_a_text_without_a_word_that_may_change_is_untouched() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    label = int(found.score([("the café",)]).argmax())
    (outcome,) = run_attack(
        ATTACK, found, [Example("one", ("the café",), label)], seed=0, certify=True
    )
    assert outcome.status == "untouched"


def test_a_proof_may_read_more_than_a_search_may_ask() -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    few = replace(ATTACK, max_queries=1)
    examples = labelled(found, sentences(12))
    outcomes = list(run_attack(few, found, examples, seed=0, certify=True))
    assert max(o.queries for o in outcomes if o.status == "certain") > 1
    verify(few, found, outcomes, examples)


def test_a_claim_that_is_not_so_is_refused() -> None:
    """A proof is tried with texts drawn at random, as whole texts."""
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    examples = labelled(found, sentences(20))
    outcomes = list(run_attack(ATTACK, found, examples, seed=0))
    broken = next(o for o in outcomes if o.status == "succeeded")
    claimed = replace(
        broken,
        status="certain",
        adversarial=None,
        adversarial_prediction=None,
        adversarial_probabilities=(),
        changes=(),
    )
    told = [claimed if outcome is broken else outcome for outcome in outcomes]
    with pytest.raises(RunFailed, match="another text of the attack changes the answer"):
        verify(ATTACK, found, told, examples)


def test_nothing_is_proved_where_nothing_can_be() -> None:
    rewriting = victim(kinds.wordpiece(), canonical=ONE_WORD)
    assert provable(ATTACK, rewriting) is rewriting
    assert provable(ATTACK, victim(kinds.wordpiece())) is None  # reads every word as it is
    assert provable(replace(ATTACK, goal=Targeted(0)), rewriting) is None  # another question
    lower = replace(ATTACK, goal=ScoreDecrease(0.5))
    assert provable(lower, rewriting) is None  # after a probability, not after the answer
    examples = labelled(rewriting, sentences(6))
    outcomes = run_attack(lower, rewriting, examples, seed=0, certify=True)
    assert "certain" not in {outcome.status for outcome in outcomes}


def test_the_file_says_that_it_was_proved_and_its_record_counts_it(tmp_path: Path) -> None:
    found = victim(kinds.wordpiece(), canonical=ONE_WORD)
    examples = labelled(found, sentences(12))
    file = attack_to_file(ATTACK, found, examples, tmp_path / "o.jsonl", seed=0, certify=True)
    assert OutcomesFile(file).header()["certify"] is True
    certain = sum(outcome.status == "certain" for outcome in read_outcomes(file))
    record = record_of_outcomes(file, model="m", task="sst2")
    metric = record.metric("certified_accuracy")
    assert metric is not None
    assert (metric.count, metric.total) == (certain, 12)
    assert record.marks["certified_accuracy"].count("1") == certain
    with pytest.raises(InputError, match="holds something else"):
        attack_to_file(ATTACK, found, examples, file, seed=0)
    plain = victim(kinds.wordpiece())
    other = attack_to_file(ATTACK, plain, examples, tmp_path / "p.jsonl", seed=0, certify=True)
    assert "certify" not in OutcomesFile(other).header()  # as before there were proofs
    assert record_of_outcomes(other, model="m", task="sst2").metric("certified_accuracy") is None


# The verdict --------------------------------------------------------------------------------------


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
    assert certainty(answers, 1, Blend(trust)) == expected


@pytest.mark.parametrize(
    ("chances", "expected"),
    [
        ([[0.1, 0.86, 0.04]], "certain"),  # sure above 0.83
        ([[0.16, 0.82, 0.02]], "open"),
        ([[0.1, 0.86, 0.04], [0.84, 0.1, 0.06]], "broken"),
        ([[0.1, 0.86, 0.04], [0.8, 0.1, 0.1]], "open"),  # own words lead there
    ],
)
def test_what_gives_way_must_be_sure(chances: list[list[float]], expected: str) -> None:
    assert certainty(np.log(chances), 1, Blend(0.6, gives_way=True)) == expected


@pytest.mark.parametrize("longest", [11, 12, 13, 14])
def test_what_is_certain_of_a_pair_holds_where_substitutes_outgrow_the_window(longest: int) -> None:
    texts = ("the film was a bad movie", "bad film")
    certain = 0
    for seed in range(6):
        found = victim(kinds.wordpiece(), seed=seed, canonical=ONE_WORD, max_length=longest)
        example = Example("pair", texts, int(found.score([texts]).argmax()))
        if verdicts_of(found, [example]) == ["certain"]:
            certain += 1
            answers = found.score(every_text(example)).argmax(axis=1)
            assert set(answers.tolist()) == {example.label}
    assert certain
