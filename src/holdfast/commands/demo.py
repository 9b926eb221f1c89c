"""`holdfast demo`: plain, implicit, RIFT, both together and canonical text, in minutes."""

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.commands.demo_evaluation import evaluate_models, write_page, write_sentences
from holdfast.commands.demo_measures import (
    MEASUREMENTS,
    Progress,
    compare_growth,
    compare_solvers,
)
from holdfast.commands.demo_text import demo_text
from holdfast.commands.pictures import save_pictures
from holdfast.commands.progress import steps
from holdfast.commands.settings import Interface
from holdfast.commands.train import summary
from holdfast.data import demo_model_path, demo_parts, source_of
from holdfast.data.demo import demo_sentences_path
from holdfast.implicit import Connection, recommended
from holdfast.objectives import AnyObjective, Rift, Standard
from holdfast.record import describe_environment, encode, refuse_folder
from holdfast.text import Canonical, Lexicon, find_wordnet, read_lexicon, wordnet_lexicon
from holdfast.train import (
    DataConfig,
    Optimisation,
    RunExamples,
    Selection,
    TrainConfig,
    fine_tune,
)
from holdfast.train.checkpoint import write_atomically


@dataclass(frozen=True)
class Variant:
    """One of the models: how it is connected, what it is trained for and what it reads."""

    connection: Connection | None
    objective: AnyObjective
    canonical: Canonical | None = None


# two of the six layers, two inner steps instead of ten and a smaller weight: minutes, not an hour
IMPLICIT = replace(recommended, layers="5-6")
RIFT = Rift(beta=5.0, steps=2)
VARIANTS = {
    "plain": Variant(None, Standard()),
    "implicit": Variant(IMPLICIT, Standard()),
    "rift": Variant(None, RIFT),
    "rift-implicit": Variant(IMPLICIT, RIFT),
    "canonical": Variant(None, Standard(), Canonical(groups=0.08)),
}

# One epoch in small batches: on a CPU a sentence costs the same in any batch, so these are all the
# steps there is time for. Few steps, each larger than the paper's; few texts exceed 32 tokens.
LEARNING_RATE, BATCH_SIZE, MAX_LENGTH = 5e-4, 16, 32
MEASURED = 8  # sentences for the solvers and the growth


@dataclass(frozen=True)
class DemoOptions:
    """What `holdfast demo` takes."""

    output: Path = Path("holdfast-demo")
    """Folder for the runs, their records, the report, the lexicon and the pictures."""
    seed: int = 0
    """Draws the sentences, the new head and the order of training."""


@dataclass(frozen=True)
class Size:
    """How many sentences are trained on, measured and attacked."""

    train: int
    validation: int
    test: int
    attacked: int
    epochs: float


FULL = Size(train=224, validation=32, test=300, attacked=20, epochs=1)
QUICK = Size(train=64, validation=16, test=64, attacked=4, epochs=1)

INTERFACE = Interface(
    "demo",
    "Fine-tune all-MiniLM-L6-v2 on a few hundred Rotten Tomatoes sentences: as it is, with "
    "implicit connections, with RIFT on substitutes from WordNet, with both, and on canonical "
    "text. Attack all five, compare them and write a report. Takes some minutes on two cores; what "
    "is done already is used again.",
    DemoOptions,
    switches={
        "quick": "far fewer sentences, in the folder `quick` of the output; learns nothing",
        "json": "print the result as one JSON object",
    },
)


def run(argv: Sequence[str]) -> None:
    """Train the models, attack and compare them, write and print what came out."""
    options, given = INTERFACE.read(argv)
    folder = options.output / "quick" if "quick" in given else options.output
    with redirect_stdout(sys.stderr):  # stdout is for the result, whoever else prints
        record = demo(folder, QUICK if "quick" in given else FULL, options.seed)
    print(json.dumps(record) if "json" in given else demo_text(record, folder))


