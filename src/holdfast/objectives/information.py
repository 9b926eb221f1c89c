"""How much of one model's features is in another's: InfoNCE, a bound on mutual information.

    InfoNCE = -1/N sum_i log( exp f(s_i, t_i) / sum_j exp f(s_i, t_j) )
    f(s, t) = cos(g1(s), g2(t)) / tau,    I(S; T) >= log N - InfoNCE

RIFT's Equation 10, whose constant log N is left out of the loss. It is computed for each class by
itself, which bounds I(S; T | Y): what is kept is what the label does not say already.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional


def info_nce(
    students: Tensor, teachers: Tensor, own: Tensor, tau: float, among: Tensor | None = None
) -> Tensor:
    """Return the loss of each student: its `own` teacher, a row number, told from all teachers.

    `among`, true for some teachers, leaves out the others, but never a student's own.
    """
    scores = functional.normalize(students, dim=1) @ functional.normalize(teachers, dim=1).T
    if among is not None:
        rows = torch.arange(len(teachers), device=own.device)
        scores = scores.masked_fill(~(among | (rows == own.unsqueeze(1))), -torch.inf)
    return functional.cross_entropy(scores / tau, own, reduction="none")


def lower_bound(loss: Tensor, count: int | Tensor) -> Tensor:
    """Return the bound on I(S; T), in nats, that a mean InfoNCE among `count` texts gives."""
    return torch.as_tensor(count, dtype=loss.dtype, device=loss.device).log() - loss


@dataclass(frozen=True)
class Information:
    """The mean InfoNCE of a batch's classes, and the bound that follows from it."""

    loss: Tensor
    """To be minimised."""
    bound: Tensor
    """In nats, to be read: detached."""


@dataclass(frozen=True)
class Texts:
    """Teacher features and classes of the texts of this process, or of all of them."""

    teachers: Tensor
    labels: Tensor
    processes: int = 1
    before: int = 0
    """How many of the texts stand before this process's own."""

    def everywhere(self) -> "Texts":
        """Return the texts of all processes, which must have batches of one size.

        Teachers are frozen, so no gradient is lost on the way.
        """
        if not distributed.is_initialized() or distributed.get_world_size() == 1:
            return self
        before = distributed.get_rank() * len(self.labels)
        size = distributed.get_world_size()
        return Texts(_gather(self.teachers), _gather(self.labels), size, before)


def _gather(values: Tensor) -> Tensor:
    parts = [torch.empty_like(values) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)


class Heads(nn.Module):
    """g1 and g2 for one class: projections of student and of teacher features."""

    def __init__(self, features: int, width: int, projection: int) -> None:
        super().__init__()
        self.student = _projection(features, width, projection)
        self.teacher = _projection(features, width, projection)

    def losses(
        self, number: int, students: Tensor, own: Texts, all_: Texts, tau: float, *, transpose: bool
    ) -> Tensor:
        """Return the loss of each of our texts among all of class `number`; zero for others.

        Texts of other classes are masked, not cut out: a shape that depends on the labels could
        not be recorded on a GPU, and made it wait.
        """
        place = all_.before + torch.arange(len(own.labels), device=students.device)
        student, teacher = self.student(students), self.teacher(all_.teachers)
        # The released softmax runs over dimension 0: for each teacher, over the students.
        first, second = (teacher, student) if transpose else (student, teacher)
        each = info_nce(first, second, place, tau, among=all_.labels == number)
        return each * (own.labels == number)


def _projection(features: int, width: int, projection: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, projection))


class Comparison(nn.Module):
    """Heads for every class, or one pair for all texts together, and the loss they give.

    A class with one text in the batch has nothing to be told from: it adds nothing and is not
    counted. (The released code cuts a batch into equal slices, and mixes classes where they are
    not equal.)

    Of several processes, each compares its students with the teachers of all, so that the mean
    over the processes is what one process would compute. `transpose` compares with students
    instead, which carry gradients and stay where they are: each process sees its own texts only.
    """

    def __init__(self, heads: list[Heads], tau: float, *, transpose: bool = False) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.tau, self.transpose = tau, transpose

    def forward(self, students: Tensor, teachers: Tensor, labels: Tensor) -> Information:
        """Return the mean over the classes of their InfoNCE, in full precision."""
        precision = next(self.parameters()).dtype
        labels = labels if len(self.heads) > 1 else torch.zeros_like(labels)
        own = Texts(teachers.to(precision), labels)
        with torch.autocast(students.device.type, enabled=False):
            return self._mean(students.to(precision), own)

    def _mean(self, students: Tensor, own: Texts) -> Information:
        all_ = own if self.transpose else own.everywhere()
        losses, counts = [], []
        for number, heads in enumerate(self.heads):
            assert isinstance(heads, Heads)
            each = heads.losses(number, students, own, all_, self.tau, transpose=self.transpose)
            counts.append((all_.labels == number).sum())
            losses.append(each.sum() * all_.processes / counts[-1].clamp_min(1))
        count, loss = torch.stack(counts), torch.stack(losses)
        counted = (count > 1).to(loss.dtype)
        share = counted / counted.sum().clamp_min(1)
        bound = lower_bound(loss.detach(), count.clamp_min(1))
        return Information((loss * share).sum(), (bound * share).sum())
