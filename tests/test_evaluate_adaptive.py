"""The adaptive check: gradients that are true, warnings that come when they should."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from attack_bag import LEXICON, bag, examples
from attack_tiny import labelled, sentences, victim

from holdfast.adversary import look_up, run_on
from holdfast.attack import Material, Neighbours, Untargeted
from holdfast.attack.core import Attack, Look
from holdfast.attack.gauge import FirstOrder
from holdfast.attack.goal import Floats
from holdfast.attack.search import HotFlip
from holdfast.attack.spaces import build_space
from holdfast.errors import InputError
from holdfast.evaluate.adaptive import SMALL_GENETIC, adaptive, asks, beaten
from holdfast.evaluate.cost import model_inputs
from holdfast.evaluate.measured import Measured
from holdfast.evaluate.true_gradient import differentiated, true_gradient
from holdfast.implicit import Connection, Explicit, ImplicitEuler, connect, connected
from holdfast.implicit.presets import im_bert
from holdfast.record import WARNING, Metric, Outcome
from holdfast.solve import (
    Anderson,
    Descent,
    Detached,
    FixedPoint,
    ImplicitFunction,
    Phantom,
    Unrolled,
)
from holdfast.text import CanonicalMap, Words
from holdfast.victim import ModelVictim

DETACHED = Connection(
    scheme=ImplicitEuler(0.5),
    solver=Anderson(max_steps=6, tolerance=1e-6),
    gradient=Detached(),
    on_failure="keep",
)
TEXTS = [("the film was good",), ("a bad film was a great movie",)]


@pytest.fixture
def material(tmp_path: Path) -> Material:
    file = tmp_path / "lexicon.json"
    file.write_text(kinds.LEXICON.json())
    return Material(lexicon=file)


def connected_victim(connection: Connection | None, **settings) -> ModelVictim:
    made = victim(kinds.wordpiece(), **settings)
    if connection is not None:
        connect(made.model, connection)
    return made


def look(at: ModelVictim, text: str) -> Look:
    texts = (Words.of(text),)
    (reading,) = at.read([texts])
    space = build_space(Attack("x", HotFlip(), Neighbours(kinds.LEXICON)), texts, reading.visible)
    (opened,) = at.open([reading], [space])
    return Look(at, opened, space, space.original(), 1, Untargeted())


def slope_towards(at: ModelVictim, text: str, token: int, word: str) -> float:
    """The slope of the loss towards another word, by central differences."""
    inputs = model_inputs(at, [(text,)])
    vectors = look_up(at.model, inputs["input_ids"]).detach()
    other = look_up(at.model, torch.tensor([[kinds.wordpiece().vocab[word]]]))[0, 0]
    step = torch.zeros_like(vectors)
    step[0, token] = other - vectors[0, token]

    def loss(size: float) -> float:
        with torch.no_grad():
            logits = run_on(at.model, inputs, vectors + size * step).logits
        return -float(logits.log_softmax(1)[0, 1])

    return (loss(1e-5) - loss(-1e-5)) / 2e-5


def figures(found: Measured) -> dict[tuple[str, str], Metric]:
    return {(metric.name, metric.group): metric for metric in found.metrics}


# Gradients ----------------------------------------------------------------------------------------


def test_the_merit_is_the_slope_of_what_is_computed_and_not_of_what_is_trained_with() -> None:
    tiny = connected_victim(None)
    tiny.model.double()
    handle = connect(tiny.model, DETACHED)
    at = look(tiny, "the film was good")
    true = slope_towards(tiny, "the film was good", 2, "picture")
    place = at.space.choices[1].index("picture")
    masked = FirstOrder().measure([at])[0][1, place]
    with differentiated(tiny.model, Unrolled()):
        merit = FirstOrder().measure([at])[0][1, place]
    assert abs(true) > 1e-3
    assert merit == pytest.approx(true, rel=1e-4)
    assert masked != pytest.approx(true, rel=0.05)
    assert handle.hooks[0].connection is handle.connection


def test_the_true_gradient_is_found_and_the_trained_one_told() -> None:
    found = true_gradient(connected_victim(DETACHED), TEXTS)
    assert found.gradient == Unrolled()
    assert found.error < 0.01
    assert "the one it trains with, Detached()" in found.sentence
    own = float(found.sentence.rpartition("is ")[2].partition(" %")[0])
    assert own > 10


@pytest.mark.parametrize("connection", [None, Connection(scheme=Explicit())])
def test_without_a_solve_autograd_is_true(connection: Connection | None) -> None:
    found = true_gradient(connected_victim(connection), TEXTS)
    assert found.gradient is None
    assert found.error < 0.01
    assert found.sentence == ""


def test_a_model_that_hardly_answers_to_its_inputs_raises_no_alarm() -> None:
    tiny = connected_victim(None)
    with torch.no_grad():
        tiny.model.classifier.weight.mul_(1e-4)  # slopes that a short move loses in rounding
    assert true_gradient(tiny, TEXTS).sentence == ""


def test_descent_is_differentiated_twice_and_its_attention_put_back() -> None:
    descent = Descent(steps=2, step_size=0.01)
    tiny = connected_victim(dataclasses.replace(DETACHED, solver=descent))
    assert tiny.model.config._attn_implementation == "sdpa"
    assert true_gradient(tiny, TEXTS).gradient == Unrolled()
    assert tiny.model.config._attn_implementation == "sdpa"


def test_answers_that_jump_have_no_true_gradient() -> None:
    """IM-BERT as printed is beyond its stability limit: the last bits decide."""
    found = true_gradient(connected_victim(im_bert), TEXTS)
    assert found.error > 0.1
    assert found.sentence.startswith("No gradient of this model agrees")


@pytest.mark.parametrize("gradient", [Unrolled(), ImplicitFunction(), Phantom()])
def test_answers_and_readings_stay_whatever_is_differentiated(gradient) -> None:
    tiny = connected_victim(DETACHED)
    before, handle = tiny.score(TEXTS), connected(tiny.model)
    assert handle is not None
    readings = handle.readings()
    with differentiated(tiny.model, gradient):
        assert np.array_equal(tiny.score(TEXTS), before)
    assert handle.readings() == readings


def test_an_error_leaves_the_model_as_it_was() -> None:
    descent = dataclasses.replace(DETACHED, solver=Descent(steps=1))
    tiny = connected_victim(descent)
    handle = connected(tiny.model)
    assert handle is not None

    def fail() -> None:
        with differentiated(tiny.model, Unrolled()):
            assert tiny.model.config._attn_implementation == "eager"
            assert {hook.connection.gradient for hook in handle.hooks} == {Unrolled()}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert {hook.connection.gradient for hook in handle.hooks} == {Detached()}
    assert tiny.model.config._attn_implementation == "sdpa"
    assert connected(tiny.model) is handle


# The check ----------------------------------------------------------------------------------------


def test_white_box_attacks_are_counted_one_by_one_and_together(material: Material) -> None:
    tiny = victim(kinds.wordpiece())
    data = labelled(tiny, sentences(5))
    found = adaptive(tiny, data, material, seed=0, black_box={"random_search": 1.0})
    names = figures(found)
    assert set(names) == {
        ("white_box_accuracy", ""),
        ("white_box_accuracy", "hotflip"),
        ("white_box_accuracy", "hull"),
        ("accuracy_under_attack", SMALL_GENETIC),
    }
    each = [found.marks[f"white_box_accuracy/{name}"] for name in ("hotflip", "hull")]
    assert found.marks["white_box_accuracy"] == "".join(map(min, *each))
    assert found.marks["white_box_accuracy"][4] == "0"  # labelled wrongly: broken before
    assert names["white_box_accuracy", ""].majority == max(
        sum(e.label == code for e in data) / len(data) for code in (0, 1)
    )


def test_a_connected_model_is_attacked_through_its_solver(
    material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = connected_victim(dataclasses.replace(DETACHED, layers="1", solver=FixedPoint(3)))
    handle, seen = connected(tiny.model), []
    assert handle is not None
    measure = FirstOrder.measure

    def noted(self: FirstOrder, looks: Sequence[Look]) -> list[Floats]:
        seen.append(handle.hooks[0].connection.gradient)
        return measure(self, looks)

    monkeypatch.setattr(FirstOrder, "measure", noted)
    data = labelled(tiny, ["the film was bad", "a movie"])
    found = adaptive(tiny, data, material, seed=0, black_box={"beam": 1.0})
    assert set(seen) == {Unrolled()}
    assert handle.hooks[0].connection.gradient == Detached()
    assert "the true gradient (Unrolled through the solver" in found.notes[0]


def test_a_black_box_that_beats_every_white_box_is_told(material: Material) -> None:
    tiny = victim(kinds.wordpiece())
    data = labelled(tiny, sentences(8)[5:])
    asked = {"beam": 1.0}
    before = adaptive(tiny, data, material, seed=0, black_box=asked)
    assert not [note for note in before.notes if "only asks" in note]
    assert SMALL_GENETIC not in {metric.group for metric in before.metrics}
    least = min(m.value for m in before.metrics if m.group)
    assert least > 0
    asked = {"beam": 0.0, "textfooler": 0.0, "pwws_rift": least}
    notes = adaptive(tiny, data, material, seed=0, black_box=asked).notes
    beam, textfooler = (note for note in notes if "only asks" in note)
    assert "beam, which only asks, leaves 0.0 % and the strongest white-box attack" in beam
    assert "in other ways" not in beam
    assert "textfooler" in textfooler
    assert "in other ways" in textfooler


@pytest.mark.parametrize(("count", "total", "left"), [(4, 10, 0.1), (3, 3, 0.0), (10, 40, 0.1)])
def test_a_few_examples_are_no_sign_of_masked_gradients(count, total, left) -> None:
    white = Metric("white_box_accuracy", count / total, count=count, total=total, group="hotflip")
    (note,) = beaten([white], {"deepwordbug": left})
    assert "as chance may have it" in note
    assert not note.startswith(WARNING)


def test_many_examples_are() -> None:
    white = Metric("white_box_accuracy", 0.4, count=40, total=100, group="hotflip")
    (note,) = beaten([white], {"beam": 0.1})
    assert note.startswith(WARNING)
    assert "masked" in note


@pytest.mark.parametrize("left", [0.1, 0.39])
def test_a_sentence_about_an_attack_is_known_again(left) -> None:
    white = Metric("white_box_accuracy", 0.4, count=40, total=100, group="hotflip")
    (note,) = beaten([white], {"pwws_rift": left})
    assert asks(note) == "pwws_rift"
    assert asks("The true gradient was followed.") == ""


def test_texts_that_broke_another_model_are_tried(tmp_path: Path) -> None:
    (tmp_path / "bag.json").write_text(LEXICON.json())
    won = [
        ("great film", "dull film"),  # right before, broken by the text of the other model
        ("good film", "great film"),  # right before and after
        ("dull plot", "dull story"),  # wrong before and after
    ]
    moved = [
        Outcome(f"test:{n}", (one,), 1, "succeeded", 1, adversarial=(other,))
        for n, (one, other) in enumerate(won)
    ]
    moved.append(Outcome("test:3", ("a",), 1, "failed", 1))
    given = (bag(), examples("great film"), Material(lexicon=tmp_path / "bag.json"))
    found = adaptive(*given, seed=0, black_box={"beam": 0.0}, transferred=moved)
    names = figures(found)
    assert (names["transfer_accuracy", ""].count, names["transfer_accuracy", ""].total) == (1, 3)
    assert names["original_accuracy", "transfer"].count == 2
    assert found.marks["transfer_accuracy"] == "010"
    assert found.notes == (
        "White-box attacks were left out: the victim is a function and shows no gradients.",
    )
    nothing = adaptive(*given, seed=0, black_box={"beam": 0.0}, transferred=moved[3:])
    assert "never broken" in nothing.notes[1]


def test_a_function_is_asked(tmp_path: Path) -> None:
    (tmp_path / "bag.json").write_text(LEXICON.json())
    data = examples("a great film", "dull and great", "good")
    data[1] = dataclasses.replace(data[1], label=0)
    found = adaptive(bag(), data, Material(tmp_path / "bag.json"), seed=0, black_box={})
    assert found.marks == {f"accuracy_under_attack/{SMALL_GENETIC}": "101"}


def test_canonical_text_has_the_gradient_of_what_is_read(material: Material) -> None:
    mapping = {"movie": "film", "picture": "film", "great": "good"}
    tiny = connected_victim(None, canonical=CanonicalMap(mapping, "0" * 64, 1))
    at = look(tiny, "a movie was good")
    merits = FirstOrder().measure([at])[0]
    film, picture = (at.space.choices[1].index(word) for word in ("film", "picture"))
    assert merits[1, film] == merits[1, picture] == 0  # all three are read as "film"
    great, fine = (at.space.choices[3].index(word) for word in ("great", "fine"))
    assert merits[3, great] == 0
    assert abs(merits[3, fine]) > 0
    data = labelled(tiny, ["a movie was good", "a movie"])
    found = adaptive(tiny, data, material, seed=0, black_box={"beam": 1.0})
    # movie: film and picture, twice; good: great of great, fine and okay
    assert "5 of 7 substitutes come out as the very word they stand for" in found.notes[0]


def test_pairs_move_the_text_that_is_named(material: Material) -> None:
    tiny = victim(kinds.wordpiece())
    data = labelled(tiny, [("a film", "the unbelievable"), ("the movie", "was a")])
    settings = {"seed": 0, "black_box": {"beam": 0.0}}
    last = adaptive(tiny, data, material, **settings)
    assert figures(last)["white_box_accuracy", ""].value == 1.0  # no word of the second may change
    first = adaptive(tiny, data, material, moving=(0,), **settings)
    assert first.marks != last.marks


def test_no_examples_are_refused(material: Material) -> None:
    with pytest.raises(InputError, match="no examples"):
        adaptive(bag(), [], material, seed=0, black_box={})
