"""`holdfast attack`: what an attack leaves of a classifier's accuracy, or of one sentence."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from holdfast.attack import (
    Attack,
    Goal,
    Machine,
    Material,
    Neighbours,
    Outcome,
    Process,
    ScoreDecrease,
    Summary,
    Targeted,
    Untargeted,
    attack_to_file,
    build_attack,
    kept_aside,
    read_outcomes,
    run_attack,
    summarise,
    verify,
)
from holdfast.attack.recipes import RECIPES
from holdfast.commands.attack_progress import progress
from holdfast.commands.attack_record import Told, record_path, tell_leaks, write_attack_record
from holdfast.commands.attack_text import outcome_text, successes_text, summary_text
from holdfast.commands.columns import find_label, find_texts, refuse_another_number
from holdfast.commands.given_texts import refuse_unreadable
from holdfast.commands.settings import Interface
from holdfast.data import (
    Example,
    Task,
    evaluation_split,
    find_task,
    read_file,
    read_split,
)
from holdfast.errors import InputError
from holdfast.evaluate.attacking import begun_before
from holdfast.evaluate.drawing import Drawn, chosen, drawn_for
from holdfast.implicit.checkpoint import model_folder
from holdfast.record import encode, refuse_file
from holdfast.victim import ModelVictim, load
from holdfast.victim.precision import Precision

MOVING = {"last": (-1,), "first": (0,), "both": (0, -1)}


@dataclass(frozen=True)
class AttackOptions:
    """What `holdfast attack` takes."""

    model: Path
    """Folder of a fine-tuned classifier, as `holdfast train` writes it."""
    attack: str = "pwws_rift"
    """Name of the attack; a wrong one lists those there are."""
    text: tuple[str, ...] = ()
    """Sentences to attack, instead of data: the class the model gives them counts as right."""
    task: str | None = None
    """Name of a known task whose examples are attacked (`holdfast tasks` lists them)."""
    data: Path | None = None
    """Folder that holds the task as `<task>/<split>.jsonl`, .tsv or .csv; none: the Hub."""
    split: str | None = None
    """Split of the task; none: the one that results are reported on."""
    file: Path | None = None
    """CSV, TSV or JSON lines file of one's own, instead of a task."""
    texts: tuple[str, ...] = ()
    """Text columns of `file`: one, or two for sentence pairs; none: as in training, or text."""
    label: str | None = None
    """Label column of `file`: the model's label names, or their codes; none: as in training, or
    label."""
    examples: int | None = 1000
    """How many examples, drawn by the seed; none, or more than there are: all."""
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
    """Folder of a sentence encoder, for attacks that keep the meaning of the whole text."""
    language_model: Path | None = None
    """Folder of a causal language model, for attacks that keep a text likely."""
    masked_model: Path | None = None
    """Folder of a masked language model, for attacks that let it fill in words."""
    target: int | None = None
    """Code of the class the attack is after; none: any wrong one."""
    below: float | None = None
    """The attack is only after a probability of the right class below this bound."""
    moving: Literal["last", "first", "both"] = "last"
    """Which text of a pair may change."""
    output: Path | None = None
    """File for the outcomes, a JSON object a line; the same command resumes a killed run. The
    record, which `holdfast report` shows, lies beside it and ends in .json."""
    seed: int = 0
    """Of the examples drawn, and of the attack."""
    in_flight: int | None = None
    """Examples under attack at the same time, which changes the speed and not the results; none:
    4096 with workers, else 256."""
    workers: int | None = None
    """Processes that search while this one runs the model; none: 14 at most on a GPU, else 0."""
    max_length: int | None = None
    """Tokens the model reads; none: as in its training, else as many as it can, up to 512."""
    precision: Precision = "fp32"
    """Of the model's arithmetic; fp16 is the quickest on a GPU, and not for white-box attacks."""
    certify: bool = True
    """Prove, for a model that rewrites texts, which answers no text of the attack can change, and
    do not search those."""
    verify: bool = True
    """Check every outcome again, from its texts alone."""

    def __post_init__(self) -> None:
        sources = [name for name in ("text", "task", "file") if getattr(self, name)]
        if len(sources) != 1:
            given = " and ".join(f"--{name}" for name in sources) or "none"
            raise InputError(
                f"What to attack is said by one of --text, --task and --file; got {given}."
            )
        if self.target is not None and self.below is not None:
            raise InputError("The goal is told by one of --target and --below; got both.")
        for name in ("examples", "in_flight"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"--{name} is {value}; expected 1 or more.")


INTERFACE = Interface(
    "attack",
    "Attack a classifier and say what of its accuracy is left: holdfast attack --model "
    "runs/x/model --task sst2 --attack genetic_jia. With --text the changed words of one sentence "
    f"are shown. Attacks: {', '.join(RECIPES)}.",
    AttackOptions,
    switches={"json": "print the result as one JSON object"},
)


