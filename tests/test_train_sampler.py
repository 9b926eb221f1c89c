"""Batches that hold every class equally often, and batches of texts of like length."""

import random
from collections import Counter
from itertools import chain
from types import SimpleNamespace

import pytest
import torch
import train_tiny as tiny
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, skip_first_batches
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader
from transformers import PrinterCallback, TrainerState, TrainingArguments

from holdfast.errors import InputError
from holdfast.train import RobustTrainer
from holdfast.train.sampler import (
    ClassBalancedSampler,
    FollowEpochs,
    LikeLengthSampler,
    check_batch,
    choose_sampler,
)


def labels(*sizes: int) -> list[int]:
    """So many rows of the classes 0, 1, 2, ..., shuffled."""
    rows = [label for label, size in enumerate(sizes) for _ in range(size)]
    random.Random(0).shuffle(rows)
    return rows


@given(st.lists(st.integers(2, 9), min_size=2, max_size=4), st.integers(0, 5), st.integers(0, 3))
def test_every_run_of_rows_holds_each_class_once(sizes, seed, epoch):
    given = labels(*sizes)
    sampler = ClassBalancedSampler(given, seed)
    sampler.set_epoch(epoch)
    rows = list(sampler)
    assert len(rows) == len(sampler) == len(sizes) * max(sizes)
    for start in range(0, len(rows), len(sizes)):
        run = rows[start : start + len(sizes)]
        assert sorted(given[row] for row in run) == list(range(len(sizes)))


def test_the_largest_class_is_seen_once_and_the_smaller_repeat_evenly():
    given = labels(10, 4)
    seen = Counter(ClassBalancedSampler(given, seed=0))
    assert [seen[row] for row, label in enumerate(given) if label == 0] == [1] * 10
    assert sorted(seen[row] for row, label in enumerate(given) if label == 1) == [2, 2, 3, 3]


def test_a_small_class_is_shuffled_anew_each_time_through():
    given = labels(400, 20)
    small = [row for row in ClassBalancedSampler(given, seed=0) if given[row] == 1]
    passes = [tuple(small[start : start + 20]) for start in range(0, 400, 20)]
    assert len({frozenset(rows) for rows in passes}) == 1
    assert len(set(passes)) == 20


def test_the_order_follows_from_seed_and_epoch_alone():
    given = labels(30, 30)

    def order(seed: int, epoch: int) -> list[int]:
        sampler = ClassBalancedSampler(given, seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4
    random.seed(5)
    torch.manual_seed(5)
    state = random.getstate()
    assert order(1, 2) == order(1, 2)
    assert random.getstate() == state  # no other random choice is disturbed


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_every_batch_of_every_process_is_balanced(processes):
    given = labels(21, 13, 17)
    for rank in range(processes):
        batches = BatchSampler(ClassBalancedSampler(given, seed=0), 6, drop_last=True)
        shard = list(BatchSamplerShard(batches, processes, rank))
        assert shard
        for batch in shard:
            assert Counter(given[row] for row in batch) == {0: 2, 1: 2, 2: 2}


class Balanced(RobustTrainer):
    """Trains on balanced batches and notes them."""

    def _get_train_sampler(self, train_dataset=None):
        return ClassBalancedSampler([e.label for e in self.train_dataset.examples], seed=0)

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.noted.append((inputs["ids"].tolist(), inputs["labels"].tolist()))
        return super().training_step(model, inputs, num_items_in_batch)


def trained(folder, *, resume: bool = False) -> list[tuple[list[int], list[int]]]:
    """Two epochs of 5 batches, a checkpoint in the middle of the second."""
    args = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        num_train_epochs=2,
        save_strategy="steps",
        save_steps=7,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        use_cpu=True,
    )
    trainer = Balanced(
        tiny.model(), args=args, train_dataset=tiny.encoded(20), data_collator=tiny.collator()
    )
    trainer.remove_callback(PrinterCallback)
    trainer.noted = []
    trainer.train(resume_from_checkpoint=str(folder / "checkpoint-7") if resume else None)
    return trainer.noted


