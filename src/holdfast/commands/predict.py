"""`holdfast predict`: the label of texts by a trained model, which reads them as in training."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from holdfast.commands.columns import find_texts, refuse_another_number
from holdfast.commands.given_texts import refuse_unreadable
from holdfast.commands.labelled import LABEL, check_output, write_labelled
from holdfast.commands.settings import Interface
from holdfast.commands.table import table
from holdfast.data.files import text_of
from holdfast.data.rows import SUFFIXES, Row, read_rows
from holdfast.errors import InputError
from holdfast.implicit.checkpoint import model_folder
from holdfast.text import Wording
from holdfast.victim import TextClassifier
from holdfast.victim.window import TooLong

SHOWN_WORDS = 5
LONGEST_SHOWN = 60  # characters of a text in the table; --json prints all of them

Texts = tuple[str, ...]


@dataclass(frozen=True)
class PredictOptions:
    """What `holdfast predict` takes."""

    model: Path
    """Folder of a trained model, as `holdfast train` writes it."""
    text: tuple[str, ...] = ()
    """Texts to label; they may also stand without this name."""
    file: Path | None = None
    """CSV, TSV or JSON lines file of texts to label, besides those given."""
    texts: tuple[str, ...] = ()
    """Text columns of `file`: one, or two for sentence pairs; none: as in training, or text."""
    output: Path | None = None
    """CSV or JSON lines file for the rows as they were read, each with its label (`predicted`) and
    that label's probability, in JSON lines with those of all labels; a row without a text is kept
    and has none. None: the answers are printed."""
    batch_size: int = 32
    """Texts read by the model at once."""
    max_length: int | None = None
    """Tokens kept of each text; none: as in training, or as many as the model reads."""

    def __post_init__(self) -> None:
        if len(self.texts) > 2:
            raise InputError(f"--texts names {len(self.texts)} columns; name one, or two of pairs.")
        for name in ("batch_size", "max_length"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"--{name} is {value}; expected 1 or more.")


INTERFACE = Interface(
    "predict",
    'Label texts with a trained model: holdfast predict --model runs/reviews/model "A fine film."',
    PredictOptions,
    switches={"json": "print one JSON object a text, with the probability of every label"},
    free="text",
)


def run(argv: Sequence[str]) -> None:
    """Label the texts and print them with their labels."""
    asked, given = INTERFACE.read(argv)
    options = replace(asked, model=model_folder(asked.model))
    rows = gather_rows(options)
    columns = [row.columns for row in rows]
    if options.output is not None:
        if "json" in given:
            raise InputError("--json prints and --output writes; leave one of them out.")
        check_output(options.output, options.file, columns)
    classifier = load_trained(options)
    texts = [row.texts for row in rows if row.texts]
    refuse_another_number(len(texts[0]), [options.model])
    answers = predict(classifier, texts, progress=options.file is not None)
    if options.output is not None:
        found = iter(list(answers))  # to its end, which closes the progress bar
        write_labelled(options.output, columns, [next(found) if r.texts else None for r in rows])
        print(f"Wrote {options.output}: {len(rows):,} rows, the label of each in {LABEL!r}.")
        if gaps := len(rows) - len(texts):
            print(f"note: rows without a text, and so without a label: {gaps:,}.", file=sys.stderr)
    elif "json" in given:
        for answer in answers:
            print(json.dumps(answer))
    else:
        print(shown(list(answers)))
    wording = Wording(canonical=classifier.system.canonical)
    if otherwise := wording.read_otherwise(texts):
        print(f"note: {told(otherwise, wording.blend.trust)}", file=sys.stderr)


def told(otherwise: Counter[tuple[str, str]], trust: float = 1.0) -> str:
    """Say which words the model was given as others: a name may be taken for a slip."""
    few = [f"{old} as {new}" for (old, new), _ in otherwise.most_common(SHOWN_WORDS)]
    few += ["..."] if len(otherwise) > len(few) else []
    times = f"{otherwise.total():,} times" if otherwise.total() > 1 else "once"
    where = ", in one of its two readings or both" if trust < 1 else ""
    return (
        f"the model read a word as another {times} ({', '.join(few)}){where}, as it was trained to."
    )


class Asked(NamedTuple):
    """A text, or pair, as the model will read it, and the columns it came with."""

    texts: Texts
    """Empty: the row is kept in the output, and has nothing to label."""
    columns: Mapping[str, object]


def gather_rows(options: PredictOptions) -> list[Asked]:
    """Return what is to be labelled; refuse what a model cannot read."""
    for text in options.text:
        if text.lower().endswith(SUFFIXES) and os.path.isfile(text):  # no name is too long for it
            raise InputError(f"{text} is a file; to label its rows give it as --file {text}.")
    refuse_unreadable(options.text)
    asked = [Asked((text,), {"text": text}) for text in options.text]
    if options.file is not None:
        columns = find_texts(options.texts, [options.model], options.file)
        rows = read_rows(options.file)
        asked += _with_gaps(rows, columns) if options.output else _readable(rows, columns)
    if not any(one.texts for one in asked):
        raise InputError("There is no text to label; write one behind the options, or give --file.")
    if len({len(one.texts) for one in asked if one.texts}) > 1:
        raise InputError("Single texts and pairs cannot be mixed; give pairs in a --file only.")
    return asked


def _with_gaps(rows: Sequence[Row], columns: Sequence[str]) -> list[Asked]:
    """Return all rows of a file, those that lack a text without one; refuse a file of such only."""
    gaps = [_lacks_text(row, columns) for row in rows]
    if all(gaps):
        return _readable(rows, columns)  # which says what is wrong with the first
    return _readable(rows, columns, gaps)


def _lacks_text(row: Row, columns: Sequence[str]) -> bool:
    given = [row.values.get(column) for column in columns]
    return any(value is None or (isinstance(value, str) and not value.strip()) for value in given)


def _readable(
    rows: Sequence[Row], columns: Sequence[str], gaps: Sequence[bool] | None = None
) -> list[Asked]:
    """Return the rows of a file; where some cannot be read, say so of the first and of how many.

    Rows that are known as `gaps` need not be read.
    """
    asked, wrong = [], list[InputError]()
    for row, gap in zip(rows, gaps or [False] * len(rows), strict=True):
        if gap:
            asked.append(Asked((), row.values))
            continue
        try:
            asked.append(Asked(tuple(text_of(row, column) for column in columns), row.values))
        except InputError as error:
            wrong.append(error)
    if len(wrong) > 1 and asked:
        raise InputError(f"{wrong[0]} So it is with {len(wrong):,} of {len(rows):,} rows.")
    if wrong:
        raise wrong[0]
    return asked


def load_trained(options: PredictOptions) -> TextClassifier:
    """Load the model with all that its folder says of how texts are read."""
    try:
        return TextClassifier.load(
            options.model,
            max_length=options.max_length,
            device=torch.accelerator.current_accelerator() or torch.device("cpu"),
            batch_size=options.batch_size,
        )
    except TooLong as error:
        raise InputError(
            f"--max_length is {options.max_length} and the model reads at most {error.most} "
            f"tokens; set it to {error.most} or less."
        ) from error


def predict(
    classifier: TextClassifier, texts: Sequence[Texts], *, progress: bool
) -> Iterator[dict[str, Any]]:
    """Yield the answer for each text: its label, and the probability of every label."""
    labels, size = classifier.labels, classifier.batch_size
    with tqdm(total=len(texts), desc="texts", file=sys.stderr, disable=not progress) as bar:
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            rows = classifier.probabilities(batch).tolist()
            bar.update(len(batch))
            for text, row in zip(batch, rows, strict=True):
                best = max(range(len(row)), key=row.__getitem__)
                probabilities = dict(zip(labels, row, strict=True))
                answer = {"texts": list(text), "label": labels[best], "probability": row[best]}
                yield {**answer, "probabilities": probabilities}


def shown(answers: Sequence[dict[str, Any]]) -> str:
    """Return the answers as a table."""
    rows = [
        [answer["label"], f"{answer['probability']:.3f}", _short(" | ".join(answer["texts"]))]
        for answer in answers
    ]
    return table(["label", "probability", "text"], rows)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST_SHOWN else plain[: LONGEST_SHOWN - 3] + "..."
