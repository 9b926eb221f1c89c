"""Running a model on other token vectors than those it looks up.

The model is called with its `input_ids` as always, and a hook on its embedding answers with the
given vectors. Unlike `inputs_embeds` this works for every family: decoders still find the last
real token, T5 still gets its decoder's inputs, and nothing of the call has to be known. What the
model must not be is compiled: torch.compile does not notice that hooks come and go.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accelerate.utils import (  # type: ignore[import-untyped]
    extract_model_from_parallel,
    has_compiled_regions,
)
from torch import Tensor, cat, nn
from transformers import PreTrainedModel

from holdfast.adversary.batch import Batch, inputs_of, repeated
from holdfast.errors import InputError


def plain(model: nn.Module) -> PreTrainedModel:
    """Return the model itself, without what DDP or torch.compile wraps around it."""
    # kept compiled, it would be handed back with DDP stripped off the caller's model for good
    unwrapped: PreTrainedModel = extract_model_from_parallel(model, keep_torch_compile=False)
    return unwrapped


def token_embedding(model: nn.Module) -> nn.Module:
    """Return the table of token vectors, or say that the model has none to perturb."""
    try:
        found: nn.Module | None = plain(model).get_input_embeddings()
    except (AttributeError, NotImplementedError):
        found = None
    if found is None:
        raise InputError(
            f"{type(plain(model)).__name__} has no table of token vectors, so nothing can be "
            "perturbed; use a model with get_input_embeddings(), or the objective Standard."
        )
    return found


def look_up(model: nn.Module, ids: Tensor) -> Tensor:
    """Return the vectors of token ids, of any shape, in a new last dimension."""
    table = token_embedding(model)
    vectors: Tensor = table(ids.reshape(ids.shape[0], -1))
    return vectors.reshape(*ids.shape, -1)


def run_on(model: nn.Module, batch: Batch, vectors: Tensor, *, states: bool = False) -> Any:
    """Return the model's output when it reads `vectors`; with all hidden states if `states`."""
    with _answering(model, vectors):
        return model(**inputs_of(batch), **({"output_hidden_states": True} if states else {}))


def run_on_both(
    model: nn.Module, batch: Batch, clean: Tensor, other: Tensor, *, states: bool = False
) -> Any:
    """Return the output of one forward on both vectors: the first half is `clean`'s.

    One call instead of two: less to launch, one graph for DDP. Dropout differs between the
    halves, as in the papers' code.
    """
    return run_on(model, repeated(batch, 2), cat([clean, other]), states=states)


@contextmanager
def _answering(model: nn.Module, vectors: Tensor) -> Iterator[None]:
    _refuse_compiled(model)
    answer = _Answer(vectors, twice=plain(model).config.is_encoder_decoder)
    handles = [table.register_forward_hook(answer) for table in _tables(model)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
    if not answer.calls:
        raise InputError(
            f"{type(plain(model)).__name__} never looked up its tokens, so nothing was perturbed; "
            "use a model that reads input_ids, or the objective Standard."
        )


def _tables(model: nn.Module) -> list[nn.Module]:
    """Return every module that looks up token vectors: T5's two halves have one each, tied."""
    table = token_embedding(model)
    weight = getattr(table, "weight", None)
    tied = [
        part
        for part in plain(model).modules()
        if isinstance(part, nn.Embedding) and part.weight is weight and part is not table
    ]
    return [table, *tied]


def _refuse_compiled(model: nn.Module) -> None:
    in_place = any(part._compiled_call_impl is not None for part in model.modules())
    if in_place or has_compiled_regions(model):
        raise InputError(
            "The model is compiled by torch.compile, which would go on reading its own token "
            "vectors where others are given; train without torch_compile."
        )


class _Answer:
    """Gives the vectors for the model's look-up; an encoder-decoder looks up twice."""

    def __init__(self, vectors: Tensor, *, twice: bool) -> None:
        self.vectors, self.twice, self.calls = vectors, twice, 0

    def __call__(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        """Answer (a forward hook)."""
        self.calls += 1
        if self.calls > (2 if self.twice else 1):
            return output  # GPT-2 reads its token types from the same table
        if output.shape != self.vectors.shape:
            raise InputError(
                f"The model looked up vectors of shape {tuple(output.shape)} where "
                f"{tuple(self.vectors.shape)} were given; it packs or splits its batch, so load it "
                'with attn_implementation="sdpa" or "eager".'
            )
        given = self.vectors.to(output.dtype)
        # a decoder for classification reads the same tokens, one place to the right
        return given if self.calls == 1 else cat([output[:, :1], given[:, :-1]], dim=1)
