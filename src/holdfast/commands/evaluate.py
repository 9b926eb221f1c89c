"""`holdfast evaluate`: checkpoints on tasks, under attacks and on AdvGLUE, cell by cell."""

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from holdfast.attack import Machine, Material, Process
from holdfast.attack.recipes import RECIPES
from holdfast.commands.attack_progress import progress
from holdfast.commands.columns import (
    LABEL,
    TEXTS,
    find_label,
    find_texts,
    refuse_another_number,
)
from holdfast.commands.evaluate_text import headline, shown, title_of
from holdfast.commands.settings import Interface
from holdfast.errors import InputError
from holdfast.evaluate import Checkpoint, Suite, evaluate_all, read_checkpoints
from holdfast.evaluate.comparing import findings
from holdfast.evaluate.progress import Watch
from holdfast.record import Outcome, RunRecord, encode
from holdfast.victim.precision import Precision


@dataclass(frozen=True)
class EvaluateOptions:
    """What `holdfast evaluate` takes."""

    models: tuple[str, ...]
    """Checkpoints as name=folder, or folders alone; those that differ in the seed or the task of
    their training share a name, and a folder may hold a *. The first is what others are compared
    with."""
    output: Path = Path("results")
    """Folder for the records; the same command resumes a killed evaluation."""
    tasks: tuple[str, ...] = ()
    """Names of known tasks (`holdfast tasks` lists them)."""
    data: Path | None = None
    """Folder that holds the tasks as `<task>/<split>.jsonl`, .tsv or .csv; none: the Hub."""
    file: Path | None = None
    """CSV, TSV or JSON lines file of one's own, beside tasks or instead of them."""
    texts: tuple[str, ...] = ()
    """Text columns of `file`: one, or two for sentence pairs; none: as the models were trained, or
    text."""
    label: str | None = None
    """Label column of `file`: the model's label names, or their codes; none: as the models were
    trained, or label."""
    advglue: Path | None = None
    """AdvGLUE's dev_ann.json."""
    attacks: tuple[str, ...] = ("pwws_rift",)
    """Names of attacks; --attacks without a name: none."""
    examples: int | None = 1000
    """How many examples of each task, drawn by the seed; none, or more than there are: all."""
    clean_examples: int | Literal["same"] | None = "same"
    """How many for the accuracy without an attack; same: those that are attacked; none: all."""
    seeds: tuple[int, ...] = (0,)
    """Of the examples drawn and of the attacks."""
    certify: bool = True
    """Prove, where texts are rewritten, which answers no text of an attack can change, and do not
    search those."""
    adaptive: bool = True
    """Attack through the model's gradients too, and with the texts that broke the reference."""
    adaptive_examples: int | None = 20
    """On how many of the attacked examples the adaptive check is run, which takes most of the time;
    none: all."""
    stability: bool = True
    """Measure how far hidden states move under an attack."""
    cost: bool = True
    """Measure parameters, operations, latency and memory."""
    reference: str | None = None
    """Name of the model whose adversarial texts the others are shown; none: the first."""
    moving: Literal["last", "first", "both"] = "last"
    """Which text of a pair may change."""
    lexicon: Path | None = None
    """JSON file {word: [substitutes]}; none: the cached lexicon, or one built from WordNet."""
    allowed_sets: Path | None = None
    """JSON file {text: {position: [substitutes]}}, for attacks that take one; examples are drawn
    from those that it knows."""
    wordnet: Path | None = None
    """Folder of WordNet's database files, for attacks that use synonyms or parts of speech; none:
    where it is usually installed."""
    entities: Path | None = None
    """JSON file {kind: [names]}, the most frequent first, for attacks that replace names."""
    vectors: Path | None = None
    """File of word vectors, a word and its numbers a line, for attacks that compare words."""
    encoder: Path | None = None
    """Folder of a sentence encoder: with it the similarity of texts is measured."""
    language_model: Path | None = None
    """Folder of a causal language model, for attacks that keep a text likely."""
    masked_model: Path | None = None
    """Folder of a masked language model, for attacks that let it fill in words."""
    precision: Precision = "fp32"
    """Of the model's arithmetic; fp16 is the quickest on a GPU, and not for white-box attacks."""
    max_length: int | None = None
    """Tokens the model reads; none: as in its training."""
    in_flight: int | None = None
    """Examples under attack at the same time, which changes the speed and not the results; none:
    4096 with workers, else 256."""
    workers: int | None = None
    """Processes that search while this one runs the model; none: 14 at most on a GPU, else 0."""


