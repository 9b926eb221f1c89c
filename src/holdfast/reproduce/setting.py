"""What a reproduction is run with: the model, the data, the budget, files at hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError, first_line
from holdfast.reproduce.budget import FULL, Budget, at_most

Reading = Literal["word_level", "aligned"]
Precision = Literal["fp32", "bf16"]

SAMPLE_FILES = {task: f"{task}_test_lm_filtered.json" for task in ("imdb", "snli")}
"""In the folder `substitutions`: what Jia's language model leaves of each text's substitutes."""


@dataclass(frozen=True)
class Shape:
    """What recipes need to know of the model before it is loaded."""

    family: str = "bert"
    layers: int = 12
    width: int = 768
    feed_forward: int = 3072
    pooler: bool = True
    """Whether its checkpoint has the weights of a pooler."""

    @property
    def roberta(self) -> bool:
        """Whether it stands in the papers' RoBERTa columns."""
        return self.family in ("roberta", "xlm-roberta", "camembert")


BERT_BASE = Shape()


@dataclass(frozen=True)
class Setting:
    """Everything a recipe's cells depend on."""

    model: str
    """Folder of a checkpoint, or its name on the Hub."""
    output: Path
    """Folder for cells, records and tables."""
    shape: Shape = BERT_BASE
    budget: Budget = FULL
    data: Path | None = None
    """Folder of the tasks; none: the Hub."""
    demo: bool = False
    """Whether `data` holds the demo's sentences in place of the task's own."""
    seeds: tuple[int, ...] | None = None
    """Of the trainings; none: as many as the recipe and the budget say."""
    reading: Reading = "word_level"
    """How RIFT's models read: one token a word, as released, or the model's own pieces."""
    precision: Precision = "fp32"
    lexicon: Path | None = None
    """Substitutes of words; none: the cached lexicon, or WordNet's."""
    joined: Path | None = None
    """The lexicon joined with WordNet's; none: what needs it is left out."""
    further: Path | None = None
    """The lexicon with the words of its words; none: what needs it is left out."""
    wordnet: Path | None = None
    encoder: Path | None = None
    """Sentence encoder of TextFooler's constraint; none: it goes without."""
    vectors: Path | None = None
    """Word vectors of TextFooler's 50 neighbours; none: it has the lexicon's."""
    advglue: Path | None = None
    """AdvGLUE's dev_ann.json; none: what is measured on it stays missing."""
    allowed: Mapping[str, Path] = field(default_factory=dict)
    """Task to its language-model-filtered substitutes."""
    textfooler: Path | None = None
    """TextFooler's thousand reviews."""

    def seeds_or(self, usual: int) -> tuple[int, ...]:
        """Return the seeds of the trainings; a recipe knows how many are `usual`."""
        return self.seeds or self.budget.seeds or tuple(range(usual))

    def steps(self, usual: int) -> int:
        """Return the steps of an adversary inside training."""
        return at_most(usual, self.budget.inner_steps)

    def tasks(self, all_of_them: tuple[str, ...], short: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tasks that are run; of the demo's sentences only those on single texts."""
        return all_of_them if self.budget.whole and not self.demo else short

    def rows(self, all_of_them: tuple[str, ...], short: tuple[str, ...]) -> tuple[str, ...]:
        """Return the rows that are run."""
        return all_of_them if self.budget.whole else short


def read_shape(model: str) -> Shape:
    """Return the shape of a checkpoint from its configuration."""
    from transformers import AutoConfig

    from holdfast.train.loading import check_checkpoint

    check_checkpoint(model)
    try:
        config = AutoConfig.from_pretrained(model)
        sizes = (config.num_hidden_layers, config.hidden_size, config.intermediate_size)
    except Exception as error:  # whatever the file formats or the Hub raise
        raise InputError(
            f"The configuration of {model} cannot be read ({first_line(error)}); give a folder or "
            "a Hub name of an encoder such as BERT."
        ) from error
    pooler = _has_pooler(Path(model), config.model_type)
    layers, width, feed_forward = map(int, sizes)
    return Shape(config.model_type, layers, width, feed_forward, pooler)


def _has_pooler(folder: Path, family: str) -> bool:
    """Look for the pooler's weights; of a model on the Hub its family tells."""
    from safetensors import safe_open

    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if not files:
        return family == "bert"
    names: list[str] = []
    for file in files:
        with safe_open(file, framework="numpy") as opened:
            names += opened.keys()
    return any(name.endswith("pooler.dense.weight") for name in names)
