"""Files of users: what is read, and the sentence for everything that cannot be."""

import csv
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.data import Example, Task, checksum, read_file, source_of, task_from_file
from holdfast.errors import InputError

SENTIMENT = Task("sentiment", ("text",), ("negative", "positive"))
PAIRS = Task("pairs", ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"))


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def examples_of(path: Path, task: Task = SENTIMENT) -> list[Example]:
    return read_file(task, path, "train").examples


def refusal(path: Path, task: Task = SENTIMENT) -> str:
    with pytest.raises(InputError) as caught:
        read_file(task, path, "train")
    return str(caught.value)


GOOD = [Example("train:0", ("bad film",), 0), Example("train:1", ("good film",), 1)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "bad film", "label": 0}\n{"text": "good film", "label": 1}\n'),
        ("a.jsonl", '{"text": "bad film", "label": 0}\n\n{"text": "good film", "label": 1}'),
        ("a.json", '[{"text": "bad film", "label": 0},\n {"text": "good film", "label": 1}]'),
        ("a.json", '{"text": "bad film", "label": 0}\n{"text": "good film", "label": 1}\n'),
        ("a.csv", "text,label\nbad film,0\ngood film,1\n"),
        ("a.csv", "label, text,source\r\n0,bad film,x\r\n\r\n1,good film,y\r\n"),
        ("a.csv", "text,label\rbad film,0\rgood film,1\r"),
        ("a.CSV", "text,label\nbad film,negative\ngood film, positive \n"),
        ("a.csv", "text,label\nbad film,0.0\ngood film,1.0\n"),
        ("a.csv", ",text,,label\n0,bad film,,0\n1,good film,,1\n"),
        ("a.tsv", "text\tlabel\nbad film\t0\ngood film\t1\n"),
        ("a.tsv", 'text\tlabel\n"bad film"\t0\ngood film\t1'),
    ],
)
def test_the_same_examples_come_from_every_format(tmp_path: Path, name: str, content: str) -> None:
    assert examples_of(write(tmp_path, name, content)) == GOOD


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "\ufefftext,label\nbad film,0\ngood film,1\n")
    assert examples_of(path) == GOOD


def test_quoted_csv_fields_keep_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'text,label\n"one, ""two""\nthree",1\nfour,0\n')
    assert [e.texts[0] for e in examples_of(path)] == ['one, "two"\nthree', "four"]


def test_a_quote_in_tsv_is_a_character(tmp_path: Path) -> None:
    content = 'text\tlabel\n"open\t1\nthe " film\t0\n"he said ""no"""\t1\n'
    texts = [e.texts[0] for e in examples_of(write(tmp_path, "a.tsv", content))]
    assert texts == ['"open', 'the " film', 'he said "no"']