def test_trainer_shuffles_each_epoch_and_resumes_in_the_middle_of_one(tmp_path):
    whole = trained(tmp_path)
    assert all(sorted(found) == [0, 0, 1, 1] for _, found in whole)
    first, second = ([row for rows, _ in part for row in rows] for part in (whole[:5], whole[5:]))
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert trained(tmp_path, resume=True) == whole[7:]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_epoch_resumed_in_its_middle_keeps_its_order(processes):
    """What Trainer does at a resume, with the loader of the first of these processes."""
    given = labels(16, 16)
    sampler = ClassBalancedSampler(given, seed=0)
    batches = BatchSamplerShard(BatchSampler(sampler, 4, drop_last=True), processes, 0)
    loader = DataLoaderShard(list(range(32)), batch_sampler=batches)
    loader.set_epoch(1)
    whole = [batch.tolist() for batch in loader]
    sampler.set_epoch(0)  # as in a new process
    FollowEpochs(sampler).on_epoch_begin(None, TrainerState(epoch=1.25), None)
    rest = skip_first_batches(loader, 1)
    assert [batch.tolist() for batch in rest] == whole[1:]


def test_before_the_first_epoch_there_is_none():
    sampler = ClassBalancedSampler(labels(2, 2), seed=0)
    sampler.set_epoch(3)
    FollowEpochs(sampler).on_epoch_begin(None, TrainerState(epoch=None), None)
    assert sampler.epoch == 0


def test_it_is_a_sampler_of_torch():
    given = labels(4, 4)
    loader = DataLoader(given, batch_size=4, sampler=ClassBalancedSampler(given, seed=0))
    assert [sorted(batch.tolist()) for batch in loader] == [[0, 0, 1, 1]] * 2


def test_it_says_how_often_the_smaller_classes_repeat():
    assert ClassBalancedSampler(labels(10, 4), seed=0).describe() == (
        "Every class gives 10 examples an epoch: class 0 has 10, "
        "class 1 has 4 (each seen 2.5 times)."
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "need two classes or more, and the examples have 0"),
        ([3, 3, 3], "need two classes or more, and the examples have 1"),
        ([0, 0, 1, 2, 2], "The class 1 has one example only"),
    ],
)
def test_what_cannot_be_balanced_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        ClassBalancedSampler(given, seed=0)


def test_a_batch_must_hold_every_class_twice():
    check_batch(6, 3)
    check_batch(32, 2)
    for size, classes in ((3, 3), (8, 3), (2, 2), (1, 2)):
        with pytest.raises(InputError, match=f"choose a multiple of {classes} from {2 * classes}"):
            check_batch(size, classes)


# -- texts of like length -------------------------------------------------------------------------


def lengths(count: int) -> list[int]:
    """So many lengths from 3 to 20, in no order."""
    draw = random.Random(1)
    return [draw.randint(3, 20) for _ in range(count)]


def by_length(given: list[int], size: int, seed: int = 0, epoch: int = 0) -> list[int]:
    sampler = LikeLengthSampler(given, size, seed)
    sampler.set_epoch(epoch)
    return list(sampler)


def cut(rows: list[int], size: int) -> list[list[int]]:
    return [rows[at : at + size] for at in range(0, len(rows), size)]


@given(st.lists(st.integers(1, 6), max_size=30), st.integers(1, 7), st.integers(0, 2))
def test_like_lengths_give_every_row_once_an_epoch(given, size, epoch):
    rows = by_length(given, size, epoch=epoch)
    assert len(LikeLengthSampler(given, size, 0)) == len(given)
    assert sorted(rows) == list(range(len(given)))


def test_the_texts_of_a_batch_are_neighbours_in_length():
    given = lengths(90)
    spans = [sorted(given[row] for row in batch) for batch in cut(by_length(given, 8), 8)]
    assert [len(span) for span in spans] == [8] * 11 + [2]
    assert [*chain(*sorted(spans))] == sorted(given)  # no batch reaches into another
    assert sorted(spans) != spans  # nor do they come from short to long


def test_texts_of_one_length_meet_others_in_each_epoch():
    given = [5] * 24
    batches = {
        frozenset(rows) for epoch in range(3) for rows in cut(by_length(given, 4, 0, epoch), 4)
    }
    assert len(batches) > 12


