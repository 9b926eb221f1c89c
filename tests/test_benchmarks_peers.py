"""The benchmark beside the peers: its searches, its rows, and how it talks to another process."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import attack_naive as naive
import numpy as np
import pytest
import torch
from attack_bag import LEXICON, BagOfWords, bag, examples

from holdfast.attack import Attack, Neighbours, run_attack
from holdfast.attack.constraint import StopWords
from holdfast.victim import FunctionVictim

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = ("cases", "process", "rows", "searches")
TEXTS = (
    "a great film with a dull plot",
    "good good film , dull story",
    "great great great film",
    "the plot was good",
    "a good film about a film , no story",
)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """Return a loader of the scripts, which find each other as when they are run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in SCRIPTS:
        sys.modules.pop(f"attack_peers_{name}", None)


def attack(search: object, stop: tuple[str, ...] = ()) -> Attack:
    frozen = (StopWords(stop),) if stop else ()
    return Attack("it", search, Neighbours(LEXICON), word_constraints=frozen, placeholder="<oov>")


def weighted_saliency(naive: naive.Naive) -> list[str] | None:
    """TextAttack's search, one text at a time."""
    words, score = naive.words, lambda words: 1 - naive.probability(words)

    def at(place: int, word: str, words: list[str]) -> list[str]:
        return [*words[:place], word, *words[place + 1 :]]

    saliency = np.exp([score(at(place, "<oov>", words)) for place in range(len(words))])
    worth = {}
    for place, (_, *others) in enumerate(naive.choices):
        if others:
            change = max(score(at(place, other, words)) for other in others)
            worth[place] = saliency[place] / saliency.sum() * change
    now = 1 - float(np.exp(naive.victim.score([naive.example.texts])[0][naive.example.label]))
    for place in sorted(worth, key=lambda place: -worth[place]):
        tried = [at(place, other, words) for other in naive.choices[place][1:]]
        scores = [score(text) for text in tried]
        if max(scores) > now:
            now, words = max(scores), tried[int(np.argmax(scores))]
            if now > 0.5:
                return words
    return None


@pytest.mark.parametrize("bias", [0.05, -1.0, -2.0])
def test_the_saliency_search_is_textattacks(script, bias: float) -> None:
    search = script("attack_peers_searches").WeightedSaliency()
    victim = FunctionVictim(BagOfWords(bias=bias))
    for example in examples(*TEXTS):
        (outcome,) = run_attack(attack(search), victim, [example], seed=0)
        plain = naive.Naive(victim, attack(search), example).run(weighted_saliency)
        adversarial = outcome.adversarial[0] if outcome.adversarial else None
        assert (outcome.status, adversarial, outcome.queries) == plain


def test_stop_words_are_not_even_hidden(script) -> None:
    searches, stop = script("attack_peers_searches"), ("a", "about", "no")
    (with_them,) = run_attack(
        attack(searches.WeightedSaliency(), stop), bag(), examples(TEXTS[-1]), seed=0
    )
    (without,) = run_attack(
        attack(searches.WeightedSaliency(stop), stop), bag(), examples(TEXTS[-1]), seed=0
    )
    assert without.status == with_them.status == "failed"
    assert with_them.queries - without.queries == 4  # a, about, a, no


def test_the_genetic_search_finds_what_there_is(script) -> None:
    genetic = script("attack_peers_searches").DriftingGenetic(population=8, iterations=10)
    victim = FunctionVictim(BagOfWords(bias=-1.5))
    text = "great good film"  # needs two of the three words
    (outcome,) = run_attack(attack(genetic), victim, examples(text), seed=0)
    assert outcome.status == "succeeded"
    assert len(outcome.changes) >= 2
    for share, most in ((0.2, 1), (0.4, 2)):  # of three words, rounded up
        bound = replace(genetic, share=share, iterations=1)
        (outcome,) = run_attack(attack(bound), victim, examples(text), seed=0)
        assert len(outcome.changes) <= most
    (outcome,) = run_attack(attack(genetic), bag(), examples("great great great film"), seed=0)
    assert outcome.status == "failed"


def run(seconds: float, flipped: list[str | None], queries: int = 10) -> dict:
    outcomes = [{"adversarial": text, "queries": queries} for text in flipped]
    spent = {"cpu": seconds, "wall": 2 * seconds}
    return {"seconds": spent, "calls": 5, "rows": 40, "tokens": 400, "outcomes": outcomes}


