"""The engine: many searches at once give what one at a time gives; hostile texts and victims."""

import dataclasses
import os
import signal
import threading

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers as kinds
from attack_bag import LEXICON, BagOfWords, bag, examples
from attack_tiny import labelled, sentences, victim

from holdfast.attack import Ask, Found, recipes, run_attack
from holdfast.attack.search import Genetic
from holdfast.data import Example
from holdfast.errors import InputError, RunFailed
from holdfast.victim import UNKNOWN, FunctionVictim

GENETIC = dataclasses.replace(recipes.genetic_jia(kinds.LEXICON), search=Genetic(8, 6))
ATTACKS = {
    "pwws": recipes.pwws_rift(kinds.LEXICON),
    "genetic": GENETIC,
    "beam": recipes.beam(kinds.LEXICON, width=2),
    "random": recipes.random_search(kinds.LEXICON, tries=150),
}


def attacked(attack, found, data, *, in_flight: int = 256, seed: int = 0):
    outcomes = run_attack(attack, found, data, seed=seed, in_flight=in_flight)
    return sorted(outcomes, key=lambda outcome: outcome.id)


@pytest.mark.parametrize("name", ATTACKS)
def test_outcomes_do_not_depend_on_how_many_are_in_flight(name: str) -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(12))
    many = attacked(ATTACKS[name], found, data)
    assert {outcome.status for outcome in many} >= {"succeeded", "skipped"}
    assert attacked(ATTACKS[name], found, data, in_flight=7) == many
    assert attacked(ATTACKS[name], found, data[::-1], in_flight=1) == many


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_find_the_same(workers: int) -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(12))
    for attack in (ATTACKS["pwws"], GENETIC):
        expected = attacked(attack, found, data)
        outcomes = run_attack(attack, found, data, seed=0, workers=workers)
        assert sorted(outcomes, key=lambda outcome: outcome.id) == expected


class Broken:
    def __call__(self, problem, rng):
        if problem.space.texts[0].text == "Film was good":
            raise ValueError("a search that fails")
        yield from ATTACKS["pwws"].search(problem, rng)
        return problem.failed()


def test_what_fails_in_a_worker_fails_here() -> None:
    found = victim(kinds.wordpiece())
    attack = dataclasses.replace(ATTACKS["pwws"], search=Broken())
    with pytest.raises(RunFailed, match=r"(?s)A worker .*ValueError: a search that fails"):
        list(run_attack(attack, found, labelled(found, sentences(4)), seed=0, workers=2))


class Unsendable(Exception):
    def __init__(self) -> None:
        super().__init__("held fast")
        self.lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Raises:
    error: Exception

    def substitutes(self, text):
        raise self.error


@pytest.mark.parametrize(
    ("error", "expected", "says"),
    [
        (Unsendable(), RunFailed, r"(?s)A worker .*Unsendable: held fast"),
        (InputError("Give it a lexicon."), InputError, r"^Give it a lexicon\.$"),
    ],
)
def test_no_error_of_a_worker_is_lost(error, expected, says) -> None:
    found = victim(kinds.wordpiece())
    attack = dataclasses.replace(ATTACKS["pwws"], transformation=Raises(error))
    with pytest.raises(expected, match=says):
        list(run_attack(attack, found, labelled(found, sentences(2)), seed=0, workers=1))


class Killed:
    def __call__(self, problem, rng):
        yield Ask(problem.space.original()[None])
        os.kill(os.getpid(), signal.SIGKILL)


class Left:
    def __call__(self, problem, rng):
        yield Ask(problem.space.original()[None])
        os._exit(0)


@pytest.mark.parametrize("search", [Killed(), Left()])
def test_a_worker_without_a_last_word_is_missed(search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.attack.workers._PATIENCE", 0.05)
    found = victim(kinds.wordpiece())
    attack = dataclasses.replace(ATTACKS["pwws"], search=search)
    with pytest.raises(RunFailed, match="without a last word"):
        list(run_attack(attack, found, labelled(found, sentences(2)), seed=0, workers=1))


@pytest.mark.parametrize("workers", [-1, 65, 1])
def test_workers_that_cannot_help_are_refused(workers: int) -> None:
    with pytest.raises(InputError, match=r"workers|Workers"):
        run_attack(recipes.beam(LEXICON), bag(), examples("a film"), seed=0, workers=workers)


def test_outcomes_depend_on_the_seed() -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(12))
    assert attacked(GENETIC, found, data, seed=1) != attacked(GENETIC, found, data, seed=2)


def test_a_text_is_run_once_and_every_ask_counts() -> None:
    function = BagOfWords()
    attack = dataclasses.replace(recipes.genetic_jia(LEXICON), search=Genetic(10, 10))
    (outcome,) = run_attack(
        attack, FunctionVictim(function), examples("great great great film"), seed=0
    )
    assert outcome.forwards == len(function.asked) == len(set(function.asked))
    assert outcome.queries > 5 * outcome.forwards


def test_what_the_victim_cannot_tell_apart_is_run_once() -> None:
    found = victim(kinds.wordpiece(lowercase=True))
    attack = recipes.beam(kinds.LEXICON, width=1)
    cased, plain = attacked(attack, found, examples("great Film", "great film", label=0))
    assert cased.forwards == plain.forwards


