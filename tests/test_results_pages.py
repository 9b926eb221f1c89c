"""The pages of docs/results: their tables are the records', and their prose says nothing else."""

import re
from pathlib import Path

import pytest

from holdfast.record import find_records, read_collection

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))
SUMMARY = "what-holds"
README = ROOT / "README.md"
PARTS = [  # of other pages what is about the results: from where to where
    (ROOT / "docs" / "choosing.md", "## What was measured", None),
    (README, "## Why", "- **Robust"),
    (README, "## What was measured", "## Two commands"),
]
CLAIM = re.compile(r"^\| \[(\d+)\. .*\]\(#\1-[\w-]+\) \| (.*) \|$", re.MULTILINE)
EVIDENCE = re.compile(r"^### (\d+)\. (.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,])\d+\.\d+(?![\w.]*\d)")


@pytest.fixture(scope="module")
def results(script):
    """The script that writes the tables."""
    return script("results")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_are_what_the_records_give(page, results):
    text = page.read_text(encoding="utf-8")
    assert results.filled(text) == text, "run: python scripts/results.py pages"


def blocks(results, *pages: Path) -> str:
    """Return the tables of pages, which the records gave."""
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return "\n".join(block[0] for text in texts for block in results.BLOCK.finditer(text))


def prose(results, page: Path) -> str:
    """Return what was written by hand."""
    return str(results.BLOCK.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_no_number_that_its_own_tables_do_not_have(page, results):
    if page.stem != SUMMARY:
        assert numbers(prose(results, page)) <= numbers(blocks(results, page))


def test_the_prices_that_choosing_names_are_in_the_tables(results):
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    prices = page.partition("## What it costs")[2].partition("## What was measured")[0]
    assert {"1.6", "2.3"} <= numbers(prices) <= numbers(blocks(results, *PAGES))


def test_each_verdict_has_its_numbers_from_the_pages_it_links_to(results):
    page = next(page for page in PAGES if page.stem == SUMMARY)
    rows = [line for line in prose(results, page).splitlines() if numbers(line)]
    assert rows
    for row in rows:
        linked = [page.parent / name for name in re.findall(r"\((\w[\w-]*\.md)\)", row)]
        assert numbers(row) <= numbers(blocks(results, *linked)), row


def test_each_claim_has_a_verdict_and_a_section_with_its_evidence():
    page = next(page for page in PAGES if page.stem == SUMMARY)
    text = page.read_text(encoding="utf-8")
    claims, sections = CLAIM.findall(text), EVIDENCE.findall(text)
    numbered = [str(number) for number in range(1, len(claims) + 1)]
    assert [number for number, _ in claims] == [number for number, _ in sections] == numbered
    for number, verdict in claims:
        assert re.search(r"\*\*(holds|does not|cannot be told)\*\*", verdict), number
    for number, evidence in sections:
        assert ".md)" in evidence, number  # where its numbers are from


@pytest.mark.parametrize(("page", "start", "end"), PARTS)
def test_other_pages_take_whole_rows_from_the_tables(page, start, end, results):
    """A number behind the wrong name would not be found by looking for the number alone."""
    known = [numbers(line) for line in blocks(results, *PAGES).splitlines()]
    text = part(page.read_text(encoding="utf-8"), start, end)
    said = [line for line in text.split("\n") if line.startswith("|")]
    said += [" ".join(text.split()) for text in re.split(r"\n\n", text) if "|" not in text]
    assert any(map(numbers, said))
    for row in said:
        assert any(numbers(row) <= line for line in known), row


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


@pytest.mark.parametrize("task", ["sst2", "imdb", "snli"])
@pytest.mark.parametrize("what", ["data", "source"])  # the examples, and the file they are from
def test_nothing_is_reported_on_the_examples_that_chose_it(task, what):
    def seen(study: str) -> set[str]:
        folders = sorted((ROOT / "results").glob(f"{study}-{task}*"))
        records = [record for _, record in find_records(folders).records if record.attack]
        return {record.checksums[what] for record in records}

    chosen_by, reported = seen("search"), seen("strongest")
    assert chosen_by
    assert reported
    assert chosen_by.isdisjoint(reported | seen("further"))


@pytest.mark.parametrize(
    ("name", "rate"), [("imbert-sst2", 4), ("imbert-low-resource", 4), ("imbert-low-resource", 16)]
)
def test_studies_of_which_each_model_has_its_best_differ_in_the_learning_rate_alone(name, rate):
    def trainings(study: str) -> dict:
        records = read_collection(ROOT / "results" / study / "e5-small.records.jsonl.gz")
        return {(r.model, r.seed): r for r in records if r.kind == "training"}

    def known(record) -> dict:
        rateless = {k: v for k, v in record.config["optimisation"].items() if k != "learning_rate"}
        # earlier records do not have the checksums of whole files
        data = {k: v for k, v in record.checksums.items() if not k.startswith("source/")}
        return {**record.config, "optimisation": rateless, "output": None, **data}

    slow, fast = trainings(name), trainings(f"{name}-x{rate}")
    assert fast
    for key, record in fast.items():
        assert known(record) == known(slow[key]), key