def run(argv: Sequence[str]) -> None:
    """Attack, verify, print."""
    if argv and not argv[0].startswith("-"):
        raise InputError(f"{argv[0]!r} follows no option; put --text before a sentence to attack.")
    told, given = INTERFACE.read(argv)
    options = with_columns(dataclasses.replace(told, model=model_folder(told.model)))
    if options.output is not None:
        refuse_file(options.output)
    attack = attack_of(options)
    victim = load(options.model, max_length=options.max_length, precision=options.precision)
    drawn = gather_examples(options, victim)
    examples, kept = drawn.examples, options.output is not None and not options.text
    before = _begun_before(options) if kept else ()
    begun = time.perf_counter()
    outcomes = _attacked(options, attack, victim, examples)
    seconds = time.perf_counter() - begun
    if Process.of_environment().rank > 0:
        return
    if options.verify:
        with kept_aside(Path(str(options.output))) if kept else nullcontext():
            verify(attack, victim, outcomes(), examples)
    leaks = () if options.text else tell_leaks(options.model, drawn)
    if kept:
        write_attack_record(options, victim, drawn, seconds, Told(before, leaks))
    summary = summarise(outcomes())
    if "json" in given:
        print(json.dumps(report(options, summary, outcomes, seconds)))
    elif options.text:
        print("\n\n".join(outcome_text(outcome, victim.labels) for outcome in outcomes()))
    else:
        shown = successes_text(outcomes(), victim.labels)
        print(summary_text(attack.name, summary, seconds, _words(attack)) + shown)


def _words(attack: Attack) -> str:
    """Return which lexicon the substitutes are from, if any: what is left depends on it."""
    match attack.transformation:
        case Neighbours(lexicon=lexicon):
            return lexicon.source
    return ""


def _begun_before(options: AttackOptions) -> tuple[str, ...]:
    """Refuse what cannot be written before it is attacked; tell whether an earlier run began."""
    output = Path(str(options.output))
    record_path(output)
    return begun_before(output, Process.of_environment())


def attack_of(options: AttackOptions) -> Attack:
    """Return the attack that was named, with what was given for it."""
    material = Material(**{f.name: getattr(options, f.name) for f in dataclasses.fields(Material)})
    if left := material.unused_by(options.attack):
        raise InputError(f"The attack {options.attack} takes no --{left[0]}; leave it out.")
    moving = MOVING[options.moving]
    return build_attack(options.attack, material, goal=_goal(options), moving=moving)


def _goal(options: AttackOptions) -> Goal:
    if options.target is not None:
        return Targeted(options.target)
    return Untargeted() if options.below is None else ScoreDecrease(options.below)


def with_columns(options: AttackOptions) -> AttackOptions:
    """Return the options with the columns of their file, as the record is to have them."""
    if options.text:
        refuse_another_number(1, [options.model])
    if options.file is None:
        return options
    texts = find_texts(options.texts, [options.model], options.file)
    refuse_another_number(len(texts), [options.model])
    label = find_label(options.label, [options.model], options.file)
    return dataclasses.replace(options, texts=texts, label=label)


def gather_examples(options: AttackOptions, victim: ModelVictim) -> Drawn:
    """Return what is to be attacked, in the model's codes, as `holdfast evaluate` has it."""
    names = victim.labels
    if options.text:
        codes = tuple(map(str, range(victim.classes)))
        return Drawn(Task("text", ("text",), codes), _sentences(options.text, victim), "", "")
    if options.file is not None:
        task = Task(options.file.stem, options.texts, names, label=str(options.label))
        read = read_file(task, options.file, "file")
    else:
        task = find_task(str(options.task))
        split = options.split or evaluation_split(task, options.data)
        read = read_split(task, split, options.data)
    found = chosen(read.examples, options.examples, options.seed, options.allowed_sets)
    return drawn_for(names, task, found, read.source.sha256)


def _sentences(texts: Sequence[str], victim: ModelVictim) -> list[Example]:
    refuse_unreadable(texts)
    answers = victim.score([(text,) for text in texts])
    return [
        Example(f"text:{number}", (text,), int(answer.argmax()))
        for number, (text, answer) in enumerate(zip(texts, answers, strict=True))
    ]


Outcomes = Callable[[], Iterator[Outcome]]


def _attacked(
    options: AttackOptions, attack: Attack, victim: ModelVictim, examples: Sequence[Example]
) -> Outcomes:
    """Run the attack; return a way to go through its outcomes in the order of the examples."""
    asked = Machine(options.in_flight, 0 if options.text else options.workers)
    in_flight, workers = asked.settled(attack, victim)
    settings: dict[str, Any] = {"seed": options.seed, "in_flight": in_flight, "workers": workers}
    settings["certify"] = options.certify
    process = Process.of_environment()
    if process.count > 1 and options.output is None:
        raise InputError(
            f"{process.count} processes attack together; give --output, to meet there."
        )
    with progress(attack.name, -(-len(examples) // process.count), process.rank) as watch:
        if options.output is not None:
            path = attack_to_file(attack, victim, examples, options.output, watch=watch, **settings)
            return lambda: read_outcomes(path)
        found: dict[str, Outcome] = {}
        for outcome in run_attack(attack, victim, examples, **settings):
            found[outcome.id] = outcome
            watch(outcome)
        return lambda: (found[example.id] for example in examples)


def report(
    options: AttackOptions, summary: Summary, outcomes: Outcomes, seconds: float
) -> dict[str, Any]:
    """Return the result as plain values; of sentences also what became of each."""
    found = {"attack": options.attack, "seconds": seconds, "summary": encode(summary)}
    if options.output is not None:
        found["output"] = str(options.output)
    if options.text:
        found["outcomes"] = [outcome.to_json() for outcome in outcomes()]
    return found
