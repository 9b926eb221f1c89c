"""A suite over tiny checkpoints: cells, records, resuming, what is refused, what is compared."""

import contextlib
import dataclasses
import json
import re
from pathlib import Path

import pytest
from evaluate_tiny import NAMES, run_json, write_advglue, write_data, write_run

from holdfast.attack import Material
from holdfast.commands.evaluate_text import shown
from holdfast.data import Task, checksum, find_task
from holdfast.errors import InputError, RunFailed
from holdfast.evaluate import (
    AttackCell,
    Cell,
    Checkpoint,
    Measured,
    Named,
    Suite,
    evaluate,
    evaluate_all,
    read_checkpoints,
)
from holdfast.evaluate.attacking import attack_metrics
from holdfast.evaluate.baselines import baselines
from holdfast.evaluate.comparing import findings, grouped, pooled, unmatched
from holdfast.evaluate.drawing import draw
from holdfast.evaluate.fitting import codes, fit
from holdfast.evaluate.trainings import compare_trainings
from holdfast.record import (
    Change,
    Metric,
    Outcome,
    OutcomesFile,
    RunRecord,
    decode,
    find_records,
    read_record,
)
from holdfast.victim import FunctionVictim, load


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    """Two runs that differ in the seed, one for a pair task, data, a lexicon, AdvGLUE."""
    folder = write_data(tmp_path_factory.mktemp("evaluate"))
    write_run(folder / "plain")
    write_run(folder / "other", seed=3)
    write_run(folder / "mnli", task="mnli", labels=("contradiction", "neutral", "entailment"))
    write_advglue(folder / "dev_ann.json")
    return folder


def suite(ground: Path, **settings) -> Suite:
    fast = {"cost": False, "stability": False, "adaptive": False, "examples": 6}
    material = Material(lexicon=ground / "lexicon.json")
    fixed = {"tasks": ("sst2",), "data": ground, "material": material}
    return Suite(**{**fixed, **fast, **settings})


def plain(ground: Path) -> Checkpoint:
    return Checkpoint.read(f"plain={ground / 'plain'}")


class Told:
    """Remembers how an evaluation went, and ends it after some outcomes of an attack."""

    def __init__(self, limit: int = 10**9) -> None:
        self.limit, self.cells, self.done_before = limit, [], []

    def expect(self, cells: int) -> None:
        self.expected = cells

    def cell(self, title: str, examples: int, attacks: int = 1):
        self.cells.append(title)
        return contextlib.nullcontext(self.watch)

    def watch(self, outcome: object) -> None:
        self.limit -= 1
        if self.limit < 0:
            raise KeyboardInterrupt

    def done(self, record: RunRecord, path: Path, *, before: bool) -> None:
        self.done_before.append(before)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(found)}


# Checkpoints -----------------------------------------------------------------------------------


def test_a_checkpoint_knows_its_name_and_seed(ground: Path) -> None:
    assert Checkpoint.read(str(ground / "other")) == Checkpoint(
        "other", ground / "other" / "model", 3
    )
    assert plain(ground) == Checkpoint("plain", ground / "plain" / "model", 0)
    many = read_checkpoints([f"all={ground}/*/model"])
    assert [(one.name, one.seed) for one in many] == [("all", 0), ("all", 3), ("all", 0)]


def test_a_broken_run_json_leaves_the_seed_unknown(tmp_path: Path, caplog) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("{")
    found = Checkpoint.read(str(tmp_path / "run" / "model"))
    assert (found.name, found.seed) == ("run", None)
    assert "is not known" in caplog.text


