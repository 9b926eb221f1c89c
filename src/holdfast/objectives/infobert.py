"""InfoBERT (Wang et al., ICLR 2021): FreeLB that keeps what robust words say, and forgets the rest.

    1/K sum_k  CE(f(e + delta_k), y) - alpha * I_low(x; h) + beta * I_up(X),    as FreeLB's path

x are vectors of local robust tokens, h the state of their sentence, X those of all tokens, each as
the embedding layer gives them. I_low is InfoNCE's lower bound of the information that h has of x,
I_up CLUB's upper bound of the information kept of the input.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.adversary import Batch, L2Ball, LinfBall, look_up, movable, plain, run_on
from holdfast.errors import InputError
from holdfast.objectives.features import last_states, pick
from holdfast.objectives.objective import Loss
from holdfast.objectives.replay import SameMasks


@dataclass(frozen=True)
class InfoBERT:
    """FreeLB's loss with two bounds on information; defaults as released for ANLI."""

    alpha: float = 5e-3
    """Weight of the information about local robust tokens, to be raised."""
    beta: float = 5e-3
    """Weight of the information about the input, to be lowered."""
    steps: int = 3
    """Passes over the batch, K."""
    ball: L2Ball | LinfBall = L2Ball(
        radius=None, step_size=0.04, begin="uniform", begin_scale=0.08, begin_shared=True
    )
    """Where the vectors may go."""
    low: float = 0.5
    """Tokens less sensitive than this share of their sentence are not useful."""
    high: float = 0.9
    """Tokens at least as sensitive as this share of their sentence are not robust."""
    width: int = 300
    """Hidden units of the critic that scores a token and a sentence."""
    group: int = 32
    """Pairs of tokens and sentences that are told apart at a time; released: the batch size."""

    moves: ClassVar[bool] = True
    substitutes: ClassVar[bool] = False
    class_conditional: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if min(self.alpha, self.beta) < 0 or min(self.steps, self.width) < 1 or self.group < 2:
            raise InputError(
                f"InfoBERT has alpha {self.alpha}, beta {self.beta}, steps {self.steps}, width "
                f"{self.width} and group {self.group}; expected 0 or above for the first two, "
                "steps and width 1 or more, group 2 or more."
            )
        if not 0 <= self.low < self.high <= 1:
            raise InputError(
                f"InfoBERT has low {self.low} and high {self.high}; expected 0 <= low < high <= 1."
            )

    @property
    def passes(self) -> int:
        """One loss for each point of FreeLB's path."""
        return self.steps

    def extras(self, model: nn.Module) -> nn.Module:
        """Return the critic."""
        return Critic(int(plain(model).config.hidden_size), self.width)

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Iterator[Loss]:
        """Yield the loss at each point of the path."""
        critic = _critic(extras)
        ids = batch["input_ids"]
        masks = SameMasks(ids.device)
        delta = self.ball.start(look_up(model, ids).detach(), batch)
        for _ in range(self.steps):
            delta = delta.detach().requires_grad_()
            vectors = self.ball.embed(delta, look_up(model, ids), batch)
            with masks.drawing():
                output = run_on(model, batch, vectors, states=True)
            loss = functional.cross_entropy(output.logits.float(), batch["labels"])
            embedded = _embedded(output)
            spread = upper_bound(embedded, batch)
            upper = loss + self.beta * spread
            # which tokens are robust is known from the gradient of what has to be differentiated
            # with it; the released code runs backward twice as well
            (gradient,) = torch.autograd.grad(upper, delta, retain_graph=True)
            robust = local_robust(gradient, batch, self.low, self.high)
            sentences = pick("first", model, last_states(output), batch)
            information = self._information(critic, embedded, sentences, robust)
            parts = {"adversarial": loss, "information": information, "spread": spread}
            total = (upper - self.alpha * information) / self.steps
            yield Loss(total, {name: part.detach() for name, part in parts.items()})
            delta = self.ball.step(delta.detach(), gradient, batch)

    def _information(
        self, critic: "Critic", embedded: Tensor, sentences: Tensor, robust: Tensor
    ) -> Tensor:
        """Return the lower bound, averaged over the robust tokens; 0 if there are none."""
        rows, places = robust.nonzero(as_tuple=True)
        if len(rows) == 0:
            return embedded.new_zeros(())
        # every n-th pair makes a group, so few share a sentence; the released code shuffles
        groups = math.ceil(len(rows) / self.group)
        taken = [(rows[first::groups], places[first::groups]) for first in range(groups)]
        return torch.cat([critic.bound(embedded[r, p], sentences[r]) for r, p in taken]).mean()


class Critic(nn.Module):
    """g(x, h), trained to be high where the token is of the sentence."""

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.score = nn.Sequential(
            nn.Linear(2 * hidden, width), nn.ReLU(), nn.Linear(width, 1), nn.Softplus()
        )

    def bound(self, tokens: Tensor, sentences: Tensor) -> Tensor:
        """Return g(x_i, h_i) - log mean_j exp g(x_j, h_i) for each pair i; both (pairs, hidden)."""
        count = len(tokens)
        every = tokens.expand(count, count, -1)  # [i, j] is x_j
        each = sentences.unsqueeze(1).expand(count, count, -1)  # [i, j] is h_i
        scores: Tensor = self.score(torch.cat([every, each], dim=2)).squeeze(2).float()
        return scores.diagonal() - scores.logsumexp(dim=1) + math.log(count)


def upper_bound(embedded: Tensor, batch: Batch) -> Tensor:
    """Return the mean over the batch's real tokens of |y - y'|^2 / 2, y' any of them.

    That is the variance of the tokens' vectors; the released code draws one y' for each y.
    """
    real = batch["attention_mask"].bool() if "attention_mask" in batch else None
    tokens = (embedded if real is None else embedded[real]).float().flatten(0, -2)
    return (tokens - tokens.mean(dim=0)).square().sum(dim=1).mean()


def local_robust(gradient: Tensor, batch: Batch, low: float, high: float) -> Tensor:
    """Return (batch, tokens), true where the gradient's norm ranks in [low, high) of its sentence.

    Ranks count the tokens that may move; the released code counts special tokens too.
    """
    can = movable(batch).squeeze(2)
    norms: Tensor = torch.linalg.vector_norm(gradient.float(), dim=2)
    ranks = norms.masked_fill(~can, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
    count = can.sum(dim=1, keepdim=True).double()
    return can & (ranks >= (count * low).ceil()) & (ranks < (count * high).ceil())


def _embedded(output: Any) -> Tensor:
    """Return what the embedding layer gave; an encoder-decoder's is its encoder's."""
    states = output.get("hidden_states") or output["encoder_hidden_states"]
    first: Tensor = states[0]
    return first


def _critic(extras: nn.Module) -> Critic:
    if not isinstance(extras, Critic):
        raise InputError("InfoBERT was given no critic; pass what its extras(model) returned.")
    return extras
