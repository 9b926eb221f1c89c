"""Outcomes on disk: killed runs go on, shards meet, and every claim is checked again."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest
from attack_bag import LEXICON, BagOfWords, examples

from holdfast.attack import (
    Outcome,
    Process,
    Share,
    Targeted,
    attack_to_file,
    describe,
    parts_of,
    read_outcomes,
    recipes,
    run_attack,
    summarise,
    verify,
)
from holdfast.attack.constraint import ModificationRate
from holdfast.attack.search import Genetic
from holdfast.data import Example
from holdfast.errors import InputError, RunFailed
from holdfast.victim import Change, FunctionVictim

ATTACK = dataclasses.replace(recipes.genetic_jia(LEXICON), search=Genetic(6, 5))
VICTIM = FunctionVictim(BagOfWords(bias=-0.8), name="bag")
WORDS = ("great", "good", "film", "plot", "dull", "a", "the")


def data(count: int = 24) -> list[Example]:
    texts = [" ".join(WORDS[(n * k + k) % 7] for k in range(1, 2 + n % 5)) for n in range(count)]
    return [Example(f"test:{n}", (text,), n % 2) for n, text in enumerate(texts)]


def written(folder: Path, **settings: object) -> bytes:
    return attack_to_file(
        ATTACK, VICTIM, data(), folder / "found.jsonl", seed=0, **settings
    ).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    return written(tmp_path_factory.mktemp("whole"))


def test_the_file_has_a_header_and_the_examples_in_order(whole: bytes) -> None:
    header, *lines = map(json.loads, whole.splitlines())
    assert (header["seed"], header["examples"], header["victim"]) == (0, 24, VICTIM.fingerprint)
    assert header["attack"]["transformation"]["lexicon"] == {
        "type": "Lexicon",
        "sha256": LEXICON.sha256,
    }
    assert [line["id"] for line in lines] == [example.id for example in data()]
    assert {line["status"] for line in lines} >= {"succeeded", "failed", "skipped"}


def test_the_file_does_not_depend_on_how_many_are_in_flight(whole: bytes, tmp_path: Path) -> None:
    for number in (1, 7):
        assert written(tmp_path / str(number), in_flight=number) == whole


def test_two_processes_write_the_same_file(whole: bytes, tmp_path: Path) -> None:
    path = attack_to_file(
        ATTACK, VICTIM, data(), tmp_path / "found.jsonl", seed=0, process=Process(1, 2)
    )
    assert not path.exists()
    assert written(tmp_path, process=Process(0, 2)) == whole
    assert [file.name for file in tmp_path.iterdir()] == ["found.jsonl"]


class Clock:
    """Time that passes only while one sleeps; `then` says what others do meanwhile, and when."""

    def __init__(self, then: dict[float, object] | None = None) -> None:
        self.now, self.then = 0.0, dict(then or {})

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += 100 * seconds
        for at in [at for at in self.then if at <= self.now]:
            self.then.pop(at)()


def test_the_first_process_gives_the_others_up(whole, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("holdfast.attack.stream.time", clock := Clock())
    with pytest.raises(RunFailed, match=r"16 examples .* process\(es\) 1, 2 of 3 .* 60 minutes"):
        written(tmp_path, process=Process(0, 3))
    assert 3600 < clock.now < 4000
    assert not (tmp_path / "found.jsonl").exists()
    assert written(tmp_path) == whole  # the same command goes on


def test_the_first_process_waits_as_long_as_others_write(whole, tmp_path, monkeypatch) -> None:
    def other(rank: int):
        path = tmp_path / "found.jsonl"
        return lambda: attack_to_file(
            ATTACK, VICTIM, data(), path, seed=0, process=Process(rank, 3)
        )

    clock = Clock({3000.0: other(2), 6000.0: other(1)})
    monkeypatch.setattr("holdfast.attack.stream.time", clock)
    assert written(tmp_path, process=Process(0, 3)) == whole
    assert clock.now == 6000


@pytest.mark.parametrize("cut", [0, 1, 200, 700, 5000])
def test_a_torn_file_is_continued(cut: int, whole: bytes, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def stop(outcome: Outcome) -> None:
        stop.left -= 1
        if not stop.left:
            raise Killed

    stop.left = 9
    with pytest.raises(Killed):
        written(tmp_path, watch=stop)
    (part,) = tmp_path.iterdir()
    part.write_bytes(part.read_bytes()[: len(part.read_bytes()) - cut])
    seen: list[Outcome] = []
    assert written(tmp_path, watch=seen.append) == whole
    assert len(seen) == 24  # those of the first run too


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import test_attack_files as own
class Victim(own.BagOfWords):
    def __call__(self, texts):
        if len(self.asked) > 60:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(texts)
victim = own.FunctionVictim(Victim(bias=-0.8), name="bag", batch_size=16)
own.attack_to_file(own.ATTACK, victim, own.data(), own.Path({path!r}), seed=0, in_flight=3)
"""