def demo(folder: Path, size: Size, seed: int) -> dict[str, Any]:
    """Return the record of the demo, made now or found in the folder."""
    started = time.monotonic()
    refuse_folder(folder)
    model, examples = demo_model_path(), gather(size, seed)
    lexicon = demo_lexicon(folder)
    runs = {}
    for name, variant in VARIANTS.items():
        epochs = "1 epoch" if size.epochs == 1 else f"{size.epochs:g} epochs"
        _say(f"the {name} model: {size.train} sentences, {epochs}")
        config = configure(model, folder / name, variant, size, seed)
        # what is held out is measured with the attacks, and no part of training
        result = fine_tune(config, examples=replace(examples, held_out=None), lexicon=lexicon)
        if result.already_done:
            _say(f"the {name} model: done before, in {folder / name}; used again")
        runs[name] = summary(result)
    file = folder / "demo.json"
    if file.is_file() and all(run["already_done"] for run in runs.values()):
        known = dict(json.loads(file.read_text(encoding="utf-8")))
        if (folder / known["report"]).is_file():
            return known
    record = {"runs": runs, **finish(folder, examples, size, seed)}
    record["seconds"] = round(time.monotonic() - started, 1)
    write_atomically(file, json.dumps(record, indent=2) + "\n")
    return record


def finish(folder: Path, examples: RunExamples, size: Size, seed: int) -> dict[str, Any]:
    """Attack and compare the models that were trained, draw the pictures, write the report."""
    models = {name: folder / name / "model" for name in VARIANTS}
    held_out = write_sentences(
        folder / f"{examples.task.name}.csv", examples.task, examples.held_out or []
    )
    lexicon = folder / "lexicon.json"
    evaluated = evaluate_models(models, held_out, lexicon, size.attacked, seed)
    with steps("demo", MEASUREMENTS + 1) as progress:
        measured = measure(folder, examples, progress)
        progress("the report")
        report = write_page(folder, list(VARIANTS))
    return {
        "evaluated": evaluated,
        **measured,
        "report": f"{report.name}/report.html",
        "environment": describe_environment(),
    }


def gather(size: Size, seed: int) -> RunExamples:
    """Draw the demo's sentences."""
    parts = demo_parts(train=size.train, validation=size.validation, test=size.test, seed=seed)
    drawn = [*parts.train, *parts.validation, *parts.test]
    sources = {"sentences": source_of(demo_sentences_path(), drawn)}
    return RunExamples(parts.task, parts.train, parts.validation, parts.test, sources)


def demo_lexicon(folder: Path) -> Lexicon:
    """Return the substitutes that WordNet gives, kept in the folder for a reader to see."""
    path = folder / "lexicon.json"
    if not path.is_file():
        _say("building a lexicon from WordNet")
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, wordnet_lexicon(find_wordnet()).json())
    return read_lexicon(path)


def configure(model: Path, output: Path, variant: Variant, size: Size, seed: int) -> TrainConfig:
    """Return the configuration of one run."""
    return TrainConfig(
        model=str(model),
        output=output,
        data=DataConfig(file=demo_sentences_path(), max_length=MAX_LENGTH),
        connection=variant.connection,
        objective=variant.objective,
        canonical=variant.canonical,
        selection=Selection(attacked=16, steps=2),
        optimisation=Optimisation(
            learning_rate=LEARNING_RATE, batch_size=BATCH_SIZE, epochs=size.epochs
        ),
        seed=seed,
    )


def measure(folder: Path, examples: RunExamples, progress: Progress) -> dict[str, Any]:
    """Return what is known of the connections besides the runs; draw the pictures."""
    held_out = examples.held_out or []
    texts = [example.texts[0] for example in held_out[:MEASURED]]
    plain, implicit = (folder / name / "model" for name in ("plain", "implicit"))
    growths = compare_growth(plain, implicit, texts, progress)
    solvers = compare_solvers(plain, texts, progress)
    progress("pictures")
    pictures = save_pictures(folder, growths)
    counts = Counter(example.label for example in held_out)
    return {
        "examples": {"train": len(examples.train), "test": len(held_out)},
        "majority": max(counts.values()) / len(held_out),
        "solvers": solvers,
        "growth": encode(growths),
        "files": [
            *(f"{name}/model/" for name in VARIANTS),
            "results/",
            "demo.json",
            f"{examples.task.name}.csv",
            "lexicon.json",
            *(p.name for p in pictures),
        ],
    }


def _say(sentence: str) -> None:
    print(f"demo: {sentence}", file=sys.stderr)
