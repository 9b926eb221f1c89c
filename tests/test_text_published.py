"""The published lexicon and data, where a copy lies beside the checkout."""

import json
from pathlib import Path

import pytest

from holdfast.commands.lexicon import PUBLISHED_SHA256
from holdfast.text import CanonicalMap, read_lexicon

FOLDER = Path(__file__).parents[1].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the published data are not in {FOLDER}"
)


def test_the_published_lexicon_is_read_entirely() -> None:
    lexicon = read_lexicon(FOLDER / "substitutions" / "counterfitted_neighbors.json")
    assert lexicon.sha256 == PUBLISHED_SHA256
    assert (len(lexicon.neighbours), lexicon.edges) == (25_591, 109_104)
    assert max(map(len, lexicon.neighbours.values())) == 8
    assert not any(lexicon.of(word) for word in ("the", "a", "of", "is", "not"))


def test_its_canonical_form_leads_back_from_every_review() -> None:
    lexicon = read_lexicon(FOLDER / "substitutions" / "counterfitted_neighbors.json")
    lines = (FOLDER / "sst2" / "validation.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["sentence"] for line in lines]
    canonical = CanonicalMap.fit(texts, lexicon, rounds=2)
    rewritten = [canonical.apply(text) for text in texts]
    assert all(
        found.to_original(0, len(found.text)) == (0, len(text))
        for found, text in zip(rewritten, texts, strict=True)
    )
    vocabulary = {word for text in texts for word in text.split()}
    smaller = {word for found in rewritten for word in found.text.split()}
    assert len(smaller) < 0.8 * len(vocabulary)
