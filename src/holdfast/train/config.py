"""What a fine-tuning run takes: the sections of a TOML recipe, the flags of `holdfast train`.

Annotations are resolved at run time (by the command line and by `holdfast.record.decode`), so
they are real types here and every union is closed.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from holdfast.anchors import Mixout, PretrainedDecay, RecAdam
from holdfast.errors import InputError
from holdfast.implicit.spec import Connection
from holdfast.objectives import AnyObjective, Standard
from holdfast.text.canonical_settings import Canonical
from holdfast.text.substitutions import Substitutions
from holdfast.text.two_readings import Blend


def _require(holds: bool, name: str, expected: str) -> None:
    if not holds:
        raise InputError(f"{name} is out of range; expected {expected}.")


@dataclass(frozen=True)
class DataConfig:
    """Where the examples come from: a known task, or the user's own file."""

    task: str | None = None
    """Name of a known task (`holdfast tasks` lists them); none when `file` is given."""
    folder: Path | None = None
    """Folder that holds the task as `<task>/<split>.jsonl`, .tsv or .csv; none: the Hub."""
    file: Path | None = None
    """A CSV, TSV or JSON lines file of one's own; none when `task` is given."""
    texts: tuple[str, ...] = ("text",)
    """Text columns of `file`: one, or two for sentence pairs."""
    label: str = "label"
    """Label column of `file`."""
    examples: int | None = None
    """Low resource: draw so many examples by the seed, before the split; none: all."""
    validation_share: float = 0.2
    """Share of the training examples held back to choose the checkpoint (the paper's 8:2)."""
    max_length: int = 128
    """Tokens kept of each example."""
    held_out: bool = True
    """Also measure the task's published split (for GLUE: validation) once, at the end."""
    held_out_file: Path | None = None
    """The same for `file`: a second file with the same columns and labels."""

    def __post_init__(self) -> None:
        if (self.task is None) == (self.file is None):
            raise InputError(
                "The data is either a known task (data.task) or a file of one's own (data.file); "
                "give exactly one of them."
            )
        _require(0 < self.validation_share < 1, "data.validation_share", "between 0 and 1")
        _require(self.examples is None or self.examples > 1, "data.examples", "at least 2")


@dataclass(frozen=True)
class Optimisation:
    """How the weights are fitted; the defaults are the paper's where it gives them."""

    learning_rate: float = 2e-5
    """Peak learning rate of Adam."""
    batch_size: int = 16
    """Examples a forward pass over all processes together."""
    epochs: float = 3.0
    """Passes over the training examples."""
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises; it then falls linearly to zero."""
    weight_decay: float = 0.0
    """Decoupled weight decay; 0 makes AdamW plain Adam."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16 is autocast; weights and optimiser stay in fp32."""
    gradient_accumulation: int = 1
    """Batches summed into one optimiser step."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
    max_grad_norm: float = 1.0
    """Norm to which gradients are clipped; 0 turns clipping off."""
    checkpoint_every: int | None = None
    """Optimiser steps between evaluations, each with a checkpoint; none: once an epoch."""
    log_every: int = 10
    """Optimiser steps between lines of the loss curve."""
    by_length: bool = False
    """Put texts of like length into a batch: less padding, less work, an order less random."""
    recorded: bool = False
    """Record each shape of step on a GPU and play it again, which spares Python the launching of
    its kernels. What cannot be recorded runs as it is, and says so; without a GPU all does. So that
    there are few shapes, batches are padded to multiples of 8 tokens, in a short training of 32."""

    def __post_init__(self) -> None:
        _require(self.learning_rate > 0, "optimisation.learning_rate", "above 0")
        _require(self.epochs > 0, "optimisation.epochs", "above 0")
        _require(0 <= self.warmup < 1, "optimisation.warmup", "from 0 to below 1")
        _require(self.weight_decay >= 0, "optimisation.weight_decay", "0 or above")
        _require(self.max_grad_norm >= 0, "optimisation.max_grad_norm", "0 or above")
        for name in ("batch_size", "gradient_accumulation", "log_every"):
            _require(getattr(self, name) >= 1, f"optimisation.{name}", "at least 1")
        every = self.checkpoint_every
        _require(every is None or every >= 1, "optimisation.checkpoint_every", "at least 1")


@dataclass(frozen=True)
class Selection:
    """Which checkpoint is kept, and when training ends; measured on the validation examples."""

    by: Literal["auto", "loss", "accuracy", "hull_accuracy"] = "auto"
    """The lowest loss, or the highest accuracy on the texts or on their worst substitutions inside
    the hull; auto: the last for an objective that substitutes, the loss for others."""
    patience: int | None = None
    """Evaluations without a better one after which training stops; none: it runs to its end."""
    attacked: int = 500
    """Validation examples whose hull is searched at each evaluation."""
    steps: int = 10
    """Steps of that search."""

    def __post_init__(self) -> None:
        _require(self.patience is None or self.patience >= 1, "selection.patience", "at least 1")
        _require(self.attacked >= 1, "selection.attacked", "at least 1")
        _require(self.steps >= 1, "selection.steps", "at least 1")


@dataclass(frozen=True)
class TrainConfig:
    """Everything `holdfast train` takes."""

    model: str
    """Folder with a safetensors checkpoint, or a name on the Hub."""
    output: Path
    """Folder the run writes; a run killed there is resumed by the same command."""
    data: DataConfig
    """The examples."""
    connection: Connection | None = None
    """How layers are connected; none: the plain model."""
    objective: AnyObjective = field(default_factory=Standard)
    """The loss that is minimised."""
    anchor: PretrainedDecay | Mixout | RecAdam | None = None
    """What keeps the weights near the pre-trained ones; none: nothing."""
    substitutions: Substitutions = field(default_factory=Substitutions)
    """Substitutes for words, where the objective or the selection needs them."""
    canonical: Canonical | None = None
    """Write every text in canonical form first, in training and in use; none: as it is."""
    selection: Selection = field(default_factory=Selection)
    """Which checkpoint is kept."""
    optimisation: Optimisation = field(default_factory=Optimisation)
    """How it is minimised."""
    seed: int = 0
    """Every random choice follows it: split, sample, new head, order, dropout."""

    def __post_init__(self) -> None:
        _require(0 <= self.seed < 2**32, "seed", "from 0 to 4294967295")

    @property
    def selected_by(self) -> str:
        """The measure that chooses the checkpoint: loss, accuracy or hull_accuracy."""
        if self.selection.by != "auto":
            return self.selection.by
        return "hull_accuracy" if self.objective.substitutes else "loss"

    @property
    def blend(self) -> Blend:
        """How the answers on the readings of a text become one."""
        how = self.canonical
        return Blend() if how is None else Blend(how.trust, how.gives_way)

    @property
    def readings(self) -> int:
        """How often each text is read."""
        return 1 if self.blend.trust == 1 else 2

    @property
    def needs_substitutes(self) -> bool:
        """Whether words need substitutes, and so a lexicon."""
        read_by_word = self.substitutions.mode == "word_level"
        return read_by_word or self.objective.substitutes or self.selected_by == "hull_accuracy"