@pytest.mark.parametrize(
    ("spec", "words"),
    [("nowhere", "no checkpoint at nowhere"), ("a=nowhere/*", "no checkpoint at nowhere")],
)
def test_a_missing_checkpoint_is_said(spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_checkpoints([spec])


def test_a_name_must_be_fit_for_a_folder(ground: Path) -> None:
    with pytest.raises(InputError, match="use letters"):
        Checkpoint("../up", ground / "plain" / "model")


# Labels and tasks ------------------------------------------------------------------------------


def test_labels_are_matched_by_name_whatever_their_order() -> None:
    assert codes(find_task("sst2"), ("NEGATIVE", "POSITIVE")) == (0, 1)
    assert codes(find_task("sst2"), ("LABEL_0", "LABEL_1")) == (0, 1)
    assert codes(find_task("mnli"), ("contradiction", "neutral", "entailment")) == (2, 1, 0)
    assert codes(find_task("qnli"), ("Entailment", "not entailment")) == (0, 1)
    assert codes(find_task("sst2"), ("bad", "good")) is None
    assert codes(find_task("mnli"), ("negative", "positive")) is None


@pytest.mark.parametrize("names", [("-1", "1"), ("+", "-"), ("C", "C++")])
def test_names_that_differ_in_their_signs_are_different(names: tuple[str, str]) -> None:
    own = Task("own", ("text",), names)
    assert codes(own, names) == (0, 1)
    assert codes(own, names[::-1]) == (1, 0)
    assert codes(own, (f"{names[0]} ", names[1])) is None


def test_examples_get_the_codes_of_the_model(ground: Path) -> None:
    cell = suite(ground)
    reading = next(_readings(cell))
    straight, turned = draw(reading, NAMES), draw(reading, NAMES[::-1])
    assert [e.label for e in straight.examples] == [1 - e.label for e in turned.examples]
    assert turned.task.labels == NAMES[::-1]
    assert straight.sha256 == turned.sha256  # so that both models can be compared


def test_f1_is_about_the_same_class_whatever_its_code(ground: Path, tmp_path: Path) -> None:
    """The same answers, of a model whose head and labels are in the other order."""
    names = find_task("qqp").labels
    rows = [json.dumps({"question1": q, "question2": q, "label": label}) for q, label in PAIRS]
    (tmp_path / "qqp").mkdir()
    (tmp_path / "qqp" / "validation.jsonl").write_text("\n".join(rows))
    write_run(tmp_path / "straight", task="qqp", labels=names)
    turn_round(write_run(tmp_path / "turned", task="qqp", labels=names))
    settings = {"tasks": ("qqp",), "attacks": (), "data": tmp_path}
    content = json.loads((ground / "dev_ann.json").read_text())
    for row, label in zip(content["qqp"], (1, 1, 1, 0), strict=True):
        row["label"] = label
    (tmp_path / "uneven.json").write_text(json.dumps(content))
    both = suite(ground, advglue=tmp_path / "uneven.json", **settings)
    straight, turned = (
        evaluate(Checkpoint.read(str(tmp_path / name)), both, tmp_path / "out")
        for name in ("straight", "turned")
    )
    for one, other in zip(straight, turned, strict=True):
        assert one.metric("accuracy") == other.metric("accuracy")
        assert one.metric("f1") == other.metric("f1")
        assert one.metric("f1").value is not None
    assert straight[0].metric("f1").value != straight[0].metric("accuracy").value


PAIRS = [
    (text, int(number % 3 == 0))
    for number, text in enumerate(["a bad film", "the film was good", "a good movie", "film"] * 3)
]


def turn_round(run: Path) -> None:
    """Turn the two classes of a model round: its answers are the same, under other codes."""
    from transformers import AutoModelForSequenceClassification

    turned = AutoModelForSequenceClassification.from_pretrained(run / "model")
    for parameter in turned.classifier.parameters():
        parameter.data = parameter.data.flip(0).contiguous()
    names = [turned.config.id2label[code] for code in (1, 0)]
    turned.config.id2label, turned.config.label2id = (
        dict(enumerate(names)),
        {name: code for code, name in enumerate(names)},
    )
    turned.save_pretrained(run / "model")


def _readings(suite: Suite):
    from holdfast.evaluate.cells import cells_of

    made = cells_of(Checkpoint("a", Path("a")), suite, suite.tasks, ())
    return (cell.reading for cell in made)


def test_a_checkpoint_without_the_labels_is_refused(ground: Path) -> None:
    with pytest.raises(InputError, match="has the labels contradiction, neutral, entailment"):
        fit([Checkpoint.read(str(ground / "mnli"))], suite(ground))
    with pytest.raises(InputError, match="No checkpoint has the labels of the task mnli"):
        fit([plain(ground)], suite(ground, tasks=("sst2", "mnli")))


def test_each_checkpoint_of_a_row_gets_its_own_task(ground: Path, tmp_path: Path) -> None:
    entails = ("entailment", "not_entailment")
    for task in ("rte", "qnli"):
        write_run(tmp_path / task, task=task, labels=entails)
    row = [Checkpoint.read(f"row={tmp_path / task}") for task in ("rte", "qnli")]
    found = fit(row, suite(ground, tasks=("rte", "qnli"), advglue=ground / "dev_ann.json"))
    assert [one.tasks for one in found] == [("rte",), ("qnli",)]
    assert [one.parts for one in found] == [("rte",), ("qnli",)]
    (alone,) = fit(row[:1], suite(ground, tasks=("rte", "qnli")))
    assert alone.tasks == ("rte", "qnli")


def test_two_checkpoints_in_one_place_are_refused(ground: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "twin")
    pair = [plain(ground), Checkpoint.read(f"plain={tmp_path / 'twin'}")]
    with pytest.raises(InputError, match="both called plain and have the seed 0"):
        fit(pair, suite(ground))


def test_advglue_of_an_unknown_task_goes_by_the_labels(ground: Path, tmp_path: Path) -> None:
    only = suite(ground, tasks=(), advglue=ground / "dev_ann.json")
    write_run(tmp_path / "reviews", task="reviews")
    (found,) = fit([Checkpoint.read(str(tmp_path / "reviews"))], only)
    assert found.parts == ("sst2",)
    (found,) = fit([Checkpoint.read(str(ground / "mnli"))], only)
    assert found.parts == ("mnli", "mnli-mm")
    write_run(tmp_path / "pairs", task="pairs", labels=("entailment", "not_entailment"))
    with pytest.raises(InputError, match="fit several"):
        fit([Checkpoint.read(str(tmp_path / "pairs"))], only)


# Suites ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tasks": ()}, "names nothing to evaluate on"),
        ({"tasks": ("sst3",)}, "no task 'sst3'"),
        ({"attacks": ("pwws",)}, "did you mean pwws_rift, pwws_further or pwws_ren"),
        ({"attacks": ("hull", "hull")}, "name hull twice"),
        ({"examples": 0}, "at least one"),
        ({"clean_examples": 0}, "at least one"),
        ({"seeds": ()}, "at least one"),
        ({"seeds": (0, -1)}, "the seed -1; expected seeds of 0 or more"),
        ({"material": Material(vectors=Path("x"))}, "takes vectors"),
        ({"file": Path("sst2.csv")}, "rename it"),
    ],
)
def test_a_suite_that_cannot_be_is_refused(settings, words: str, ground: Path) -> None:
    with pytest.raises(InputError, match=words):
        suite(ground, **settings)


