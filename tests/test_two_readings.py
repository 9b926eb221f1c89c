"""Texts that are read twice, in canonical form and in their own words: one answer, end to end."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import text_tokenizers as kinds
import train_tiny as tiny
from attack_tiny import labelled, model, sentences, victim
from transformers.trainer_utils import EvalPrediction

from holdfast.attack import Material, Neighbours, Targeted, Untargeted, recipes, run_attack, verify
from holdfast.attack.core import Attack, Look
from holdfast.attack.gauge import FirstOrder, HullWeights
from holdfast.attack.goal import Goal
from holdfast.attack.search import HotFlip
from holdfast.attack.spaces import build_space
from holdfast.cli import main
from holdfast.errors import InputError
from holdfast.evaluate.adaptive import adaptive
from holdfast.evaluate.cost import cost
from holdfast.record import Outcome
from holdfast.text import Canonical, CanonicalMap, Wording, Words
from holdfast.text.two_readings import Blend
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune
from holdfast.train.examples import gather_examples
from holdfast.train.metrics import loss_and_accuracy, metrics_of
from holdfast.victim import ModelVictim, load
from holdfast.victim.lanes import Lanes
from holdfast.victim.model_session import ModelSession

MAP = CanonicalMap({"film": "movie", "picture": "movie", "great": "good"}, "", 1)
TWICE = dataclasses.replace(MAP, trust=0.6)
YIELDING = dataclasses.replace(TWICE, gives_way=True)
TEXTS = [("the film was good",), ("a great movie",), ("bad, the picture",)]


def both(found: ModelVictim) -> tuple[ModelVictim, ModelVictim]:
    """The same model in the one reading, and in the other."""
    return (
        ModelVictim(found.model, found.tokenizer, canonical=MAP),
        ModelVictim(found.model, found.tokenizer),
    )


def mixed(found: ModelVictim, texts: list[tuple[str, ...]]) -> np.ndarray:
    one, other = (np.exp(half.score(texts)) for half in both(found))
    return 0.6 * one + 0.4 * other


# The setting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [0.5, 0.0, 1.1, float("nan")])
def test_own_words_never_outvote_the_canonical_text(trust: float) -> None:
    with pytest.raises(InputError, match=r"above 0\.5 and at most 1"):
        Canonical(trust=trust)


def test_two_readings_that_are_the_same_are_refused() -> None:
    with pytest.raises(InputError, match="both readings are the same"):
        Canonical(rounds=0, spelling=True, trust=0.6)
    assert Canonical(rounds=0, spelling=True).trust == 1


def test_a_text_is_worded_as_often_as_it_is_read() -> None:
    assert Wording(canonical=MAP).readings(("a film",)) == (("a movie",),)
    assert Wording(canonical=TWICE).readings(("a film",)) == (("a movie",), ("a film",))
    assert Wording().readings(("a film",)) == (("a film",),)


def test_misspellings_are_undone_in_both_readings() -> None:
    spelt = CanonicalMap.fit(["a wonderful film"] * 3, kinds.LEXICON, spelling=True, trust=0.7)
    canonical, own = Wording(canonical=spelt).readings(("a wonderfl movie",))
    assert canonical == ("a wonderful film",)
    assert own == ("a wonderful movie",)


@pytest.mark.parametrize("spelling", [False, True])
def test_the_trust_is_saved_with_the_map(spelling: bool, tmp_path: Path) -> None:
    made = CanonicalMap.fit(["a film"], kinds.LEXICON, spelling=spelling, trust=0.7)
    made.save(tmp_path)
    content = json.loads((tmp_path / "canonical.json").read_text())
    assert (content["format"], content["trust"]) == (3, 0.7)  # refused by versions before
    found = CanonicalMap.load(tmp_path)
    assert found is not None
    assert (found.trust, found.mapping) == (0.7, made.mapping)
    assert (found.spelling is None) == (not spelling)


def test_a_map_that_is_trusted_alone_is_saved_as_before(tmp_path: Path) -> None:
    MAP.save(tmp_path)
    content = json.loads((tmp_path / "canonical.json").read_text())
    assert content["format"] == 1
    assert "trust" not in content
    (tmp_path / "canonical.json").write_text(json.dumps({**content, "format": 3}))
    with pytest.raises(InputError, match="does not say how words are written"):
        CanonicalMap.load(tmp_path)


@pytest.mark.parametrize("trust", [1.5, 0.5])
def test_a_trust_that_was_edited_is_checked(trust: float, tmp_path: Path) -> None:
    TWICE.save(tmp_path)
    file = tmp_path / "canonical.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "trust": trust}))
    with pytest.raises(InputError, match=r"canonical\.json: .*above 0\.5 and at most 1"):
        CanonicalMap.load(tmp_path)


# The answer ---------------------------------------------------------------------------------------


def test_probabilities_are_mixed() -> None:
    found = victim(kinds.wordpiece(), canonical=TWICE)
    assert np.allclose(np.exp(found.score(TEXTS)), mixed(found, TEXTS), atol=1e-4)
    alone = both(found)[0].score(TEXTS)
    assert not np.allclose(found.score(TEXTS), alone, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_reading_of_own_words_changes_a_sure_answer(classes: int) -> None:
    rng = np.random.default_rng(0)
    for trust in (0.55, 0.6, 0.9):
        sure = np.full((classes, classes), -np.inf)
        rows = np.arange(classes)
        sure[rows, rows] = 1 / (2 * trust) + 1e-6  # the rest all on one rival: the worst case
        sure[rows, (rows + 1) % classes] = 1 - sure[rows, rows]
        canonical = np.log(np.maximum(sure, 1e-300))
        for _ in range(20):
            own = np.log(rng.dirichlet(np.full(classes, 0.05), size=classes) + 1e-300)
            against = np.log(np.roll(np.eye(classes), 1, axis=1) + 1e-300)
            for other in (own, against):
                for gives_way in (False, True):
                    mixed = Blend(trust, gives_way)(canonical, other)
                    assert (mixed.argmax(1) == rows).all()


def test_own_words_lead_where_the_canonical_form_is_not_sure() -> None:
    blend = Blend(0.65, gives_way=True)  # sure above 0.77
    canonical = np.log([[0.78, 0.22], [0.76, 0.24]])
    own = np.log([[0.1, 0.9], [0.1, 0.9]])
    assert blend.weights(canonical).tolist() == [0.65, pytest.approx(0.35)]
    expected = [[0.65 * 0.78 + 0.35 * 0.1], [0.35 * 0.76 + 0.65 * 0.1]]
    assert np.exp(blend(canonical, own))[:, :1] == pytest.approx(np.array(expected))
    assert Blend(0.65).weights(canonical).tolist() == [0.65, 0.65]


def test_giving_way_needs_a_second_reading(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a trust below 1"):
        Canonical(gives_way=True)
    YIELDING.save(tmp_path)
    assert json.loads((tmp_path / "canonical.json").read_text())["format"] == 4  # refused before
    assert CanonicalMap.load(tmp_path) == YIELDING


@pytest.mark.parametrize("seed", [0, 1])
def test_what_gives_way_is_attacked_as_it_is_scored(seed: int) -> None:
    """The weight of a text depends on its answer: in sessions, in whole texts, in gradients."""
    found = victim(kinds.wordpiece(), seed=seed, canonical=YIELDING)
    one, other = (half.score(TEXTS) for half in both(found))
    weights = np.where(np.exp(one).max(1) > 1 / 1.2, 0.6, 0.4)[:, None]
    expected = weights * np.exp(one) + (1 - weights) * np.exp(other)
    assert np.allclose(np.exp(found.score(TEXTS)), expected, atol=1e-4)
    data, attack = labelled(found, sentences(15)), recipes.genetic_jia(kinds.LEXICON)
    plain = {o.id: o for o in run_attack(attack, found, data, seed=0)}
    proved = {o.id: o for o in run_attack(attack, found, data, seed=0, certify=True)}
    verify(attack, found, proved.values(), data)
    assert all(proved[key].survived == plain[key].survived for key in plain)
    text = (Words.of("the film was good"),)
    (merits,) = FirstOrder().measure([look(found, text[0].text, Untargeted())])
    chances = [np.exp(half.score([(text[0].text,)]))[0] for half in both(found)]
    slopes = [
        FirstOrder().measure([look(half, text[0].text, Untargeted())])[0] for half in both(found)
    ]
    weight = 0.6 if chances[0].max() > 1 / 1.2 else 0.4
    parts = [weight * chances[0][1], (1 - weight) * chances[1][1]]
    assert np.allclose(
        merits, (parts[0] * slopes[0] + parts[1] * slopes[1]) / sum(parts), atol=1e-4
    )


def test_the_fingerprint_knows_of_the_second_reading() -> None:
    tokenizer = kinds.wordpiece()
    prints = {
        victim(tokenizer, canonical=canonical).fingerprint
        for canonical in (None, MAP, TWICE, dataclasses.replace(MAP, trust=0.7), YIELDING)
    }
    assert len(prints) == 5


def test_metrics_are_those_of_the_mixture() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(8, 3)), np.array([0, 1, 2, 0])
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = 0.7 * chances[:4] + 0.3 * chances[4:]
    found = metrics_of(Blend(0.7))(EvalPrediction(logits, np.tile(labels, 2)))
    assert found["loss"] == pytest.approx(-np.log(expected[np.arange(4), labels]).mean())
    assert found["accuracy"] == (expected.argmax(1) == labels).mean()
    assert metrics_of(Blend()) is loss_and_accuracy


# Under attack -------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("attack", [recipes.pwws_rift, recipes.genetic_jia])
def test_an_attack_asks_for_the_mixture(attack, workers: int) -> None:
    found = victim(kinds.wordpiece(), canonical=TWICE)
    data, asked = labelled(found, sentences(10)), attack(kinds.LEXICON)
    outcomes = list(run_attack(asked, found, data, seed=0, workers=workers))
    assert verify(asked, found, outcomes, data) > 0
    for outcome in outcomes:
        assert outcome.probabilities == pytest.approx(mixed(found, [outcome.texts])[0], abs=1e-3)


def test_halves_wait_for_each_other_however_they_arrive() -> None:
    """In batches of one row no two halves come back at once."""
    found = victim(kinds.wordpiece(), canonical=TWICE)
    data, attack = labelled(found, sentences(10)), recipes.pwws_rift(kinds.LEXICON)

    def outcomes() -> dict[str, Outcome]:
        return {one.id: one for one in run_attack(attack, found, data, seed=0)}

    expected = outcomes()
    found.queue = lambda: OneByOne(found.reader, found.run, Lanes(found.shape))
    assert outcomes() == expected


def test_a_canonical_text_is_run_once_for_all_that_are_written_so() -> None:
    found = victim(kinds.wordpiece(), canonical=TWICE)
    rows: list[int] = []
    run = found.run
    found.run = lambda batch: rows.append(len(batch.tickets)) or run(batch)
    data = labelled(found, ["the film was great"])
    rows.clear()
    attack = recipes.genetic_jia(kinds.LEXICON)
    (outcome,) = run_attack(attack, found, data, seed=0)
    space = build_space(attack, (Words.of("the film was great"),), (4,))
    written = {found.canonical.apply(space.spelt(row)[0]).text for row in every_row(space)}
    assert outcome.forwards > len(written)
    assert sum(rows) <= outcome.forwards + len(written)


def every_row(space) -> list[np.ndarray]:
    return [np.array(row, dtype=np.int16) for row in np.ndindex(*space.sizes)]


class OneByOne(ModelSession):
    """Hands out one answer at a time, the last that came first."""

    def take(self):
        self.held = getattr(self, "held", [])
        if not self.held:
            self.held = list(zip(*super().take(), strict=True))
        ticket, answer = self.held.pop()
        return np.array([ticket]), answer[None]


def test_texts_are_attacked_as_far_as_either_reading_reads() -> None:
    longer = CanonicalMap({"film": "cinematograph"}, "", 1, trust=0.6)  # of many pieces
    found = victim(kinds.wordpiece(), canonical=longer, max_length=10)
    texts = (Words.of("film film film was good"),)
    canonical = dataclasses.replace(longer, trust=1.0)
    short = ModelVictim(found.model, found.tokenizer, canonical=canonical, max_length=10)
    assert short.read([texts])[0].visible < found.read([texts])[0].visible == (5,)
    data = labelled(found, ["film film film was good", "a film was a great film"])
    attack = recipes.pwws_rift(kinds.LEXICON)
    outcomes = list(run_attack(attack, found, data, seed=0))
    verify(attack, found, outcomes, data)
    assert {outcome.words for outcome in outcomes} == {5, 6}


def look(at: ModelVictim, text: str, goal: Goal) -> Look:
    texts = (Words.of(text),)
    (reading,) = at.read([texts])
    space = build_space(Attack("x", HotFlip(), Neighbours(kinds.LEXICON)), texts, reading.visible)
    (opened,) = at.open([reading], [space])
    return Look(at, opened, space, space.original(), 1, goal)


@pytest.mark.parametrize("goal", [Untargeted(), Targeted(0)])
def test_the_gradient_is_that_of_the_mixture(goal: Goal) -> None:
    """d log(t p + (1 - t) q) = (t dp + (1 - t) dq) / (t p + (1 - t) q), from either model alone."""
    found = victim(kinds.wordpiece(), canonical=TWICE)
    text, at = "the film was good", goal.target if isinstance(goal, Targeted) else 1
    chances = [np.exp(half.score([(text,)]))[0, at] for half in both(found)]
    slopes = [FirstOrder().measure([look(half, text, goal)])[0] for half in both(found)]
    parts = [weight * p for weight, p in zip((0.6, 0.4), chances, strict=True)]
    expected = (parts[0] * slopes[0] + parts[1] * slopes[1]) / sum(parts)
    (merits,) = FirstOrder().measure([look(found, text, goal)])
    assert np.isfinite(merits).sum() > 5
    assert np.allclose(merits, expected, atol=1e-4)


def test_the_weights_of_a_hull_sum_to_one() -> None:
    (weights,) = HullWeights(3).measure(
        [look(victim(kinds.wordpiece(), canonical=TWICE), "the film was good", Untargeted())]
    )
    assert np.where(np.isinf(weights), 0, weights).sum(1) == pytest.approx(1)


def test_the_adaptive_check_says_what_it_followed(tmp_path: Path) -> None:
    (tmp_path / "lexicon.json").write_text(kinds.LEXICON.json())
    found = victim(kinds.wordpiece(), canonical=TWICE)
    data = labelled(found, sentences(4))
    material = Material(lexicon=tmp_path / "lexicon.json")
    measured = adaptive(found, data, material, seed=0, black_box={"beam": 1.0})
    assert any(note.startswith("Texts are read twice") for note in measured.notes)
    assert {metric.group for metric in measured.metrics} == {"", "hotflip", "hull"}


def test_a_second_reading_costs_a_second_pass() -> None:
    tokenizer = kinds.wordpiece()
    once, twice = (
        {metric.name: metric.value for metric in cost(victim(tokenizer, canonical=of), TEXTS[1:2])}
        for of in (MAP, TWICE)
    )
    assert twice["gflops"] == pytest.approx(2 * once["gflops"])
    assert twice["parameters"] == once["parameters"]


# Training and use ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("twice")
    tiny.write_checkpoint(root / "model")
    lexicon = root / "lexicon.json"
    lexicon.write_text(json.dumps({"fine": ["great", "warm"], "dull": ["cold"]}))
    return fine_tune(
        TrainConfig(
            model=str(root / "model"),
            output=root / "run",
            data=DataConfig(file=tiny.write_csv(root / "data.csv", 40), max_length=16),
            canonical=Canonical(rounds=1, trust=0.6, lexicon=lexicon),
            optimisation=Optimisation(1e-2, batch_size=8, epochs=2),
        ),
        progress=False,
    )


def test_training_sees_every_text_in_both_readings(trained) -> None:
    record = json.loads((trained.output / "run.json").read_text())
    assert record["data"]["parts"]["train"]["examples"] == 32
    assert record["steps"] == 2 * 2 * 32 // 8


def test_what_training_reports_is_what_the_saved_model_scores(trained) -> None:
    found = load(trained.model, device="cpu")
    assert found.blend == Blend(0.6)
    settings = json.loads((trained.output / "config.json").read_text())
    assert settings["config"]["canonical"]["trust"] == 0.6
    data = DataConfig(file=Path(settings["config"]["data"]["file"]), max_length=16)
    validation = gather_examples(data, 0).validation
    answers = found.score([example.texts for example in validation])
    labels = [example.label for example in validation]
    loss = -answers[np.arange(len(labels)), labels].mean()
    assert trained.metrics["validation_loss"] == pytest.approx(loss, abs=1e-3)
    accuracy = (answers.argmax(1) == labels).mean()
    assert trained.metrics["validation_accuracy"] == pytest.approx(accuracy)


def test_predict_mixes_as_the_victim_does(trained, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["the film was warm", "a cold story"]
    assert main(["predict", "--model", str(trained.model), *texts, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = np.exp(load(trained.model, device="cpu").score([(text,) for text in texts]))
    found = [list(answer["probabilities"].values()) for answer in told]
    assert np.allclose(found, expected, atol=1e-4)


def test_a_map_that_is_trusted_alone_is_read_once(tmp_path: Path) -> None:
    tokenizer = kinds.wordpiece()
    model(tokenizer).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    MAP.save(tmp_path)
    assert load(tmp_path, device="cpu").blend == Blend()
    assert len(load(tmp_path, device="cpu").readers) == 1
