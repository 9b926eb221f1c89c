"""The convex hull of a word and its substitutes (ASCC; Dong et al., ICLR 2021).

A token's vector is sum_s p_s e_s over its candidates, p = softmax(z). The adversary moves z by
Adam, and an entropy term pushes p towards a corner, which is a real word.

The papers' code mixes the outputs of the whole embedding module (position, type, LayerNorm and
dropout included); here the vectors of the look-up are mixed, which every architecture has. The
corners are the same.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from holdfast.adversary.batch import (
    CANDIDATE_MASK,
    CANDIDATE_VECTORS,
    CANDIDATES,
    Batch,
    require_candidates,
)
from holdfast.adversary.embedded import look_up
from holdfast.errors import InputError
from holdfast.solve.settings import require_one_of

Begin = Literal["uniform", "original"]

_FAR = 500.0  # what keeps an empty slot's weight at exactly zero
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class ConvexHull:
    """Mixtures of each word with its substitutes, moved by Adam on their logits."""

    learning_rate: float = 1.0
    """Adam's; the released code for LSTMs and CNNs has 10."""
    weight_decay: float = 2e-5
    """Pull of the logits towards zero, as released."""
    entropy: float = 15 / (300 * 128)
    """Weight of a token's entropy against the loss of an example; the released constants."""
    begin: Begin = "uniform"
    """Start with nearly equal weights, as released, or nearly at the word itself."""

    def __post_init__(self) -> None:
        require_one_of(get_args(Begin), self, "begin")
        if self.learning_rate <= 0 or self.weight_decay < 0 or self.entropy < 0:
            raise InputError(
                "The hull's learning_rate must be above 0, its weight_decay and entropy 0 or above."
            )

    # The state is (batch, tokens, slots, 4): logits, Adam's two moments, the steps taken.

    def start(self, embeds: Tensor, batch: Batch) -> Tensor:
        """Return small random logits; `original` adds 4 for the word itself."""
        mask = _filled(batch)
        _, tokens, slots = mask.shape
        state = torch.zeros(*mask.shape, 4, device=mask.device)
        state[..., 0].normal_().mul_((2 / (tokens * slots)) ** 0.5)  # kaiming_normal_, as released
        if self.begin == "original":
            state[..., 0, 0] += 4.0
        return state

    def weights(self, state: Tensor, batch: Batch) -> Tensor:
        """Return p, (batch, tokens, slots): zero on empty slots, 1 on a token that cannot move."""
        mask = _filled(batch)
        return (state[..., 0] - _FAR * (~mask).float()).softmax(dim=2) * mask

    def embed(self, state: Tensor, embeds: Tensor, batch: Batch) -> Tensor:
        """Return the mixtures; a token without substitutes keeps its vector, bit for bit."""
        vectors = batch[CANDIDATE_VECTORS]
        weights = self.weights(state, batch).to(vectors.dtype)
        with torch.autocast(vectors.device.type, enabled=False):  # a corner is the word, unrounded
            mixed = (weights.unsqueeze(2) @ vectors).squeeze(2)
        return torch.where(_can_move(batch), mixed, embeds)

    def step(self, state: Tensor, gradient: Tensor, batch: Batch) -> Tensor:
        """Return the state after one step of Adam up loss - entropy * H(p) - decay."""
        logits, first, second, taken = state.unbind(dim=3)
        slope = gradient[..., 0].float() - self._entropy_slope(state, batch)
        slope = slope - self.weight_decay * logits
        taken = taken + 1
        first = _BETAS[0] * first + (1 - _BETAS[0]) * slope
        second = _BETAS[1] * second + (1 - _BETAS[1]) * slope.square()
        unbiased = first / (1 - _BETAS[0] ** taken)
        scale = (second / (1 - _BETAS[1] ** taken)).sqrt() + _EPSILON
        logits = logits + self.learning_rate * unbiased / scale
        return torch.stack([logits, first, second, taken], dim=3)

    def _entropy_slope(self, state: Tensor, batch: Batch) -> Tensor:
        """Return the slope of entropy * H(p) in the logits: dH/dz_s = -p_s (log p_s + H)."""
        weights = self.weights(state, batch)
        log = weights.clamp_min(1e-30).log()
        entropy = -(weights * log).sum(dim=2, keepdim=True)
        return -self.entropy * weights * (log + entropy)

    def corner(self, state: Tensor, batch: Batch) -> Tensor:
        """Return the ids of the heaviest candidates: real tokens, as an attack needs them."""
        heaviest = self.weights(state, batch).argmax(dim=2, keepdim=True)
        return batch[CANDIDATES].gather(2, heaviest).squeeze(2)


def with_candidate_vectors(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    """Return the batch with what the model looks up for the candidates."""
    require_candidates(batch)
    return {**batch, CANDIDATE_VECTORS: look_up(model, batch[CANDIDATES])}


def _filled(batch: Batch) -> Tensor:
    require_candidates(batch)
    return batch[CANDIDATE_MASK].bool()


def _can_move(batch: Batch) -> Tensor:
    return _filled(batch).sum(dim=2, keepdim=True) > 1
