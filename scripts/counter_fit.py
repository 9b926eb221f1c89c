"""Make word vectors in which near means alike, for an attacker who takes 50 neighbours.

    python scripts/counter_fit.py --vectors glove.6B.100d.txt --wordnet WORDNET \
        --output data/substitutions/counterfitted_vectors.txt

In vectors learnt from text "good" and "bad" are neighbours. Counter-fitting (Mrkšić et al., NAACL
2016) pushes antonyms apart, pulls synonyms together and keeps near what was very near. Theirs are
Paragram's vectors and the synonyms of PPDB; here are the vectors that are given and WordNet's.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.record import write_atomically
from holdfast.text.wordnet import find_wordnet, read_wordnet

Vectors = NDArray[np.float32]
Pairs = NDArray[np.int64]
"""(pairs, 2): rows of the vectors."""

APART, NEAR = 1.0, 0.2  # cosine distance that antonyms get at least; below which pairs are kept
RATE, ROUNDS = 0.1, 20
ROUNDING = 1e-5  # by which a distance may seem to have grown
BLOCK = 2000  # words whose neighbours are looked for at once


class Synset(NamedTuple):
    """Words of one meaning, and the meanings it points at."""

    words: tuple[str, ...]
    opposite: tuple[tuple[str, int, int], ...]
    """Synset, number of the own word and of the other's, both from 1: words are opposites."""
    similar: tuple[str, ...]


def synsets(file: Path) -> Iterator[tuple[str, Synset]]:
    """Yield the synsets of one of WordNet's data files by their offsets (see its `wndb(5)`)."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):  # the licence
            continue
        field = line.partition("|")[0].split()
        count = int(field[3], 16)
        words = tuple(word.partition("(")[0].lower() for word in field[4 : 4 + 2 * count : 2])
        pointers = field[5 + 2 * count :]
        parted = [pointers[at : at + 4] for at in range(0, len(pointers) - 3, 4)]
        taken = parted[: int(field[4 + 2 * count])]
        opposite = tuple((p[1], int(p[3][:2], 16), int(p[3][2:], 16)) for p in taken if p[0] == "!")
        yield field[0], Synset(words, opposite, tuple(p[1] for p in taken if p[0] == "&"))


def antonyms(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield opposites; of an adjective also what is similar to one and to the other."""
    for part in ("noun", "verb", "adj", "adv"):
        known = dict(synsets(folder / f"data.{part}"))
        for synset in known.values():
            for offset, own, its in synset.opposite:
                other = known[offset]
                one = [synset.words[own - 1], *around(synset, known)]
                yield from product(one, [other.words[its - 1], *around(other, known)])


def around(synset: Synset, known: dict[str, Synset]) -> list[str]:
    """Return the words of the adjectives that are similar to a synset."""
    return [word for offset in synset.similar for word in known[offset].words]


def synonyms(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the words of a meaning, two by two, of which both mean that before anything else."""
    for senses in read_wordnet(folder).senses.values():
        first = {word: found[0] for word, found in senses.items()}
        for synset in set(first.values()):
            meant = [word.lower() for word in synset if first.get(word.lower()) == synset]
            yield from combinations(meant, 2)


def read(file: Path, most: int) -> tuple[list[str], Vectors]:
    """Return the first words of a file of vectors, which are the most frequent, and their rows."""
    words, rows = [], []
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.rstrip().split(" ")
            if word.isalpha() and word.islower():
                words.append(word)
                rows.append(np.array(numbers, dtype=np.float32))
            if len(words) == most:
                break
    return words, unit(np.stack(rows))


def unit(rows: Vectors) -> Vectors:
    """Return rows of length 1."""
    found: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found


def numbered(pairs: Iterable[tuple[str, str]], words: list[str]) -> Pairs:
    """Return the pairs of which both words have a vector, each once."""
    row = {word: at for at, word in enumerate(words)}
    found = {tuple(sorted((row[a], row[b]))) for a, b in pairs if a in row and b in row and a != b}
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def very_near(rows: Vectors) -> Pairs:
    """Return the pairs that are to stay as near as they are."""
    found = []
    for start in range(0, len(rows), BLOCK):
        cosines = rows[start : start + BLOCK] @ rows.T
        one, other = np.nonzero(cosines >= 1 - NEAR)
        found.append(np.stack([one + start, other], axis=1)[one + start < other])
    return np.concatenate(found)


def without(pairs: Pairs, others: Pairs) -> Pairs:
    """Return the pairs that are not among the others."""
    left = set(map(tuple, pairs.tolist())) - set(map(tuple, others.tolist()))
    return np.array(sorted(left), dtype=np.int64).reshape(-1, 2)


def distances(rows: Vectors, pairs: Pairs) -> Vectors:
    """Return the cosine distance of each pair."""
    found: Vectors = 1 - np.einsum("pd,pd->p", rows[pairs[:, 0]], rows[pairs[:, 1]])
    return found


def counter_fitted(rows: Vectors, apart: Pairs, together: Pairs) -> Vectors:
    """Return the vectors after some rounds of pulling and pushing."""
    kept, together = without(very_near(rows), apart), without(together, apart)
    before = distances(rows, kept) + ROUNDING
    for _ in range(ROUNDS):
        asked = [
            (apart[distances(rows, apart) < APART], -RATE),
            (together[distances(rows, together) > ROUNDING], RATE),
            (kept[distances(rows, kept) > before], RATE),
        ]
        rows = unit(rows + _moves(rows, asked))
    return rows


def _moves(rows: Vectors, asked: Iterable[tuple[Pairs, float]]) -> Vectors:
    """Return for each word the mean of what its pairs ask of it: the gradient of a cosine."""
    move, count = np.zeros_like(rows), np.zeros(len(rows), dtype=np.float32)
    for pairs, rate in asked:
        for own, other in (pairs.T, pairs.T[::-1]):
            cosine = np.einsum("pd,pd->p", rows[own], rows[other])[:, None]
            np.add.at(move, own, rate * (rows[other] - cosine * rows[own]))
            np.add.at(count, own, 1)
    move /= np.maximum(count, 1)[:, None]
    return move


def main() -> None:
    """Write the vectors."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--vectors", type=Path, required=True, help="as GloVe writes them")
    parser.add_argument("--wordnet", type=Path, default=None, help="folder of WordNet's files")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--words", type=int, default=60_000, help="the first so many")
    options = parser.parse_args()
    if not options.vectors.is_file():
        parser.error(f"{options.vectors} is not a file; give vectors as GloVe writes them")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    folder = find_wordnet(options.wordnet)
    words, rows = read(options.vectors, options.words)
    apart, together = numbered(antonyms(folder), words), numbered(synonyms(folder), words)
    print(f"{len(words)} words, {len(apart)} pairs of opposites, {len(together)} of synonyms")
    fitted = counter_fitted(rows, apart, together)
    lines = (
        f"{word} {' '.join(f'{number:.5f}' for number in row)}\n"
        for word, row in zip(words, fitted, strict=True)
    )
    write_atomically(options.output, "".join(lines))
    print(f"Wrote {options.output}")


if __name__ == "__main__":
    main()
