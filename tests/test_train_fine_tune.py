"""`fine_tune`: what it writes, that its seed decides everything, and what it refuses."""

import dataclasses
import json
import logging
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import train_tiny as tiny
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from holdfast.adversary import inputs_of
from holdfast.data import EncodedExamples, PadBatch, Task
from holdfast.errors import InputError
from holdfast.implicit import Connection, Explicit, Theta, connected, load
from holdfast.record import decode
from holdfast.solve import Descent, Unrolled
from holdfast.train import (
    DataConfig,
    Optimisation,
    RunExamples,
    TrainConfig,
    TrainResult,
    fine_tune,
    gather_examples,
)
from holdfast.train.identity import differences
from holdfast.train.loading import load_classifier

CONNECTION = Connection(layers="2", scheme=Theta(), on_failure="keep")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("fine_tune")
    tiny.write_checkpoint(root / "model", dropout=0.1)
    tiny.write_csv(root / "data.csv", 44)
    tiny.write_csv(root / "held_out.csv", 9, seed=5)
    return root


def config(root: Path, output: Path, *, data: dict[str, Any] | None = None, **changes: Any):
    settings = {"learning_rate": 1e-2, "batch_size": 8, "epochs": 2.0, "log_every": 2}
    settings.update(changes.pop("optimisation", {}))
    given = {"file": root / "data.csv", "max_length": 16, **(data or {})}
    return TrainConfig(
        str(changes.pop("model", root / "model")),
        output,
        DataConfig(**given),
        optimisation=Optimisation(**settings),
        **changes,
    )


@pytest.fixture(scope="module")
def run(root) -> TrainResult:
    """An implicit model trained for two epochs of four steps, with a second file measured."""
    data = {"held_out_file": root / "held_out.csv"}
    return fine_tune(config(root, root / "out", data=data, connection=CONNECTION), progress=False)


def record(result: TrainResult) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((result.output / "run.json").read_text())
    return value


def weights(result: TrainResult) -> dict[str, torch.Tensor]:
    return load_file(result.model / "model.safetensors")


# -- what is written ------------------------------------------------------------------------------


def test_the_folder_holds_what_is_promised(run):
    names = {path.name for path in run.output.iterdir()}
    assert names == {"config.json", "run.json", "log.jsonl", "checkpoints", "model"}


def test_the_record_tells_how_the_result_came_about(run, root):
    found = record(run)
    assert decode(TrainConfig, found["config"]).connection == CONNECTION
    assert found["seed"] == 0
    assert found["data"]["labels"] == ["bad", "good"]
    assert {part: d["examples"] for part, d in found["data"]["parts"].items()} == {
        "train": 35,
        "validation": 9,
        "held_out": 9,
    }
    assert len(found["data"]["sources"]["train"]["sha256"]) == 64
    assert found["new_weights"] == ["classifier.bias", "classifier.weight"]
    assert found["seconds"] > 0
    assert found["peak_memory_bytes"] > 2**20
    assert found["environment"]["packages"]["torch"]
    assert found["device"] in ("cpu", "mps") or torch.cuda.is_available()


