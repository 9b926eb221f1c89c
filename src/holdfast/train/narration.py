"""What a run says of itself as it goes, one short line each, by logging; `holdfast` shows it."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from holdfast.data import Example
from holdfast.implicit import Connection
from holdfast.text import Wording
from holdfast.train.checkpoint import STATE
from holdfast.train.columns import labels_of
from holdfast.train.config import TrainConfig
from holdfast.train.examples import RunExamples
from holdfast.train.parts import EncodedParts
from holdfast.train.sampler import ClassBalancedSampler
from holdfast.train.wording import corrected_share

MISSPELT = 0.05
"""Share of words from which on it is not people that misspell."""
LOOKED_AT = 1000  # validation examples that it is counted on

_log = logging.getLogger(__name__)


def tell_examples(examples: RunExamples) -> None:
    """Say how many rows were read, what each part got, and how often each label occurs."""
    read = sum(source.rows for source in examples.sources.values())
    rows = f"{read:,} rows read; " if read else ""
    held_out = f"{len(examples.held_out):,}" if examples.held_out else "none"
    parts = f"{len(examples.train):,} to train, {len(examples.validation):,} to validate"
    _log.info("data: %s%s, %s held out", rows, parts, held_out)
    _tell_known("validation", examples.validation, "train", examples.train)
    learned_from = (*examples.train, *examples.validation)
    _tell_known("held-out", examples.held_out or (), "train or validate", learned_from)
    counts = Counter(example.label for example in learned_from)
    named = (f"{name} {counts[code]:,}" for code, name in enumerate(examples.task.labels))
    _log.info("labels: %s", ", ".join(named))


def _tell_known(
    part: str, examples: Sequence[Example], used: str, others: Sequence[Example]
) -> None:
    """Warn of examples that are used otherwise, too: of pairs, those that agree in both texts."""
    seen = {example.texts for example in others}
    if known := sum(example.texts in seen for example in examples):
        _log.warning(
            "%d of the %d %s texts are among those to %s, word for word: what is measured on them "
            "says little of new texts",
            known,
            len(examples),
            part,
            used,
        )


def tell_connection(connection: Connection | None) -> None:
    """Say which layers are connected, and how."""
    if connection is None:
        _log.info("connection: none, the plain model")
        return
    layers = connection.layers
    named = layers if isinstance(layers, str) else ", ".join(map(str, layers))
    solver = type(connection.solver).__name__
    _log.info("connection: layers %s, %s, solved by %s", named, connection.scheme, solver)


def tell_objective(config: TrainConfig, parts: EncodedParts, wording: Wording) -> None:
    """Say what is minimised, near what, on which words, and what chooses the checkpoint."""
    anchor = f", anchored by {config.anchor}" if config.anchor is not None else ""
    _log.info("objective: %s%s", type(config.objective).__name__, anchor)
    if parts.lexicon is not None:
        _log.info("lexicon: %s; %s", parts.lexicon.source, parts.coverage)
    if config.objective.class_conditional:
        balanced = ClassBalancedSampler(labels_of(parts.datasets["train"]), config.seed)
        _log.info("batches: %s", balanced.describe())
    if wording.canonical is not None and wording.canonical.mapping:
        _log.info("canonical text: %d words have another form", len(wording.canonical.mapping))
        if (blend := wording.blend).trust < 1:
            where = f" where it gives more than {blend.sure:.2f}" if blend.gives_way else ""
            _log.info("texts are read twice: that form has a weight of %g%s", blend.trust, where)
    _log.info("kept: the checkpoint with the best validation %s", config.selected_by)


def tell_slow_wording(config: TrainConfig) -> None:
    """Say what is done first, where that takes long enough to wonder."""
    if config.canonical is not None and config.canonical.slips:
        _log.info("slips: adding up what those of the frequent words are read as (up to a minute)")


def tell_spelling(examples: RunExamples, wording: Wording) -> None:
    """Say how many words are taken for misspelt, and warn where it must be too many."""
    if wording.canonical is None or wording.canonical.spelling is None or not examples.validation:
        return
    spelling = wording.canonical.spelling
    share = corrected_share(examples.validation[:LOOKED_AT], spelling)
    _log.info(
        "spelling: words one letter away from %d known ones are corrected, %.1f %% of those in the "
        "validation texts",
        len(spelling.counts),
        100 * share,
    )
    if share > MISSPELT:
        _log.warning(
            "The spelling changes %.1f %% of the words of the validation texts, where people "
            "misspell one in a hundred: it takes right words for slips, as in a language of which "
            "the tokenizer has few whole words. Train on more texts, or leave it out "
            "(--canonical.spelling false)",
            100 * share,
        )


def tell_wording(model: str, examples: RunExamples, wording: Wording) -> None:
    """Say what is corrected, and warn that the model was trained on texts worded otherwise."""
    tell_spelling(examples, wording)
    before = Wording.load(Path(model))
    if before.canonical is not None and wording.canonical is None:
        _log.warning("%s reads canonical text, and this run does not: --canonical.rounds", model)
    modes = [one.settings.mode if one.settings is not None else None for one in (before, wording)]
    if modes[0] is not None and modes[0] != modes[1]:
        _log.warning("%s reads texts in the mode %s, this run in the mode %s", model, *modes)


def tell_resume(checkpoint: Path | None) -> None:
    """Say where a killed run goes on."""
    if checkpoint is not None:
        state = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        _log.info("resuming from step %s of %s", state["global_step"], state["max_steps"])
