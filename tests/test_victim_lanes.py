"""Batches hold every row once, cut and padded as asked, in shapes that do not depend on others."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers as kinds
from attack_tiny import sentences, victim

from holdfast.victim.keys import choice_keys, row_keys
from holdfast.victim.lanes import FEWEST_ROWS, Lanes, Shape

SHAPES = st.builds(
    Shape,
    max_length=st.integers(8, 40),
    batch_tokens=st.integers(1, 900),
    multiple=st.sampled_from([1, 4, 8]),
    padding=st.just(0),
)
ROWS = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=60), min_size=1, max_size=60)


def queue(shape: Shape, rows: list[list[int]], tail: int) -> Lanes:
    lanes = Lanes(shape)
    flat = np.array([token for row in rows for token in row], dtype=np.int32)
    lengths = np.array([len(row) for row in rows])
    lanes.put(flat, lengths, tail, np.arange(len(rows)))
    return lanes


@hypothesis.given(SHAPES, ROWS, st.integers(0, 1))
def test_every_row_is_run_once_cut_and_padded(shape: Shape, rows, tail: int) -> None:
    lanes, seen = queue(shape, rows, tail), {}
    while (batch := lanes.fullest()) is not None:
        capacity, width = batch.tokens.shape
        assert capacity == max(FEWEST_ROWS, shape.batch_tokens // width)
        assert width <= shape.max_length
        for ticket, tokens, length in zip(batch.tickets, batch.tokens, batch.lengths, strict=False):
            assert not tokens[length:].any()
            seen[int(ticket)] = (width, tokens[:length].tolist())
    assert lanes.waiting == 0
    for number, row in enumerate(rows):
        width, tokens = seen[number]
        kept = shape.max_length - tail
        assert tokens == (
            row if len(row) <= shape.max_length else row[:kept] + row[len(row) - tail :]
        )
        assert width == int(shape.widths(np.array([len(tokens)]))[0])
    assert len(seen) == len(rows)


@hypothesis.given(SHAPES, ROWS)
def test_full_batches_come_before_others(shape: Shape, rows) -> None:
    lanes = queue(shape, rows, 0)
    while (batch := lanes.full()) is not None:
        assert len(batch.tickets) == len(batch.tokens)
    rest = lanes.fullest()
    assert rest is None or len(rest.tickets) < len(rest.tokens)


def test_answers_do_not_depend_on_the_neighbours() -> None:
    found = victim(kinds.wordpiece())
    texts = [(text,) for text in sentences(25)]
    together = found.score(texts)
    for number, text in enumerate(texts[:6]):
        assert (found.score([text])[0] == together[number]).all()
    assert (found.score(texts[::-1])[::-1] == together).all()
    assert len(np.unique(together, axis=0)) > 5


def test_no_texts_have_no_answers() -> None:
    assert victim(kinds.wordpiece()).score([]).shape == (0, 2)


@hypothesis.given(st.integers(1, 12), st.integers(2, 30), st.integers(0, 1000))
def test_keys_tell_rows_apart(positions: int, choices: int, seed: int) -> None:
    keys = choice_keys(np.broadcast_to(np.arange(choices), (positions, choices)))
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, choices, (200, positions)).astype(np.int16)
    different = len(np.unique(rows, axis=0))
    assert len(set(row_keys(keys, rows).tolist())) == different


def test_a_shared_gpu_gets_smaller_batches_of_fewer_widths() -> None:
    found = victim(kinds.wordpiece())
    on_device = found.model.to("meta")  # any device but the CPU
    alone, shared = (
        type(found)(on_device, found.tokenizer, shared=is_shared).shape
        for is_shared in (False, True)
    )
    assert shared.batch_tokens < alone.batch_tokens
    assert shared.multiple > alone.multiple


@pytest.mark.parametrize("batch_tokens", [1, 64, 4096])
def test_the_batch_size_does_not_change_predictions(batch_tokens: int) -> None:
    found = victim(kinds.wordpiece())
    other = type(found)(found.model, found.tokenizer, batch_tokens=batch_tokens)
    texts = [(text,) for text in sentences(8)]
    assert np.allclose(found.score(texts), other.score(texts), atol=2e-5)
