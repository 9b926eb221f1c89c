"""RIFT's fine-tuning, as its section 3 and its released code give it: what all its tables share.

20 epochs of AdamW at 2e-5; IMDB: 300 tokens, batch 32, alpha 0.1, beta 10; SNLI: 80 tokens,
batch 120, alpha 0.7, beta 5, only the hypothesis moves. The adversary climbs 10 steps in the
convex hull of each word's substitutes. Genetic (60 members, 40 generations, substitutes that a
language model lets pass) and PWWS attack 1,000 test examples; an example that was wrong before
counts as broken.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from holdfast.anchors import Mixout, PretrainedDecay
from holdfast.objectives import Adversarial, AnyObjective, Informative, Rift, Standard
from holdfast.objectives.features import Features
from holdfast.reproduce.budget import at_most
from holdfast.reproduce.cell import Cell, Measure, name_of
from holdfast.reproduce.recipe import Choice
from holdfast.reproduce.setting import Setting
from holdfast.reproduce.table import Place, Source, white_box
from holdfast.text import Substitutions
from holdfast.train import DataConfig, Optimisation, Selection, TrainConfig

BESIDE = "Beside the paper's table"
ATTACKS: Mapping[str, str] = MappingProxyType({"Genetic": "genetic_jia", "PWWS": "pwws_rift"})
"""Column to the attack."""


@dataclass(frozen=True)
class DataSet:
    """What the paper sets for one data set."""

    task: str
    max_length: int
    batch_size: int
    alpha: float
    beta: float
    decay: float
    """Adv-PTWD's strength."""
    classes: int = 2

    def batch(self, wanted: int | None) -> int:
        """Return the size of a batch that holds each class equally often, and more than once."""
        if wanted is None:
            return self.batch_size
        return max(2 * self.classes, wanted - wanted % self.classes)


IMDB = DataSet("imdb", max_length=300, batch_size=32, alpha=0.1, beta=10, decay=0.01)
SNLI = DataSet("snli", max_length=80, batch_size=120, alpha=0.7, beta=5, decay=0.005, classes=3)

CHOICES = (
    Choice(
        "The text says BERT and RoBERTa; the released code gives every word one token, [UNK] if it "
        "is not in the vocabulary.",
        "As released (--reading word_level); --reading aligned reads with the model's own pieces.",
    ),
    Choice(
        "Early stopping by the best robust accuracy: as released, on the test set.",
        "On a tenth of the training split, by the accuracy at the worst corner of the hull.",
    ),
    Choice(
        "Which 1,000 examples (the code shuffles a folder's listing; Genetic and PWWS differ).",
        "Test examples whose language-model-filtered substitutes are published; both attacks get "
        "the same ones.",
    ),
    Choice(
        "Over what InfoNCE normalises (paper: the pre-trained model's features; code: its own).",
        "As in the paper.",
    ),
    Choice(
        "Adv-Mixout: the released call of Mixout mixes nothing.",
        "Weights are mixed, with probability 0.6.",
    ),
    Choice(
        "Warm-up in three steps over two epochs, weight decay 2e-4 on the heads (code).",
        "A linear rise over a tenth of the steps, no weight decay, no clipping.",
    ),
)


@dataclass(frozen=True)
class Method:
    """A row of RIFT's tables."""

    objective: AnyObjective
    anchor: PretrainedDecay | Mixout | None = None


def standard() -> Method:
    """Return plain fine-tuning."""
    return Method(Standard())


def adversarial(setting: Setting, of: DataSet, beta: float | None = None) -> Method:
    """Return Adv-Base; `beta` other than the paper's is for the figures."""
    return Method(Adversarial(beta=of.beta if beta is None else beta, steps=setting.steps(10)))


def rift(
    setting: Setting,
    of: DataSet,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    conditional: bool = True,
) -> Method:
    """Return RIFT, with what a table varies of it."""
    return Method(
        Rift(
            alpha=of.alpha if alpha is None else alpha,
            beta=of.beta if beta is None else beta,
            steps=setting.steps(10),
            features=features(setting),
            conditional=conditional,
        )
    )


