"""The published data, where a copy lies beside the checkout: row counts and labels."""

from collections import Counter
from pathlib import Path

import pytest

from holdfast.data import TASKS, evaluation_split, load_split

FOLDER = Path(__file__).parents[1].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the published data are not in {FOLDER}"
)


@pytest.mark.parametrize(
    ("task", "split", "labels"),
    [
        ("sst2", "validation", {0: 428, 1: 444}),
        ("rte", "train", {0: 1249, 1: 1241}),
        ("rte", "validation", {0: 146, 1: 131}),
        ("qnli", "validation", {0: 2702, 1: 2761}),
        ("mnli", "validation_matched", {0: 3479, 1: 3123, 2: 3213}),
        ("qqp", "test_bimpm", {0: 5000, 1: 5000}),
        ("snli", "test", {0: 3368, 1: 3219, 2: 3237}),
        ("imdb", "test", {0: 12500, 1: 12500}),
    ],
)
def test_every_published_row_is_read(task: str, split: str, labels: dict[int, int]) -> None:
    examples = load_split(TASKS[task], split, FOLDER)
    assert Counter(example.label for example in examples) == labels
    assert {len(example.texts) for example in examples} == {len(TASKS[task].texts)}


@pytest.mark.parametrize("task", list(TASKS))
def test_every_task_has_a_split_to_report_on(task: str) -> None:
    assert (FOLDER / task / f"{evaluation_split(TASKS[task], FOLDER)}.jsonl").is_file()