def test_a_field_beyond_the_limit_of_csv_is_read_and_the_limit_left_alone(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write(tmp_path, "a.csv", f"text,label\n{'x' * (before + 1)},0\n")
    assert len(examples_of(path)[0].texts[0]) == before + 1
    assert csv.field_size_limit() == before


def test_pairs_keep_the_order_of_the_task(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "hypothesis,premise,label\nB,A,neutral\nD,C,2\n")
    assert [(e.texts, e.label) for e in examples_of(path, PAIRS)] == [
        (("A", "B"), 1),
        (("C", "D"), 2),
    ]


def test_the_record_says_file_checksum_and_rows(tmp_path: Path) -> None:
    content = "text,label\nbad film,0\ngood film,1\n"
    path = write(tmp_path, "a.csv", content)
    source = read_file(SENTIMENT, path, "train").source
    assert source == source_of(path, GOOD)
    assert source.where == path.as_posix()
    assert (source.rows, source.dropped) == (2, 0)
    assert source.sha256 == checksum(path) == hashlib.sha256(content.encode()).hexdigest()


HEADER = "text,label\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", ["a.csv", "empty", "at least one row"]),
        ("a.csv", HEADER, ["a.csv", "header only"]),
        ("a.jsonl", "\n\n", ["a.jsonl", "empty"]),
        ("a.json", "[]", ["a.json", "empty"]),
        ("a.parquet", "x", ["'.parquet'", ".jsonl, .json, .csv, .tsv"]),
        ("a.csv", "words,label\nx,0\n", ["line 1", "no column 'text'", "'words', 'label'"]),
        ("a.csv", "\n\nwords,label\nx,0\n", ["line 3 (the header)", "no column 'text'"]),
        ("a.jsonl", '{"words": "x", "label": 0}\n', ["line 1:", "no column 'text'"]),
        ("a.csv", "text,target\nx,0\n", ["no column 'label'", "'text', 'target'"]),
        ("a.csv", "text;label\nx;0\n", ["no column 'label'", "separated by ';'", "commas"]),
        ("a.jsonl", '{"text": "x", "label": 0}\n{"text": "y"}\n', ["line 2", "'label'", "'text'"]),
        (
            "a.csv",
            HEADER + "x,0\ny,2\n",
            ["line 3", "'2'", "negative, positive (or their codes 0, 1)"],
        ),
        ("a.csv", HEADER + "x,0\ny,-1\n", ["line 3", "'-1'"]),
        ("a.csv", HEADER + '"x\ny",0\nz,bad\n', ["line 4", "'bad'"]),
        ("a.csv", HEADER + "x,\n", ["line 2", "label", "empty"]),
        ("a.jsonl", '{"text": "x", "label": null}', ["line 1", "label", "None"]),
        ("a.jsonl", '{"text": "x", "label": NaN}', ["line 1", "label", "nan"]),
        ("a.jsonl", '{"text": "x", "label": [1]}', ["line 1", "label", "[1]"]),
        ("a.csv", HEADER + "x,0\n  ,1\n", ["line 3", "text", "empty", "remove the row"]),
        ("a.jsonl", '{"text": "", "label": 1}', ["line 1", "empty"]),
        ("a.jsonl", '{"text": 5, "label": 1}', ["line 1", "'text'", "5", "expected text"]),
        ("a.jsonl", '{"text": null, "label": 1}', ["line 1", "'text'", "None"]),
        ("a.jsonl", '{"text": "\\ud800", "label": 1}', ["line 1", "surrogate"]),
        ("a.csv", b"text,label\nx,0\ncaf\xe9,1\n", ["line 3", "0xe9", "offset 18", "UTF-8"]),
        ("a.jsonl", "text".encode("utf-16"), ["line 1", "0xff", "offset 0", "save the file"]),
        ("a.csv", b"text,label\nx\0y,0\n", ["line 2", "NUL"]),
        ("a.jsonl", '{"text": "x", "label": 0}\n[1, 2]\n', ["line 2", "JSON object", "list"]),
        ("a.json", '[{"text": "x", "label": 0}, 3]', ["row 2", "JSON object", "int"]),
        ("a.jsonl", '{"text": "x", "label": 0}\n{"text"\n', ["line 2", "not valid JSON"]),
        ("a.jsonl", "[" * 100_000, ["line 1", "not valid JSON"]),
        ("a.jsonl", '{"text": "x", "label": ' + "9" * 5000 + "}", ["line 1", "not valid JSON"]),
        ("a.jsonl", '{"text": "x", "text": "y"}', ["line 1", "'text'", "twice"]),
        ("a.csv", "text,label,text\nx,0,y\n", ["two columns named 'text'", "rename"]),
        ("a.csv", HEADER + "x,0\ny,z,1\n", ["line 3", "3 fields", "header 2"]),
        ("a.csv", HEADER + "x\n", ["line 2", "1 fields"]),
        ("a.csv", "text;label\nx, y;0\n", ["line 2", "separated by ';'", "commas in .csv"]),
        ("a.csv", HEADER + 'x,0\n"y,1\nz,0\n', ["line 3", "quotes"]),
        ("a.csv", HEADER + '"x" y,0\n', ["line 2", "not valid CSV"]),
        ("a.tsv", 'text\tlabel\n"x\ny"\t0\n', ["line 2", "1 fields", ".jsonl"]),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_line(
    tmp_path: Path, name: str, content: str | bytes, words: list[str]
) -> None:
    message = refusal(write(tmp_path, name, content))
    assert name in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    assert "is not a file" in refusal(tmp_path / name)


def test_labels_of_a_users_file_are_found_and_sorted(tmp_path: Path) -> None:
    path = write(tmp_path, "mails.csv", "body,kind\nx,spam\ny,ham\nz,spam\n")
    task, examples = task_from_file(path, ("body",), "kind")
    assert (task.name, task.texts, task.label) == ("mails", ("body",), "kind")
    assert task.labels == ("ham", "spam")
    assert [(e.id, e.label) for e in examples] == [("train:0", 1), ("train:1", 0), ("train:2", 1)]


def test_labels_that_differ_in_case_alone_are_told(tmp_path: Path, caplog) -> None:
    path = write(tmp_path, "own.csv", "text,label\na,Spam\nb,spam\nc,ham\nd,HAM\ne,new\n")
    task, _ = task_from_file(path, ("text",))
    assert task.labels == ("HAM", "Spam", "ham", "new", "spam")
    assert (
        "the labels HAM and ham, Spam and spam differ in upper and lower case alone" in caplog.text
    )
    caplog.clear()
    task_from_file(write(tmp_path, "own.csv", "text,label\na,spam\nb,ham\n"), ("text",))
    assert not caplog.text