def test_the_order_of_like_lengths_follows_from_seed_and_epoch_alone():
    given = lengths(40)
    state = random.getstate()
    assert by_length(given, 4, 1, 2) == by_length(given, 4, 1, 2)
    pairs = [(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert len({tuple(by_length(given, 4, *pair)) for pair in pairs}) == 4
    assert random.getstate() == state  # no other random choice is disturbed


def test_going_through_an_epoch_twice_gives_its_order_twice():
    sampler = LikeLengthSampler(lengths(40), 4, seed=0)
    assert list(sampler) == list(sampler)


@pytest.mark.parametrize(("data_seed", "seed"), [(None, 3), (9, 9)])
def test_the_sampler_of_a_run_counts_tokens_and_the_batches_of_all_processes(data_seed, seed):
    data = tiny.encoded(20)
    args = SimpleNamespace(per_device_train_batch_size=4, world_size=2, seed=3, data_seed=data_seed)
    sampler = choose_sampler(data, args, balanced=False, by_length=True)
    assert sampler.lengths == [len(data[row]["input_ids"]) for row in range(20)]
    assert (sampler.batch_size, sampler.seed) == (8, seed)


def test_trainer_draws_like_lengths_anew_each_epoch(tmp_path):
    noted: list[list[int]] = []

    class Noting(RobustTrainer):
        def training_step(self, model, inputs, num_items_in_batch=None):
            noted.append(inputs["ids"].tolist())
            return super().training_step(model, inputs, num_items_in_batch)

    args = TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_train_epochs=2,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        use_cpu=True,
        seed=5,
    )
    data = tiny.encoded(20)
    trainer = Noting(
        tiny.model(), args=args, train_dataset=data, data_collator=tiny.collator(), by_length=True
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    given = [len(data[row]["input_ids"]) for row in range(20)]
    expected = [cut(by_length(given, 4, 5, epoch), 4) for epoch in (0, 1)]
    assert noted == [*expected[0], *expected[1]]


def test_what_fills_no_batch_is_not_always_the_same():
    given = list(range(1, 12))  # three of eleven are left over
    left = [tuple(by_length(given, 4, epoch=epoch)[-3:]) for epoch in range(8)]
    assert len(set(left)) > 1
    assert any(10 not in rows for rows in left)  # the longest text is trained on, too


def test_balanced_batches_of_like_length_are_both():
    given, long = labels(60, 41), lengths(101)
    sampler = ClassBalancedSampler(given, seed=0, lengths=long, batch_size=10)
    rows = list(sampler)
    batches = [rows[start : start + 10] for start in range(0, 120, 10)]
    assert all(Counter(given[row] for row in batch) == {0: 5, 1: 5} for batch in batches)
    seen = Counter(rows)
    assert {seen[row] for row, label in enumerate(given) if label == 0} == {1}
    spread = [
        max(long[row] for row in batch) - min(long[row] for row in batch) for batch in batches
    ]
    # of 17; where a class begins anew short ones follow long ones, at most once a pass
    assert sorted(spread)[-4] <= 5
    firsts = [long[batch[0]] for batch in batches]
    assert firsts != sorted(firsts)  # short and long batches come in a random order
    sampler.set_epoch(1)
    assert list(sampler) != rows


def test_a_small_class_fills_no_batch_with_copies_of_one_text():
    """Copies would be compared as if they were two examples of the class."""
    given, long = labels(180, 20), lengths(200)
    sampler = ClassBalancedSampler(given, seed=0, lengths=long, batch_size=16)
    rows = list(sampler)
    assert Counter(Counter(row for row in rows if given[row] == 1).values()) == {9: 20}
    for start in range(0, 352, 16):
        batch = rows[start : start + 16]
        assert len(set(batch)) == 16
    tiny = ClassBalancedSampler(labels(12, 2), seed=0, lengths=lengths(14), batch_size=8)
    assert len(list(tiny)) == 24  # two texts must fill four places


def test_what_fills_no_batch_of_like_length_is_not_always_the_longest():
    given, long = labels(23, 23), lengths(46)
    ends = set()
    for epoch in range(6):
        sampler = ClassBalancedSampler(given, seed=0, lengths=long, batch_size=8)
        sampler.set_epoch(epoch)
        rows = list(sampler)
        assert sorted(rows) == list(range(46))
        ends.add(frozenset(rows[40:]))
    assert len(ends) > 1