def test_the_loss_curve_has_training_and_validation_lines(run):
    lines = [json.loads(line) for line in (run.output / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [2, 4, 6, 8]
    assert [line["step"] for line in lines if "eval_loss" in line] == [4, 8]
    best = min((line for line in lines if "eval_loss" in line), key=lambda line: line["eval_loss"])
    assert best["step"] == run.best_step
    assert best["eval_loss"] == pytest.approx(run.metrics["validation_loss"])


NAMES = ("loss", "accuracy")


def test_the_saved_model_is_the_measured_one(run, root):
    model = load(run.model).eval()
    assert connected(model).connection == CONNECTION
    tokenizer = AutoTokenizer.from_pretrained(run.model)
    examples = gather_examples(DataConfig(file=root / "data.csv"), seed=0).validation
    batch = PadBatch(tokenizer)(list(EncodedExamples(examples, tokenizer, 16)))
    labels = batch["labels"]
    with torch.no_grad():
        output = model(**inputs_of(batch), labels=labels)
    assert output.loss.item() == pytest.approx(run.metrics["validation_loss"], abs=1e-5)
    right = (output.logits.argmax(-1) == labels).float().mean().item()
    assert right == pytest.approx(run.metrics["validation_accuracy"])
    measured = (f"{part}_{name}" for part in ("validation", "held_out") for name in NAMES)
    assert set(run.metrics) == {*measured, "distance"}


def test_the_saved_model_is_a_plain_checkpoint_with_label_names(run):
    model = AutoModelForSequenceClassification.from_pretrained(run.model)
    assert model.config.id2label == {0: "bad", 1: "good"}
    assert connected(model) is None


def test_readings_are_those_of_the_validation_examples(run):
    (reading,) = run.readings
    assert reading["layer"] == 2
    assert 0 <= reading["residual_after"] < reading["residual_before"]


def test_checkpoints_carry_the_connection_too(run):
    for checkpoint in (run.output / "checkpoints").iterdir():
        assert connected(load(checkpoint)).connection == CONNECTION


def test_the_best_checkpoint_is_kept_not_the_last(root, tmp_path):
    settings = {"learning_rate": 0.05, "epochs": 1.0, "checkpoint_every": 1}
    result = fine_tune(config(root, tmp_path / "out", optimisation=settings), progress=False)
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["eval_loss"] for line in lines if "eval_loss" in line}
    assert result.best_step == min(losses, key=losses.__getitem__)
    assert result.best_step < max(losses)
    best = tmp_path / "out" / "checkpoints" / f"checkpoint-{result.best_step}"
    kept = load_file(best / "model.safetensors")
    assert all(torch.equal(weights(result)[name], value) for name, value in kept.items())


def test_an_explicit_connection_solves_nothing(root, tmp_path):
    connection = Connection(layers="1", scheme=Explicit())
    given = config(root, tmp_path / "out", connection=connection, optimisation={"epochs": 0.25})
    assert fine_tune(given, progress=False).readings == ()


def test_nothing_is_printed_on_stdout_and_progress_is_on_stderr(root, tmp_path, capfd):
    fine_tune(config(root, tmp_path / "out", optimisation={"epochs": 0.5}), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" in err
    assert "training: " in err
    assert "validation: " in err
    assert "held out: " not in err
    fine_tune(config(root, tmp_path / "quiet", optimisation={"epochs": 0.5}), progress=False)
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" not in err


def test_new_weights_are_named_once(root, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="holdfast"):
        fine_tune(config(root, tmp_path / "out", optimisation={"epochs": 0.25}), progress=False)
    said = [r.getMessage() for r in caplog.records if "head" in r.getMessage()]
    assert said == ["head: new, to be learned: classifier.bias, classifier.weight"]


def test_a_run_tells_what_it_is_made_of(root, tmp_path, caplog):
    data = {"held_out_file": root / "held_out.csv", "examples": 20}
    given = config(
        root, tmp_path / "out", data=data, connection=CONNECTION, optimisation={"epochs": 0.5}
    )
    with caplog.at_level(logging.INFO, logger="holdfast"):
        fine_tune(given, progress=False)
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "data: 53 rows read; 16 to train, 4 to validate, 9 held out"
    labels = Counter(e.label for e in gather_examples(given.data, seed=0).train)
    labels += Counter(e.label for e in gather_examples(given.data, seed=0).validation)
    assert told[1] == f"labels: bad {labels[0]}, good {labels[1]}"
    assert told[2] == "connection: layers 2, Theta(theta=0.5), solved by Anderson"
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="holdfast"):
        plain = config(root, tmp_path / "plain", optimisation={"epochs": 0.25})
        fine_tune(plain, progress=False)
    told = [record.getMessage() for record in caplog.records]
    assert "none held out" in told[0]
    assert told[2] == "connection: none, the plain model"


def test_a_connection_that_is_left_out_is_told(root, tmp_path, run, caplog):
    given = config(root, tmp_path / "out", model=run.model, optimisation={"epochs": 0.25})
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        fine_tune(given, progress=False)
    assert "has a connection, which this run leaves out" in caplog.text


# -- the seed -------------------------------------------------------------------------------------


def test_the_seed_decides_everything(root, tmp_path, run):
    data = {"held_out_file": root / "held_out.csv"}
    again = config(root, tmp_path / "again", data=data, connection=CONNECTION)
    torch.rand(7)  # whatever was drawn before does not matter
    result = fine_tune(again, progress=False)
    assert all(torch.equal(weights(run)[n], value) for n, value in weights(result).items())
    assert result.metrics == run.metrics
    other = fine_tune(dataclasses.replace(again, output=tmp_path / "other", seed=1), progress=False)
    assert record(other)["data"]["parts"] != record(run)["data"]["parts"]
    assert not torch.equal(weights(other)["classifier.weight"], weights(run)["classifier.weight"])


def test_low_resource_takes_so_many_examples_in_all(root):
    data = DataConfig(file=root / "data.csv", examples=20)
    parts = gather_examples(data, seed=1)
    assert (len(parts.train), len(parts.validation)) == (16, 4)
    assert gather_examples(data, seed=1) == parts
    assert gather_examples(data, seed=2).train != parts.train


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"gradient_checkpointing": True},
        {"precision": "bf16"},
        {"gradient_accumulation": 2, "batch_size": 4},
    ],
    ids=["gradient checkpointing", "bf16", "accumulation"],
)
def test_settings_change_the_cost_and_not_the_curve(root, tmp_path, settings):
    model = tiny.write_checkpoint(tmp_path / "model", dropout=0.0)
    curves = []
    for name, changes in (("plain", {}), ("changed", settings)):
        given = {"epochs": 1.0, "learning_rate": 1e-3, "log_every": 1, **changes}
        fine_tune(
            config(root, tmp_path / name, model=model, connection=CONNECTION, optimisation=given),
            progress=False,
        )
        lines = (tmp_path / name / "log.jsonl").read_text().splitlines()
        curves.append([json.loads(line)["loss"] for line in lines if '"loss"' in line])
    tolerance = 2e-2 if settings.get("precision") == "bf16" else 1e-4
    assert curves[1][:4] == pytest.approx(curves[0][:4], rel=tolerance)


