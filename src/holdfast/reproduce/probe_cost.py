"""What a forward pass of 128 tokens costs, counted and timed, beside the rule of the paper."""

from collections.abc import Sequence

from holdfast.data import Example
from holdfast.evaluate.cost import cost
from holdfast.implicit.flops import PAPER_LENGTH
from holdfast.implicit.layers import positions
from holdfast.record import RunRecord, describe_environment, encode
from holdfast.reproduce.cell import Probed
from holdfast.victim import ModelVictim

KIND = "cost"


def cost_of(task: str) -> str:
    """Return what records of the cost of a task's model have for their task."""
    return f"{KIND}/{task}"


def cost_record(probed: Probed, measured: ModelVictim, examples: Sequence[Example]) -> RunRecord:
    """Return weights, operations, latency and memory of one text of as many tokens."""
    victim = _reading(measured)
    one = " ".join(example.texts[0] for example in examples)
    texts = tuple(" ".join([one] * PAPER_LENGTH) for _ in examples[0].texts)  # cut to the limit
    cell = probed.cell
    return RunRecord(
        kind="evaluation",
        model=cell.row,
        task=cost_of(cell.measure.task),
        seed=cell.seed,
        config=encode(probed),
        training=None if cell.train is None else encode(cell.train),
        metrics=cost(victim, [texts]),
        environment=describe_environment(),
        device=str(victim.model.device),
        notes=(f"One text of {victim.max_length} tokens; the paper's rule is for 128.",),
    )


def _reading(victim: ModelVictim) -> ModelVictim:
    """Return the same model, which now reads 128 tokens, or as many as it has positions for."""
    model, tokenizer = victim.model, victim.tokenizer
    length = min(PAPER_LENGTH, int(tokenizer.model_max_length), positions(model) or PAPER_LENGTH)
    return ModelVictim(
        model,
        tokenizer,
        max_length=length,
        canonical=victim.canonical,
        word_level=victim.word_level,
    )
