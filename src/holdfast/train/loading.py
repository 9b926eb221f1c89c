"""A classifier and its tokenizer from a checkpoint: weights from safetensors only, in fp32."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from holdfast.data import Task, ensure_padding
from holdfast.errors import InputError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Classifier:
    """A model ready to be trained, its tokenizer, and the weights no checkpoint gave it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    new_weights: tuple[str, ...]

    def check_length(self, tokens: int) -> None:
        """Refuse texts longer than the model has positions for."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if limit is not None and tokens > limit:
            raise InputError(
                f"The longest text has {tokens} tokens and the model reads at most {limit}; set "
                f"data.max_length to {limit} or less."
            )


def load_classifier(name: str, task: Task) -> Classifier:
    """Load `name`, a folder or a name on the Hub, with a head for the labels of `task`."""
    _refuse_unsafe(name)
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model, report = _from_pretrained(name, task)
        except Exception as error:  # whatever the Hub, the file formats or the architectures raise
            raise InputError(_cannot_load(name, error)) from error
    new = tuple(sorted([*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])]))
    if new:
        _log.warning("New weights, to be learned in training: %s.", ", ".join(new))
    return Classifier(model, ensure_padding(tokenizer, model), new)


def _from_pretrained(name: str, task: Task) -> tuple[PreTrainedModel, dict[str, list[str]]]:
    loaded: tuple[PreTrainedModel, dict[str, list[str]]]
    loaded = AutoModelForSequenceClassification.from_pretrained(
        name,
        num_labels=len(task.labels),
        id2label=dict(enumerate(task.labels)),
        label2id={label: code for code, label in enumerate(task.labels)},
        problem_type="single_label_classification",
        dtype=torch.float32,  # whatever the checkpoint stores; bf16 is autocast on top of it
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # a head for another number of labels gives way to a new one
        output_loading_info=True,
    )
    return loaded


def _refuse_unsafe(name: str) -> None:
    folder = Path(name)
    if not folder.is_dir():
        if folder.is_absolute() or name.startswith(("./", "../", "~")) or name.count("/") > 1:
            raise InputError(f"The model folder {name} does not exist; give one that does.")
        return
    if not (folder / "config.json").is_file():
        raise InputError(f"{name} holds no config.json; give the folder of a model checkpoint.")
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{name} holds no safetensors weights, and pickled weights (.bin, .pt) are never "
            "loaded because they can run code; where you trust them, convert them with "
            "model.save_pretrained(folder) in transformers."
        )


def _cannot_load(name: str, error: Exception) -> str:
    reason = str(error).strip().split("\n")[0].rstrip(".")
    return (
        f"{name} could not be loaded as a classifier ({reason}); give a folder or a Hub name with "
        "config.json, a tokenizer and safetensors weights."
    )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers' reports and loading bars off the terminal; errors still show."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