def test_a_killed_run_ends_with_the_same_file(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    script = KILLED.format(tests=str(Path(__file__).parent), path=str(path))
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    (part,) = tmp_path.iterdir()
    assert 1 < len(part.read_bytes().splitlines()) < 25
    assert written(tmp_path) == whole


def test_a_kill_while_the_file_is_put_together_loses_nothing(whole, tmp_path, monkeypatch) -> None:
    def killed(draft: Path, path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            written(tmp_path)
    assert not (tmp_path / "found.jsonl").exists()
    assert written(tmp_path) == whole
    assert [file.name for file in tmp_path.iterdir()] == ["found.jsonl"]


@pytest.mark.parametrize("name", ["run[1].jsonl", "a*b?.jsonl"])
def test_a_name_is_no_pattern(name: str, whole: bytes, tmp_path: Path) -> None:
    begun = tmp_path / f".{name}.0-of-1.part"
    begun.write_bytes(b"".join(whole.splitlines(keepends=True)[:9]))
    assert parts_of(tmp_path / name) == [begun]
    path = attack_to_file(ATTACK, VICTIM, data(), tmp_path / name, seed=0)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_leaves_the_parts_of_longer_names_alone(whole: bytes, tmp_path: Path) -> None:
    others = [tmp_path / f".found.jsonl{more}.0-of-1.part" for more in (".jsonl", ".1-of-2.part")]
    for other in others:
        other.write_bytes(b'{"another": "run"}\n')
    assert parts_of(tmp_path / "found.jsonl") == []
    assert written(tmp_path) == whole
    assert all(other.exists() for other in others)


def test_the_parts_of_one_process_are_told_from_those_of_others(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f".found.jsonl.{rank}-of-2.part").touch()
    (part,) = parts_of(tmp_path / "found.jsonl", Process(1, 2))
    assert part.name == ".found.jsonl.1-of-2.part"
    assert len(parts_of(tmp_path / "found.jsonl")) == 2


def test_a_finished_file_is_not_made_again(whole: bytes, tmp_path: Path) -> None:
    written(tmp_path)
    broken = FunctionVictim(lambda texts: None, name="bag")
    path = attack_to_file(ATTACK, broken, data(), tmp_path / "found.jsonl", seed=0)
    assert path.read_bytes() == whole


def test_another_attack_does_not_continue_the_file(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "found.jsonl"
    other = FunctionVictim(BagOfWords(), name="another")
    for attack, victim, examples_, seed in (
        (ATTACK, VICTIM, data(), 1),
        (ATTACK, other, data(), 0),
        (ATTACK, VICTIM, data(23), 0),
        (recipes.beam(LEXICON), VICTIM, data(), 0),
    ):
        with pytest.raises(InputError, match="something else"):
            attack_to_file(attack, victim, examples_, path, seed=seed)
    path.write_bytes(b"nothing of ours\n")
    with pytest.raises(InputError, match="something else"):
        written(tmp_path)


def test_ids_must_differ(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="same id"):
        attack_to_file(ATTACK, VICTIM, data(3) * 2, tmp_path / "found.jsonl", seed=0)


# verify ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> list[Outcome]:
    folder = tmp_path_factory.mktemp("outcomes")
    written(folder)
    return list(read_outcomes(folder / "found.jsonl"))


def test_true_outcomes_are_verified(outcomes: list[Outcome]) -> None:
    won = sum(outcome.status == "succeeded" for outcome in outcomes)
    assert verify(ATTACK, VICTIM, outcomes, data()) == won > 2


def test_outcomes_survive_the_file(outcomes: list[Outcome]) -> None:
    again = [Outcome.from_json(json.loads(json.dumps(o.to_json()))) for o in outcomes]
    assert again == outcomes
    direct = run_attack(ATTACK, VICTIM, data(), seed=0)
    assert sorted(direct, key=lambda o: int(o.id[5:])) == outcomes


NO_SUCCESS = {"adversarial": None, "adversarial_prediction": None, "changes": ()}
NO_SUCCESS |= {"adversarial_probabilities": ()}


def lies(outcome: Outcome) -> dict[str, Outcome]:
    """What could be claimed instead of a success."""
    first = outcome.changes[0]
    unchanged, swapped = outcome.texts, outcome.adversarial[0].replace(first.new, "marvellous")
    replace = dataclasses.replace
    return {
        "no flip": replace(outcome, adversarial=unchanged, changes=()),
        "another text": replace(outcome, adversarial=(outcome.adversarial[0] + " dull",)),
        "another word": replace(
            outcome,
            adversarial=(swapped,),
            changes=(first._replace(new="marvellous"), *outcome.changes[1:]),
        ),
        "another place": replace(outcome, changes=(first._replace(word=99),)),
        "not the word": replace(outcome, changes=(first._replace(old="x"), *outcome.changes[1:])),
        "twice": replace(outcome, changes=(*outcome.changes, first)),
        "too few words": replace(outcome, words=outcome.words - 1),
        "no query": replace(outcome, queries=0),
        "another label": replace(outcome, label=1 - outcome.label),
        "another class": replace(outcome, adversarial_prediction=outcome.label),
        "said to be skipped": replace(outcome, status="skipped", adversarial=None, changes=()),
        "wrong before": replace(outcome, prediction=1 - outcome.label),
        "said to have failed": replace(outcome, status="failed"),
        "said to be untouched": replace(outcome, status="untouched", adversarial=None, changes=()),
        "said to be proved": replace(outcome, status="certain", **NO_SUCCESS),
        "said to have no answer": replace(
            outcome, status="unanswered", prediction=None, queries=1, forwards=1, **NO_SUCCESS
        ),
        "other probabilities": replace(
            outcome, probabilities=tuple(p + 0.01 for p in outcome.probabilities) or (1.0,)
        ),
        "other probabilities of its texts": replace(outcome, adversarial_probabilities=(0.5, 0.5)),
        "too few probabilities": replace(outcome, probabilities=(1.0,)),
        "another id": replace(outcome, id="test:99"),
    }


@pytest.mark.parametrize(
    "lie",
    list(lies(Outcome("", ("",), 0, "succeeded", 0, (), ("",), changes=(Change(0, 0, "", "x"),)))),
)
def test_lies_are_found(lie: str, outcomes: list[Outcome]) -> None:
    at = next(n for n, outcome in enumerate(outcomes) if outcome.status == "succeeded")
    told = [*outcomes[:at], lies(outcomes[at])[lie], *outcomes[at + 1 :]]
    with pytest.raises(RunFailed):
        verify(ATTACK, VICTIM, told, data())


def test_what_has_no_answer_may_be_said_to_have_none() -> None:
    """Not even the original has an answer, or a text that the search came to has none."""

    class Silent(BagOfWords):
        def one(self, text):
            return [math.nan] * 2 if self.mute in str(text) else super().one(text)

    for mute, asked in (("great", 1), ("fine", 2)):
        silent = Silent()
        silent.mute = mute
        victim, made = FunctionVictim(silent), examples("a great plot")
        (outcome,) = run_attack(recipes.beam(LEXICON), victim, made, seed=0)
        assert outcome.status == "unanswered"
        assert min(outcome.forwards, 2) == asked
        assert verify(recipes.beam(LEXICON), victim, [outcome], made) == 0


def test_untouched_is_what_may_not_change_and_what_has_the_class_asked_for() -> None:
    fixed = examples("of which", label=0)
    (outcome,) = run_attack(ATTACK, VICTIM, fixed, seed=0)
    assert outcome.status == "untouched"
    assert verify(ATTACK, VICTIM, [outcome], fixed) == 0
    targeted = dataclasses.replace(ATTACK, goal=Targeted(0))
    outcomes = list(run_attack(targeted, VICTIM, data(), seed=0))
    assert any(outcome.status == "untouched" for outcome in outcomes)
    verify(targeted, VICTIM, outcomes, data())


def test_missing_and_repeated_outcomes_are_found(outcomes: list[Outcome]) -> None:
    with pytest.raises(RunFailed, match="no outcome"):
        verify(ATTACK, VICTIM, outcomes[:-1], data())
    with pytest.raises(RunFailed, match="twice"):
        verify(ATTACK, VICTIM, [*outcomes, outcomes[0]], data())


def test_a_constraint_is_put_to_the_result(outcomes: list[Outcome]) -> None:
    @dataclasses.dataclass(frozen=True)
    class Strict(ModificationRate):
        def _judge(self, comparison):
            verdict = super()._judge(comparison)
            return dataclasses.replace(verdict, allowed=verdict.allowed & False)

    strict = dataclasses.replace(ATTACK, text_constraints=(Strict(1.0),))
    with pytest.raises(RunFailed, match="Strict does not allow"):
        verify(strict, VICTIM, outcomes, data())


def test_a_wrong_victim_is_found(outcomes: list[Outcome]) -> None:
    with pytest.raises(RunFailed, match="does not hold"):
        verify(ATTACK, FunctionVictim(BagOfWords(bias=3.0)), outcomes, data())


@hypothesis.settings(max_examples=25)
@hypothesis.given(
    st.lists(st.sampled_from([*WORDS, "Great", "GOOD", ",", "!", "é", "שלום"]), max_size=8),
    st.integers(0, 1),
    st.floats(-2, 2),
)
def test_what_an_attack_claims_holds(words: list[str], label: int, bias: float) -> None:
    victim = FunctionVictim(BagOfWords(bias=bias))
    made = examples(" ".join(words), label=label)
    for attack in (recipes.pwws_rift(LEXICON), recipes.beam(LEXICON, width=2)):
        verify(attack, victim, run_attack(attack, victim, made, seed=0), made)


# summary --------------------------------------------------------------------------------------


def test_the_summary_counts_wrong_examples_as_broken() -> None:
    statuses = ["succeeded"] * 3 + ["failed"] * 4 + ["skipped"] * 2 + ["untouched"]
    made = [
        Outcome(str(n), ("",), 0, status, 0, words=4, queries=10, forwards=5, changes=changes)
        for n, status in enumerate(statuses)
        for changes in [(Change(0, 0, "a", "b"),) * 2 if status == "succeeded" else ()]
    ]
    found = summarise(made)
    assert (found.accuracy.count, found.accuracy.total) == (8, 10)
    assert (found.accuracy_under_attack.count, found.accuracy_under_attack.total) == (5, 10)
    assert (found.success_rate.count, found.success_rate.total) == (3, 8)
    assert (found.mean_changes, found.mean_changed_share, found.mean_queries) == (2, 0.5, 10)
    assert (found.untouched, found.queries, found.forwards) == (1, 100, 50)


def test_a_share_has_wilsons_interval() -> None:
    share = Share.of(8, 10)
    assert (share.low, share.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert Share.of(0, 0).value == 0
    assert (Share.of(0, 9).low, Share.of(9, 9).high) == (0, 1)


def test_what_is_described_leaves_the_lexicon_out() -> None:
    assert len(json.dumps(describe(ATTACK))) < 1000
    assert describe(recipes.beam(LEXICON)) != describe(recipes.beam(LEXICON, width=3))