def informative(setting: Setting, of: DataSet, *, conditional: bool) -> Method:
    """Return fine-tuning with the information term and no adversary, for Figure 3."""
    term = Informative(alpha=of.alpha, features=features(setting), conditional=conditional)
    return Method(term)


def features(setting: Setting) -> Features:
    """Return the vector that stands for a text: the pooler's, where it was pre-trained."""
    return "pooler" if setting.shape.pooler else "first"


def methods(setting: Setting, of: DataSet, beta: float | None = None) -> dict[str, Method]:
    """Return the five rows of Tables 1 and 2."""
    base = adversarial(setting, of, beta)
    return {
        "Standard": standard(),
        "Adv-Base": base,
        "Adv-PTWD": Method(base.objective, PretrainedDecay(strength=of.decay)),
        "Adv-Mixout": Method(base.objective, Mixout(probability=0.6)),
        "RIFT": rift(setting, of, beta=beta),
    }


def train(setting: Setting, method: Method, of: DataSet, seed: int) -> TrainConfig:
    """Return the training of one cell."""
    budget = setting.budget
    return TrainConfig(
        model=setting.model,
        output=setting.output,  # the runner gives each cell its own folder
        data=DataConfig(
            task=of.task,
            folder=setting.data,
            examples=budget.train,
            validation_share=0.25 if budget.train is not None and budget.train < 10000 else 0.1,
            max_length=at_most(of.max_length, budget.max_length),
            held_out=False,  # measured once, by the evaluation
        ),
        objective=method.objective,
        anchor=method.anchor,
        substitutions=Substitutions(
            lexicon=setting.lexicon, mode=setting.reading, freeze_premise=of.task == "snli"
        ),
        selection=Selection(
            by="hull_accuracy",
            attacked=at_most(500, None if budget.attacked is None else 4 * budget.attacked),
            steps=setting.steps(10),
        ),
        optimisation=Optimisation(
            learning_rate=budget.learning_rate or 2e-5,
            batch_size=of.batch(budget.batch_size),
            epochs=budget.epochs or 20,
            max_grad_norm=0.0,
            precision=setting.precision,
            recorded=True,
            by_length=True,
        ),
        seed=seed,
    )


def measure(setting: Setting, of: DataSet, *names: str) -> Measure:
    """Return what is measured: the clean texts, and the attacks of these columns."""
    attacks = tuple(ATTACKS[name] for name in names or tuple(ATTACKS))
    attacked = at_most(1000, setting.budget.attacked)
    fewer = setting.budget.genetic_examples
    return Measure(of.task, attacks, attacked, sample="covered", genetic_examples=fewer)


def cells_of(
    setting: Setting,
    of: DataSet,
    rows: Mapping[str, Method],
    columns: tuple[str, ...] = tuple(ATTACKS),
    *attacks: str,
) -> list[Cell]:
    """Return a cell for each row and seed, attacked by both attacks or by those named."""
    return [
        Cell(
            name_of(row),
            columns,
            train(setting, method, of, seed),
            measure(setting, of, *attacks),
            seed,
        )
        for row, method in rows.items()
        for seed in setting.seeds_or(3)
    ]


def robust(row: str, of: DataSet, column: str) -> Source:
    """Return the accuracy under the attack of a column."""
    return Source(name_of(row), of.task, "accuracy_under_attack", attack=ATTACKS[column])


def clean(row: str, of: DataSet) -> Source:
    """Return the accuracy on the texts as they are."""
    return Source(name_of(row), of.task, "accuracy")


def method_places(setting: Setting, of: DataSet, rows: tuple[str, ...]) -> Iterator[Place]:
    """Yield Tables 1 and 2: both attacks, in the columns of the model's family."""
    family = "RoBERTa" if setting.shape.roberta else "BERT"
    for row in rows:
        for column in ATTACKS:
            yield Place(row, f"{family} {column}", (robust(row, of, column),))
        yield Place(row, "clean", (clean(row, of),), table=BESIDE)
        yield Place(row, "white box", (white_box(name_of(row), of.task),), table=BESIDE)
