"""Robust objectives through a whole run: batches, anchors, canonical text, selection, refusals."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import train_tiny as tiny
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import IterableDataset
from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

from holdfast.adversary import Batch
from holdfast.anchors import Mixout, PretrainedDecay, RecAdam
from holdfast.data import EncodedExamples, find_task
from holdfast.errors import InputError
from holdfast.implicit import Connection, Theta
from holdfast.objectives import (
    Adversarial,
    FreeLB,
    InfoBERT,
    Informative,
    Loss,
    Rift,
    Smart,
    Standard,
)
from holdfast.text import Canonical, CanonicalMap, Substitutions, read_lexicon
from holdfast.text.settings import TextSettings
from holdfast.train import (
    CandidateBatch,
    DataConfig,
    HullCheck,
    Optimisation,
    RobustTrainer,
    Selection,
    TrainConfig,
    fine_tune,
)
from holdfast.train.examples import RunExamples, gather_examples
from holdfast.train.metrics import loss_and_accuracy
from holdfast.train.parts import encode_parts

LEXICON = {"fine": ["great", "warm"], "dull": ["cold"], "film": ["story", "cast"]}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("robust")
    tiny.write_checkpoint(root / "model", dropout=0.1)
    tiny.model().save_pretrained(root / "classifier")
    tiny.tokenizer().save_pretrained(root / "classifier")
    tiny.write_csv(root / "data.csv", 40)
    (root / "lexicon.json").write_text(json.dumps(LEXICON))
    return root


def config(root: Path, output: Path, **changes: Any) -> TrainConfig:
    settings = {"learning_rate": 1e-2, "batch_size": 8, "epochs": 2.0, "log_every": 2}
    settings.update(changes.pop("optimisation", {}))
    substitutions = {"lexicon": root / "lexicon.json", **changes.pop("substitutions", {})}
    return TrainConfig(
        str(root / changes.pop("model", "classifier")),
        output,
        DataConfig(file=changes.pop("file", root / "data.csv"), max_length=16),
        optimisation=Optimisation(**settings),
        substitutions=Substitutions(**substitutions),
        selection=changes.pop("selection", Selection(attacked=8, steps=2)),
        **changes,
    )


def lines(output: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]


# -- whole runs ---------------------------------------------------------------------------------


def test_arguments_in_the_place_of_an_objective_are_told(tmp_path: Path) -> None:
    """`Trainer` takes them there."""
    with pytest.raises(InputError, match=r"training arguments by name"):
        RobustTrainer(None, arguments(tmp_path))


def test_rift_on_a_connected_model_with_everything_on(root, tmp_path):
    run = fine_tune(
        config(
            root,
            tmp_path / "run",
            objective=Rift(steps=2),
            connection=Connection("2", Theta(), on_failure="keep"),
            anchor=PretrainedDecay(),
            canonical=Canonical(rounds=1),
        ),
        progress=False,
    )
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert {path.name for path in run.model.iterdir()} >= {
        "model.safetensors",
        "connection.json",
        "canonical.json",
        "text.json",
    }
    assert record["lexicon"]["sha256"]
    assert record["coverage"]["covered"] > 0
    assert {"validation_accuracy", "validation_hull_accuracy", "distance"} <= set(run.metrics)
    assert run.metrics["validation_hull_accuracy"] <= run.metrics["validation_accuracy"]
    training = [line for line in lines(tmp_path / "run") if "loss" in line]
    evaluated = [line for line in lines(tmp_path / "run") if "eval_loss" in line]
    assert {"clean", "divergence", "adversarial", "information", "anchor"} <= set(training[0])
    assert {"eval_accuracy", "eval_hull_accuracy", "eval_distance"} <= set(evaluated[0])
    assert {"eval_clean", "eval_divergence", "eval_information"} <= set(evaluated[0])
    assert evaluated[0]["eval_distance"] > 0
    best = max(evaluated, key=lambda line: line["eval_hull_accuracy"])
    assert best["eval_hull_accuracy"] == run.metrics["validation_hull_accuracy"]


def test_canonical_text_is_learned_from_the_training_part_and_noted(root, tmp_path):
    settings = config(root, tmp_path / "run", canonical=Canonical(rounds=1))
    run = fine_tune(settings, progress=False)
    found = CanonicalMap.load(run.model)
    texts = [e.texts[0] for e in gather_examples(settings.data, settings.seed).train]
    counts = {word: sum(text.split().count(word) for text in texts) for word in ("dull", "cold")}
    rare = min(counts, key=lambda word: counts[word])
    assert found.apply(f"a {rare} film").text.split()[1] == max(counts, key=lambda w: counts[w])
    assert TextSettings.load(run.model) == TextSettings(16, texts=("text",), label="label")


def test_words_can_be_read_one_token_each(root, tmp_path):
    pytest.importorskip("nltk")
    settings = config(root, tmp_path / "run", substitutions={"mode": "word_level"})
    assert TextSettings.load(fine_tune(settings, progress=False).model).mode == "word_level"


class KillAfter(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def interrupt(settings: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a run and stop it after its third step."""
    usual = RobustTrainer.__init__

    def interrupted(self: RobustTrainer, *args: Any, **options: Any) -> None:
        usual(self, *args, **options)
        self.add_callback(KillAfter(3))

    with monkeypatch.context() as patch:
        patch.setattr(RobustTrainer, "__init__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(settings, progress=False)


@pytest.mark.parametrize(
    ("objective", "anchor"),
    [
        (Rift(steps=2), None),
        (Smart(), None),
        (InfoBERT(), None),
        (Adversarial(steps=2), Mixout(0.3)),
        (FreeLB(), RecAdam(midpoint=3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_interrupted_run_ends_with_the_same_weights(
    root, tmp_path, monkeypatch, objective, anchor
):
    def settings(name: str) -> TrainConfig:
        optimisation = {"checkpoint_every": 2, "epochs": 2.0, "learning_rate": 1e-4}
        return config(
            root, tmp_path / name, objective=objective, anchor=anchor, optimisation=optimisation
        )

    whole = fine_tune(settings("whole"), progress=False)
    interrupt(settings("cut"), monkeypatch)
    again = fine_tune(settings("cut"), progress=False)
    before, after = (load_file(run.model / "model.safetensors") for run in (whole, again))
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert lines(tmp_path / "whole") == lines(tmp_path / "cut")


def test_training_stops_when_nothing_gets_better_also_after_a_resume(root, tmp_path, monkeypatch):
    def settings(name: str) -> TrainConfig:
        return config(
            root,
            tmp_path / name,
            selection=Selection(by="accuracy", patience=3, attacked=8, steps=2),
            optimisation={"epochs": 30.0, "learning_rate": 1e-9, "checkpoint_every": 1},
        )

    fine_tune(settings("whole"), progress=False)
    assert len([line for line in lines(tmp_path / "whole") if "eval_loss" in line]) == 4
    interrupt(settings("cut"), monkeypatch)
    fine_tune(settings("cut"), progress=False)
    assert lines(tmp_path / "whole") == lines(tmp_path / "cut")


@pytest.mark.parametrize(
    "changes",
    [
        {
            "selection": Selection(by="accuracy", patience=3, attacked=8, steps=2),
            "optimisation": {"epochs": 30.0, "learning_rate": 1e-9, "checkpoint_every": 1},
        },
        {"optimisation": {"epochs": 1.5, "checkpoint_every": 4}},
    ],
    ids=["stopped early", "a fraction of an epoch"],
)
def test_a_run_killed_after_its_training_trains_no_further(root, tmp_path, monkeypatch, changes):
    def settings(name: str) -> TrainConfig:
        return config(root, tmp_path / name, **changes)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    whole = fine_tune(settings("whole"), progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module("holdfast.train.fine_tune"), "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(settings("cut"), progress=False)
    again = fine_tune(settings("cut"), progress=False)
    records = [json.loads((tmp_path / n / "run.json").read_text()) for n in ("whole", "cut")]
    assert records[0]["steps"] == records[1]["steps"]
    assert whole.metrics == again.metrics
    assert lines(tmp_path / "whole") == lines(tmp_path / "cut")
    before, after = (load_file(run.model / "model.safetensors") for run in (whole, again))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_run_with_another_lexicon_is_another_run(root, tmp_path, monkeypatch):
    (tmp_path / "lexicon.json").write_text(json.dumps(LEXICON))
    settings = config(
        root,
        tmp_path / "run",
        canonical=Canonical(rounds=1),
        substitutions={"lexicon": tmp_path / "lexicon.json"},
        optimisation={"checkpoint_every": 1},
    )
    interrupt(settings, monkeypatch)
    (tmp_path / "lexicon.json").write_text(json.dumps({"film": ["cast"]}))
    with pytest.raises(InputError, match="holds another run"):
        fine_tune(settings, progress=False)


def test_a_checkpoint_can_be_used_like_the_finished_model(root, tmp_path):
    settings = config(root, tmp_path / "run", objective=Adversarial(steps=1), canonical=Canonical())
    run = fine_tune(settings, progress=False)
    checkpoint = tmp_path / "run" / "checkpoints" / f"checkpoint-{run.best_step}"
    for name in ("canonical.json", "text.json", "tokenizer.json"):
        assert (checkpoint / name).read_text() == (run.model / name).read_text()


def test_readings_are_of_the_validation_examples_not_of_the_attack_on_them(root, tmp_path):
    connection = Connection("2", Theta(), on_failure="keep")
    readings = [
        fine_tune(
            config(root, tmp_path / by, connection=connection, selection=Selection(by=by)),
            progress=False,
        ).readings
        for by in ("loss", "hull_accuracy")
    ]
    assert readings[0][0]["layer"] == 2
    assert readings[0] == readings[1]


# -- batches ------------------------------------------------------------------------------------


class Recording:
    """Standard, keeping the batches it was given."""

    passes = 1
    moves = True
    substitutes = False

    def __init__(self, *, class_conditional: bool = False) -> None:
        self.class_conditional = class_conditional
        self.seen: list[Batch] = []

    def extras(self, model: nn.Module) -> nn.Module:
        return nn.Module()

    def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Any:
        self.seen.append(batch)
        yield from Standard().losses(model, extras, batch)


def arguments(folder: Path, **options: Any) -> TrainingArguments:
    return TrainingArguments(
        str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=8,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        **options,
    )


def test_every_batch_holds_equal_numbers_of_each_class(tmp_path):
    objective = Recording(class_conditional=True)
    kept = [e for e in tiny.examples(40) if e.label == 0 or int(e.id.split(":")[1]) < 20]
    data = EncodedExamples(kept, tiny.tokenizer(), 16)
    trainer = RobustTrainer(
        tiny.model(),
        objective,
        args=arguments(tmp_path),
        train_dataset=data,
        data_collator=tiny.collator(),
    )
    trainer.train()
    assert len(objective.seen) == 5
    assert all(batch["labels"].float().mean() == 0.5 for batch in objective.seen)


def test_a_dataset_made_for_trainer_is_told_which_tokens_are_special(tmp_path):
    tokenizer, objective = tiny.tokenizer(), Recording()
    rows = [{**tokenizer(e.texts[0]), "labels": e.label} for e in tiny.examples(16)]
    trainer = RobustTrainer(
        tiny.model(),
        objective,
        args=arguments(tmp_path),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
    )
    trainer.train()
    batch = objective.seen[0]
    special = torch.isin(batch["input_ids"], torch.tensor(tokenizer.all_special_ids))
    assert torch.equal(batch["movable"].bool(), ~special)


def test_the_check_draws_no_random_numbers_and_leaves_the_model_alone(root, tmp_path):
    settings = config(root, tmp_path, objective=Adversarial(steps=2))
    parts = encode_parts(
        gather_examples(settings.data, 0),
        tiny.tokenizer(),
        settings,
        read_lexicon(root / "lexicon.json"),
    )
    assert isinstance(parts.collate, CandidateBatch)
    states, held = [], []
    for check in (None, HullCheck(steps=2), HullCheck(steps=2)):
        model = tiny.model()
        trainer = RobustTrainer(
            model,
            settings.objective,
            args=arguments(tmp_path),
            eval_dataset=parts.datasets["validation"],
            data_collator=parts.collate,
            check=check,
        )
        torch.manual_seed(5)
        held.append(trainer.evaluate().get("eval_hull_accuracy"))
        states.append(torch.get_rng_state())
        fresh = tiny.model().state_dict()
        assert all(torch.equal(fresh[name], value) for name, value in model.state_dict().items())
    assert torch.equal(states[0], states[1])
    assert held[0] is None
    assert held[1] == held[2]


# -- evaluation ---------------------------------------------------------------------------------


def always_first() -> nn.Module:
    """A classifier that gives every text its first label."""
    model = tiny.model()
    nn.init.zeros_(model.classifier.weight)
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([1.0, 0.0]))
    return model


def evaluator(root: Path, folder: Path, objective: Any = None, **options: Any) -> RobustTrainer:
    """What evaluates 40 texts with substitutes, sorted by their labels as many a file is."""
    by_label = sorted(tiny.examples(40), key=lambda example: example.label)
    given = RunExamples(find_task("sst2"), tiny.examples(4), by_label)
    lexicon = read_lexicon(root / "lexicon.json")
    parts = encode_parts(given, tiny.tokenizer(), config(root, folder), lexicon)
    return RobustTrainer(
        always_first(),
        objective,
        args=arguments(folder),
        eval_dataset=parts.datasets["validation"],
        data_collator=parts.collate,
        **options,
    )


def test_the_attacked_examples_are_of_all_classes_and_the_same_each_time(root, tmp_path):
    some = evaluator(root, tmp_path, check=HullCheck(steps=1, examples=20))
    held = [some.evaluate()["eval_hull_accuracy"] for _ in range(2)]
    assert held[0] == held[1] == pytest.approx(0.5, abs=0.2)
    for wanted in (40, 500, None):
        every = evaluator(root, tmp_path, check=HullCheck(steps=1, examples=wanted))
        assert every.evaluate()["eval_hull_accuracy"] == 0.5


def test_of_texts_read_twice_the_first_reading_is_attacked(root, tmp_path):
    twice = evaluator(root, tmp_path, check=HullCheck(steps=1, examples=None, readings=2))
    assert twice.evaluate()["eval_hull_accuracy"] == 1.0  # the first half of the rows is one class


def test_the_examples_of_a_stream_are_the_first_ones(root, tmp_path):
    trainer = evaluator(root, tmp_path, check=HullCheck(steps=1, examples=16))

    class Stream(IterableDataset):
        def __iter__(self) -> Any:
            yield from trainer.eval_dataset

    assert trainer.evaluate(Stream())["eval_hull_accuracy"] == 1.0


def test_the_parts_of_a_loss_are_measured_on_batches_of_all_classes(root, tmp_path):
    objective = Recording(class_conditional=True)
    evaluator(root, tmp_path, objective).evaluate()
    assert sum(len(batch["labels"]) for batch in objective.seen) == 40
    assert all(len(batch["labels"].unique()) == 2 for batch in objective.seen)


@pytest.mark.parametrize("measured", [None, loss_and_accuracy], ids=["loss only", "accuracy too"])
def test_what_is_asked_for_is_added_to_every_evaluation(root, tmp_path, measured):
    trainer = evaluator(
        root, tmp_path, check=HullCheck(steps=1), track_distance=True, compute_metrics=measured
    )
    found = trainer.evaluate()
    assert (found["eval_hull_accuracy"], found["eval_distance"]) == (0.5, 0.0)


def test_a_distance_needs_no_labels(tmp_path):
    rows = [dict(tiny.tokenizer()(example.texts[0])) for example in tiny.examples(4)]
    trainer = RobustTrainer(
        tiny.model(),
        args=arguments(tmp_path),
        processing_class=tiny.tokenizer(),
        check=HullCheck(),
        track_distance=True,
    )
    found = trainer.predict(rows).metrics
    assert found["test_distance"] == 0.0
    assert "test_hull_accuracy" not in found


def test_the_anchors_penalty_is_counted_once_whatever_the_passes(tmp_path):
    class Twice(Recording):
        passes = 2

        def losses(self, model: nn.Module, extras: nn.Module, batch: Batch) -> Any:
            for _ in range(2):
                for loss in Standard().losses(model, extras, batch):
                    yield Loss(loss.total / 2)

    results = []
    for objective in (Standard(), Twice()):
        trainer = RobustTrainer(
            tiny.model(),
            objective,
            args=arguments(tmp_path, learning_rate=1e-3, max_grad_norm=0.0),
            train_dataset=tiny.encoded(16),
            data_collator=tiny.collator(),
            anchor=PretrainedDecay(strength=1.0),
        )
        trainer.train()
        results.append(trainer.plain_model.classifier.weight.detach().clone())
    assert torch.allclose(results[0], results[1], atol=1e-6)


# -- refusals -----------------------------------------------------------------------------------


def test_a_lexicon_that_covers_no_word(root, tmp_path):
    (tmp_path / "other.json").write_text('{"zebra": ["giraffe"]}')
    settings = config(
        root,
        tmp_path / "run",
        objective=Adversarial(),
        substitutions={"lexicon": tmp_path / "other.json"},
    )
    with pytest.raises(InputError, match="covers no word of the data"):
        fine_tune(settings, progress=False)
    assert not (tmp_path / "run").exists()


def test_a_class_with_one_example(tmp_path):
    data = EncodedExamples([*tiny.examples(1), *tiny.examples(9)[1::2]], tiny.tokenizer(), 16)
    with pytest.raises(InputError, match="has one example only"):
        RobustTrainer(tiny.model(), Informative(), args=arguments(tmp_path), train_dataset=data)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"objective": Rift(steps=1), "optimisation": {"batch_size": 5}}, "cannot hold two"),
        ({"anchor": RecAdam(), "optimisation": {"learning_rate": 1e-3}}, "leaps past"),
    ],
    ids=["an odd batch", "too strong a pull"],
)
def test_what_is_refused_leaves_nothing_behind(root, tmp_path, changes, reason):
    with pytest.raises(InputError, match=reason):
        fine_tune(config(root, tmp_path / "run", **changes), progress=False)
    assert not (tmp_path / "run").exists()


def test_encoded_examples_need_no_collator_beside_a_tokenizer(tmp_path):
    trainer = RobustTrainer(
        tiny.model(),
        FreeLB(),
        args=arguments(tmp_path),
        train_dataset=tiny.encoded(16),
        processing_class=tiny.tokenizer(),
    )
    trainer.train()
    assert trainer.state.global_step == 2


def test_a_new_model_for_every_training_keeps_its_anchor(tmp_path):
    trainer = RobustTrainer(
        model_init=lambda: tiny.model(),
        args=arguments(tmp_path, learning_rate=1e-4),
        train_dataset=tiny.encoded(16),
        processing_class=tiny.tokenizer(),
        anchor=RecAdam(midpoint=2),
        track_distance=True,
    )
    for _ in range(2):
        trainer.train()
    assert type(trainer.optimizer.optimizer).__name__ == "RecAdamW"


def test_predictions_without_labels_and_a_loss_outside_training(root, tmp_path):
    tokenizer = tiny.tokenizer()
    rows = [dict(tokenizer(e.texts[0])) for e in tiny.examples(4)]
    trainer = RobustTrainer(
        tiny.model(), args=arguments(tmp_path), processing_class=tokenizer, check=HullCheck()
    )
    assert trainer.predict(rows).predictions.shape == (4, 2)
    batch = tiny.collator()([tiny.encoded(4)[row] for row in range(4)])
    batch.pop("ids")
    assert trainer.compute_loss(trainer.model, batch).isfinite()


def test_a_model_with_one_output(tmp_path):
    model = tiny.model()
    model.config.num_labels = 1
    with pytest.raises(InputError, match="regression"):
        RobustTrainer(model, FreeLB(), args=arguments(tmp_path))


@pytest.mark.parametrize("kind", ["multi_label_classification", "regression"])
def test_a_model_whose_labels_are_no_classes(tmp_path, kind):
    model = tiny.model()
    model.config.problem_type = kind
    with pytest.raises(InputError, match=f"problem_type {kind!r}.*single_label_classification"):
        RobustTrainer(model, args=arguments(tmp_path))


def test_a_model_without_token_vectors(tmp_path, monkeypatch):
    model = tiny.model()
    monkeypatch.setattr(type(model), "get_input_embeddings", lambda self: None)
    with pytest.raises(InputError, match="no table of token vectors"):
        RobustTrainer(model, FreeLB(), args=arguments(tmp_path))


def test_an_optimizer_of_ones_own_beside_an_anchor(tmp_path):
    model = tiny.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(InputError, match="ready-made"):
        RobustTrainer(
            model, args=arguments(tmp_path), anchor=RecAdam(), optimizers=(optimizer, None)
        )


def test_a_misspelt_option_and_one_without_effect(tmp_path):
    for name in ("train_datset", "compute_loss_func"):
        with pytest.raises(TypeError, match=name):
            RobustTrainer(tiny.model(), args=arguments(tmp_path), **{name: None})
    assert "compute_loss_func" in Trainer.__init__.__annotations__