# Records ---------------------------------------------------------------------------------------


def test_a_record_holds_what_is_needed_to_believe_it(ground: Path, tmp_path: Path) -> None:
    records = evaluate(plain(ground), suite(ground), tmp_path)
    clean, attacked = records
    assert (clean.task, clean.attack, clean.model, clean.seed) == ("sst2", None, "plain", 0)
    assert attacked.attack == "pwws_rift"
    cell = decode(AttackCell, attacked.config)
    assert cell.checkpoint == plain(ground)
    assert isinstance(decode(Cell, attacked.config), AttackCell)
    assert cell.reading.examples == 6
    assert attacked.training == run_json(0, "sst2")["config"]
    assert {"data", "model", "lexicon", "attack"} <= attacked.checksums.keys()
    assert attacked.checksums["data"] == clean.checksums["data"]
    assert attacked.seeds == {"sample": 0, "attack": 0}
    assert attacked.environment["packages"]["torch"]
    assert (attacked.device, attacked.seconds > 0) == ("cpu", True)
    assert find_records([tmp_path]).problems == ()
    assert read_record(tmp_path / "plain" / "0" / "sst2" / "pwws_rift-0.json") == attacked


def test_a_model_in_memory_is_evaluated_as_from_its_folder(ground: Path, tmp_path: Path) -> None:
    loaded = load(ground / "plain" / "model")
    whole = suite(ground, cost=True, stability=True)
    from_memory = evaluate(Named("plain", loaded, seed=0), whole, tmp_path / "memory")
    from_folder = evaluate(plain(ground), whole, tmp_path / "folder")
    assert [record.marks for record in from_memory] == [record.marks for record in from_folder]
    assert from_memory[1].checksums == from_folder[1].checksums
    unnamed = evaluate(loaded, suite(ground), tmp_path / "unnamed")
    assert {record.model for record in unnamed} == {"model"}
    assert unnamed[0].marks == from_folder[0].marks
    assert decode(Cell, from_memory[1].config).max_length == loaded.max_length


def test_a_function_is_evaluated_without_what_needs_a_model(ground: Path, tmp_path: Path) -> None:
    def answer(texts: list[str]) -> list[list[float]]:
        return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]

    whole = suite(ground, cost=True, stability=True, adaptive=True)
    given = Named("words", FunctionVictim(answer))
    clean, attacked, adaptive = evaluate(given, whole, tmp_path)
    assert (clean.model, clean.seed, clean.device) == ("words", None, "")
    assert clean.metric("parameters") is None
    assert attacked.metric("accuracy_under_attack").total == 6
    assert attacked.series == ()
    assert adaptive.metric("white_box_accuracy") is None
    assert evaluate(given, whole, tmp_path) == [clean, attacked, adaptive]
    bare = evaluate(answer, whole, tmp_path / "bare")  # under the name that functions have
    assert [record.model for record in bare] == ["function"] * 3
    assert [record.marks for record in bare] == [clean.marks, attacked.marks, adaptive.marks]
    with pytest.raises(InputError, match="2 classes apart and 3 labels"):
        evaluate(Named("words", FunctionVictim(answer), ("a", "b", "c")), whole, tmp_path)


def test_the_numbers_are_those_of_the_outcomes(ground: Path, tmp_path: Path) -> None:
    _, record = evaluate(plain(ground), suite(ground), tmp_path)
    outcomes = list(OutcomesFile(tmp_path / "plain" / "0" / "sst2" / record.outcomes))
    under = record.metric("accuracy_under_attack")
    assert under.count == sum(outcome.survived for outcome in outcomes)
    assert (under.total, under.majority, under.chance) == (6, _majority(outcomes), 0.5)
    assert under.low < under.value < under.high
    assert record.marks["accuracy_under_attack"].count("1") == under.count
    assert record.marks["accuracy"].count("1") == record.metric("accuracy").count
    won = [len(outcome.changes) for outcome in outcomes if outcome.adversarial]
    assert record.metric("changed_words").value == pytest.approx(sum(won) / len(won))
    assert record.metric("success_rate").total == record.metric("accuracy").count
    assert record.labels == NAMES


