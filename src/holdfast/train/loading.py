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
from holdfast.implicit import Connection, connect, connected, require_safetensors
from holdfast.implicit.checkpoint import read_connection
from holdfast.implicit.layers import positions

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Classifier:
    """A model ready to be trained, its tokenizer, and the weights no checkpoint gave it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    new_weights: tuple[str, ...]

    def describe(self, name: str) -> None:
        """Say what the checkpoint `name` did not bring, and what it brought in vain."""
        if self.new_weights:
            _log.warning("New weights, to be learned in training: %s.", ", ".join(self.new_weights))
        if connected(self.model) is None and read_connection(Path(name)) is not None:
            _log.warning("%s has a connection, which this run leaves out; name it to use it.", name)

    def check_checkpointing(self, wanted: bool) -> None:
        """Refuse gradient checkpointing where the architecture has none."""
        if wanted and not self.model.supports_gradient_checkpointing:
            raise InputError(
                f"Models of type {self.model.config.model_type!r} have no gradient checkpointing; "
                f"leave optimisation.gradient_checkpointing false."
            )

    def check_length(self, tokens: int) -> None:
        """Refuse texts longer than the model has positions for."""
        limit = positions(self.model)
        if limit is not None and tokens > limit:
            raise InputError(
                f"The longest text has {tokens} tokens and the model reads at most {limit}; set "
                f"data.max_length to {limit} or less."
            )


def load_classifier(name: str, task: Task, connection: Connection | None = None) -> Classifier:
    """Load `name`, a folder or a name on the Hub, with a head for the labels of `task`.

    The model comes connected by `connection`.
    """
    _check_folder(name)
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model, report = _from_pretrained(name, task, _attention(connection))
        except Exception as error:  # whatever the Hub, the file formats or the architectures raise
            raise InputError(_cannot_load(name, error)) from error
    new = tuple(sorted([*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])]))
    if connection is not None:
        connect(model, connection)
    return Classifier(model, ensure_padding(tokenizer, model), new)


def _from_pretrained(
    name: str, task: Task, attention: str | None
) -> tuple[PreTrainedModel, dict[str, list[str]]]:
    loaded: tuple[PreTrainedModel, dict[str, list[str]]]
    loaded = AutoModelForSequenceClassification.from_pretrained(
        name,
        num_labels=len(task.labels),
        id2label=dict(enumerate(task.labels)),
        label2id={label: code for code, label in enumerate(task.labels)},
        problem_type="single_label_classification",
        dtype=torch.float32,  # whatever the checkpoint stores; bf16 is autocast on top of it
        attn_implementation=attention,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # a head for another number of labels gives way to a new one
        output_loading_info=True,
    )
    return loaded


def _attention(connection: Connection | None) -> str | None:
    """Choose the attention that can be differentiated twice where that is needed."""
    return "eager" if connection is not None and connection.needs_second_order else None


def _check_folder(name: str) -> None:
    folder = Path(name)
    looks_like_a_path = folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1
    if folder.is_dir() or looks_like_a_path:
        require_safetensors(folder)


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
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
