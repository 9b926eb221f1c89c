"""A WordNet of a dozen words, written in the format of the real one."""

from pathlib import Path

LICENCE = "  1 This database is made for tests.  \n  2 Second line of it.  \n"
# part of speech: (synsets by number, lemmas with the numbers of their senses)
Part = tuple[dict[int, list[str]], dict[str, list[int]]]
PARTS: dict[str, Part] = {
    "noun": (
        {100: ["movie", "film", "motion_picture", "Picture"], 200: ["film", "celluloid"]},
        {"movie": [100], "film": [200, 100], "picture": [100], "motion_picture": [100]}
        | {"celluloid": [200], "inch": [300], "in": [300]},
    ),
    "verb": ({400: ["film", "shoot"]}, {"film": [400], "shoot": [400]}),
    "adj": ({500: ["fine", "galore(ip)"]}, {"fine": [500], "galore": [500]}),
    "adv": ({600: ["well", "good"]}, {"well": [600], "good": [600]}),
}
PARTS["noun"][0][300] = ["inch", "in"]


def write_wordnet(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, (synsets, lemmas) in PARTS.items():
        data = [_synset(number, words) for number, words in synsets.items()]
        index = [_lemma(lemma, senses) for lemma, senses in sorted(lemmas.items())]
        (folder / f"data.{part}").write_text(LICENCE + "".join(data))
        (folder / f"index.{part}").write_text(LICENCE + "".join(index))
    return folder


def _synset(number: int, words: list[str]) -> str:
    spelt = " ".join(f"{word} 0" for word in words)
    return f"{number:08} 10 n {len(words):02x} {spelt} 001 @ 00000001 n 0000 | a gloss; it | ends\n"


def _lemma(lemma: str, senses: list[int]) -> str:
    offsets = " ".join(f"{number:08}" for number in senses)
    return f"{lemma} n {len(senses)} 2 @ ~ {len(senses)} 0 {offsets}  \n"
