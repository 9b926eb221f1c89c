"""Make what `holdfast reproduce strongest` is searched on; see --help.

    python scripts/development.py --data data --wordnet WORDNET --output development

A data folder in which a part of the training split stands where the test examples stood, so that
nothing is chosen by the examples it is reported on. Into both folders go the lexicon joined with
WordNet's, and the lexicon with the words of its words.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from holdfast.attack.recipes.synonyms import FURTHER
from holdfast.text import read_lexicon, wordnet_lexicon

Row = dict[str, Any]
LEXICON = "counterfitted_neighbors.json"
SHORTEST = 12  # words: SST-2 trains on phrases and tests on sentences
HELD = 1000


def read(path: Path) -> list[Row]:
    """Return the rows of a file."""
    with path.open(encoding="utf-8") as file:  # `splitlines` would also cut at rarer characters
        return [json.loads(line) for line in file]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def phrases(sentence: str, shortest: int = 1) -> Iterator[str]:
    """Yield every run of words of a sentence, from so many words on."""
    words = sentence.split()
    for start in range(len(words)):
        for end in range(start + shortest, len(words) + 1):
            yield " ".join(words[start:end])


def sst2(data: Path, output: Path) -> None:
    """Hold texts out, with every row that lies in one or around one: the split has phrases."""
    rows = read(data / "sst2/train.jsonl")
    long = [row for row in rows if len(row["sentence"].split()) >= SHORTEST]
    held = random.Random(0).sample(long, HELD)
    inside = {phrase for row in held for phrase in phrases(row["sentence"])}
    texts = {" ".join(row["sentence"].split()) for row in held}
    left = (
        row
        for row in rows
        if " ".join(row["sentence"].split()) not in inside
        and texts.isdisjoint(phrases(row["sentence"], SHORTEST))
    )
    write(output / "sst2/train.jsonl", left)
    write(output / "sst2/validation.jsonl", held)


def imdb(data: Path, output: Path) -> None:
    """Hold a thousand training reviews out."""
    rows = read(data / "imdb/train.jsonl")
    random.Random(0).shuffle(rows)
    write(output / "imdb/test.jsonl", rows[:HELD])
    write(output / "imdb/train.jsonl", rows[HELD:])


def snli(data: Path, output: Path) -> None:
    """Put the validation split where the test split stood."""
    write(output / "snli/train.jsonl", read(data / "snli/train.jsonl"))
    write(output / "snli/test.jsonl", read(data / "snli/validation.jsonl"))
    write(output / "snli/validation.jsonl", read(data / "snli/validation.jsonl"))


def lexicons(data: Path, output: Path, wordnet: Path) -> None:
    """Write the wider lexicons into both folders, and the lexicon itself into the new one."""
    file = data / "substitutions" / LEXICON
    own = read_lexicon(file)
    wider = {
        "joined_neighbors.json": own.joined(wordnet_lexicon(wordnet)),
        "further_neighbors.json": own.further(FURTHER),
    }
    for folder in (data, output):
        (folder / "substitutions").mkdir(parents=True, exist_ok=True)
        for name, lexicon in wider.items():
            (folder / "substitutions" / name).write_text(lexicon.json(), encoding="utf-8")
    (output / "substitutions" / LEXICON).write_bytes(file.read_bytes())


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    for make in (sst2, imdb, snli):
        make(options.data, options.output)
    lexicons(options.data, options.output, options.wordnet)


if __name__ == "__main__":
    main()
