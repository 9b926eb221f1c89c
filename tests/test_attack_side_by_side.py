"""Texts that white-box attacks measure side by side, as on a GPU: each as if it were alone."""

import dataclasses
from types import SimpleNamespace

import families
import numpy as np
import pytest
import text_tokenizers as kinds
import torch
from attack_tiny import model

from holdfast.attack import Neighbours, Targeted, Untargeted
from holdfast.attack.core import Attack, Look
from holdfast.attack.gauge import FirstOrder, HullWeights, inside, mixtures
from holdfast.attack.gauge.rows import CANDIDATES, ROWS, TOKENS, Laid, shape_of
from holdfast.attack.search import HotFlip
from holdfast.attack.spaces import build_space
from holdfast.implicit import connect, recommended
from holdfast.text import Words
from holdfast.victim import ModelVictim

GAUGES = pytest.mark.parametrize("gauge", [FirstOrder(), HullWeights(steps=4)], ids=["one", "hull"])
TEXTS = [
    "the film was good",
    "a film",
    "bad bad film " * 9,
    "good " * 14,  # with two special tokens just a width: it needs one of padding
    "the good film was bad",
    "film " * 90,  # more than a model reads
]


def tiny(family: str = "bert") -> ModelVictim:
    tokenizer = kinds.wordpiece()
    if family == "bert":
        return ModelVictim(model(tokenizer, positions=50), tokenizer)
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    return ModelVictim(families.classifier(family, **ids), tokenizer, max_length=50)


def looks_at(found: ModelVictim, texts=TEXTS, goal=None) -> list[Look]:
    made = []
    for number, text in enumerate(texts):
        words = tuple(map(Words.of, (text,) if isinstance(text, str) else text))
        (reading,) = found.read([words])
        space = build_space(
            Attack("x", HotFlip(), Neighbours(kinds.LEXICON)), words, reading.visible
        )
        (opened,) = found.open([reading], [space])
        row = np.zeros(len(space), dtype=np.int16)
        made.append(Look(found, opened, space, row, 1, goal or Untargeted(), seed=number))
    return made


def on_a_gpu(found: ModelVictim) -> SimpleNamespace:
    shell = SimpleNamespace(device=torch.device("cuda"), base_model=found.model.base_model)
    return SimpleNamespace(model=shell, shape=dataclasses.replace(found.shape, multiple=16))


@pytest.fixture
def gpu(monkeypatch):
    """Shapes are chosen as on a GPU from when it is called."""

    def choose() -> None:
        for module in (inside, mixtures):
            monkeypatch.setattr(
                module, "shape_of", lambda v, text, slots=1: shape_of(on_a_gpu(v), text, slots)
            )

    return choose


def check_as_alone(gauge, looks, gpu) -> None:
    alone = [gauge.measure([one])[0] for one in looks]
    gpu()
    for one, other in zip(gauge.measure(looks), alone, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@GAUGES
@pytest.mark.parametrize("goal", [Untargeted(), Targeted(0)], ids=["away", "towards"])
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "gpt2", "t5"])
def test_side_by_side_is_measured_what_is_measured_alone(gauge, goal, family, gpu) -> None:
    check_as_alone(gauge, looks_at(tiny(family), goal=goal), gpu)


@GAUGES
def test_pairs_keep_their_types_side_by_side(gauge, gpu) -> None:
    pairs = [("a bad film", "the film was good"), ("a film", "good"), ("bad", "a")]
    check_as_alone(gauge, looks_at(tiny(), pairs), gpu)


@GAUGES
def test_what_stands_beside_a_text_changes_nothing(gauge, gpu) -> None:
    looks = looks_at(tiny())
    gpu()
    for one, beside in zip(looks, gauge.measure(looks), strict=True):
        (alone,) = gauge.measure([one])
        assert (alone == beside).all()


def laid(tokens: int) -> Laid:
    return Laid(0, None, SimpleNamespace(ids=np.zeros(tokens, dtype=np.int64)))


@pytest.mark.parametrize(
    ("tokens", "width", "full"), [(15, 16, False), (16, 32, False), (49, 50, False), (50, 50, True)]
)
def test_a_row_has_padding_unless_it_fills_the_window(tokens, width, full) -> None:
    """Where all rows are full a mask is left out; so one that is full never meets another."""
    found = shape_of(on_a_gpu(tiny()), laid(tokens))
    assert (found.width, found.full) == (width, full)


def test_wide_rows_and_many_candidates_are_fewer() -> None:
    long = SimpleNamespace(**vars(on_a_gpu(tiny())))
    long.shape = dataclasses.replace(long.shape, max_length=2048)
    assert shape_of(long, laid(15)).rows == ROWS
    assert shape_of(long, laid(1000)).rows == TOKENS // 1008
    assert shape_of(long, laid(127), slots=50).rows == CANDIDATES // (128 * 56)
    assert shape_of(long, laid(2048), slots=50).rows == 1


@pytest.mark.parametrize(("kind", "joined"), [("cpu", False), ("mps", False), ("cuda", True)])
def test_only_a_plain_model_on_a_gpu_is_shown_several_texts(kind, joined) -> None:
    found = tiny()
    victim = on_a_gpu(found)
    victim.model.device = torch.device(kind)
    if joined:
        connect(found.model, recommended)
    assert shape_of(victim, laid(15), slots=3) == (1, 15, 3, True)
