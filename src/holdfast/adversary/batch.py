"""What a batch holds: the inputs of a model's forward, the labels, what an adversary may change."""

from collections.abc import Mapping

from torch import Tensor, cat

from holdfast.errors import InputError

Batch = Mapping[str, Tensor]

LABELS = "labels"
MOVABLE = "movable"
"""(batch, tokens), 1 on tokens that are neither padding nor special: those an adversary moves."""
CANDIDATES = "candidates"
"""(batch, tokens, slots): ids a token may become; slot 0 is the token itself."""
CANDIDATE_MASK = "candidate_mask"
"""(batch, tokens, slots): true on the slots that are filled; on slot 0 always."""
CANDIDATE_VECTORS = "candidate_vectors"
"""(batch, tokens, slots, width): what the model looks up for the candidates."""

_BESIDE = frozenset({LABELS, MOVABLE, CANDIDATES, CANDIDATE_MASK, CANDIDATE_VECTORS, "ids"})


def inputs_of(batch: Batch) -> dict[str, Tensor]:
    """Return what the model's forward takes to give logits: the batch without all else."""
    return {name: value for name, value in batch.items() if name not in _BESIDE}


def movable(batch: Batch) -> Tensor:
    """Return (batch, tokens, 1), true on the tokens that may move."""
    if MOVABLE not in batch:
        raise InputError(
            "The batch does not say which tokens are special, and those must never move; tokenise "
            "with holdfast.data.EncodedExamples, or give RobustTrainer the tokenizer as "
            "processing_class."
        )
    return batch[MOVABLE].bool().unsqueeze(2)


def require_candidates(batch: Batch) -> None:
    """Refuse a batch without substitutes for its words."""
    if CANDIDATES not in batch:
        raise InputError(
            "The batch holds no substitutes for its words, which the convex hull is made of; "
            "tokenise the texts with holdfast.text.Substituter and a lexicon."
        )


def repeated(batch: Batch, times: int) -> dict[str, Tensor]:
    """Return the model's inputs several times over, one copy after the other."""
    return {name: cat([value] * times) for name, value in inputs_of(batch).items()}
