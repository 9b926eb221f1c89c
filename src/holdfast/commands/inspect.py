"""`holdfast inspect`: what a connection does inside a model, on a few texts."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from holdfast.commands.given_texts import refuse_unreadable
from holdfast.commands.inspect_text import inspection_text
from holdfast.commands.pictures import save_pictures
from holdfast.commands.progress import steps
from holdfast.commands.settings import Interface
from holdfast.errors import InputError
from holdfast.implicit import PRESETS, Connection, connected, find_layers
from holdfast.implicit.checkpoint import model_folder, read_connection
from holdfast.implicit.inspection import Inspection, inspect_model
from holdfast.implicit.perturbation import SCHEMES, Connections
from holdfast.record import describe_environment, encode, refuse_folder
from holdfast.train.loading import Classifier, open_classifier


@dataclass(frozen=True)
class InspectOptions:
    """What `holdfast inspect` takes."""

    model: str
    """Folder with a safetensors checkpoint, or a name on the Hub."""
    text: tuple[str, ...] = ()
    """Texts to inspect the model on; several may follow, or several --text."""
    file: Path | None = None
    """UTF-8 file with one text a line, besides those of --text."""
    connection: Connection | None = None
    """How layers are connected; none: as the checkpoint's connection.json says."""
    output: Path | None = None
    """Folder for inspection.json and the pictures; none: print only."""
    max_length: int = 128
    """Tokens kept of each text, and the length FLOPs are counted for."""
    perturbation: float = 0.05
    """Size of the move of the embeddings whose growth is followed, relative to them."""
    iterations: int = 100
    """Most steps of the power iteration for singular values."""
    seed: int = 0
    """Of the directions that are drawn, and of a head the checkpoint does not have."""


PARTS = 4  # that inspect_model tells of
INTERFACE = Interface(
    "inspect",
    "Show what happens inside a model on a few texts: how well each layer's equation is solved, "
    "how steep it is, whether a text gives the same answer in every batch, what it costs, and how "
    "a perturbation grows with each scheme. Without --preset and --connection options the model "
    "is inspected as it was saved: with the connection of its connection.json, or plain.",
    InspectOptions,
    switches={"json": "print everything as one JSON object"},
    sources={
        "preset": f"connect the model by this: {', '.join(PRESETS)}; without it, as it was saved"
    },
    presets=PRESETS,
)


def run(argv: Sequence[str]) -> None:
    """Inspect a model and print or write what was found."""
    told, given = INTERFACE.read(argv)
    options = replace(told, model=str(model_folder(told.model)))
    texts = gather_texts(options)
    if options.output is not None:
        refuse_folder(options.output)
    classifier = load_model(options, keep_own="preset" not in given)
    with steps("inspecting", PARTS) as progress:
        inspection = inspect_model(
            classifier.model,
            classifier.tokenizer,
            texts,
            max_length=options.max_length,
            perturbation=options.perturbation,
            schemes=other_schemes(classifier.model),
            iterations=options.iterations,
            seed=options.seed,
            progress=progress,
        )
    found = record(options, texts, inspection)
    print(json.dumps(found) if "json" in given else inspection_text(inspection))
    if options.output is not None:
        for path in write(options.output, found, inspection):
            print(f"wrote {path}", file=sys.stderr)


def gather_texts(options: InspectOptions) -> list[str]:
    """Return the texts of `--text` and `--file`; refuse none, empty ones and other encodings."""
    texts = list(options.text)
    if options.file is not None:
        texts += [line for line in _read(options.file).splitlines() if line.strip()]
    if not texts:
        raise InputError('There is no text to inspect; give one with --text "...", or --file.')
    refuse_unreadable(texts)
    return texts


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it again as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a text file.") from error


def load_model(options: InspectOptions, *, keep_own: bool) -> Classifier:
    """Load a classifier and connect it: as asked, else as its checkpoint says."""
    own = read_connection(Path(options.model)) if keep_own else None
    torch.manual_seed(options.seed)
    classifier = open_classifier(options.model, options.connection or own)
    classifier.model.eval()  # type: ignore[no-untyped-call]
    return classifier


def other_schemes(model: PreTrainedModel) -> Connections:
    """Return the schemes to compare with, less the one that the whole model is connected by."""
    handle = connected(model)
    if handle is None or len(handle.layers) < len(find_layers(model)):
        return SCHEMES
    own = handle.connection.scheme
    return {name: other for name, other in SCHEMES.items() if other is None or other.scheme != own}


def record(options: InspectOptions, texts: Sequence[str], inspection: Inspection) -> dict[str, Any]:
    """Return the inspection as plain values, with what it was made of."""
    return {
        "schema": 1,
        "model": options.model,
        "seed": options.seed,
        "perturbation": options.perturbation,
        "texts": list(texts),
        "inspection": encode(inspection),
        "environment": describe_environment(),
    }


def write(folder: Path, found: dict[str, Any], inspection: Inspection) -> list[Path]:
    """Write inspection.json and the pictures, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "inspection.json"
    file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [file, *save_pictures(folder, inspection.growth)]
