"""Tiny checkpoints as `holdfast train` leaves them, with data and a lexicon, for evaluations."""

import json
from pathlib import Path
from typing import Any

import text_tokenizers as kinds
from attack_tiny import labelled, model, sentences, victim

NAMES = ("negative", "positive")


def write_run(
    folder: Path, *, seed: int = 0, task: str = "sst2", labels: tuple[str, ...] = NAMES
) -> Path:
    """A run's folder with a random model of `seed`, and run.json beside it."""
    tokenizer = kinds.wordpiece()
    made = model(tokenizer, seed=seed, labels=len(labels))
    made.config.id2label = dict(enumerate(labels))
    made.config.label2id = {name: code for code, name in enumerate(labels)}
    made.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    (folder / "run.json").write_text(json.dumps(run_json(seed, task)))
    return folder


def run_json(seed: int, task: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "config": {"type": "TrainConfig", "model": "tiny", "seed": seed},
        "data": {"task": task, "parts": {"train": {"examples": 8, "sha256": "0" * 64}}},
        "metrics": {},
        "readings": [],
        "seed": seed,
        "environment": {},
        "device": "cpu",
        "seconds": 1.0,
    }


def write_data(folder: Path, *, count: int = 20) -> Path:
    """SST-2, and the same as a file of one's own; the model of seed 0 is right in 4 of 5."""
    examples = labelled(victim(kinds.wordpiece()), sentences(count))
    (folder / "sst2").mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"sentence": e.texts[0], "label": e.label}) for e in examples]
    (folder / "sst2" / "validation.jsonl").write_text("\n".join(rows))
    lines = [f'"{e.texts[0]}",{NAMES[e.label]}' for e in examples]
    (folder / "own.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    (folder / "lexicon.json").write_text(kinds.LEXICON.json())
    return folder


def write_advglue(file: Path) -> Path:
    """Four rows of each of the six tasks."""
    columns = {
        "sst2": ("sentence",),
        "qqp": ("question1", "question2"),
        "mnli": ("premise", "hypothesis"),
        "mnli-mm": ("premise", "hypothesis"),
        "qnli": ("question", "sentence"),
        "rte": ("sentence1", "sentence2"),
    }
    content = {
        task: [_row(names, number) for number in range(4)] for task, names in columns.items()
    }
    file.write_text(json.dumps(content))
    return file


def _row(names: tuple[str, ...], number: int) -> dict[str, Any]:
    texts = dict.fromkeys(names, ("the film was good", "a bad movie")[number % 2])
    level = ("word", "sentence", "human", "word")[number]
    original = {f"original_{names[0]}": f"a {texts[names[0]]}"}
    return {**texts, **original, "label": number // 2, "data_construction": level, "idx": number}
