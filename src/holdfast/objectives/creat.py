"""CreAT (Wu et al., ICLR 2023): an adversary that attacks the encoder as well as the classifier.

    (1 - mix) * CE(f(e), y) + mix * CE(f(e + delta), y)
    delta = argmax  CE(f(e + delta), y) - temperature * cos(h(e + delta), h(e))

h is the state of the sentence in the last layer: [CLS] in encoders, the last token in decoders.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import (
    Batch,
    L2Ball,
    LinfBall,
    ascend,
    attacking,
    look_up,
    run_on,
    run_on_both,
)
from holdfast.errors import InputError
from holdfast.objectives.features import last_states, pick
from holdfast.objectives.objective import Loss


@dataclass(frozen=True)
class CreAT:
    """Cross-entropy on clean vectors, and on vectors that mislead the encoder too.

    The adversary runs without dropout; the released code draws it anew in each pass. The random
    start is brought into the ball before the step; the released code projects after the step only,
    so that its adversary is mostly its start, which for 20 tokens of BERT is twelve steps long.
    """

    ball: L2Ball | LinfBall = L2Ball(radius=0.1, step_size=0.1, begin="normal", begin_scale=1e-2)
    """Where the vectors may go."""
    steps: int = 1
    """Steps of the adversary; the released code counts the final pass too, and says 2."""
    temperature: float = 1.0
    """Weight of the similarity between the states of clean and moved vectors."""
    mix: float = 0.5
    """Share of the moved vectors in the loss."""

    passes: ClassVar[int] = 1
    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.steps < 1 or self.temperature < 0 or not 0 <= self.mix <= 1:
            raise InputError(
                f"CreAT has steps {self.steps}, temperature {self.temperature} and mix {self.mix}; "
                "expected 1 or more, 0 or above, and a share in [0, 1]."
            )

    def extras(self, model: nn.Module) -> nn.Module:
        """Return an empty module: nothing is trained beside the model."""
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the one loss."""
        embeds = look_up(model, batch["input_ids"])
        moved = self.ball.embed(self._delta(model, embeds.detach(), batch), embeds, batch)
        logits = run_on_both(model, batch, embeds, moved).logits.float().chunk(2)
        clean, adversarial = (functional.cross_entropy(half, batch["labels"]) for half in logits)
        total = (1 - self.mix) * clean + self.mix * adversarial
        yield Loss(total, {"clean": clean.detach(), "adversarial": adversarial.detach()})

    def _delta(self, model: nn.Module, embeds: Tensor, batch: Batch) -> Tensor:
        with attacking(model) as still:
            with torch.no_grad():
                output = run_on(still, batch, embeds, states=True)
            reference = pick("first", still, last_states(output), batch)

            def loss(vectors: Tensor) -> Tensor:
                output = run_on(still, batch, vectors, states=True)
                wrong = functional.cross_entropy(
                    output.logits.float(), batch["labels"], reduction="sum"
                )
                state = pick("first", still, last_states(output), batch)
                alike = functional.cosine_similarity(state, reference, dim=1)
                # both summed: released code sums the similarity but averages the cross-entropy,
                # so that there the batch size is a weight between the two
                return wrong - self.temperature * alike.sum()

            return ascend(self.ball, loss, embeds, batch, self.steps)
