"""Fine-tune a classifier by a configuration: the work behind `holdfast train`."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    PrinterCallback,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from holdfast.adversary import ConvexHull
from holdfast.implicit import connected, save
from holdfast.implicit.quiet import quiet_transformers
from holdfast.record import describe_environment, encode
from holdfast.text import Lexicon, Wording
from holdfast.train.arguments import training_arguments
from holdfast.train.config import TrainConfig
from holdfast.train.curve import Bar, Clock, LossCurve, Patience
from holdfast.train.distance import relative_distance
from holdfast.train.examples import RunExamples, gather_examples
from holdfast.train.folder import RunFolder
from holdfast.train.identity import Json
from holdfast.train.lexicons import Lexicons, lexicons_of
from holdfast.train.loading import (
    Classifier,
    check_checkpoint,
    load_classifier,
)
from holdfast.train.memory import peak_bytes, reset_peak
from holdfast.train.metrics import metrics_of
from holdfast.train.narration import (
    tell_connection,
    tell_examples,
    tell_objective,
    tell_resume,
    tell_slow_wording,
    tell_wording,
)
from holdfast.train.parts import EncodedParts, encode_parts
from holdfast.train.result import TrainResult, result_of
from holdfast.train.robustness import HullCheck
from holdfast.train.trainer import RobustTrainer
from holdfast.train.wording import reworded, wording_of

SCHEMA = 1
"""Version of what config.json and run.json hold."""


def fine_tune(
    config: TrainConfig,
    *,
    progress: bool = True,
    examples: RunExamples | None = None,
    lexicon: Lexicon | None = None,
) -> TrainResult:
    """Train as `config` says, resume if that was killed, return the record if it is done.

    `examples` stand in for what `config.data` names, `lexicon` for the lexicon of
    `config.substitutions`. Every process of a distributed run calls
    this; the first one writes the files.
    """
    folder = RunFolder(config.output.resolve())
    record = folder.read_record()
    if record is None or record["config"]["model"] != config.model:
        check_checkpoint(config.model)  # a finished run needs its model no more
    examples = gather_examples(config.data, config.seed) if examples is None else examples
    lexicons = lexicons_of(config, lexicon)
    identity = {"schema": SCHEMA, "config": encode(config), "data": examples.describe()}
    identity |= {"lexicons": lexicons.describe()} if lexicons.describe() else {}
    folder.refuse_another_run(identity)
    done = record is not None
    if record is None:
        with quiet_transformers():
            record = _run(config, examples, lexicons, folder, identity, progress)
    return result_of(record, folder.path, already_done=done)


def _run(
    config: TrainConfig,
    examples: RunExamples,
    lexicons: Lexicons,
    folder: RunFolder,
    identity: Json,
    progress: bool,
) -> Json:
    args = training_arguments(config, folder, config.readings * len(examples.train))
    if args.should_save:
        tell_examples(examples)
        tell_connection(config.connection)
    set_seed(config.seed)  # of the new head; the trainer sets it again for the rest
    classifier = load_classifier(config.model, examples.task, config.connection)
    classifier.check_checkpointing(config.optimisation.gradient_checkpointing)
    parts, wording = _encode(examples, config, lexicons, classifier)
    if args.should_save:
        classifier.describe(config.model)
        tell_wording(config.model, examples, wording)
        tell_objective(config, parts, wording)
    clock, bar = Clock(), Bar() if progress else None
    with folder.unless_refused():
        trainer = _trainer(config, args, classifier, parts, [LossCurve(folder.log), clock, bar])
    trainer.wording = wording
    _begin(folder, identity, args)
    resumed = folder.last_checkpoint()
    if args.should_save:
        tell_resume(resumed)
    reset_peak(args.device)
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
    record = identity | {
        **_measure(trainer, parts, bar),
        **parts.describe(),
        **_account(trainer, clock),
        "resumed_from": None if resumed is None else resumed.name,
        "new_weights": list(classifier.new_weights),
        "seed": config.seed,
    }
    _finish(folder, record, classifier, wording, args)
    return record


def _encode(
    examples: RunExamples, config: TrainConfig, lexicons: Lexicons, classifier: Classifier
) -> tuple[EncodedParts, Wording]:
    """Word the examples, tokenise them, find the substitutes of their words."""
    tokenizer = classifier.tokenizer
    tell_slow_wording(config)
    wording = wording_of(examples, config, lexicons.canonical, tokenizer.get_vocab())
    worded = reworded(examples, wording)
    parts = encode_parts(worded, tokenizer, config, lexicons.substitutes)
    classifier.check_length(parts.longest)
    return parts, wording


def _account(trainer: RobustTrainer, clock: Clock) -> dict[str, Any]:
    """Return what the run took, and on what."""
    device = trainer.args.device
    return {
        "best_step": trainer.state.best_global_step,
        "steps": trainer.state.global_step,
        "seconds": round(clock.before + clock.this_run, 3),
        "seconds_this_run": round(clock.this_run, 3),
        "peak_memory_bytes": peak_bytes(device),
        "processes": trainer.args.world_size,
        "device": _device_name(device),
        "environment": describe_environment(),
    }


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
    parts: EncodedParts,
    callbacks: Sequence[TrainerCallback | None],
) -> RobustTrainer:
    train = parts.datasets["train"]
    trainer = RobustTrainer(
        classifier.model,
        config.objective,
        args=args,
        train_dataset=train,
        eval_dataset=parts.datasets["validation"],
        data_collator=parts.collate,
        processing_class=classifier.tokenizer,
        compute_metrics=metrics_of(config.blend),
        preprocess_logits_for_metrics=_first,
        callbacks=[callback for callback in callbacks if callback is not None],
        row_names=[example.id for example in train.examples],
        anchor=config.anchor,
        new_weights=classifier.new_weights,
        check=_check(config),
        track_distance=True,
        recorded=config.optimisation.recorded,
        by_length=config.optimisation.by_length,
    )
    if config.selection.patience is not None:
        trainer.add_callback(Patience(config.selection.patience))
    trainer.remove_callback(PrinterCallback)  # it prints on stdout
    return trainer


def _check(config: TrainConfig) -> HullCheck | None:
    if not config.needs_substitutes:
        return None
    own = getattr(config.objective, "hull", None)
    hull = own if isinstance(own, ConvexHull) else ConvexHull()
    chosen = config.selection
    return HullCheck(hull, chosen.steps, chosen.attacked, config.readings)


def _measure(trainer: RobustTrainer, parts: EncodedParts, bar: Bar | None) -> dict[str, Any]:
    """Measure the best checkpoint, and what its connection does on the validation examples."""
    handle = connected(trainer.plain_model)
    if handle is not None:
        handle.reset()
    metrics = _evaluate(trainer, parts, "validation")
    if trainer.track_distance:
        metrics["distance"] = relative_distance(trainer.plain_model, trainer.reference)
    readings = [] if handle is None else handle.readings()
    if "held_out" in parts.datasets:
        if bar is not None:
            bar.part = "held out"
        metrics |= _evaluate(trainer, parts, "held_out")
    # An explicit layer solves nothing: its reading is not a number, which JSON does not have.
    solved = [dataclasses.asdict(r) for r in readings if math.isfinite(r.residual_after)]
    return {"metrics": metrics, "readings": solved}


def _evaluate(trainer: RobustTrainer, parts: EncodedParts, part: str) -> dict[str, float]:
    measured = trainer.evaluate(parts.datasets[part], metric_key_prefix=part)
    names = (f"{part}_{name}" for name in ("loss", "accuracy", "hull_accuracy"))
    return {name: measured[name] for name in names if name in measured}


def _first(logits: Any, labels: Tensor) -> Tensor:
    """Keep the logits only: encoder-decoders give their hidden states as well."""
    first: Tensor = logits[0] if isinstance(logits, tuple) else logits
    return first


def _finish(
    folder: RunFolder,
    record: Json,
    classifier: Classifier,
    wording: Wording,
    args: TrainingArguments,
) -> None:
    def save_model(path: Path) -> None:
        save(classifier.model, path)
        classifier.tokenizer.save_pretrained(path)
        wording.save(path)

    if args.should_save:
        folder.finish(record, save_model)
    args.distributed_state.wait_for_everyone()


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
