"""An inspection for a reader at a terminal."""

from holdfast.commands.table import paragraph, table
from holdfast.implicit import Connection
from holdfast.implicit.inspection import Cost, Inspection, LayerInspection, Steepness
from holdfast.implicit.perturbation import PerturbationGrowth


def inspection_text(found: Inspection) -> str:
    """Return the tables of an inspection, each under a sentence that says what it shows."""
    return "\n\n".join(
        [
            paragraph(_headline(found)),
            _layers(found.layers),
            paragraph(_batch(found)),
            _cost(found.cost),
            _growth(found.growth),
        ]
    )


def _headline(found: Inspection) -> str:
    return (
        f"{found.family}, {len(found.layers)} layers, {found.cost.parameters / 1e6:.2f} M "
        f"parameters; texts: {found.texts}, tokens: {found.tokens}. {_connection(found.connection)}"
    )


def _connection(connection: Connection | None) -> str:
    if connection is None:
        return "No connection: the plain model."
    layers = connection.layers
    named = layers if isinstance(layers, str) else ", ".join(map(str, layers))
    parts = f"{connection.scheme}, {connection.solver}, {connection.gradient}"
    return f"Connected layers: {named}; {parts}."


def _layers(layers: tuple[LayerInspection, ...]) -> str:
    header = [
        "layer",
        "scheme",
        "residual before",
        "after",
        "evaluations",
        "|I-J|",
        "|J|",
        "radius",
    ]
    notes = paragraph(
        "Means over the texts. J is the Jacobian of the layer's equation x = g(x), or of the layer "
        "where there is none; |I-J| and |J| are largest singular values, radius is the largest "
        "eigenvalue: below 1, plain iteration converges. ~ marks an estimate that had not settled."
    )
    return "\n".join([table(header, [_layer(layer) for layer in layers]), notes])


def _layer(layer: LayerInspection) -> list[str]:
    solve = layer.solve
    numbers = ["-"] * 3
    if solve is not None:
        residuals = [f"{solve.residual_before:.2e}", f"{solve.residual_after:.2e}"]
        numbers = [*residuals, f"{solve.evaluations:g}"]
    steepness = map(_steepness, (layer.defect, layer.contraction, layer.radius))
    return [str(layer.layer), layer.scheme, *numbers, *steepness]


def _steepness(number: Steepness) -> str:
    return f"{'' if number.settled == 1 else '~'}{number.mean:.3g}"


def _batch(found: Inspection) -> str:
    batch = found.batch
    if found.texts == 1:
        return "Batches: one text cannot tell; give several, of different lengths."
    verdict = "the same" if batch.invariant else "NOT the same"
    return (
        f"Batches: a text alone and padded among the others gives {verdict} logits; the largest "
        f"difference is {batch.difference:.1e}, {batch.tolerance:.0e} is allowed."
    )


def _cost(cost: Cost) -> str:
    rows = [
        ["forward, counted", *_pair(cost.counted_plain.forward, cost.counted.forward)],
        [
            "training step, counted",
            *_pair(cost.counted_plain.training_step, cost.counted.training_step),
        ],
    ]
    if cost.paper is not None and cost.paper_plain is not None:
        rows.insert(0, ["forward, by the paper's rule", *_pair(cost.paper_plain, cost.paper)])
    header = [f"GFLOPs of {cost.length} tokens", "plain", "connected", "times"]
    return table(header, rows)


def _pair(plain: float, connected: float) -> list[str]:
    return [f"{plain / 1e9:.4g}", f"{connected / 1e9:.4g}", f"{connected / plain:.2f}"]


def _growth(growths: tuple[PerturbationGrowth, ...]) -> str:
    depth = len(growths[0].mean) - 1
    places = sorted({0, 1, depth // 2, depth})
    header = ["perturbation with scheme", *(_place(place) for place in places), "growth"]
    rows = [
        [
            growth.name,
            *(f"{growth.mean[place]:.3g}" for place in places),
            f"{growth.mean[-1] / growth.mean[0]:.2f}",
        ]
        for growth in growths
    ]
    return table(header, rows)


def _place(layer: int) -> str:
    return f"layer {layer}" if layer else "embeddings"
