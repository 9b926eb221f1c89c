"""Suite: what a checkpoint is put to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.attack import Material
from holdfast.attack.recipes import find_recipe
from holdfast.data import find_task
from holdfast.errors import InputError
from holdfast.victim.precision import Precision, require_gradients

Moving = Literal["last", "first", "both"]


@dataclass(frozen=True)
class Suite:
    """Tasks, attacks and seeds; each checkpoint is measured in every combination of them."""

    tasks: tuple[str, ...] = ()
    """Names of known tasks; a checkpoint is put to those whose labels it has."""
    attacks: tuple[str, ...] = ("pwws_rift",)
    """Names of attacks; with none only the texts as they are count."""
    seeds: tuple[int, ...] = (0,)
    """Of the examples drawn and of the attacks; the seeds of training are the checkpoints'."""
    examples: int | None = 1000
    """How many are drawn; none, or more than there are: all."""
    clean_examples: int | Literal["same"] | None = "same"
    """How many for the accuracy without an attack, which costs little; same: those that are
    attacked; none: all."""
    data: Path | None = None
    """Folder that holds the tasks as `<task>/<split>.jsonl`, .tsv or .csv; none: the Hub."""
    file: Path | None = None
    """CSV, TSV or JSON lines file of one's own, beside the tasks or instead of them."""
    texts: tuple[str, ...] = ("text",)
    """Text columns of `file`: one, or two for sentence pairs."""
    label: str = "label"
    """Label column of `file`: the model's label names, or their codes."""
    material: Material = Material()
    """Files that attacks read; with its sentence encoder the similarity is measured too."""
    moving: Moving = "last"
    """Which text of a pair the attacks may change."""
    advglue: Path | None = None
    """AdvGLUE's dev_ann.json; a checkpoint is put to the tasks it was trained for."""
    certify: bool = True
    """Whether it is proved, where it can be, that no text of an attack changes an answer: where
    texts are rewritten. Such examples are then not searched."""
    adaptive: bool = True
    """Whether every attacked checkpoint is attacked through its gradients too."""
    adaptive_examples: int | None = 20
    """On how many of the attacked examples, drawn by the seed; none: all. Each costs several times
    what an attack that only asks does."""
    stability: bool = True
    """Whether it is measured how far hidden states move under an attack."""
    cost: bool = True
    """Whether parameters, operations, latency and memory are measured."""
    reference: str | None = None
    """Name of the checkpoint whose adversarial texts the others are shown too; none: no texts."""
    precision: Precision = "fp32"
    """Of the model's arithmetic; in fp16 there is no adaptive check."""
    max_length: int | None = None
    """Tokens the model reads; none: as in its training, else as many as it can, up to 512."""

    def __post_init__(self) -> None:
        if not (self.tasks or self.file or self.advglue):
            raise InputError(
                "The suite names nothing to evaluate on; give tasks, a file of your own, or "
                "AdvGLUE's dev_ann.json."
            )
        counts = (self.examples, self.clean_examples, self.adaptive_examples)
        if not self.seeds or any(isinstance(count, int) and count < 1 for count in counts):
            raise InputError(
                f"The suite has {len(self.seeds)} seeds, {self.examples} examples, "
                f"{self.clean_examples} without an attack and {self.adaptive_examples} for the "
                "adaptive check; expected at least one of each."
            )
        if (least := min(self.seeds)) < 0:
            raise InputError(
                f"The suite has the seed {least}; expected seeds of 0 or more, by which examples "
                "are drawn and attacks search."
            )
        for name in ("tasks", "attacks", "seeds"):
            _refuse_twice(name, getattr(self, name))
        for task in self.tasks:
            find_task(task)
        for attack in self.attacks:
            find_recipe(attack)
        if self.adaptive and self.attacks:
            require_gradients(self.precision)
        self._refuse_clash()
        self._refuse_unused()

    def _refuse_clash(self) -> None:
        if self.file is not None and (self.file.stem in (*self.tasks, "advglue")):
            raise InputError(
                f"The file {self.file} would be called {self.file.stem}, as a task is; rename it."
            )

    def _refuse_unused(self) -> None:
        """Refuse material that nothing takes: what it was meant for would go unmeasured."""
        if not self.attacks:
            return  # the same files may be meant for a suite with attacks
        takers = [*self.attacks, *(("hotflip",) if self.adaptive else ())]
        unused = [set(self.material.unused_by(attack)) for attack in takers]
        if left := set.intersection(*unused) - {"encoder"}:
            raise InputError(
                f"No attack of the suite ({', '.join(self.attacks)}) takes "
                f"{min(left).replace('_', ' ')}; leave it out, or add the attack that it is for."
            )


def _refuse_twice(name: str, values: tuple[object, ...]) -> None:
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise InputError(f"The suite's {name} name {twice[0]} twice; name it once.")
