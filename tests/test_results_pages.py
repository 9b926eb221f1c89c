"""The pages of docs/results: their tables are the records', and their prose says nothing else."""

import re
import sys
from pathlib import Path

import pytest

from holdfast.record import find_records

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))
README = ROOT / "README.md"
PARTS = [  # of other pages what is about the results: from where to where
    (ROOT / "docs" / "choosing.md", "## What was measured", None),
    (README, "## Why", "- **Robust"),
    (README, "## What was measured", "## Two commands"),
]
NUMBER = re.compile(r"(?<![\w.,])\d+\.\d+(?![\w.]*\d)")


@pytest.fixture(scope="module")
def results():
    """The script that writes the tables."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import results

        yield results
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_are_what_the_records_give(page, results):
    text = page.read_text(encoding="utf-8")
    assert results.filled(text) == text, "run: python scripts/results.py pages"


def test_the_prose_has_no_number_that_no_table_has(results):
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    blocks = [block[0] for text in texts for block in results.BLOCK.finditer(text)]
    prose = [results.BLOCK.sub("", text) for text in texts]
    prose += [part(page.read_text(encoding="utf-8"), *ends) for page, *ends in PARTS]
    shown, said = (set().union(*map(numbers, of)) for of in (blocks, prose))
    assert said
    assert said <= shown, sorted(said - shown)


def part(text: str, start: str, end: str | None) -> str:
    assert start in text
    after = text[text.index(start) :]
    return after if end is None else after[: after.index(end)]


def numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text))


def test_a_number_that_no_record_has_would_be_found(results):
    assert numbers("it gained 99.87 points, 1,000 times, in version 2.13.0") == {"99.87"}


def test_the_records_are_small_and_hold_no_texts():
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20_000_000
    found = find_records([ROOT / "results"])
    assert found.records
    assert not found.problems
    assert not any(record.outcomes for _, record in found.records)


def test_every_record_says_with_which_commit_it_was_made():
    records = [record for _, record in find_records([ROOT / "results"]).records]
    assert all(re.fullmatch(r"[0-9a-f]{40}", record.environment["commit"]) for record in records)


@pytest.mark.parametrize("task", ["sst2", "imdb"])  # of SNLI the page says that it is not so
def test_nothing_is_reported_on_the_examples_that_chose_it(task):
    seen = [
        {
            r.checksums["data"]
            for _, r in find_records([ROOT / "results" / study]).records
            if r.attack
        }
        for study in (f"search-{task}", f"strongest-{task}")
    ]
    assert all(seen)
    assert seen[0].isdisjoint(seen[1])
