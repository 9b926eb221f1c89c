"""IM-BERT's fine-tuning, as its section 4 gives it: what all of its tables share.

bert-base-uncased, Adam, learning rate 2e-5, linear warm-up, batch 16, 128 tokens; the training
split cut 8:2, the checkpoint of lowest validation loss; T = 5 and a step of 0.1 inside.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformers import BertConfig

from holdfast.implicit import (
    Connection,
    ImplicitEuler,
    ex_bert,
    im_bert,
    parse_layers,
    recommended,
)
from holdfast.implicit.flops import paper_flops
from holdfast.objectives import R3F, AnyObjective, CreAT, FreeLB, InfoBERT, Smart, Standard
from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.probe_cost import cost_of
from holdfast.reproduce.recipe import Choice
from holdfast.reproduce.setting import BERT_BASE, Precision, Setting, Shape
from holdfast.reproduce.table import COST, UNREPORTED, Place, Source, white_box
from holdfast.solve import Anderson, Descent, Phantom
from holdfast.solve.descent import Norm
from holdfast.train import DataConfig, Optimisation, TrainConfig


@dataclass(frozen=True)
class Method:
    """A row of IM-BERT's tables: how layers are connected, and what is minimised."""

    connection: Connection | None = None
    objective: AnyObjective = dataclasses.field(default_factory=Standard)


def printed(steps: int, layers: str = "all", norm: Norm = "squared_sum") -> Method:
    """Return IM-BERT as it is printed, with T = `steps`; how it means the `norm` is left open."""
    solver = Descent(steps=steps, step_size=0.1, norm=norm)
    return Method(dataclasses.replace(im_bert, layers=layers, solver=solver, dropout="off"))


METHODS = {
    "BERT": Method(),
    "EX-BERT": Method(ex_bert),
    "IM-BERT": printed(5),
    **{f"IM-BERT T={steps}": printed(steps) for steps in (1, 5, 10, 15)},
    # the printed norm without a square, of all words of an example or of each word
    "IM-BERT T=5 by example": printed(5, norm="l2_example"),
    "IM-BERT T=5 by token": printed(5, norm="l2_token"),
    # not in the paper: its equation, really solved; and the form that keeps pre-trained weights
    "IM-BERT solved": Method(
        Connection(
            scheme=ImplicitEuler(),
            solver=Anderson(),
            gradient=Phantom(),
            dropout="off",
            on_failure="keep",
        )
    ),
    "Theta": Method(dataclasses.replace(recommended, dropout="off", on_failure="keep")),
    "R3F": Method(objective=R3F()),
    "SMART": Method(objective=Smart()),
    "FreeLB": Method(objective=FreeLB(steps=2)),
    "CreAT": Method(objective=CreAT()),
    "InfoBERT": Method(objective=InfoBERT()),
}

TASKS = ("sst2", "qqp", "qnli", "mnli", "rte")
COLUMNS = {
    "SST-2": "sst2",
    "QQP": "qqp",
    "QNLI": "qnli",
    "MNLI-m": "mnli",
    "MNLI-mm": "mnli-mm",
    "RTE": "rte",
}
"""Column of Tables 1 and 2 to AdvGLUE's name of the task."""
PARTS = {"mnli": ("mnli", "mnli-mm")}
"""Task to AdvGLUE's names of it, where there are two."""

CHOICES = (
    Choice("Epochs, share of warm-up, weight decay, clipping.", "3, a tenth, none, norm 1."),
    Choice(
        "Whether the inner loss is squared, and how it is summed (Algorithm 1: a subscript 2).",
        "The sum of squares over an example, padding left out; Table 2 has both others, too.",
    ),
    Choice(
        "Whether training differentiates through the inner gradient steps.",
        "No: backward along the explicit path, as Algorithm 1's remark on h0 suggests.",
    ),
    Choice(
        "Dropout inside the inner iterations.",
        "None: so a step can be recorded and played again on a GPU. The layer's own call has it.",
    ),
    Choice(
        "Which part of GLUE is split 8:2.",
        "The training split; the published validation split gives the clean accuracy.",
    ),
    Choice(
        "Clean accuracy, which the paper never reports.",
        "Measured, with the paired accuracy and PWWS, and put into a second table.",
    ),
)


RULE = (
    "FLOPs beside the published ones are this model's by the paper's rule; what the same rule "
    "gives for BERT-base, and what PyTorch counts, is in the table of costs."
)


def train(
    setting: Setting, method: Method, task: str, seed: int, *, low_resource: int | None = None
) -> TrainConfig:
    """Return the training of one cell; `low_resource` of its examples are drawn by the seed."""
    budget = setting.budget
    drawn = budget.train if low_resource is None else budget.examples(low_resource)
    return TrainConfig(
        model=setting.model,
        output=setting.output,  # the runner gives each cell its own folder
        data=DataConfig(
            task=task,
            folder=setting.data,
            examples=drawn,
            max_length=budget.max_length or 128,
            held_out=False,  # measured once, by the evaluation
        ),
        connection=method.connection,
        objective=method.objective,
        optimisation=Optimisation(
            learning_rate=budget.learning_rate or 2e-5,
            batch_size=budget.batch_size or 16,
            epochs=budget.epochs or (3 if low_resource is None else 10),
            precision=_precision(setting, method),
            recorded=True,
            by_length=True,
        ),
        seed=seed,
    )


def _precision(setting: Setting, method: Method) -> Precision:
    """Return the precision; half of it does not see the balls of R3F and SMART."""
    return "fp32" if isinstance(method.objective, R3F | Smart) else setting.precision