def test_second_order_gradients_get_the_attention_they_need(root, tmp_path):
    connection = Connection(layers="1", solver=Descent(steps=1), gradient=Unrolled())
    connection = dataclasses.replace(connection, on_failure="keep")
    given = config(root, tmp_path / "out", connection=connection, optimisation={"epochs": 0.25})
    assert fine_tune(given, progress=False).metrics


def test_fewer_examples_than_a_batch_still_train(root, tmp_path):
    result = fine_tune(
        config(root, tmp_path / "out", data={"examples": 10}, optimisation={"batch_size": 16}),
        progress=False,
    )
    assert record(result)["steps"] == 2


def test_examples_may_be_given(root, tmp_path):
    read = gather_examples(DataConfig(file=root / "data.csv"), seed=0)
    given = RunExamples(read.task, read.train[:16], read.validation)
    result = fine_tune(config(root, tmp_path / "out"), progress=False, examples=given)
    assert record(result)["data"]["parts"]["train"]["examples"] == 16


def test_a_classifier_for_other_labels_gets_a_new_head(root, tmp_path, run):
    three = tmp_path / "three.csv"
    three.write_text(
        "text,label\n"
        + "".join(
            f"the film was {w},{i % 3}\n"
            for i, w in enumerate((*tiny.GOOD, *tiny.BAD, *tiny.FILLERS))
        ),
        encoding="utf-8",
    )
    result = fine_tune(
        config(root, tmp_path / "out", model=run.model, data={"file": three}), progress=False
    )
    assert weights(result)["classifier.weight"].shape == (3, 16)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("bad", "good"), True),
        (("BAD", "Good"), True),
        (("good", "bad"), False),
        (("cold", "warm"), False),
        (("LABEL_0", "LABEL_1"), True),
    ],
)
def test_a_head_is_kept_only_for_the_same_labels_in_the_same_order(tmp_path, names, kept, caplog):
    trained = tiny.model(seed=4)
    trained.config.id2label = dict(enumerate(names))
    trained.config.label2id = {name: code for code, name in enumerate(names)}
    trained.save_pretrained(tmp_path / "trained")
    tiny.tokenizer().save_pretrained(tmp_path / "trained")
    task = Task("reviews", ("text",), ("bad", "good"), validation=None)
    torch.manual_seed(0)
    loaded = load_classifier(str(tmp_path / "trained"), task)
    assert torch.equal(loaded.model.classifier.weight, trained.classifier.weight) is kept
    assert torch.equal(loaded.model.bert.pooler.dense.weight, trained.bert.pooler.dense.weight)
    assert loaded.new_weights == (() if kept else ("classifier.bias", "classifier.weight"))
    assert loaded.labels() == ["bad", "good"]
    with caplog.at_level(logging.INFO, logger="holdfast"):
        loaded.describe(str(tmp_path / "trained"))
    assert ("a new head" in caplog.text) is not kept
    assert ("head: kept" in caplog.text) is kept


