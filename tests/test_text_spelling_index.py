"""An index of known words reads what their spelling reads."""

import random
from string import ascii_lowercase

import pytest

from holdfast.text.spelling import Spelling
from holdfast.text.spelling_index import SpellingIndex


@pytest.mark.parametrize("misspelt", [0.0, 0.1])
def test_random_words_are_read_the_same_either_way(misspelt: float) -> None:
    drawn = random.Random(0)
    words = {"".join(drawn.choices(ascii_lowercase[:5], k=4)): drawn.random() for _ in range(200)}
    spelling = Spelling({word: int(1e6 * share) for word, share in words.items()}, misspelt)
    index = SpellingIndex(spelling)
    slips = ["".join(drawn.choices(ascii_lowercase[:5], k=n)) for n in (3, 4, 5) for _ in range(50)]
    read = [index.read(slip) for slip in slips]
    assert read == [
        spelling.corrected(slip) or (slip if spelling.knows(slip) else None) for slip in slips
    ]
    assert any(read)


def test_what_is_not_corrected_is_read_as_it_is_or_not_at_all() -> None:
    index = SpellingIndex(Spelling({"naive": 9, "unk": 3}, 0.1))
    assert index.read("naïve") is None
    assert index.read("unk") == "unk"
    assert index.read("naivee") == "naive"