@pytest.mark.parametrize("changes", [(1, 3), (1, 1, 9)])
def test_no_interval_says_what_cannot_be(changes: tuple[int, ...]) -> None:
    change = Change(0, 0, "a", "b")
    outcomes = [
        Outcome(str(at), ("a b",), 0, "succeeded", 0, changes=(change,) * count, words=10)
        for at, count in enumerate(changes)
    ]
    found = {m.name: m for m in attack_metrics(outcomes, baselines([0] * len(changes), 2))}
    words, share = found["changed_words"], found["changed_share"]
    assert 1 <= words.low <= words.value <= words.high
    assert 0 <= share.low <= share.value <= share.high <= 1


def _majority(outcomes) -> float:
    ones = sum(outcome.label for outcome in outcomes)
    return max(ones, len(outcomes) - ones) / len(outcomes)


def test_a_file_of_ones_own_is_evaluated(ground: Path, tmp_path: Path) -> None:
    own = suite(ground, tasks=(), file=ground / "own.csv", attacks=(), examples=None)
    (record,) = evaluate(plain(ground), own, tmp_path)
    assert (record.task, record.metric("accuracy").count) == ("own", 16)
    assert record.metric("accuracy").total == 20


def test_more_examples_may_count_without_an_attack(ground: Path, tmp_path: Path) -> None:
    clean, attacked = evaluate(plain(ground), suite(ground, clean_examples=None), tmp_path)
    assert (clean.metric("accuracy").total, attacked.metric("accuracy").total) == (20, 6)
    told = shown([clean, attacked], "plain", tmp_path)
    assert told.startswith("sst2: 20 examples, 6 of them attacked. Always answering")


def test_stability_and_cost_are_measured_unless_left_out(ground: Path, tmp_path: Path) -> None:
    clean, attacked = evaluate(plain(ground), suite(ground, cost=True, stability=True), tmp_path)
    assert clean.metric("parameters").value > 0
    moved = [line for line in attacked.series if line.group == ""]
    assert [line.name for line in moved] == ["moved_attack", "moved_random"]
    with pytest.raises(InputError, match="cost was True and is False"):
        evaluate(plain(ground), suite(ground), tmp_path)