class Careless:
    """A search that asks for nothing, for one text twice, and returns one it never asked for."""

    def __init__(self, row: int) -> None:
        self.row = row

    def __call__(self, problem, rng):
        space = problem.space
        nothing = yield Ask(np.empty((0, len(space)), dtype=np.int16))
        assert nothing.log_probabilities.shape == (0, 2)
        twice = np.stack([space.original(), space.original()])
        answer = yield Ask(twice)
        assert (answer.log_probabilities == problem.original.log_probabilities).all()
        row = space.original()
        row[:] = self.row
        return Found(row, reached=True)


def test_a_search_must_have_asked_for_what_it_returns() -> None:
    attack = dataclasses.replace(recipes.beam(LEXICON), search=Careless(0))
    (outcome,) = run_attack(attack, bag(), examples("a good film"), seed=0)
    assert (outcome.queries, outcome.forwards) == (3, 1)
    attack = dataclasses.replace(attack, search=Careless(UNKNOWN))
    with pytest.raises(RuntimeError, match="never asked"):
        list(run_attack(attack, bag(), examples("a good film"), seed=0))


HOSTILE = (
    "",
    "   ",
    "?!... --",
    "\N{GRINNING FACE} film\N{ZERO WIDTH JOINER} \N{ROCKET}good",
    "הסרט good היה film מצוין",
    "film\x00good\ufeff",
    "film " * 300,
    "goodfilm" * 400,
    "_film_ 'good' (film)/good-film...",
)


@pytest.mark.parametrize("kind", ["wordpiece", "byte-level BPE, trimmed", "unigram"])
@pytest.mark.parametrize("attack", [ATTACKS["pwws"], GENETIC], ids=["pwws", "genetic"])
def test_hostile_texts_have_an_outcome_and_harm_no_other(kind: str, attack) -> None:
    found = victim(kinds.KINDS[kind](), max_length=32)
    plain = labelled(found, sentences(4))
    hostile = [Example(f"hostile:{n}", (text,), 0) for n, text in enumerate(HOSTILE)]
    mixed = attacked(attack, found, [*hostile[:5], *plain, *hostile[5:]])
    assert len(mixed) == len(hostile) + len(plain)
    alone = attacked(attack, found, plain)
    assert [outcome for outcome in mixed if not outcome.id.startswith("hostile")] == alone
    assert all(outcome.words <= 32 for outcome in mixed)


@hypothesis.settings(max_examples=30)
@hypothesis.given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_no_text_breaks_a_function(texts: list[str]) -> None:
    found = list(run_attack(recipes.pwws_rift(LEXICON), bag(), examples(*texts), seed=0))
    assert len(found) == len(texts)


def test_fifty_thousand_words_are_attacked_where_the_victim_reads() -> None:
    text = "good film " * 25_000
    (outcome,) = attacked(
        recipes.pwws_rift(kinds.LEXICON), victim(kinds.wordpiece()), examples(text)
    )
    assert outcome.words == 62  # of 64 tokens two are special
    quick = FunctionVictim(lambda texts: [[0.2, 0.8]] * len(texts), max_words=10)
    (outcome,) = attacked(recipes.pwws_rift(LEXICON), quick, examples(text))
    assert (outcome.status, outcome.words) == ("failed", 10)


def no_number(texts):
    return [[float("nan")] * 2 if "film" in text else [0.1, 0.9] for text in texts]


def test_an_answer_that_is_no_number_ends_that_example_only() -> None:
    data = examples("a good story", "a good film", "a great plot")
    outcomes = attacked(recipes.pwws_rift(LEXICON), FunctionVictim(no_number), data)
    assert [outcome.status for outcome in outcomes] == ["failed", "unanswered", "failed"]
    assert "no number" in outcomes[1].note
    assert outcomes[1].prediction is None


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda texts: [0.5] * len(texts), "shape"),
        (lambda texts: [[0.5, 0.5]], "shape"),
        (lambda texts: [[0.2, 0.3, 0.5]] * len(texts), "shape"),
        (lambda texts: [[3.0, -2.0]] * len(texts), "no probabilities"),
        (lambda texts: [[0.9, 0.9]] * len(texts), "no probabilities"),
        (lambda texts: "positive", "cannot be read"),
        (lambda texts: None, "shape|cannot be read"),
    ],
)
def test_a_victim_that_answers_otherwise_is_refused(function, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        list(
            run_attack(recipes.beam(LEXICON), FunctionVictim(function), examples("a", "b"), seed=0)
        )


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (examples("a film", label=2), {}),
        (examples("a film", ("a", "pair")), {}),
        (examples("a film"), {"seed": -1}),
        (examples("a film"), {"in_flight": 0}),
    ],
)
def test_what_cannot_be_attacked_is_refused(data, settings) -> None:
    with pytest.raises(InputError):
        list(run_attack(recipes.beam(LEXICON), bag(), data, **{"seed": 0, **settings}))


def test_a_text_that_does_not_exist_cannot_move() -> None:
    attack = dataclasses.replace(recipes.beam(LEXICON), moving=(1,))
    with pytest.raises(InputError, match="counted from 0"):
        list(run_attack(attack, bag(), examples("a film"), seed=0))
