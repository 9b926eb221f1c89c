"""From what was asked for and what is at hand to a setting: model, data, lexicon, encoder."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.data import demo_model_path
from holdfast.errors import InputError
from holdfast.reproduce.budget import Budget
from holdfast.reproduce.samples import demo_folder
from holdfast.reproduce.setting import SAMPLE_FILES, Precision, Reading, Setting, read_shape


@dataclass(frozen=True)
class Wanted:
    """What a user names; what is left out is looked for."""

    budget: Budget
    output: Path
    model: str | None = None
    """None: the model of `holdfast demo`."""
    data: Path | None = None
    """None: the Hub, or with a small budget the demo's sentences."""
    seeds: tuple[int, ...] = ()
    reading: Reading = "word_level"
    precision: Precision = "fp32"
    lexicon: Path | None = None
    wordnet: Path | None = None
    encoder: Path | None = None
    vectors: Path | None = None
    advglue: Path | None = None


def find_setting(wanted: Wanted, *, pairs: bool = False) -> Setting:
    """Return the setting; `pairs`: a task of sentence pairs is needed."""
    if wanted.data is not None and not wanted.data.is_dir():
        raise InputError(
            f"The data folder {wanted.data} does not exist or is not a folder; give one that holds "
            "<task>/<split>.jsonl."
        )
    model = wanted.model or str(demo_model_path())
    demo = wanted.data is None and not wanted.budget.whole and not pairs
    data = demo_folder(wanted.output) if demo else wanted.data
    return Setting(
        model=model,
        output=wanted.output,
        shape=read_shape(model),
        budget=wanted.budget,
        data=data,
        demo=demo,
        seeds=wanted.seeds or None,
        reading=wanted.reading,
        precision=wanted.precision,
        lexicon=wanted.lexicon or _there(data, "substitutions/counterfitted_neighbors.json"),
        joined=_there(data, "substitutions/joined_neighbors.json"),
        further=_there(data, "substitutions/further_neighbors.json"),
        wordnet=wanted.wordnet,
        encoder=wanted.encoder or _demo_encoder(),
        vectors=wanted.vectors,
        advglue=wanted.advglue or _there(data, "advglue/dev_ann.json"),
        allowed={
            task: path
            for task, name in SAMPLE_FILES.items()
            if (path := _there(data, f"substitutions/{name}")) is not None
        },
        textfooler=_there(data, "textfooler_1000/imdb.txt"),
    )


def _there(folder: Path | None, name: str) -> Path | None:
    path = None if folder is None else folder / name
    return path if path is not None and path.is_file() else None


def _demo_encoder() -> Path | None:
    """Return the sentence encoder that comes with the demo, which is its model."""
    try:
        return demo_model_path()
    except InputError:
        return None
