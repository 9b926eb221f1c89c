"""Fine-tune a classifier by a configuration: the work behind `holdfast train`."""

import dataclasses
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PrinterCallback, TrainingArguments, set_seed

from holdfast.data import EncodedExamples, PadBatch
from holdfast.implicit import connected, save
from holdfast.record import describe_environment, encode
from holdfast.train.arguments import training_arguments
from holdfast.train.config import TrainConfig
from holdfast.train.curve import Bar, LossCurve
from holdfast.train.examples import RunExamples, gather_examples
from holdfast.train.folder import Json, RunFolder
from holdfast.train.loading import Classifier, load_classifier, quiet_transformers
from holdfast.train.memory import peak_bytes, reset_peak
from holdfast.train.metrics import loss_and_accuracy
from holdfast.train.result import TrainResult, result_of
from holdfast.train.trainer import RobustTrainer

SCHEMA = 1
"""Version of what config.json and run.json hold."""

_Parts = dict[str, EncodedExamples]


def fine_tune(
    config: TrainConfig, *, progress: bool = True, examples: RunExamples | None = None
) -> TrainResult:
    """Train as `config` says, resume if that was killed, return the record if it is done.

    `examples` stand in for what `config.data` names. Every process of a distributed run calls
    this; the first one writes the files.
    """
    examples = gather_examples(config.data, config.seed) if examples is None else examples
    identity = {"schema": SCHEMA, "config": encode(config), "data": examples.describe()}
    folder = RunFolder(config.output.resolve())
    folder.refuse_another_run(identity)
    record = folder.read_record()
    done = record is not None
    if record is None:
        with quiet_transformers():
            record = _run(config, examples, folder, identity, progress)
    return result_of(record, folder.path, already_done=done)


def _run(
    config: TrainConfig, examples: RunExamples, folder: RunFolder, identity: Json, progress: bool
) -> Json:
    args = training_arguments(config, folder, len(examples.train))
    set_seed(config.seed)  # of the new head; the trainer sets it again for the rest
    classifier = load_classifier(config.model, examples.task, config.connection)
    if args.should_save:
        classifier.describe(config.model)
    classifier.check_checkpointing(config.optimisation.gradient_checkpointing)
    parts = _encode(examples, classifier, config.data.max_length)
    _begin(folder, identity, args)
    trainer = _trainer(config, args, classifier, parts, folder, progress)
    resumed = folder.last_checkpoint()
    reset_peak(args.device)
    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
    seconds = time.perf_counter() - start
    record = identity | {
        **_measure(trainer, parts),
        "best_step": trainer.state.best_global_step,
        "steps": trainer.state.global_step,
        "resumed_from": None if resumed is None else resumed.name,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak_bytes(args.device),
        "new_weights": list(classifier.new_weights),
        "seed": config.seed,
        "processes": args.world_size,
        "device": _device_name(args.device),
        "environment": describe_environment(),
    }
    _finish(folder, record, classifier, args)
    return record


def _encode(examples: RunExamples, classifier: Classifier, max_length: int) -> _Parts:
    given = {"train": examples.train, "validation": examples.validation}
    if examples.held_out is not None:
        given["held_out"] = examples.held_out
    tokenizer = classifier.tokenizer
    parts = {name: EncodedExamples(part, tokenizer, max_length) for name, part in given.items()}
    classifier.check_length(max(_longest(part) for part in parts.values()))
    return parts


def _longest(part: EncodedExamples) -> int:
    rows = (part[row]["input_ids"] for row in range(len(part)))
    return max(len(ids) for ids in rows if isinstance(ids, list))


def _begin(folder: RunFolder, identity: Json, args: TrainingArguments) -> None:
    everyone = args.distributed_state.wait_for_everyone
    everyone()  # nothing is written before every process found its input good
    if args.should_save:
        folder.begin(identity)
    everyone()


def _trainer(
    config: TrainConfig,
    args: TrainingArguments,
    classifier: Classifier,
    parts: _Parts,
    folder: RunFolder,
    progress: bool,
) -> RobustTrainer:
    trainer = RobustTrainer(
        classifier.model,
        config.objective,
        args=args,
        train_dataset=parts["train"],
        eval_dataset=parts["validation"],
        data_collator=PadBatch(classifier.tokenizer),
        compute_metrics=loss_and_accuracy,
        preprocess_logits_for_metrics=_first,
        callbacks=[LossCurve(folder.log), *([Bar()] if progress else [])],
        row_names=[example.id for example in parts["train"].examples],
    )
    trainer.remove_callback(PrinterCallback)  # it prints on stdout
    return trainer


def _measure(trainer: RobustTrainer, parts: _Parts) -> dict[str, Any]:
    """Measure the best checkpoint, and what its connection does on the validation examples."""
    handle = connected(trainer.plain_model)
    if handle is not None:
        handle.reset()
    metrics = _evaluate(trainer, parts, "validation")
    readings = [] if handle is None else handle.readings()
    if "held_out" in parts:
        metrics |= _evaluate(trainer, parts, "held_out")
    # An explicit layer solves nothing: its reading is not a number, which JSON does not have.
    solved = [dataclasses.asdict(r) for r in readings if math.isfinite(r.residual_after)]
    return {"metrics": metrics, "readings": solved}


def _evaluate(trainer: RobustTrainer, parts: _Parts, part: str) -> dict[str, float]:
    measured = trainer.evaluate(parts[part], metric_key_prefix=part)
    return {name: measured[name] for name in (f"{part}_loss", f"{part}_accuracy")}


def _first(logits: Any, labels: Tensor) -> Tensor:
    """Keep the logits only: encoder-decoders give their hidden states as well."""
    first: Tensor = logits[0] if isinstance(logits, tuple) else logits
    return first


def _finish(
    folder: RunFolder, record: Json, classifier: Classifier, args: TrainingArguments
) -> None:
    def save_model(path: Path) -> None:
        save(classifier.model, path)
        classifier.tokenizer.save_pretrained(path)

    if args.should_save:
        folder.finish(record, save_model)
    args.distributed_state.wait_for_everyone()


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