def measure(setting: Setting, task: str, *, cost: bool = False) -> Measure:
    """Return what is measured: AdvGLUE, the clean texts and, beside the paper, PWWS."""
    return Measure(
        task=task,
        attacks=("pwws_rift",),
        examples=at_most(1000, setting.budget.attacked),
        advglue=True,
        probes=("cost",) if cost else (),
    )


def parts(task: str) -> tuple[str, ...]:
    """Return what AdvGLUE calls the task."""
    return PARTS.get(task, (task,))


def advglue(row: str, task: str, group: str = "", metric: str = "accuracy") -> Source:
    """Return an accuracy on AdvGLUE's rows of a task, of all of them or of a level."""
    return Source(name_of(row), f"advglue/{task}", metric, group=group)


def clean(row: str, task: str) -> Source:
    """Return the accuracy on a task's texts as they are."""
    return Source(name_of(row), task, "accuracy")


def under_pwws(row: str, task: str) -> Source:
    """Return what PWWS leaves of it."""
    return Source(name_of(row), task, "accuracy_under_attack", attack="pwws_rift")


def task_places(row: str, tasks: Sequence[str]) -> Iterator[Place]:
    """Yield a row of Tables 1 and 2: six tasks, their mean, and what the paper does not report."""
    for column, part in COLUMNS.items():
        yield Place(row, column, (advglue(row, part),))
    yield Place(row, "Avg.", tuple(advglue(row, part) for part in COLUMNS.values()))
    yield from beside(row, tasks)
    official = Source(name_of(row), "advglue", "official_score")
    yield Place(row, "AdvGLUE official", (official,), table=UNREPORTED)


def beside(row: str, tasks: Sequence[str]) -> Iterator[Place]:
    """Yield what the paper does not report: means over the tasks that were run."""
    names = [part for task in tasks for part in parts(task)]
    paired = tuple(advglue(row, part, metric="paired_accuracy") for part in names)
    inside = tuple(white_box(name_of(row), task) for task in tasks)
    yield Place(row, "clean", tuple(clean(row, task) for task in tasks), table=UNREPORTED)
    yield Place(row, "AdvGLUE paired", paired, table=UNREPORTED)
    yield Place(row, "under PWWS", tuple(under_pwws(row, t) for t in tasks), table=UNREPORTED)
    yield Place(row, "white box", inside, table=UNREPORTED)


def flops(connection: Connection | None, shape: Shape) -> float:
    """Return the billions of operations of a forward pass by the paper's rule, at 128 tokens.

    Only the layers' matrix products count, and each inner iteration is one more pass of its layer.
    """
    chosen = () if connection is None else parse_layers(connection.layers, shape.layers)
    solver = None if connection is None else connection.solver
    iterations = dict.fromkeys(chosen, solver.steps if isinstance(solver, Descent) else 0)
    config = BertConfig(
        num_hidden_layers=shape.layers,
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_attention_heads=1,  # heads share the width: their number costs nothing
    )
    return paper_flops(config, iterations) / 1e9


def by_rule(row: str, column: str, method: Method, shape: Shape) -> Place:
    """Return the paper's FLOPs for this model; none where the rule does not say how many steps."""
    connection = method.connection
    counted = connection is None or isinstance(connection.solver, Descent)
    return Place(row, column, unit="G", computed=flops(connection, shape) if counted else None)


def cost_places(row: str, method: Method, shape: Shape, task: str) -> Iterator[Place]:
    """Yield what a forward pass costs: by the paper's rule, and as it was counted and timed."""
    for column, known in (("rule, BERT-base", BERT_BASE), ("rule, this model", shape)):
        if known is shape or method.connection is None or method.connection.layers == "all":
            yield dataclasses.replace(by_rule(row, column, method, known), table=COST)
    model = name_of(row)
    of = cost_of(task)
    yield Place(row, "counted", (Source(model, of, "gflops"),), unit="G", table=COST)
    yield Place(row, "latency", (Source(model, of, "latency_ms"),), unit="ms", table=COST)


def weights(row: str, model: str | None = None) -> Place:
    """Return the number of weights of a model for SST-2, for the column the paper has."""
    source = Source(name_of(model or row), cost_of("sst2"), "parameters")
    return Place(row, "Params", (source,), unit="M")


def quarters(shape: Shape) -> list[str]:
    """Return the layers of each quarter: 1-3, 4-6, 7-9 and 10-12 of a BERT with 12."""
    starts = [part * shape.layers // 4 + 1 for part in range(4)]
    ends = [max(start, (part + 1) * shape.layers // 4) for part, start in enumerate(starts)]
    return [f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]


def cells_of(
    setting: Setting,
    rows: Sequence[tuple[str, Method]],
    tasks: Sequence[str],
    *,
    seeds: int,
    low_resource: int | None = None,
    columns: Sequence[str] = (),
    cost: bool = False,
) -> list[Cell]:
    """Return a cell for each row, task and seed."""
    return [
        Cell(
            row=name_of(row),
            columns=tuple(columns) or _columns(task),
            train=train(setting, method, task, seed, low_resource=low_resource),
            measure=measure(setting, task, cost=cost),
            seed=seed,
        )
        for row, method in rows
        for task in tasks
        for seed in setting.seeds_or(seeds)
    ]


def _columns(task: str) -> tuple[str, ...]:
    """Return the columns of Tables 1 and 2 that a task fills."""
    return tuple(column for column, part in COLUMNS.items() if part in parts(task))
