"""`holdfast models`: the supported families, or what one model is, without loading its weights."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.commands.settings import Interface
from holdfast.commands.table import paragraph, table
from holdfast.data.hub import cache_if_unreachable
from holdfast.errors import InputError, first_line


@dataclass(frozen=True)
class ModelsOptions:
    """What `holdfast models` takes."""

    model: str | None = None
    """Folder of a checkpoint, or a name on the Hub: describe this one model."""


INTERFACE = Interface(
    "models",
    "List the model families whose layers can be connected and where each keeps them, or describe "
    "one model.",
    ModelsOptions,
    switches={"json": "print the list or the description as one JSON object"},
)
NOTE = (
    "For classification. Layers are counted from 1 in this order. A connected model cannot "
    "generate with a key-value cache: every evaluation of a solve would append to it."
)


def run(argv: Sequence[str]) -> None:
    """List the families, or describe one model."""
    options, switches = INTERFACE.read(argv)
    if options.model is None:
        found, text = families(), _listing
    else:
        found, text = describe(options.model), _description
    print(json.dumps(found) if "json" in switches else text(found))


def families() -> dict[str, Any]:
    """Return where each supported family keeps its layers, and why the others are refused."""
    from holdfast.implicit import FAMILIES, REFUSED

    places = {
        name: [".".join(filter(None, place)) for place in stacks]
        for name, stacks in FAMILIES.items()
    }
    return {"supported": places, "refused": dict(REFUSED)}


def describe(name: str) -> dict[str, Any]:
    """Return what a checkpoint is, from its configuration and files."""
    import torch
    from transformers import AutoModelForSequenceClassification

    from holdfast.implicit import find_layers
    from holdfast.record import encode

    config, folder = _config(name), Path(name)
    described: dict[str, Any] = {"model": name, "family": config.model_type}
    try:
        with torch.device("meta"):  # shapes without weights
            model = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        described["layers"] = len(find_layers(model))
        described["refused"] = None
    except ValueError as error:  # no classifier of this family, or InputError: not supported
        return {**described, "refused": first_line(error)}
    described["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    described["safetensors"] = any(folder.glob("*.safetensors")) if folder.is_dir() else None
    connection = _connection(folder)
    return {**described, "connection": None if connection is None else encode(connection)}


def _config(name: str) -> Any:
    from transformers import AutoConfig

    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise InputError(f"{name} holds no config.json; give the folder of a model checkpoint.")
    try:
        with nullcontext() if folder.is_dir() else cache_if_unreachable():
            return AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name} is not the folder of a model that can be read, nor a name the Hub answers to "
            f"({first_line(error)})."
        ) from error


def _connection(folder: Path) -> Any:
    from holdfast.implicit.checkpoint import read_connection

    return read_connection(folder)


def _listing(found: dict[str, Any]) -> str:
    rows = [[name, ", ".join(places)] for name, places in found["supported"].items()]
    rows += [[name, f"refused: {reason}"] for name, reason in found["refused"].items()]
    return "\n".join([table(["family", "where its layers are"], rows), "", paragraph(NOTE)])


def _description(found: dict[str, Any]) -> str:
    if found["refused"]:
        return paragraph(f"{found['model']}: {found['family']}, refused: {found['refused']}.")
    weights = {True: "safetensors", False: "none that Holdfast loads", None: "not here"}
    facts = {
        "model": found["model"],
        "family": found["family"],
        "layers": found["layers"],
        "parameters": f"{found['parameters'] / 1e6:.2f} M, with a classifier's head",
        "weights": weights[found["safetensors"]],
        "connection": _connection_text(found["connection"]),
    }
    return "\n".join(paragraph(f"{name}: {fact}") for name, fact in facts.items())


def _connection_text(connection: dict[str, Any] | None) -> str:
    if connection is None:
        return "none"
    scheme, solver = connection["scheme"]["type"], connection["solver"]["type"]
    return f"{scheme} in layers {connection['layers']}, {solver}"
