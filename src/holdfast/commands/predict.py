"""`holdfast predict`: the label of texts by a trained model, which reads them as in training."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from holdfast.commands.columns import find_texts
from holdfast.commands.labelled import LABEL, check_output, write_labelled
from holdfast.commands.settings import Interface
from holdfast.commands.table import table
from holdfast.data import EncodedExamples, Example, PadBatch
from holdfast.data.files import text_of
from holdfast.data.rows import SUFFIXES, Row, read_rows
from holdfast.errors import InputError
from holdfast.implicit.checkpoint import read_connection, require_safetensors
from holdfast.implicit.layers import positions
from holdfast.text import TextSettings, Wording
from holdfast.text.word_level import WordLevelReader
from holdfast.train.loading import Classifier, open_classifier
from holdfast.train.unfit import NOT_CLASSES

LONGEST = 2**16  # tokens, where neither model nor tokenizer knows a limit
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
    options, given = INTERFACE.read(argv)
    rows = gather_rows(options)
    columns = [row.columns for row in rows]
    if options.output is not None:
        if "json" in given:
            raise InputError("--json prints and --output writes; leave one of them out.")
        check_output(options.output, options.file, columns)
    classifier = load_trained(options.model)
    texts = [row.texts for row in rows if row.texts]
    encoder = _Encoder.of(classifier, options)
    _refuse_another_number(texts, encoder.wording.settings)
    answers = predict(encoder, texts, options.batch_size, progress=options.file is not None)
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
    if otherwise := encoder.wording.read_otherwise(texts):
        print(f"note: {told(otherwise, encoder.wording.blend.trust)}", file=sys.stderr)


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
    given = [Row(number, "The texts", {"text": text}) for number, text in enumerate(options.text)]
    asked = [Asked((text_of(row, "text"),), row.values) for row in given]
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


def load_trained(folder: Path) -> Classifier:
    """Load a classifier with its own connection; refuse one that was never trained."""
    require_safetensors(folder)
    classifier = open_classifier(str(folder), read_connection(folder))
    if classifier.new_weights:
        raise InputError(
            f"{folder} holds no trained classifier (there is no {classifier.new_weights[0]}); train"
            " one with holdfast train, and give the folder `model` that it writes."
        )
    config = classifier.model.config
    if config.problem_type in NOT_CLASSES or config.num_labels == 1:
        several = config.problem_type == "multi_label_classification"
        raise InputError(
            f"{folder} answers with {'several labels at once' if several else 'a number'}, and "
            "holdfast predict says which one of its labels a text has; give a model that was "
            "trained for that, as holdfast train does."
        )
    return classifier


def _refuse_another_number(texts: Sequence[Texts], trained: TextSettings | None) -> None:
    """Refuse single texts for a model of pairs, and pairs for one of single texts."""
    if trained is None or len(trained.texts) in (0, len(texts[0])):  # 0: that is not known
        return
    what = {1: "single texts", 2: "pairs"}
    how = {1: "name one column", 2: "give a --file and name its two columns"}
    count, columns = len(trained.texts), ", ".join(trained.texts)
    raise InputError(
        f"The model was trained on {what[count]} ({columns}) and is given {what[len(texts[0])]}; "
        f"{how[count]} with --texts."
    )


def predict(
    encoder: "_Encoder", texts: Sequence[Texts], batch_size: int, *, progress: bool
) -> Iterator[dict[str, Any]]:
    """Yield the answer for each text: its label, and the probability of every label."""
    model: Any = encoder.classifier.model
    model.to(_device()).eval()
    labels = encoder.classifier.labels()
    with tqdm(total=len(texts), desc="texts", file=sys.stderr, disable=not progress) as bar:
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            with torch.no_grad():
                logits = [model(**inputs).logits.double() for inputs in encoder(batch)]
            read = [of.log_softmax(-1).cpu().numpy() for of in logits]
            answers = read[0] if len(read) == 1 else encoder.wording.blend(*read)
            bar.update(len(batch))
            for text, row in zip(batch, np.exp(answers).tolist(), strict=True):
                best = max(range(len(row)), key=row.__getitem__)
                probabilities = dict(zip(labels, row, strict=True))
                answer = {"texts": list(text), "label": labels[best], "probability": row[best]}
                yield {**answer, "probabilities": probabilities}


@dataclass(frozen=True)
class _Encoder:
    """Texts to batches, worded and cut as in training."""

    classifier: Classifier
    wording: Wording
    reader: WordLevelReader | None
    longest: int

    @classmethod
    def of(cls, classifier: Classifier, options: PredictOptions) -> "_Encoder":
        """Read how the checkpoint's texts are read; `options` may set another length."""
        wording = Wording.load(options.model)
        trained = None if wording.settings is None else wording.settings.max_length
        longest = _longest(classifier, options.max_length, trained)
        return cls(classifier, wording, wording.word_reader(classifier.tokenizer), longest)

    def __call__(self, batch: Sequence[Texts]) -> list[dict[str, torch.Tensor]]:
        """Return a padded batch on the model's device, for each reading of the texts."""
        readings = zip(*map(self.wording.readings, batch), strict=True)
        return [self._padded(texts) for texts in readings]

    def _padded(self, texts: Sequence[Texts]) -> dict[str, torch.Tensor]:
        tokenizer = self.classifier.tokenizer
        examples = [Example(str(row), one, label=0) for row, one in enumerate(texts)]
        if self.reader is None:
            encoded = EncodedExamples(examples, tokenizer, self.longest)
        else:
            columns = self.reader.read(texts, self.longest, ()).columns
            encoded = EncodedExamples.from_columns(examples, columns)
        padded = PadBatch(tokenizer)([encoded[row] for row in range(len(encoded))])
        device, named = self.classifier.model.device, tokenizer.model_input_names
        return {name: padded[name].to(device) for name in named if name in padded}


def _longest(classifier: Classifier, asked: int | None, trained: int | None) -> int:
    """Return how many tokens of a text are kept; refuse more than the model has positions for."""
    limit = positions(classifier.model)
    if asked is not None and limit is not None and asked > limit:
        raise InputError(
            f"--max_length is {asked} and the model reads at most {limit} tokens; set it to "
            f"{limit} or less."
        )
    wanted = asked or trained or min(LONGEST, classifier.tokenizer.model_max_length)
    # texts that were all short may have been trained on with more than there are positions
    return wanted if limit is None else min(wanted, limit)


def _device() -> torch.device:
    return torch.accelerator.current_accelerator() or torch.device("cpu")


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
