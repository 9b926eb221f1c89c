"""`holdfast reproduce`: the papers' tables and figures, run on one's own model."""

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.commands.reproduce_text import again_text, explained, listed, shown
from holdfast.commands.settings import Interface
from holdfast.errors import InputError, RunFailed
from holdfast.reproduce import (
    REPRODUCTIONS,
    Budget,
    Reproduction,
    Setting,
    Shard,
    Wanted,
    find_budget,
    find_reproduction,
    find_setting,
    reproduce,
    run_again,
)
from holdfast.reproduce.again import summary as again_summary
from holdfast.reproduce.explanation import explanation
from holdfast.reproduce.reproduce import summary

CUT = ("epochs", "learning_rate", "batch_size", "max_length")
"""Settings of a protocol that can be given another value for a whole run."""


@dataclass(frozen=True)
class ReproduceOptions:
    """What `holdfast reproduce` takes."""

    names: tuple[str, ...] = ()
    """Which tables and figures; they may also stand without this name. None: list them."""
    model: str | None = None
    """Folder of a pre-trained checkpoint, or its name on the Hub; none: the model of the demo."""
    data: Path | None = None
    """Folder with <task>/<split>.jsonl and, where there are any, advglue/dev_ann.json and
    substitutions/*.json; none: the Hub, or with a small budget the demo's sentences."""
    budget: str = "small"
    """small (minutes on two cores, and too small to conclude anything) or full (the protocol)."""
    output: Path | None = None
    """Folder for cells, records and tables, which the tables of one model and budget share; the
    same command resumes there. None: holdfast-reproduce/<model>-<budget>."""
    seeds: tuple[int, ...] = ()
    """Seeds of training; none: as many as the table has, or one with a small budget."""
    shard: str | None = None
    """i/n: run the i-th of n parts of the cells, for machines that share the output."""
    processes: int = 1
    """Cells run at the same time, each in a process: small models leave most of a GPU idle."""
    from_record: Path | None = None
    """Run the cell of this record again instead, and say whether it lies in its interval."""
    reading: Literal["word_level", "aligned"] = "word_level"
    """How RIFT's models read: one token a word, as released, or the model's own pieces."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of training and of evaluation."""
    train_examples: int | None = None
    """Training examples of a cell at most; none: the budget's."""
    attacked: int | None = None
    """Examples attacked at most; none: the budget's."""
    epochs: float | None = None
    """Passes over the training examples; none: the budget's or the protocol's."""
    learning_rate: float | None = None
    """None: the budget's or the protocol's."""
    batch_size: int | None = None
    """None: the budget's or the protocol's."""
    max_length: int | None = None
    """Tokens kept of a text; none: the budget's or the protocol's."""
    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the data folder's, the cached one, or WordNet's."""
    wordnet: Path | None = None
    """Folder of WordNet's database files; none: where it is usually installed."""
    encoder: Path | None = None
    """Folder of TextFooler's sentence encoder; none: the demo's model, where it is installed."""
    vectors: Path | None = None
    """Word vectors of TextFooler's neighbours, a word and its numbers a line; none: it has the
    lexicon's words."""
    advglue: Path | None = None
    """AdvGLUE's dev_ann.json; none: the data folder's."""

    def __post_init__(self) -> None:
        find_budget(self.budget)
        for name in self.names:
            find_reproduction(name)
        for name in ("train_examples", "attacked", "processes", *CUT):
            value = getattr(self, name)
            if value is not None and not value > 0:
                shown = name.replace("_", "-")
                raise InputError(f"--{shown} is {value}; expected a number above 0.")
        if any(seed < 0 for seed in self.seeds) or len(set(self.seeds)) < len(self.seeds):
            raise InputError("--seeds are whole numbers from 0 on, each once.")


INTERFACE = Interface(
    "reproduce",
    "Run a table or figure of the papers on one's own model, and put what is published beside what "
    "is measured: holdfast reproduce imbert-table2 --model MODEL --data DATA --budget small. "
    "Without a name: list them. What is done already is not done again.",
    ReproduceOptions,
    switches={
        "explain": "tell the protocol, what the paper leaves open, and the cells; run nothing",
        "json": "print the result, the list or the explanation as one JSON object",
    },
    free="names",
)


def run(argv: Sequence[str]) -> None:
    """List, explain or run reproductions."""
    options, given = INTERFACE.read(argv)
    if options.from_record is not None:
        _again(options, options.from_record, as_json="json" in given)
    elif not options.names:
        print(json.dumps(list_summary()) if "json" in given else listed(REPRODUCTIONS.values()))
    else:
        for number, name in enumerate(options.names):
            recipe = find_reproduction(name)
            if number and "json" not in given:
                print()
            if "explain" in given:
                setting = _explained_with(options, recipe)
                told = explanation(recipe, setting)
                print(json.dumps(told.summary()) if "json" in given else explained(told))
            else:
                _reproduce(options, recipe, as_json="json" in given)


def list_summary() -> dict[str, dict[str, str]]:
    """Return what there is as plain values."""
    return {name: {"about": recipe.about} for name, recipe in REPRODUCTIONS.items()}


def _reproduce(options: ReproduceOptions, recipe: Reproduction, *, as_json: bool) -> None:
    shard = Shard.read(options.shard)
    with redirect_stdout(sys.stderr):  # stdout is for the result, whoever else prints
        setting, processes = _setting(options, recipe), options.processes
        result = reproduce(recipe, setting, shard=shard, processes=processes, say=_say)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps(summary(result)) if as_json else shown(result))
    if result.failed:
        raise RunFailed(f"{len(result.failed)} cells could not be finished; see above.")


def _again(options: ReproduceOptions, file: Path, *, as_json: bool) -> None:
    with redirect_stdout(sys.stderr):
        again = run_again(file, wanted(options), say=_say)
    print(json.dumps(again_summary(again)) if as_json else again_text(again))
    if not again.holds:
        raise RunFailed("A number is missing, or lies outside the interval of its record.")


def _setting(options: ReproduceOptions, recipe: Reproduction) -> Setting:
    return find_setting(wanted(options), pairs=recipe.pairs)


def _explained_with(options: ReproduceOptions, recipe: Reproduction) -> Setting:
    """Return the setting; who names no model and has none installed is told of BERT-base."""
    try:
        return _setting(options, recipe)
    except InputError:
        if options.model is not None or options.data is not None:
            raise
    asked = wanted(options)
    return Setting("bert-base-uncased", asked.output, budget=asked.budget)


def wanted(options: ReproduceOptions) -> Wanted:
    """Return what was asked for, with the budget as it is after its changes."""
    names = [field.name for field in dataclasses.fields(Wanted)]
    same = {name: getattr(options, name) for name in names if name not in ("budget", "output")}
    return Wanted(budget=budget_of(options), output=options.output or _output(options), **same)


def budget_of(options: ReproduceOptions) -> Budget:
    """Return the budget, with what the command line changes of it."""
    changes = {name: getattr(options, name) for name in (*CUT, "attacked")}
    changes["train"] = options.train_examples
    given = {name: value for name, value in changes.items() if value is not None}
    return dataclasses.replace(find_budget(options.budget), **given)


def _output(options: ReproduceOptions) -> Path:
    if options.model is None:
        return Path("holdfast-reproduce") / f"demo-{options.budget}"
    folder = Path(options.model).absolute()
    name = folder.parent.name if folder.name == "model" else folder.name
    return Path("holdfast-reproduce") / f"{name}-{options.budget}"


def _say(sentence: str) -> None:
    print(f"reproduce: {sentence}", file=sys.stderr)
