"""How a run words its texts: settings and canonical form, fitted to its training examples."""

import dataclasses
from collections.abc import Iterable, Sequence

from holdfast.data import Example
from holdfast.text import CanonicalMap, Lexicon, Wording, split_words
from holdfast.text.settings import TextSettings
from holdfast.text.spelling import SHORTEST, Spelling, whole_words
from holdfast.text.told_apart import Apart, WordLabels, never_apart
from holdfast.train.config import TrainConfig
from holdfast.train.examples import RunExamples


def wording_of(
    examples: RunExamples,
    config: TrainConfig,
    lexicon: Lexicon | None,
    vocabulary: Iterable[str] = (),
) -> Wording:
    """Return the wording of a run; the words of its training examples are counted, no others.

    Words for which the tokenizer's `vocabulary` has a token are spelt right.
    """
    task, mode = examples.task, config.substitutions.mode
    settings = TextSettings(config.data.max_length, mode, task.texts, task.label)
    if config.canonical is None or lexicon is None:
        return Wording(settings)
    texts = (text for example in examples.train for text in example.texts)
    how = config.canonical
    shortest = 1 if how.misspelt else SHORTEST
    known = whole_words(vocabulary, shortest) if how.spelling else ()
    apart = _apart(examples, how.apart)
    made = CanonicalMap.fit(
        texts,
        lexicon,
        how.rounds,
        spelling=how.spelling,
        misspelt=how.misspelt,
        known=known,
        apart=apart,
        frequent=how.frequent,
        groups=how.groups,
        slips=how.slips,
        trust=how.trust,
        gives_way=how.gives_way,
    )
    return Wording(settings, made)


def _apart(examples: RunExamples, limit: float | None) -> Apart:
    """Return which words stay apart: those that the labels tell apart by more than `limit`."""
    if limit is None:
        return never_apart
    labelled = ((example.texts, example.label) for example in examples.train)
    labels = WordLabels.of(labelled, len(examples.task.labels))
    return lambda one, other: labels.apart(one, other, limit)


def corrected_share(examples: Sequence[Example], spelling: Spelling) -> float:
    """Return which share of the words of texts the spelling corrects."""
    words = [
        word.text.lower()
        for example in examples
        for text in example.texts
        for word in split_words(text)
    ]
    return sum(spelling.corrected(word) is not None for word in words) / max(1, len(words))


def reworded(examples: RunExamples, wording: Wording) -> RunExamples:
    """Return the examples as the model is to see them: all in one reading, then in the other."""
    if wording.canonical is None:
        return examples

    def part(given: Sequence[Example]) -> list[Example]:
        readings = zip(*(wording.readings(one.texts) for one in given), strict=True)
        return [
            dataclasses.replace(one, texts=texts)
            for reading in readings
            for one, texts in zip(given, reading, strict=True)
        ]

    return dataclasses.replace(
        examples,
        train=part(examples.train),
        validation=part(examples.validation),
        held_out=None if examples.held_out is None else part(examples.held_out),
    )
