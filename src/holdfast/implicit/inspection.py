"""What a connection does inside a model, measured on a few texts; the model is left as it was."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from holdfast.errors import InputError
from holdfast.implicit.capture import Batch, LayerRecord, capture_layers, plain_twin, twin
from holdfast.implicit.connect import connected
from holdfast.implicit.flops import PAPER_LENGTH, FlopCount, count_flops, paper_flops
from holdfast.implicit.layers import positions
from holdfast.implicit.perturbation import (
    SCHEMES,
    Connections,
    PerturbationGrowth,
    perturbation_growth,
)
from holdfast.implicit.readings import LayerReading
from holdfast.implicit.spec import Connection, Scheme
from holdfast.implicit.spectrum import Estimate, spectrum
from holdfast.solve import Descent

BATCH_TOLERANCE = 1e-4

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Steepness:
    """A number of each text, told by its mean and its largest; and the share that had settled."""

    mean: float
    largest: float
    settled: float


@dataclass(frozen=True)
class LayerInspection:
    """One layer: how well its equation was solved, and how hard that equation is.

    For a layer with an equation x = g(x), J is the Jacobian of g at the point that was passed on;
    for any other layer it is that of the layer itself at what it was given.
    """

    layer: int
    scheme: str
    solve: LayerReading | None
    """Residual before and after, evaluations; None where there is no equation to solve."""
    defect: Steepness
    """Largest singular value of I - J: descent on |x - g(x)|^2 needs steps below its -2nd power."""
    contraction: Steepness
    """Largest singular value of J: below 1, g brings points near x closer together."""
    radius: Steepness
    """Largest modulus of an eigenvalue of J: below 1, x <- g(x) converges from near x."""


@dataclass(frozen=True)
class BatchInvariance:
    """The largest difference of a logit between a text alone and padded in the batch."""

    difference: float
    tolerance: float
    invariant: bool


@dataclass(frozen=True)
class Cost:
    """Parameters, and FLOPs of one sequence of `length` tokens, plain and as connected."""

    parameters: int
    length: int
    paper: float | None
    """By the paper's convention; None for a family whose layers it does not describe."""
    paper_plain: float | None
    counted: FlopCount
    counted_plain: FlopCount


@dataclass(frozen=True)
class Inspection:
    """Everything `inspect_model` found."""

    family: str
    connection: Connection | None
    texts: int
    tokens: int
    layers: tuple[LayerInspection, ...]
    batch: BatchInvariance
    cost: Cost
    growth: tuple[PerturbationGrowth, ...]


def _silent(_: str) -> None:
    """Say nothing."""


def inspect_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    max_length: int = PAPER_LENGTH,
    perturbation: float = 0.05,
    schemes: Connections = SCHEMES,
    iterations: int = 100,
    seed: int = 0,
    progress: Progress = _silent,
) -> Inspection:
    """Measure `model`, connected or not, on `texts`.

    `iterations` limits the power iteration; `perturbation` is the relative size of the move of
    the embeddings, whose growth is compared over `schemes` and the model's own connection.
    `progress` is told what begins.
    """
    if not texts or not all(text.strip() for text in texts):
        raise InputError("An inspection needs at least one text, and none of them empty.")
    length = _length(model, tokenizer, max_length)
    inspected = twin(model)
    batch = _encode(model, tokenizer, texts, length)
    progress("each text alone against the padded batch")
    invariance = _batch_invariance(inspected, tokenizer, texts, length)
    progress("residuals and singular values of each layer")
    layers = _inspect_layers(inspected, batch, iterations, seed)
    progress("FLOPs")
    cost = _cost(inspected, _one_sequence(inspected, tokenizer, texts, length))
    progress("growth of a perturbation with each scheme")
    growth = _growth(inspected, batch, schemes, perturbation, seed)
    handle = connected(inspected)
    return Inspection(
        family=model.config.model_type,
        connection=handle.connection if handle else None,
        texts=len(texts),
        tokens=int(batch["attention_mask"].sum()),
        layers=layers,
        batch=invariance,
        cost=cost,
        growth=growth,
    )


def _length(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, wanted: int) -> int:
    """Return how many tokens of a text are kept: those asked for, if the model reads as many."""
    special = tokenizer.num_special_tokens_to_add()
    if wanted <= special:
        raise InputError(
            f"A length of {wanted} tokens was asked for; {special} of them are special tokens, "
            f"so ask for {special + 1} or more."
        )
    return min(wanted, tokenizer.model_max_length, positions(model) or wanted)


def _encode(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int
) -> Batch:
    encoded = tokenizer(
        list(texts), return_tensors="pt", padding=True, truncation=True, max_length=length
    )
    return {name: values.to(model.device) for name, values in encoded.items()}


