"""Saving and loading: a plain Hugging Face checkpoint and, beside it, `connection.json`."""

import logging
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from holdfast.errors import InputError
from holdfast.implicit.connect import connect, connected
from holdfast.implicit.spec import Connection
from holdfast.record import decode, encode, read_note, write_note

FILE_NAME = "connection.json"
FORMAT = 1
CANONICAL = "canonical.json"
"""What holdfast.text writes beside a model whose texts are rewritten first."""

_log = logging.getLogger(__name__)


def save(model: PreTrainedModel, path: str | Path) -> None:
    """Write the checkpoint; any Hugging Face code can load it, as the plain model."""
    folder = Path(path)
    model.save_pretrained(folder)
    note_connection(model, folder)


def load(path: str | Path, *, auto_class: Any = AutoModelForSequenceClassification) -> Any:
    """Return the model saved at `path`, or of the run there, connected as it was.

    Only safetensors are read.
    """
    folder = model_folder(path)
    require_safetensors(folder)
    connection = read_connection(folder)
    if (folder / CANONICAL).exists():
        _log.warning(
            "%s was trained on canonical text, which a model alone cannot write: give it texts "
            "through holdfast.victim.load or `holdfast predict`.",
            folder,
        )
    model = auto_class.from_pretrained(
        folder, use_safetensors=True, attn_implementation=attention_for(connection)
    )
    if connection is not None:
        connect(model, connection)
    return model


def attention_for(connection: Connection | None) -> str | None:
    """Return the attention that a connection needs; None: whatever transformers chooses.

    Fused attention has no second derivative.
    """
    return "eager" if connection is not None and connection.needs_second_order else None


def note_connection(model: PreTrainedModel, folder: Path) -> None:
    """Write the model's connection beside its checkpoint, or remove that of an earlier one."""
    handle = connected(model)
    if handle is not None:
        write_connection(handle.connection, folder)
    else:
        (folder / FILE_NAME).unlink(missing_ok=True)


def write_connection(connection: Connection, folder: Path) -> None:
    """Write `connection.json` into a checkpoint folder, whole or not at all."""
    write_note(folder / FILE_NAME, FORMAT, {"connection": encode(connection)})


def read_connection(folder: Path) -> Connection | None:
    """Return the connection of a checkpoint; None when it has none."""
    file, otherwise = folder / FILE_NAME, "describes no connection"
    content = read_note(file, FORMAT, otherwise)
    if content is None:
        return None
    if "connection" not in content:
        raise InputError(f"{file} {otherwise}; save the model again.")
    return decode(Connection, content["connection"], where=str(file))


def model_folder(place: str | Path) -> Path:
    """Return where a checkpoint lies: in the folder itself, or in the `model` of a run's folder."""
    folder, inside = Path(place), Path(place) / "model"
    own = any(folder.glob("*.safetensors"))
    return inside if not own and any(inside.glob("*.safetensors")) else folder


def require_safetensors(folder: Path) -> None:
    """Refuse a local checkpoint without safetensors: a pickle can run any code when loaded."""
    if not folder.is_dir():
        raise InputError(f"There is no checkpoint folder {folder}; give the path of one.")
    inside = folder / "model"
    if not any(folder.glob("*.safetensors")) and any(inside.glob("*.safetensors")):
        raise InputError(f"{folder} is the folder of a run; give its model, {inside}.")
    if not (folder / "config.json").exists():
        raise InputError(f"{folder} holds no config.json, so it is not a Hugging Face checkpoint.")
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InputError(
            f"{folder} holds no .safetensors file, and pickled weights are never loaded; convert "
            f"it once, where you trust it, with model.save_pretrained(folder)."
        )
    for file in files:
        _require_readable(file)


def _require_readable(file: Path) -> None:
    """Refuse what only bears the name: a pickle, or a file cut short."""
    try:
        with safe_open(file, framework="pt"):
            pass
    except SafetensorError as error:
        raise InputError(
            f"{file} is damaged or no safetensors file ({error}); copy or save it again."
        ) from error
