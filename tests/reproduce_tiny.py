"""A tiny model and a data folder with all that reproductions look for."""

import json
from pathlib import Path
from typing import Any

import train_tiny
from evaluate_tiny import write_advglue
from miniature_wordnet import write_wordnet

from holdfast.data import find_task
from holdfast.reproduce import Setting, Wanted, find_budget, find_setting

LEXICON = {"great": ["fine", "warm"], "dull": ["cold", "weak"], "film": ["story", "cast"]}
LEXICON |= {"fine": ["great"], "cold": ["dull"], "weak": ["dull"], "warm": ["great"]}


def sentences(count: int, *, seed: int = 0) -> list[tuple[str, int]]:
    return [(e.texts[0], e.label) for e in train_tiny.examples(count, seed=seed)]


def write_split(folder: Path, name: str, split: str, count: int, *, seed: int) -> None:
    task = find_task(name)
    rows: list[dict[str, Any]] = []
    for number, (text, label) in enumerate(sentences(count, seed=seed)):
        texts = dict.fromkeys(task.texts, text)
        rows.append({**texts, "label": number % 3 if len(task.labels) == 3 else label})
    path = folder / name / f"{split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_data(folder: Path) -> Path:
    """SST-2, IMDB and SNLI, AdvGLUE, lexicon, vectors, allowed sets, reviews, a WordNet."""
    for name, split in (("sst2", "validation"), ("imdb", "test"), ("snli", "test")):
        write_split(folder, name, "train", 48, seed=1)
        write_split(folder, name, split, 12, seed=2)
    (folder / "advglue").mkdir()
    write_advglue(folder / "advglue" / "dev_ann.json")
    substitutions = folder / "substitutions"
    substitutions.mkdir()
    (substitutions / "counterfitted_neighbors.json").write_text(json.dumps(LEXICON))
    vectors = "".join(f"{word} {at % 2} 1 0.{at}\n" for at, word in enumerate(LEXICON))
    (substitutions / "vectors.txt").write_text(vectors)
    covered = [text for text, _ in sentences(8, seed=2)]  # of the twelve test examples
    allowed = {text: _allowed(text) for text in covered}
    for name in ("imdb", "snli"):
        (substitutions / f"{name}_test_lm_filtered.json").write_text(json.dumps(allowed))
    (folder / "textfooler_1000").mkdir()
    lines = [f"{label} {text}" for text, label in sentences(6, seed=3)]
    (folder / "textfooler_1000" / "imdb.txt").write_text("\n".join(lines) + "\n")
    write_wordnet(folder / "wordnet")
    return folder


def _allowed(text: str) -> dict[str, list[str]]:
    words = enumerate(text.split())
    return {str(at): LEXICON[word][:1] for at, word in words if word in LEXICON}


def wanted(folder: Path, **changes: Any) -> Wanted:
    """What a test asks for: the model and the data that lie in `folder`, the tiny budget."""
    given = {
        "budget": find_budget("tiny"),
        "output": folder / "out",
        "model": str(folder / "model"),
        "data": folder / "data",
        "encoder": folder / "model",
        "wordnet": folder / "data" / "wordnet",
    }
    return Wanted(**{**given, **changes})


def setting(folder: Path, **changes: Any) -> Setting:
    return find_setting(wanted(folder, **changes))


def prepare(folder: Path) -> Path:
    """Write the model and the data."""
    train_tiny.write_checkpoint(folder / "model")
    write_data(folder / "data")
    return folder