INTERFACE = Interface(
    "evaluate",
    "Measure checkpoints on tasks, files or AdvGLUE, as they are and under attacks, and compare "
    "them: holdfast evaluate --models plain=runs/plain/model rift=runs/rift/model --tasks sst2. "
    f"Attacks: {', '.join(RECIPES)}.",
    EvaluateOptions,
    switches={"json": "print the result as one JSON object"},
)


def run(argv: Sequence[str]) -> None:
    """Evaluate, print."""
    options, given = INTERFACE.read(argv)
    checkpoints = read_checkpoints(options.models)
    suite = suite_of(options, checkpoints)
    machine = Machine(options.in_flight, options.workers)
    records = evaluate_all(checkpoints, suite, options.output, machine=machine, progress=Narrated())
    if Process.of_environment().rank > 0:
        return
    first = checkpoints[0].name
    if "json" in given:
        print(json.dumps(report(options, records, first)))
    else:
        print(shown(records, first, options.output))


def suite_of(options: EvaluateOptions, checkpoints: Sequence[Checkpoint]) -> Suite:
    """Return the suite that the options describe."""
    for name in ("examples", "clean_examples", "adaptive_examples", "in_flight"):
        if isinstance(value := getattr(options, name), int) and value < 1:
            raise InputError(f"--{name} is {value}; expected 1 or more.")
    material = Material(**{f.name: getattr(options, f.name) for f in dataclasses.fields(Material)})
    own = [f.name for f in dataclasses.fields(Suite) if f.name not in ("material", "reference")]
    names = list(dict.fromkeys(one.name for one in checkpoints))
    reference = options.reference or (names[0] if len(names) > 1 else None)
    given: dict[str, Any] = {name: getattr(options, name) for name in own}
    given |= _columns(options, [one.folder for one in checkpoints])
    return Suite(material=material, reference=reference, **given)


def _columns(options: EvaluateOptions, models: Sequence[Path]) -> dict[str, Any]:
    if options.file is None:
        return {"texts": options.texts or TEXTS, "label": options.label or LABEL}
    texts = find_texts(options.texts, models, options.file)
    refuse_another_number(len(texts), models)
    return {"texts": texts, "label": find_label(options.label, models, options.file)}


class Narrated:
    """Says on stderr which cell is under way, and what came out of each."""

    def __init__(self) -> None:
        """Begin with the first cell."""
        self._begun, self._total = 0, 0
        self._rank = Process.of_environment().rank

    def expect(self, cells: int) -> None:
        """Learn how many cells there are."""
        self._total = cells

    @contextmanager
    def cell(self, title: str, examples: int, attacks: int = 1) -> Iterator[Watch]:
        """Say that a cell begins; an attack shows a bar as soon as it has an outcome."""
        self._say(f"[{self._begun + 1}/{self._total}] {title}, {examples} examples")
        with ExitStack() as bars:
            told: list[Watch] = []

            def watch(outcome: Outcome) -> None:
                if not told:
                    name = title.rpartition(", ")[2]
                    bar = progress(name, examples * attacks, self._rank)
                    told.append(bars.enter_context(bar))
                told[0](outcome)

            yield watch

    def done(self, record: RunRecord, path: Path, *, before: bool) -> None:
        """Say what came out."""
        self._begun += 1
        if before:
            at = f"[{self._begun}/{self._total}]"
            self._say(f"{at} {title_of(record)}: done before, {headline(record)}")
        else:
            self._say(f"  {headline(record)}")

    def _say(self, line: str) -> None:
        if self._rank == 0:
            tqdm.write(line, file=sys.stderr)


def report(options: EvaluateOptions, records: Sequence[RunRecord], first: str) -> dict[str, Any]:
    """Return the result as plain values; the whole records lie in the output."""
    told = ("model", "seed", "task", "attack", "metrics", "notes", "outcomes")
    return {
        "output": str(options.output),
        "records": [{name: encode(getattr(record, name)) for name in told} for record in records],
        "comparisons": [
            {
                "task": finding.group.task,
                "attack": finding.group.attack,
                "metric": finding.metric,
                "sentence": finding.sentence(),
                **encode(finding.comparison),
            }
            for finding in findings(records, first)
        ],
    }