def test_a_new_head_is_drawn_by_the_seed_and_not_left_empty(tmp_path):
    trained = tiny.model(seed=4)
    trained.config.id2label = {0: "no", 1: "yes"}
    trained.save_pretrained(tmp_path / "trained")
    tiny.tokenizer().save_pretrained(tmp_path / "trained")
    task = Task("reviews", ("text",), ("bad", "good"), validation=None)
    heads = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        model = load_classifier(str(tmp_path / "trained"), task).model
        heads.append(model.classifier.weight.detach())
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
    assert 0.01 < heads[0].std() < 0.04  # as transformers draws it: 0.02


# -- what is refused ------------------------------------------------------------------------------


def refused(given: TrainConfig, match: str) -> None:
    before = snapshot(given.output)
    with pytest.raises(InputError, match=match):
        fine_tune(given, progress=False)
    assert snapshot(given.output) == before


def snapshot(folder: Path) -> list[tuple[Path, int]] | None:
    if not folder.exists():
        return None
    return sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_folder_of_another_run(run, root):
    given = config(root, run.output, seed=9, optimisation={"epochs": 3.0})
    refused(given, r"another run: .*optimisation.epochs was 2.0 and is 3.0.*seed was 0 and is 9")


def test_a_run_of_a_version_with_fewer_settings_is_the_same_run(run, root):
    """A setting that is new, at its default, changes nothing."""
    file, data = run.output / "config.json", {"held_out_file": root / "held_out.csv"}
    before = file.read_text(encoding="utf-8")
    known = json.loads(before)
    del known["config"]["optimisation"]["by_length"]
    file.write_text(json.dumps(known), encoding="utf-8")
    try:
        same = config(root, run.output, data=data, connection=CONNECTION)
        assert fine_tune(same, progress=False).already_done
        longer = dataclasses.replace(same.optimisation, by_length=True)
        other = dataclasses.replace(same, optimisation=longer)
        refused(other, "optimisation.by_length was False and is True")
    finally:
        file.write_text(before, encoding="utf-8")


def test_a_model_that_does_not_exist_is_told_before_another_run(run, root):
    refused(config(root, run.output, model="./nowhere"), "no checkpoint folder nowhere")


def test_a_finished_run_is_shown_without_its_model(root, tmp_path):
    model = tiny.write_checkpoint(tmp_path / "model")
    given = config(root, tmp_path / "out", model=model, optimisation={"epochs": 0.25})
    fine_tune(given, progress=False)
    shutil.rmtree(model)
    assert fine_tune(given, progress=False).already_done