def test_a_task_without_an_attackable_text_is_said(ground: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.json"
    lexicon.write_text(json.dumps({"zebra": ["horse"]}))
    nothing = suite(ground, material=Material(lexicon=lexicon))
    _, record = evaluate(plain(ground), nothing, tmp_path / "out")
    assert any("may change no word of any of these texts" in note for note in record.notes)
    under = record.metric("accuracy_under_attack")
    assert under.value == record.metric("accuracy").value
    assert record.metric("changed_words").value is None


def test_another_task_than_the_trained_one_is_noted(ground: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run", task="imdb")
    (record,) = evaluate(
        Checkpoint.read(str(tmp_path / "run")), suite(ground, attacks=()), tmp_path / "out"
    )
    assert record.notes[0] == "The model was trained on imdb and is evaluated on sst2."


def trained_on(file: Path, folder: Path, draw: int | None = None) -> Checkpoint:
    run = write_run(folder, task="own")
    record = run_json(0, "own")
    record["config"]["data"] = {"file": str(file), "texts": ["text"], "examples": draw}
    if file.is_file():
        record["data"]["sources"] = {"train": {"sha256": checksum(file)}}
    (run / "run.json").write_text(json.dumps(record))
    return Checkpoint.read(str(run))


def test_examples_are_drawn_from_those_that_allowed_sets_know(ground: Path, tmp_path: Path) -> None:
    """The others cannot be broken, and would make any model look robust."""
    rows = (ground / "sst2" / "validation.jsonl").read_text().splitlines()
    texts = [json.loads(row)["sentence"] for row in rows]
    sets = tmp_path / "sets.json"
    sets.write_text(json.dumps({text: {"0": ["other"]} for text in texts[::4]}))
    material = Material(allowed_sets=sets)
    whole = suite(ground, attacks=("genetic_jia",), material=material, examples=3)
    clean, attacked = evaluate(plain(ground), whole, tmp_path / "out")
    assert clean.checksums["data"] == attacked.checksums["data"]
    lines = (tmp_path / "out" / "plain" / "0" / "sst2").glob("*.outcomes.jsonl")
    seen = [json.loads(line) for line in next(lines).read_text().splitlines()[1:]]
    assert len(seen) == 3
    assert {one["texts"][0] for one in seen} <= set(texts[::4])
    sets.write_text(json.dumps({"another text": {"0": ["other"]}}))
    with pytest.raises(InputError, match=r"None of the .* examples is among the allowed sets"):
        evaluate(plain(ground), whole, tmp_path / "none")


def test_the_file_of_the_training_is_noted(ground: Path, tmp_path: Path) -> None:
    own = suite(ground, tasks=(), attacks=(), file=ground / "own.csv")
    model = trained_on(ground / "own.csv", tmp_path / "run")
    (found,) = evaluate(model, own, tmp_path / "out")
    assert found.notes[0].startswith("The model was trained on a part of this very file")


def test_the_file_of_the_training_is_known_by_what_it_held(ground: Path, tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    file.write_bytes((ground / "own.csv").read_bytes())
    model = trained_on(file, tmp_path / "run")
    file.unlink()
    copied = suite(ground, tasks=(), attacks=(), file=ground / "own.csv")
    (found,) = evaluate(model, copied, tmp_path / "out")
    assert found.notes[0].startswith("The model was trained on a part of this very file")
    file.write_text((ground / "own.csv").read_text().replace(" ", " new "))
    others = suite(ground, tasks=(), attacks=(), file=file)
    (found,) = evaluate(model, others, tmp_path / "others")
    assert not [note for note in found.notes if "trained on" in note]


def test_texts_of_the_training_are_counted(ground: Path, tmp_path: Path) -> None:
    head, *rows = (ground / "own.csv").read_text().splitlines()
    file = tmp_path / "train.csv"
    file.write_text("\n".join([head, *rows[:2], *(row.replace(" ", " new ", 1) for row in rows)]))
    own = suite(ground, tasks=(), attacks=(), file=ground / "own.csv", examples=len(rows))
    (found,) = evaluate(trained_on(file, tmp_path / "run"), own, tmp_path / "out")
    assert found.notes[0].startswith(f"2 of the {len(rows)} texts stand in the file that the model")
    (found,) = evaluate(trained_on(file, tmp_path / "drawn", draw=3), own, tmp_path / "few")
    assert not [note for note in found.notes if "trained on" in note]  # of which is not known
    file.unlink()
    (found,) = evaluate(trained_on(file, tmp_path / "again"), own, tmp_path / "later")
    assert not [note for note in found.notes if "trained on" in note]


# Resuming --------------------------------------------------------------------------------------


def test_a_killed_evaluation_goes_on_where_it_stopped(ground: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    evaluate(plain(ground), suite(ground), whole)
    with pytest.raises(KeyboardInterrupt):
        evaluate(plain(ground), suite(ground), killed, progress=Told(limit=3))
    assert (killed / "plain" / "0" / "sst2" / "clean-0.json").is_file()
    again = Told()
    evaluate(plain(ground), suite(ground), killed, progress=again)
    assert again.done_before == [True, False]
    assert again.cells == ["plain (seed 0), sst2, pwws_rift"]
    outcomes = "plain/0/sst2/pwws_rift-0.outcomes.jsonl"
    assert files(killed)[outcomes] == files(whole)[outcomes]
    record = read_record(killed / "plain" / "0" / "sst2" / "pwws_rift-0.json")
    assert "the seconds are those of its last part" in record.notes[-1]
    assert not read_record(whole / "plain" / "0" / "sst2" / "pwws_rift-0.json").notes
    assert files(killed).keys() == files(whole).keys()


def test_finished_cells_are_not_run_again_and_new_ones_are(ground: Path, tmp_path: Path) -> None:
    evaluate(plain(ground), suite(ground), tmp_path)
    before, told = files(tmp_path), Told()
    more = suite(ground, attacks=("pwws_rift", "beam"), seeds=(0, 1))
    evaluate(plain(ground), more, tmp_path, progress=told)
    assert told.done_before == [True, True, False, False, False, False]
    assert told.expected == 6
    assert before.items() <= files(tmp_path).items()


def test_what_lies_elsewhere_but_is_the_same_is_the_same_cell(ground: Path, tmp_path: Path) -> None:
    evaluate(plain(ground), suite(ground), tmp_path / "out")
    moved = tmp_path / "moved.json"
    moved.write_bytes((ground / "lexicon.json").read_bytes())
    told = Told()
    same = suite(ground, material=Material(lexicon=moved))
    evaluate(plain(ground), same, tmp_path / "out", progress=told)
    assert told.done_before == [True, True]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"examples": 5}, "the examples were others; reading.examples was 6 and is 5"),
        ({"max_length": 32}, "read its texts in another way; max_length was not set and is 32"),
    ],
)
def test_another_evaluation_in_the_same_place_is_refused(
    settings, words: str, ground: Path, tmp_path: Path
) -> None:
    evaluate(plain(ground), suite(ground, attacks=()), tmp_path)
    before = files(tmp_path)
    with pytest.raises(InputError, match=words):
        evaluate(plain(ground), suite(ground, attacks=(), **settings), tmp_path)
    assert files(tmp_path) == before


def test_another_model_or_lexicon_in_the_same_place_is_refused(
    ground: Path, tmp_path: Path
) -> None:
    evaluate(plain(ground), suite(ground), tmp_path / "out")
    twin = Checkpoint("plain", ground / "other" / "model", 0)
    with pytest.raises(InputError, match="the model was another one"):
        evaluate(twin, suite(ground), tmp_path / "out")
    lexicon = tmp_path / "lexicon.json"
    lexicon.write_text(json.dumps({"film": ["movie"]}))
    with pytest.raises(InputError, match="the lexicon was another"):
        evaluate(plain(ground), suite(ground, material=Material(lexicon=lexicon)), tmp_path / "out")