@pytest.mark.parametrize(
    ("cells", "labels", "codes"),
    [
        ("10 9 2", ("2", "9", "10"), [2, 1, 0]),
        ('"1" 2.0 1', ("1", "2"), [0, 1, 0]),
        ("-1 1 -1", ("-1", "1"), [0, 1, 0]),
        ("true false true", ("false", "true"), [1, 0, 1]),
        ('"None" "other" 3', ("3", "None", "other"), [1, 2, 0]),
    ],
)
def test_numbers_are_labels_in_the_order_of_numbers(
    tmp_path: Path, cells: str, labels: tuple[str, ...], codes: list[int]
) -> None:
    lines = "\n".join(f'{{"text": "x", "label": {cell}}}' for cell in cells.split())
    task, examples = task_from_file(write(tmp_path, "a.jsonl", lines), ("text",), "label")
    assert task.labels == labels
    assert [example.label for example in examples] == codes


def test_a_second_file_is_read_by_the_names_of_the_first(tmp_path: Path) -> None:
    task, _ = task_from_file(write(tmp_path, "a.csv", HEADER + "x,1\ny,2\n"), ("text",), "label")
    assert [e.label for e in examples_of(write(tmp_path, "b.csv", HEADER + "x,2\n"), task)] == [1]
    assert "'0'" in refusal(write(tmp_path, "c.csv", HEADER + "x,0\n"), task)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", "a", "a"], ["every row", "'a'", "two classes"]),
        (["1.5", "2.25", "3.0"], ["fractions", "1.5", "regression"]),
        (["1", "2e-3"], ["fractions", "2e-3"]),
        ([f"user{n}" for n in range(30)], ["30 labels in 30 rows", "too many"]),
    ],
)
def test_a_label_column_that_holds_no_classes_is_refused(
    tmp_path: Path, labels: list[str], words: list[str]
) -> None:
    path = write(tmp_path, "a.csv", HEADER + "".join(f"x,{label}\n" for label in labels))
    with pytest.raises(InputError) as caught:
        task_from_file(path, ("text",), "label")
    for word in ["a.csv", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("texts", [(), ("a", "b", "c"), ("a", "a"), ("label",)])
def test_text_columns_are_one_or_two_and_not_the_label(texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="column"):
        Task("mine", texts, ("no", "yes"))


@pytest.mark.parametrize("labels", [(), ("yes",), ("yes", "yes")])
def test_a_task_needs_two_labels(labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="at least two"):
        Task("mine", ("text",), labels)


def any_text(excluded: str = "") -> st.SearchStrategy[str]:
    """Any text that UTF-8 can hold and that is not blank."""
    characters = st.characters(codec="utf-8", exclude_characters=excluded)
    return st.text(characters, min_size=1).filter(lambda text: bool(text.strip()))


def rows_of(excluded: str = "") -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(any_text(excluded), st.integers(0, 1)), min_size=1, max_size=8)


def assert_read_back(path: Path, rows: list[tuple[str, int]]) -> None:
    assert [(e.texts[0], e.label) for e in examples_of(path)] == rows


# Every example overwrites the file of the one before, so one folder serves them all.
round_trip = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@round_trip
@given(rows=rows_of(), ascii_only=st.booleans())
def test_any_text_survives_json_lines(
    tmp_path: Path, rows: list[tuple[str, int]], ascii_only: bool
) -> None:
    lines = (
        json.dumps({"text": text, "label": label}, ensure_ascii=ascii_only) for text, label in rows
    )
    assert_read_back(write(tmp_path, "a.jsonl", "\n".join(lines)), rows)


@round_trip
@given(rows=rows_of("\0"), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_any_text_survives_csv(tmp_path: Path, rows: list[tuple[str, int]], quoting: int) -> None:
    # Lines that end in "\n" need every field quoted: else csv writes a lone "\r" as it is.
    end = "\n" if quoting == csv.QUOTE_ALL else "\r\n"
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator=end, quoting=quoting).writerows([("text", "label"), *rows])
    assert_read_back(tmp_path / "a.csv", rows)


@round_trip
@given(rows=rows_of("\0\t\r\n"))
def test_any_text_on_one_line_survives_tsv(tmp_path: Path, rows: list[tuple[str, int]]) -> None:
    with (tmp_path / "a.tsv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("text", "label"), *rows])
    assert_read_back(tmp_path / "a.tsv", rows)