def test_rows_and_their_ratios(script) -> None:
    cases, rows = script("attack_peers_cases"), script("attack_peers_rows")
    case = replace(cases.CASES[1], texts=4)
    ours = [run(seconds, ["x", "y", None, None]) | {"forwards": 30} for seconds in (2.0, 1.0, 9.0)]
    theirs = [run(5.0, ["x", "z", None, "w"], queries=11)]
    table = [
        rows.row(case, cases.RECIPE, ours, 0.05),
        rows.row(case, cases.TEXTATTACK, theirs, 0.05),
        rows.row(case, cases.OPENATTACK, [], 0.05),
    ]
    assert table[0].keys() == table[1].keys() == table[2].keys()
    assert (table[0]["CPU s"], table[0]["CPU s, least and most"]) == (2.0, "1-9")
    assert table[0]["rows filled"] == 0.75
    assert table[0]["share of bare"] == pytest.approx(30 * 0.05 / 2)
    assert table[1]["forwards per text"] == 10
    assert table[2]["runs"] == "not run"
    (ratio,) = rows.compare(table)
    assert (ratio["times faster"], ratio["wanted"], ratio["reached"]) == (2.5, 1.3, True)
    assert (ratio["same outcome"], ratio["same text"], ratio["same queries"]) == (3, 2, 0)
    assert ratio["intervals meet"]


def test_the_record_holds_no_text(script) -> None:
    cases, rows = script("attack_peers_cases"), script("attack_peers_rows")
    case = replace(cases.CASES[1], texts=2)
    table = [
        rows.row(case, cases.SAME, [run(1.0, ["a sentence", None])], None),
        rows.row(case, cases.OPENATTACK, [], None),
    ]
    first, second = rows.recorded(table)
    assert first["runs"][0]["outcomes"] == [
        {"succeeded": True, "queries": 10},
        {"succeeded": False, "queries": 10},
    ]
    assert second["runs"] == "not run"
    assert "a sentence" not in str(first)
    assert "a sentence" in str(table)


def test_success_rates_that_differ_are_told_apart(script) -> None:
    cases, rows = script("attack_peers_cases"), script("attack_peers_rows")
    case = replace(cases.CASES[1], texts=40)
    table = [
        rows.row(case, cases.SAME, [run(1.0, ["x"] * 36 + [None] * 4)], None),
        rows.row(case, cases.TEXTATTACK, [run(1.2, ["x"] * 10 + [None] * 30)], None),
    ]
    (ratio,) = rows.compare(table)
    assert not ratio["intervals meet"]
    assert ratio["reached"] is False


def test_every_wanted_ratio_names_a_case_and_a_side(script) -> None:
    cases, rows = script("attack_peers_cases"), script("attack_peers_rows")
    known = {(case.name, side.name) for case in cases.CASES for side in case.sides}
    assert set(rows.WANTED) <= known
    assert all(any(side.bare for side in case.sides) for case in cases.CASES)


def test_holdfasts_sides_share_their_words(script) -> None:
    cases = script("attack_peers_cases")
    pwws = cases.CASES[1]
    recipe, same = (cases.attack_of(pwws, side, LEXICON) for side in (cases.RECIPE, cases.SAME))
    assert recipe.word_constraints == same.word_constraints
    assert (recipe.name, recipe.placeholder, same.placeholder) == ("pwws_rift", "NULL", None)
    bound = cases.attack_of(cases.CASES[-1], cases.SAME, LEXICON).search
    assert (bound.population, bound.iterations, bound.share) == (60, 40, 0.2)


def test_packed_passes_hold_every_text_once(script) -> None:
    rows = script("attack_peers_rows")
    batch = torch.tensor([[5, 6, 0], [5, 6, 7], [5, 6, 0]])
    (packed,) = rows.packed([(batch, torch.tensor([2, 3, 2])), (batch, torch.tensor([2, 3, 2]))])
    assert packed.tolist() == [[5, 6, 0], [5, 6, 7]]


ECHO = """
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    if job.get("die"):
        sys.exit("it broke")
    print(json.dumps({"got": job}), flush=True)
"""


def test_a_peer_answers_job_after_job(script, tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    peer = script("attack_peers_process").Peer(Path(sys.executable), tmp_path / "echo.py", {"n": 1})
    assert peer.versions == {"got": {"n": 1}}
    assert peer.ask({"n": 2}) == {"got": {"n": 2}}
    with pytest.raises(SystemExit, match="it broke"):
        peer.ask({"die": True})
    peer.end()