def test_labels_in_another_order_are_another_model(ground: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    only = suite(ground, attacks=())
    evaluate(Checkpoint.read(str(run)), only, tmp_path / "out")
    write_run(tmp_path / "run", labels=NAMES[::-1])  # the same weights
    with pytest.raises(InputError, match="classes had other names or another order"):
        evaluate(Checkpoint.read(str(run)), only, tmp_path / "out")
    file = tmp_path / "out" / "run" / "0" / "sst2" / "clean-0.json"
    earlier = json.loads(file.read_text())
    del earlier["checksums"]["labels"]  # as records were before
    file.write_text(json.dumps(earlier))
    assert len(evaluate(Checkpoint.read(str(run)), only, tmp_path / "out")) == 1


def test_a_record_that_was_edited_is_not_believed(ground: Path, tmp_path: Path) -> None:
    evaluate(plain(ground), suite(ground), tmp_path)
    file = tmp_path / "plain" / "0" / "sst2" / "pwws_rift-0.json"
    whole = file.read_text()
    edited = json.loads(whole)
    under = next(m for m in edited["metrics"] if m["name"] == "accuracy_under_attack")
    under["value"] = 0.95
    file.write_text(json.dumps(edited))
    with pytest.raises(
        InputError, match=r"contradicts itself .* is 0\.95 .* remove it and measure"
    ):
        evaluate(plain(ground), suite(ground), tmp_path)
    file.write_text(whole)
    told = Told()
    evaluate(plain(ground), suite(ground), tmp_path, progress=told)
    assert told.done_before == [True, True]


def test_a_record_knows_its_outcomes(ground: Path, tmp_path: Path) -> None:
    clean, attacked = evaluate(plain(ground), suite(ground), tmp_path)
    outcomes = tmp_path / "plain" / "0" / "sst2" / "pwws_rift-0.outcomes.jsonl"
    assert attacked.checksums["outcomes"] == checksum(outcomes)
    assert "outcomes" not in clean.checksums
    assert read_record(outcomes.with_name("pwws_rift-0.json")) == attacked


def test_lost_outcomes_are_made_again(ground: Path, tmp_path: Path) -> None:
    evaluate(plain(ground), suite(ground), tmp_path)
    outcomes = tmp_path / "plain" / "0" / "sst2" / "pwws_rift-0.outcomes.jsonl"
    before = outcomes.read_bytes()
    outcomes.unlink()
    evaluate(plain(ground), suite(ground), tmp_path)
    assert outcomes.read_bytes() == before


def test_outcomes_that_do_not_hold_are_put_aside(ground: Path, tmp_path: Path) -> None:
    evaluate(plain(ground), suite(ground), tmp_path)
    folder = tmp_path / "plain" / "0" / "sst2"
    outcomes = folder / "pwws_rift-0.outcomes.jsonl"
    header, first, *rest = outcomes.read_text().splitlines()
    wrong = json.loads(first) | {"words": 99}
    outcomes.write_text("\n".join([header, json.dumps(wrong), *rest]) + "\n")
    (folder / "pwws_rift-0.json").unlink()
    with pytest.raises(RunFailed, match=r"They were moved to .*refused"):
        evaluate(plain(ground), suite(ground), tmp_path)
    assert not (folder / "pwws_rift-0.json").exists()
    assert len(evaluate(plain(ground), suite(ground), tmp_path)) == 2


def test_everything_is_read_before_anything_is_measured(ground: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("text,label\na film,purple\n")
    with pytest.raises(InputError, match="'purple'"):
        evaluate(plain(ground), suite(ground, file=bad), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_is_no_folder_for_records(below: str, ground: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("text,label\n")
    told = Told()
    with pytest.raises(InputError, match=r"one\.csv is a file, and nothing can"):
        evaluate(plain(ground), suite(ground), tmp_path / "one.csv" / below, progress=told)
    assert told.cells == []


def test_processes_share_the_attack_and_the_first_writes(
    ground: Path, tmp_path: Path, monkeypatch
) -> None:
    alone = evaluate(plain(ground), suite(ground), tmp_path / "one")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert evaluate(plain(ground), suite(ground), tmp_path / "two") == []
    assert not list((tmp_path / "two").rglob("*.json"))
    monkeypatch.setenv("RANK", "0")
    together = evaluate(plain(ground), suite(ground), tmp_path / "two")
    assert [record.metrics for record in together] == [record.metrics for record in alone]


# Several checkpoints ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(ground: Path, tmp_path_factory) -> list[RunRecord]:
    """Two rows of two seeds each, on two samples."""
    out = tmp_path_factory.mktemp("compared")
    runs = {("a", 0): "plain", ("a", 3): "other", ("b", 0): "other", ("b", 3): "plain"}
    checkpoints = [
        Checkpoint(name, ground / run / "model", seed) for (name, seed), run in runs.items()
    ]
    return evaluate_all(checkpoints, suite(ground, seeds=(0, 1), examples=8), out)


def test_records_of_the_same_examples_are_compared(compared: list[RunRecord]) -> None:
    found = findings(compared, "a")
    assert [(f.group.attack, f.group.sample) for f in found] == [
        (None, 0),
        ("pwws_rift", 0),
        (None, 1),
        ("pwws_rift", 1),
    ]
    assert {f.metric for f in found} == {"accuracy", "accuracy_under_attack"}
    assert {f.comparison.corrected_for for f in found} == {4}
    assert all(f.comparison.difference.value == 0 for f in found)  # the same two models
    assert found[0].sentence().startswith("sst2, clean: No difference between b and a")
    assert "2 seeds" in found[0].sentence()


def test_seeds_are_taken_together_with_an_interval_of_their_own(compared: list[RunRecord]) -> None:
    group = grouped(compared)[0]
    one = [record.metric("accuracy") for record in group.models["a"]]
    both = pooled(group.models["a"], "accuracy")
    assert both.value == pytest.approx((one[0].value + one[1].value) / 2)
    assert both.low < both.value < both.high
    assert both.majority == one[0].majority
    assert pooled(group.models["a"][:1], "accuracy") == one[0]
    assert pooled(group.models["a"], "f1") is None


def test_two_looks_at_one_training_are_one_seed(ground: Path, tmp_path: Path) -> None:
    checkpoints = [
        Checkpoint.read(f"{name}={ground / run}") for name, run in (("a", "plain"), ("b", "other"))
    ]
    whole = suite(ground, seeds=(0, 1), examples=20, attacks=("random_search",))
    records = evaluate_all(checkpoints, whole, tmp_path)
    found = findings(records, "a")
    assert [(f.group.attack, f.comparison.seeds) for f in found] == [
        (None, 1),
        ("random_search", 1),
    ]
    clean = grouped(records)[0]
    assert len(clean.models["a"]) == 2  # the same examples, drawn twice
    once = clean.models["a"][0].metric("accuracy")
    both = pooled(clean.models["a"], "accuracy")
    assert (both.value, both.low) == (once.value, pytest.approx(once.low, abs=0.05))
    assert "no spread over seeds" in found[1].sentence()
    assert re.search(r"\na +1 ", shown(records, "a", tmp_path))


def test_attempts_that_differ_are_averaged_within_a_training() -> None:
    marks = [["1100", "1000"], ["1111", "1111"]]
    made = compare_trainings("a", "b", marks, [["0000", "0000"], ["1111", "1111"]])
    assert (made.difference.value, made.seeds, made.examples) == (pytest.approx(3 / 16), 2, 4)
    same = compare_trainings("a", "b", marks, marks)
    assert (same.difference.value, same.p) == (0, 1)
    assert same.difference.low < 0 < same.difference.high


def test_other_examples_are_not_compared(compared: list[RunRecord]) -> None:
    alien = [
        dataclasses.replace(record, model="c", checksums={"data": f"x{record.seeds['sample']}"})
        for record in compared
        if record.model == "b"
    ]
    assert {f.comparison.first for f in findings([*compared, *alien], "a")} == {"b"}
    told = unmatched([*compared, *alien], "a")
    assert len(told) == 4
    assert told[0].startswith("sst2, clean: c was measured on other examples than a")


def test_the_reference_must_be_there(ground: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reference 'rift' is no checkpoint"):
        evaluate_all([plain(ground)], suite(ground, reference="rift"), tmp_path)


def test_the_adaptive_check_learns_of_attacks_that_are_added(
    ground: Path, tmp_path: Path, monkeypatch
) -> None:
    told: list[dict[str, object]] = []

    def adaptive(victim, examples, material, **settings) -> Measured:
        told.append(settings)
        withstood = [Metric("white_box_accuracy", 1.0, count=6, total=6, group="hull")]
        return Measured((*withstood, Metric("white_box_accuracy", 1.0)), notes=("Before.",))

    monkeypatch.setattr("holdfast.evaluate.adapting.adaptive", adaptive)
    one = suite(ground, adaptive=True, attacks=("random_search",))
    *_, first = evaluate(plain(ground), one, tmp_path)
    assert set(told[0]["black_box"]) == {"random_search"}
    assert first.notes == ("Before.",)
    two = suite(ground, adaptive=True, attacks=("random_search", "beam"))
    *_, second = evaluate(plain(ground), two, tmp_path)
    assert len(told) == 1  # it was not run again
    assert second.notes[0] == "Before."
    assert {"random_search", "beam"} == {n.split(",")[0].split()[-1] for n in second.notes[1:]}
    assert read_record(tmp_path / "plain" / "0" / "sst2" / "adaptive-0.json") == second


def _noting(seen: list[tuple[list[str], float]]):
    """An adaptive check that only notes what it is given, and withstands everything."""

    def adaptive(victim, examples, material, *, black_box, **settings) -> Measured:
        seen.append(([example.id for example in examples], black_box["random_search"]))
        marks = "1" * len(examples)
        return Measured((Metric("white_box_accuracy", 1.0),), {"white_box_accuracy": marks})

    return adaptive


@pytest.mark.parametrize("attacked", [6, None])  # drawn, or all of the file in its order
def test_the_adaptive_check_sees_a_draw_and_is_compared_on_it(
    ground: Path, tmp_path: Path, monkeypatch, attacked: int | None
) -> None:
    seen: list[tuple[list[str], float]] = []
    monkeypatch.setattr("holdfast.evaluate.adapting.adaptive", _noting(seen))
    some = {"adaptive": True, "attacks": ("random_search",), "examples": attacked}
    _, record, checked = evaluate(
        plain(ground), suite(ground, adaptive_examples=3, **some), tmp_path
    )
    outcomes = list(OutcomesFile(tmp_path / "plain" / "0" / "sst2" / record.outcomes))
    left = {outcome.id: outcome.survived for outcome in outcomes}
    (ids, black_box) = seen[0]
    assert len(set(ids)) == 3
    assert black_box == sum(left[one] for one in ids) / 3
    assert f"saw 3 of the {len(left)} attacked examples" in checked.notes[-1]
    assert checked.checksums["data"] != record.checksums["data"]  # marks are about the three
    if attacked is None:
        assert ids != list(left)[:3]  # a file may have its classes one behind the other


def test_more_examples_for_the_adaptive_check_are_another_evaluation(
    ground: Path, tmp_path: Path, monkeypatch
) -> None:
    seen: list[tuple[list[str], float]] = []
    monkeypatch.setattr("holdfast.evaluate.adapting.adaptive", _noting(seen))
    some = {"adaptive": True, "attacks": ("random_search",)}
    evaluate(plain(ground), suite(ground, adaptive_examples=2, **some), tmp_path)
    with pytest.raises(InputError, match="first was 2 and is 4"):
        evaluate(plain(ground), suite(ground, adaptive_examples=4, **some), tmp_path)
    for count in (6, 1000, None):  # all of the six
        evaluate(plain(ground), suite(ground, adaptive_examples=count, **some), tmp_path / "all")
    assert [len(ids) for ids, _ in seen] == [2, 6]


def test_doubtful_texts_of_the_reference_are_noted(
    ground: Path, tmp_path: Path, monkeypatch
) -> None:
    def adaptive(*given, transferred, **settings) -> Measured:
        return Measured((Metric("transfer_accuracy", 1.0, total=len(transferred)),))

    monkeypatch.setattr("holdfast.evaluate.adapting.adaptive", adaptive)
    both = [plain(ground), Checkpoint.read(f"other={ground / 'other'}")]
    whole = suite(ground, adaptive=True, reference="plain", attacks=("random_search",))
    *_, sound = evaluate_all(both, whole, tmp_path)
    assert sound.notes == (
        "The texts that are transferred were found on plain of the training seed 0: there are "
        "none of the seed 3.",
    )
    (tmp_path / "other" / "3" / "sst2" / "adaptive-0.json").unlink()
    outcomes = tmp_path / "plain" / "0" / "sst2" / "random_search-0.outcomes.jsonl"
    outcomes.write_bytes(outcomes.read_bytes()[:-9])
    *_, torn = evaluate_all(both, whole, tmp_path)
    assert torn.metric("transfer_accuracy").total == 5
    assert "plain has outcomes of 5 of the 6 examples, as its file is cut off" in torn.notes[1]


# AdvGLUE ---------------------------------------------------------------------------------------


def test_a_checkpoint_is_put_to_its_own_task_of_advglue(ground: Path, tmp_path: Path) -> None:
    only = suite(ground, tasks=(), attacks=(), advglue=ground / "dev_ann.json")
    (record,) = evaluate(plain(ground), only, tmp_path)
    assert record.task == "advglue/sst2"
    assert record.metric("accuracy").total == 4
    assert record.metric("accuracy", "word").total == 2
    assert record.metric("paired_accuracy") is not None
    assert files(tmp_path).keys() == {"plain/0/advglue/sst2.json"}


def test_one_checkpoint_for_each_task_gives_the_total(ground: Path, tmp_path: Path) -> None:
    for task in ("sst2", "qqp", "mnli", "qnli", "rte"):
        write_run(tmp_path / "runs" / task, task=task, labels=find_task(task).labels)
    only = suite(ground, tasks=(), attacks=(), advglue=ground / "dev_ann.json")
    checkpoints = read_checkpoints([f"row={tmp_path}/runs/*"])
    *parts, total = evaluate_all(checkpoints, only, tmp_path / "out")
    assert len(parts) == 6
    assert total.task == "advglue"
    mean = sum(record.metric("accuracy").value for record in parts) / 6
    assert total.metric("plain_mean").value == pytest.approx(mean)
    assert total.metric("official_score").low is not None
    again = evaluate_all(checkpoints, only, tmp_path / "out")
    assert again[-1].metrics == total.metrics
    assert len(again) == 7  # one total, though five checkpoints make it