def test_a_folder_of_the_same_run_on_changed_data(root, tmp_path):
    data = {"file": tiny.write_csv(tmp_path / "data.csv", 20)}
    given = config(root, tmp_path / "out", data=data, optimisation={"epochs": 0.5})
    fine_tune(given, progress=False)
    tiny.write_csv(tmp_path / "data.csv", 22)
    refused(given, "holds another run: its data were other examples")


def test_a_run_whose_files_lie_elsewhere_is_the_same_run(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tiny.write_checkpoint(tmp_path / "model")
    file = tiny.write_csv(tmp_path / "data.csv", 20)
    short = {"epochs": 0.5}
    first = config(root, Path("out"), data={"file": file}, model=model, optimisation=short)
    fine_tune(first, progress=False)
    shutil.copytree(tmp_path / "out", tmp_path / "moved")
    (tmp_path / "copies").mkdir()
    copy = Path(shutil.copy(file, "copies"))
    spelt = {"data": {"file": copy}, "model": "./copies/../model", "optimisation": short}
    for output in ("out", str(tmp_path / "moved")):
        assert fine_tune(config(root, Path(output), **spelt), progress=False).already_done
    tiny.write_csv(copy, 22)
    refused(config(root, Path("out"), **spelt), "data.file was .*its data were other examples")


def test_a_lexicon_that_lies_elsewhere_makes_no_other_run():
    def identity(place: str, checksum: str) -> dict[str, object]:
        return {"config": {"canonical": {"lexicon": place}}, "lexicons": {"canonical": checksum}}

    assert differences(identity("here.json", "a"), identity("there.json", "a")) == []
    told = differences(identity("here.json", "a"), identity("there.json", "b"))
    assert told == ["canonical.lexicon was here.json and is there.json", "its lexicon was another"]


def test_a_folder_with_other_files(root, tmp_path):
    (tmp_path / "thesis.txt").touch()
    refused(config(root, tmp_path), "thesis.txt")


def test_a_file_in_place_of_the_folder(root, tmp_path):
    (tmp_path / "out").touch()
    refused(config(root, tmp_path / "out"), "is a file")


def test_pickled_weights(root, tmp_path):
    model = tiny.write_checkpoint(tmp_path / "model")
    torch.save({}, model / "pytorch_model.bin")
    (model / "model.safetensors").unlink()
    refused(config(root, tmp_path / "out", model=model), "pickled weights are never loaded")


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nowhere"])
def test_a_model_folder_that_does_not_exist(root, tmp_path, name):
    refused(config(root, tmp_path / "out", model=name), "nowhere")


def test_a_broken_weights_file(root, tmp_path):
    model = tiny.write_checkpoint(tmp_path / "model")
    (model / "model.safetensors").write_bytes(b"not weights")
    refused(config(root, tmp_path / "out", model=model), "is damaged or no safetensors file")


def test_layers_beyond_the_depth(root, tmp_path):
    refused(config(root, tmp_path / "out", connection=Connection(layers="3")), "Layer 3")


def test_texts_longer_than_the_positions(root, tmp_path):
    model = tiny.write_checkpoint(tmp_path / "model")
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings["model_max_length"] = 512
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    long = tmp_path / "long.csv"
    long.write_text(f"text,label\n{'fine ' * 60},1\n" + "dull,0\nfine,1\n" * 5, encoding="utf-8")
    data = {"file": long, "max_length": 64}
    refused(config(root, tmp_path / "out", model=model, data=data), "reads at most 32")


@pytest.mark.parametrize(
    "data",
    [
        {"folder": Path("somewhere")},
        {"file": None, "task": "sst2", "held_out_file": Path("x.csv")},
    ],
)
def test_data_settings_that_do_not_belong_together(root, tmp_path, data):
    refused(config(root, tmp_path / "out", data=data), "goes with data")
