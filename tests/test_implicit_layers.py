"""Naming layers: what is understood, and what is refused with a sentence."""

import pytest
import torch
from families import DEPTH, NAMES, PAD, batch, classifier, depth
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.implicit import FAMILIES, REFUSED, Theta, find_layers, parse_layers
from holdfast.implicit.layers import positions


@pytest.mark.parametrize(
    ("layers", "numbers"),
    [
        ("all", tuple(range(1, 13))),
        (" all ", tuple(range(1, 13))),
        ("4-6", (4, 5, 6)),
        ("1-3,10-12", (1, 2, 3, 10, 11, 12)),
        ("7", (7,)),
        ("12,1", (1, 12)),
        ("2-4, 3-5", (2, 3, 4, 5)),
        (" 4 - 6 ", (4, 5, 6)),
        ((5, 2, 2), (2, 5)),
    ],
)
def test_what_is_understood(layers: str | tuple[int, ...], numbers: tuple[int, ...]) -> None:
    assert parse_layers(layers, 12) == numbers


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        ("", "cannot be read: expected all, a number, a range such as 4-6"),
        ("4-", "cannot be read"),
        ("-3", "cannot be read"),
        ("4-5-6", "cannot be read"),
        ("four", "cannot be read"),
        ("1,,3", "cannot be read"),
        ("4..6", "cannot be read"),
        ("1.5", "cannot be read"),
        ("6-4", "runs backwards; write 4-6"),
        ("0", "Layer 0 does not exist: the model has layers 1 to 12"),
        ("20-30", "Layer 20 does not exist: the model has layers 1 to 12"),
        ("1-999999999999", "Layer 13 does not exist: the model has layers 1 to 12"),
        ("11-13", "Layer 13 does not exist: the model has layers 1 to 12"),
        ((0, 1), "Layer 0 does not exist"),
        ((13,), "Layer 13 does not exist"),
        ((), "No layers were named"),
    ],
)
def test_what_is_refused(layers: str | tuple[int, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_layers(layers, 12)


@given(st.sets(st.integers(1, 30), min_size=1))
def test_any_set_of_layers_can_be_written(numbers: set[int]) -> None:
    written = ",".join(str(n) for n in numbers)
    assert parse_layers(written, 30) == parse_layers(tuple(numbers), 30) == tuple(sorted(numbers))


@given(st.text(max_size=12))
def test_no_text_is_an_accident(text: str) -> None:
    """Any text gives layers of the model or a sentence, nothing else."""
    try:
        numbers = parse_layers(text, 12)
    except InputError:
        return
    assert numbers
    assert set(numbers) <= set(range(1, 13))


@pytest.mark.parametrize("theta", [-0.1, 1.1, float("nan")])
def test_theta_is_between_zero_and_one(theta: float) -> None:
    with pytest.raises(InputError, match="expected a number between 0 and 1"):
        Theta(theta)


@pytest.mark.parametrize("family", NAMES)
def test_layers_are_found_with_or_without_a_head(family: str) -> None:
    model = classifier(family)
    layers = find_layers(model)
    assert len(layers) == depth(family)
    assert find_layers(model.base_model) == layers


@pytest.mark.parametrize("family", [name for name in NAMES if name != "t5"])
def test_a_model_runs_at_its_last_position_and_no_further(family: str) -> None:
    """RoBERTa and its kin begin to count after the padding token, so they have fewer."""
    rows = {"gpt2": "n_positions"}.get(family, "max_position_embeddings")
    model = classifier(family, **{rows: 16})
    limit = positions(model)
    after_padding = dict.fromkeys(("roberta", "xlm-roberta", "camembert"), PAD + 1)
    after_padding["mpnet"] = 2  # whatever its configuration says
    assert limit == 16 - after_padding.get(family, 0)
    with torch.no_grad():
        model(**batch((limit,)))
        if family not in ("deberta-v2", "modernbert", "llama", "qwen2"):  # those count on
            with pytest.raises((IndexError, RuntimeError)):
                model(**batch((limit + 1,)))


def test_a_model_of_relative_positions_has_no_limit() -> None:
    assert positions(classifier("t5")) is None


def test_every_family_is_tried_or_is_the_same_code() -> None:
    same_code = {"mistral", "qwen3"}
    assert set(FAMILIES) == set(NAMES) | same_code
    assert not set(FAMILIES) & set(REFUSED)
    assert DEPTH > 1