# Layers -------------------------------------------------------------------------------------------


def _inspect_layers(
    model: PreTrainedModel, batch: Batch, iterations: int, seed: int
) -> tuple[LayerInspection, ...]:
    handle = connected(model)
    records, solves = _run(model, batch)
    rows = []
    for record in records:
        number = record.number
        scheme = handle.connection.scheme if handle and number in handle.layers else None
        rows.append(_inspect_layer(record, scheme, solves.get(number), iterations, seed))
    return tuple(rows)


def _run(
    model: PreTrainedModel, batch: Batch
) -> tuple[tuple[LayerRecord, ...], dict[int, LayerReading]]:
    """Run the model; return each layer's record, and the readings of those with an equation."""
    handle = connected(model)
    if handle:
        handle.reset()
    records = capture_layers(model, batch)
    readings = handle.readings() if handle else []
    return records, {r.layer: r for r in readings if not math.isnan(r.evaluations)}


def _inspect_layer(
    record: LayerRecord,
    scheme: Scheme | None,
    solve: LayerReading | None,
    iterations: int,
    seed: int,
) -> LayerInspection:
    weight, point = 1.0, record.before
    if scheme is not None and scheme.weight != 0.0:
        # g(x) = offset + weight * phi(x): the offset does not move with x
        weight, point = scheme.weight, record.after
    mask = None if record.real is None else record.real.squeeze(2)
    found = spectrum(
        lambda x: weight * record.phi(x), point, mask, iterations=iterations, seed=seed
    )
    return LayerInspection(
        layer=record.number,
        scheme=type(scheme).__name__ if scheme else "none",
        solve=solve,
        defect=_steepness(found.defect),
        contraction=_steepness(found.contraction),
        radius=_steepness(found.radius),
    )


def _steepness(estimate: Estimate) -> Steepness:
    value, settled = estimate.value.double(), estimate.converged.double()
    return Steepness(float(value.mean()), float(value.max()), float(settled.mean()))


# Batches ------------------------------------------------------------------------------------------


def _batch_invariance(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int
) -> BatchInvariance:
    together = _logits(model, _encode(model, tokenizer, texts, length))
    alone = [_logits(model, _encode(model, tokenizer, [text], length)) for text in texts]
    difference = float((together - torch.cat(alone)).abs().max())
    return BatchInvariance(difference, BATCH_TOLERANCE, difference <= BATCH_TOLERANCE)


def _logits(model: PreTrainedModel, batch: Batch) -> Tensor:
    with torch.no_grad():
        logits = model(**batch).get("logits")
    if not isinstance(logits, Tensor):
        raise InputError(
            f"{type(model).__name__} has no logits to compare; load the model with "
            "AutoModelForSequenceClassification."
        )
    return logits.float()


# Cost ---------------------------------------------------------------------------------------------


def _one_sequence(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int
) -> Batch:
    """Return one sequence of `length` real tokens: the texts, again and again if too short."""
    sequence = " ".join(texts[:length])
    if _encode(model, tokenizer, [sequence], length)["input_ids"].shape[1] < length:
        sequence = " ".join([sequence] * length)
    return _encode(model, tokenizer, [sequence], length)


def _cost(model: PreTrainedModel, batch: Batch) -> Cost:
    length = batch["input_ids"].shape[1]
    iterations = _charged_iterations(model, batch)
    return Cost(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        length=length,
        paper=_paper_flops(model, iterations, length),
        paper_plain=_paper_flops(model, {}, length),
        counted=count_flops(model, batch),
        counted_plain=count_flops(plain_twin(model), batch),
    )


def _charged_iterations(model: PreTrainedModel, batch: Batch) -> dict[int, float]:
    """Return T of each connected layer; Descent's last evaluation, for the record, is free."""
    handle = connected(model)
    solver = handle.connection.solver if handle else None
    steps = solver.steps if isinstance(solver, Descent) else None
    _, solves = _run(model, batch)
    return {
        number: solve.evaluations if steps is None else steps for number, solve in solves.items()
    }


def _paper_flops(model: PreTrainedModel, iterations: dict[int, float], length: int) -> float | None:
    try:
        return paper_flops(model.config, iterations, length=length)
    except InputError:
        return None


# Growth -------------------------------------------------------------------------------------------


def _growth(
    model: PreTrainedModel, batch: Batch, schemes: Connections, size: float, seed: int
) -> tuple[PerturbationGrowth, ...]:
    handle = connected(model)
    own = {"this connection": handle.connection} if handle else {}
    return perturbation_growth(model, batch, {**schemes, **own}, size=size, seed=seed)
