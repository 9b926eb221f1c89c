"""What goes into a batch: as many examples of each class, or texts of like length.

RIFT compares examples within their class. Its released code zips one loader for each class and
ends with the shortest; here the smaller classes are drawn again until the largest is through.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from torch.utils.data import Sampler
from transformers import TrainerCallback, TrainerState, TrainingArguments

from holdfast.errors import InputError
from holdfast.train.columns import labels_of, lengths_of


def _like_lengths(lengths: Sequence[int], rows: Sequence[int], order: random.Random) -> list[int]:
    """Return rows from the shortest text to the longest, those of one length in a random order."""
    # sorted by random keys: Python promises the same `random()` in every version
    keys = [(lengths[row], order.random()) for row in rows]
    return [rows[place] for place in sorted(range(len(rows)), key=keys.__getitem__)]


def _in_blocks(rows: list[int], size: int, order: random.Random) -> list[int]:
    """Return rows as blocks of neighbours, the blocks in a random order."""
    # what fills no block may be left out: it must not always be the longest texts
    left, at = len(rows) % size, int(order.random() * len(rows))
    over, rows = rows[at : at + left], rows[:at] + rows[at + left :]
    over, rows = over + rows[: left - len(over)], rows[left - len(over) :]
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    blocks.sort(key=lambda _: order.random())
    return [row for block in (*blocks, over) for row in block]


class LikeLengthSampler(Sampler[int]):
    """Row numbers in which texts of like length follow each other, in a random order otherwise."""

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        """Take the length of each row; the order follows from the seed and the epoch."""
        self.lengths, self.batch_size = list(lengths), batch_size
        self.seed, self.epoch = seed, 0

    def __len__(self) -> int:
        """Return the rows of an epoch: each once."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        """Yield batches of like length, the batches in a random order."""
        order = random.Random(f"{self.seed} {self.epoch}")
        rows = _like_lengths(self.lengths, range(len(self)), order)
        yield from _in_blocks(rows, self.batch_size, order)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch


class ClassBalancedSampler(Sampler[int]):
    """Row numbers in which every run of as many rows as there are classes holds each class once.

    The classes take turns in a fixed order, their examples come in a random one. So a batch of
    any multiple of the number of classes is balanced, and so is each process's share.
    """

    def __init__(
        self,
        labels: Sequence[int],
        seed: int,
        *,
        lengths: Sequence[int] | None = None,
        batch_size: int = 1,
    ) -> None:
        """Take the label of each row; the order follows from the seed and the epoch.

        With `lengths` the texts of a batch are of like length, also from class to class.
        """
        self.lengths, self.batch_size = lengths, batch_size
        self.rows: dict[int, list[int]] = {label: [] for label in sorted(set(labels))}
        for row, label in enumerate(labels):
            self.rows[label].append(row)
        self.seed, self.epoch = seed, 0
        self.largest = max(map(len, self.rows.values()), default=0)
        self._refuse_unfit()

    def _refuse_unfit(self) -> None:
        if len(self.rows) < 2:
            raise InputError(
                f"Batches balanced over classes need two classes or more, and the examples have "
                f"{len(self.rows)}; choose other examples, or an objective without classes."
            )
        if lonely := [label for label, rows in self.rows.items() if len(rows) < 2]:
            raise InputError(
                f"The class {lonely[0]} has one example only, and examples are compared within "
                f"their class; add examples of it, or leave the class out."
            )

    @property
    def classes(self) -> int:
        """How many classes there are; a batch holds a multiple of it."""
        return len(self.rows)

    def __len__(self) -> int:
        """Return the rows of an epoch: every class as often as the largest has examples."""
        return self.classes * self.largest

    def __iter__(self) -> Iterator[int]:
        """Yield one row of each class in turn."""
        for row in zip(*self._columns(), strict=True):
            yield from row

    def _columns(self) -> Iterable[Iterable[int]]:
        """Return the rows of each class, as many of all."""
        if self.lengths is not None:
            return self._alike(self.lengths)
        return (islice(self._stream(label), self.largest) for label in self.rows)

    def _alike(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the rows of each class in blocks; those of all classes that are as long meet.

        The rows of a class, sorted by length, are gone through again and again from a random one
        on. So the copies of a row lie as far apart as can be: beside each other they would be
        compared as if they were two examples.
        """
        order = random.Random(f"lengths seed {self.seed} epoch {self.epoch}")
        share = max(1, self.batch_size // self.classes)
        turns = sorted(range(self.largest // share), key=lambda _: order.random())
        for rows in self.rows.values():
            ordered = _like_lengths(lengths, rows, order)
            at = int(order.random() * len(ordered))
            places = [ordered[(at + n) % len(ordered)] for n in range(self.largest)]
            whole = len(turns) * share  # what comes after fills no batch
            blocks = [places[start : start + share] for start in range(0, whole, share)]
            blocks.sort(key=lambda block: max(lengths[row] for row in block))
            yield [row for n in turns for row in blocks[n]] + places[whole:]

    def _stream(self, label: int) -> Iterator[int]:
        """Yield the rows of a class without end, each time through in a new order."""
        generator = random.Random(f"class {label} seed {self.seed} epoch {self.epoch}")
        rows = self.rows[label]
        while True:
            # sorted by random keys: Python promises the same `random()` in every version
            keys = [generator.random() for _ in rows]
            yield from (rows[place] for place in sorted(range(len(rows)), key=keys.__getitem__))

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch

    def describe(self) -> str:
        """Return one sentence on the sizes of the classes and how often the smaller repeat."""
        sizes = ", ".join(self._size(label, len(rows)) for label, rows in self.rows.items())
        return f"Every class gives {self.largest} examples an epoch: {sizes}."

    def _size(self, label: int, size: int) -> str:
        repeats = f" (each seen {self.largest / size:.1f} times)" if size < self.largest else ""
        return f"class {label} has {size}{repeats}"


class FollowEpochs(TrainerCallback):
    """Tells the sampler which epoch begins.

    Trainer does so too, but its word gets lost in accelerate's wrappers where several processes
    resume in the middle of an epoch; they would go on in the order of the first.
    """

    def __init__(self, sampler: ClassBalancedSampler | LikeLengthSampler) -> None:
        self.sampler = sampler

    def on_epoch_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Tell it; the epoch is a fraction in the middle of one, and none before the first."""
        self.sampler.set_epoch(int(state.epoch or 0))


def check_batch(batch_size: int, classes: int) -> None:
    """Refuse a batch of one process that cannot be balanced or leaves nothing to compare."""
    if batch_size % classes or batch_size < 2 * classes:
        raise InputError(
            f"A batch of {batch_size} examples for each process cannot hold two or more of each of "
            f"{classes} classes in equal number; choose a multiple of {classes} from {2 * classes} "
            f"on."
        )


def choose_sampler(
    dataset: Any, args: TrainingArguments, *, balanced: bool, by_length: bool
) -> ClassBalancedSampler | LikeLengthSampler:
    """Return what draws Trainer's batches, over all processes: of equal classes, like lengths."""
    size = args.per_device_train_batch_size * args.world_size
    lengths = lengths_of(dataset) if by_length else None
    if not balanced:
        return LikeLengthSampler(lengths or [], size, _seed(args))
    sampler = ClassBalancedSampler(
        labels_of(dataset), _seed(args), lengths=lengths, batch_size=size
    )
    check_batch(args.per_device_train_batch_size, sampler.classes)
    return sampler


def _seed(args: TrainingArguments) -> int:
    return args.seed if args.data_seed is None else args.data_seed
