"""Components to JSON and back, and what is refused on the way."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.implicit import PRESETS, Connection, Explicit, ImplicitEuler, Theta
from holdfast.record import decode, encode
from holdfast.solve import (
    Anderson,
    Broyden,
    Descent,
    Detached,
    FixedPoint,
    ImplicitFunction,
    Phantom,
    Unrolled,
)

numbers = st.floats(0.0, 1.0)
positive = st.floats(0.0, 1.0, exclude_min=True)  # a solver that does not move is refused
steps = st.integers(1, 50)
mixings = st.sampled_from(["example", "token"])
evaluating = st.one_of(
    st.builds(FixedPoint, steps, numbers, positive),
    st.builds(Anderson, steps, numbers, steps, mixings, positive, numbers),
    st.builds(Broyden, steps, numbers, steps),
)
norms = st.sampled_from(["squared_sum", "l2_example", "l2_token"])
connections = st.builds(
    Connection,
    layers=st.one_of(st.just("all"), st.just("1-3,5"), st.lists(steps, min_size=1).map(tuple)),
    scheme=st.one_of(
        st.builds(Explicit, numbers), st.builds(ImplicitEuler, numbers), st.builds(Theta, numbers)
    ),
    solver=st.one_of(
        evaluating, st.builds(Descent, steps, positive, norms, numbers, st.booleans())
    ),
    gradient=st.one_of(
        st.builds(Unrolled),
        st.builds(Detached),
        st.builds(Phantom, steps, positive),
        st.builds(ImplicitFunction, evaluating),
    ),
    dropout=st.sampled_from(["frozen", "resample", "off"]),
    on_failure=st.sampled_from(["keep", "warn", "raise"]),
)


@given(connections)
def test_any_connection_survives_json(connection: Connection) -> None:
    text = json.dumps(encode(connection), allow_nan=False)
    assert decode(Connection, json.loads(text)) == connection


@pytest.mark.parametrize("preset", [name for name, value in PRESETS.items() if value])
def test_presets_survive_json(preset: str) -> None:
    assert decode(Connection, json.loads(json.dumps(encode(PRESETS[preset])))) == PRESETS[preset]


def test_what_is_left_out_keeps_its_default() -> None:
    assert decode(Connection, {}) == Connection()
    decoded = decode(Connection, {"solver": {"type": "Broyden", "memory": 3}})
    assert decoded == Connection(solver=Broyden(memory=3))


def test_whole_numbers_are_numbers() -> None:
    found = decode(Theta, {"theta": 1})
    assert found == Theta(1.0)
    assert isinstance(found.theta, float)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"solvr": {}}, r"has no setting solvr; Connection takes layers, scheme, solver"),
        ({"solver": {"type": "Anderson", "memry": 3}}, r"no setting memry; Anderson takes"),
        ({"gradient": {"type": "Detached", "steps": 1}}, r"no setting steps; Detached takes none"),
        ({"solver": {"type": "Newton"}}, r"'Newton'; expected one of FixedPoint, Anderson"),
        ({"solver": {"memory": 3}}, r"type None; expected one of FixedPoint, Anderson"),
        ({"solver": "Anderson"}, r"solver is 'Anderson'"),
        ({"scheme": {"type": "Anderson"}}, r"expected one of Explicit, ImplicitEuler, Theta"),
        ({"dropout": "forzen"}, r"dropout is 'forzen'; expected one of frozen, resample, off"),
        ({"dropout": ["frozen"]}, r"dropout is \['frozen'\]; expected one of"),
        ({"layers": 4}, r"layers is 4"),
        ({"layers": [1, "2"]}, r"layers"),
        ({"solver": {"type": "Anderson", "memory": "3"}}, r"solver\.memory is '3'; expected int"),
        ({"solver": {"type": "Anderson", "memory": 3.5}}, r"solver\.memory is 3\.5; expected int"),
        ({"solver": {"type": "Anderson", "memory": True}}, r"memory is True; expected int"),
        ({"solver": {"type": "Anderson", "tolerance": None}}, r"tolerance is None; expected float"),
        ({"solver": {"type": "Descent", "measure": 1}}, r"measure is 1; expected bool"),
        ({"scheme": {"type": "Theta", "theta": 2.0}}, r"Theta is 2\.0; expected a number between"),
    ],
)
def test_mistakes_are_told(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        decode(Connection, encode(Connection()) | change)


@pytest.mark.parametrize("value", [None, 3, "Connection", [1, 2]])
def test_a_component_needs_its_fields(value: Any) -> None:
    with pytest.raises(InputError, match="expected the fields of Connection"):
        decode(Connection, value)


def test_the_name_of_another_class_is_no_silent_default() -> None:
    with pytest.raises(InputError, match="Broyden"):
        decode(Anderson, encode(Broyden()))


def test_the_place_of_a_mistake_is_named() -> None:
    backward = {"type": "Broyden", "memory": ""}
    gradient = {"type": "ImplicitFunction", "backward_solver": backward}
    with pytest.raises(InputError, match=r"recipe\.toml\.gradient\.backward_solver\.memory is"):
        decode(Connection, {"gradient": gradient}, where="recipe.toml")


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Outer:
    path: Path
    inner: Inner
    maybe: Inner | None = None
    parts: tuple[Inner, ...] = ()
    names: Mapping[str, int] | None = None
    kind: Literal["a", "b"] = "a"


def test_paths_options_and_tuples() -> None:
    whole = Outer(Path("a/b"), Inner(1), Inner(2), (Inner(3), Inner(4)))
    for value in (whole, replace(whole, maybe=None, parts=())):
        assert decode(Outer, json.loads(json.dumps(encode(value)))) == value


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(InputError, match="path"):
        decode(Outer, {"inner": {"size": 1}})
