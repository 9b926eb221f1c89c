"""A classifier and its tokenizer from a checkpoint: weights from safetensors only, in fp32."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from holdfast.data import Task, ensure_padding
from holdfast.data.hub import cache_if_unreachable
from holdfast.errors import InputError, first_line
from holdfast.implicit import Connection, connect, connected, require_safetensors
from holdfast.implicit.checkpoint import attention_for, read_connection
from holdfast.implicit.layers import positions
from holdfast.implicit.quiet import quiet_transformers

_log = logging.getLogger(__name__)

_UNNAMED = re.compile(r"LABEL_\d+")  # what transformers calls labels that nobody named


@dataclass(frozen=True)
class Classifier:
    """A model, its tokenizer, and the weights no checkpoint gave it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    new_weights: tuple[str, ...] = ()
    foreign_labels: tuple[str, ...] = ()
    """Labels of the checkpoint's own head, where it gave way to a new one because of them."""

    def describe(self, name: str) -> None:
        """Say what the checkpoint `name` did not bring, and what it brought in vain."""
        if self.foreign_labels:
            theirs, ours = (", ".join(names) for names in (self.foreign_labels, self.labels()))
            sentence = "%s classifies into %s, in this order, and the data into %s: a new head."
            _log.warning(sentence, name, theirs, ours)
        new = ", ".join(self.new_weights)
        _log.info("head: %s", f"new, to be learned: {new}" if new else "kept from the checkpoint")
        if connected(self.model) is None and read_connection(Path(name)) is not None:
            _log.warning("%s has a connection, which this run leaves out; name it to use it.", name)

    def labels(self) -> list[str]:
        """Return the names of the labels by their codes."""
        return [str(name) for name in (self.model.config.id2label or {}).values()]

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
    """Load `name`, a folder or a name on the Hub, to be trained for the labels of `task`.

    The model comes connected by `connection`. A head for other labels, or for the same in another
    order, would start worse than a new one, which takes its place.
    """
    head = {
        "num_labels": len(task.labels),
        "id2label": dict(enumerate(task.labels)),
        "label2id": {label: code for code, label in enumerate(task.labels)},
        "problem_type": "single_label_classification",
        "ignore_mismatched_sizes": True,  # a head for another number of labels gives way
    }
    return _open(name, connection, head, task.labels)


def open_classifier(name: str, connection: Connection | None = None) -> Classifier:
    """Load `name`, a folder or a name on the Hub, with the labels it has, to be used as it is."""
    return _open(name, connection, {}, None)


def _open(
    name: str,
    connection: Connection | None,
    head: Mapping[str, Any],
    labels: Sequence[str] | None,
) -> Classifier:
    check_checkpoint(name)
    with quiet_transformers(), _cannot_load(name), _patience(name):
        tokenizer = AutoTokenizer.from_pretrained(name)
        own = _named_labels(AutoConfig.from_pretrained(name))
        model, report = _from_pretrained(name, connection, head)
    new = {*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])}
    foreign = own if labels is not None and own and not _same(own, labels) else ()
    if foreign:
        new |= _renew_head(model)
    if connection is not None:
        connect(model, connection)
    return Classifier(model, ensure_padding(tokenizer, model), tuple(sorted(new)), foreign)


def _from_pretrained(
    name: str, connection: Connection | None, head: Mapping[str, Any]
) -> tuple[PreTrainedModel, dict[str, list[str]]]:
    loaded: tuple[PreTrainedModel, dict[str, list[str]]]
    loaded = AutoModelForSequenceClassification.from_pretrained(
        name,
        dtype=torch.float32,  # whatever the checkpoint stores; bf16 is autocast on top of it
        attn_implementation=attention_for(connection),
        use_safetensors=True,
        output_loading_info=True,
        **head,
    )
    return loaded


def _named_labels(config: Any) -> tuple[str, ...]:
    """Return the labels of a checkpoint by their codes; nothing where nobody named them."""
    named = getattr(config, "id2label", None) or {}
    labels = tuple(str(named[code]) for code in sorted(named))
    return () if all(map(_UNNAMED.fullmatch, labels)) else labels


def _same(own: Sequence[str], labels: Sequence[str]) -> bool:
    return [name.casefold() for name in own] == [name.casefold() for name in labels]


def _renew_head(model: PreTrainedModel) -> set[str]:
    """Draw every weight outside the encoder anew; return their names."""
    prefix = f"{model.base_model_prefix}."
    for name, module in model.named_children():
        if f"{name}." != prefix:
            for part in module.modules():
                part._is_hf_initialized = False  # type: ignore[assignment]
                for weight in part.parameters(recurse=False):
                    weight._is_hf_initialized = False  # type: ignore[attr-defined]
            module.apply(model._init_weights)
    return {name for name, _ in model.named_parameters() if not name.startswith(prefix)}


def check_checkpoint(name: str) -> None:
    """Refuse a folder that is not there or holds no weights that Holdfast loads."""
    folder = Path(name)
    looks_like_a_path = folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1
    if folder.is_dir() or looks_like_a_path:
        require_safetensors(folder)


@contextmanager
def _patience(name: str) -> Iterator[None]:
    with nullcontext() if Path(name).is_dir() else cache_if_unreachable():
        yield


@contextmanager
def _cannot_load(name: str) -> Iterator[None]:
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError):  # nothing is wrong with the checkpoint
        raise
    except Exception as error:  # tokenizers and configurations raise classes of no common base
        where = "could not be loaded as a classifier"
        if not Path(name).is_dir():
            where = "is no folder here, and the Hub or its cache gave no classifier of that name"
        raise InputError(
            f"{name} {where} ({first_line(error)}); give as model a folder or a Hub name with "
            "config.json, a tokenizer and safetensors weights."
        ) from error
