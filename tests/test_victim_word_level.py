"""Models of one id a word are attacked as they were trained: their reader says what they see."""

import dataclasses
import json
import sys
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers as kinds
import torch
import train_tiny as tiny
from attack_tiny import labelled, model, sentences

from holdfast import cli
from holdfast.attack import Attack, recipes, run_attack, verify
from holdfast.attack.search import Beam, Corner
from holdfast.attack.spaces import build_space
from holdfast.errors import InputError
from holdfast.text import Canonical, CanonicalMap, Substitutions, Words, read_lexicon
from holdfast.text.word_level import WordLevelReader
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune
from holdfast.victim import DELETED, UNKNOWN, ModelVictim, Query, load
from holdfast.victim.model_session import encode
from holdfast.victim.splice import SplicedSpace, parted

pytest.importorskip("nltk", reason="word-level reading splits words as NLTK does")

LENGTH = 24
TOKENIZERS = {name: kinds.KINDS[name]() for name in list(kinds.KINDS)[:3]}
PIECES = st.sampled_from(
    [
        *(
            "film",
            "Film",
            "good",
            "great",
            "bad",
            "was",
            "a",
            "I",
            "x",
            "café",
            "8. ",
            "10",
            "can't",
        ),
        *(" ", " ", " ", " ", "  ", "\n", ".", ". ", "? ", "...", ", ", "'", " '", '"', ' "', "-"),
        *("/", "(", ")", "_", "<br />", "cannot", "e\u0301", "\N{ROCKET}", " 's ", "`", "''"),
    ]
)
TEXT = st.lists(PIECES, max_size=24).map("".join)
CANONICAL = CanonicalMap({"film": "movie", "picture": "movie", "great": "good"}, "", 1)


@dataclasses.dataclass(frozen=True)
class AnyWord:
    """Substitutes of every kind that a splitter of words may take for something else."""

    def substitutes(self, text):
        odd = ("movie", "Movie", "x", "cannot", "wasn't", "re", "5", "8.", "fi lm", "br", "zzz")
        return [odd[at % 4 :: 2] for at, _ in enumerate(text.words)]


ODD = Attack("odd", Beam(1), AnyWord())


def victim(kind: str = "wordpiece", **settings: object) -> ModelVictim:
    tokenizer = TOKENIZERS[kind]
    settings = {"max_length": LENGTH, "word_level": True, **settings}
    return ModelVictim(model(tokenizer), tokenizer, **settings)


VICTIMS = {kind: victim(kind) for kind in TOKENIZERS}
REWRITING = victim(canonical=CANONICAL)


def opened(found: ModelVictim, *texts: str, attack: Attack = ODD):
    words = tuple(map(Words.of, texts))
    (reading,) = found.read([words])
    space = build_space(attack, words, reading.visible)
    return found.open([reading], [space])[0], space


def trained_on(found: ModelVictim, texts: list[tuple[str, ...]]) -> list[list[int]]:
    """The ids that training makes of texts."""
    if found.canonical is not None:
        texts = [tuple(found.canonical.apply(text).text for text in of) for of in texts]
    reader = WordLevelReader(found.tokenizer, kinds.LEXICON, limit=8)
    return reader.read(texts, found.max_length, (0, 1)).columns["input_ids"]


def queried(found: ModelVictim, table, rows: np.ndarray) -> list[list[int]]:
    """The ids that an attack makes of rows."""
    made = {}
    for part in encode(found.reader, [Query(table, rows, np.arange(len(rows)))]):
        tokens = np.split(part.flat, np.cumsum(part.lengths)[:-1])
        made |= dict(zip(part.tickets.tolist(), (row.tolist() for row in tokens), strict=True))
    return [made[number] for number in range(len(rows))]


def check(found: ModelVictim, seed: int, *texts: str, attack: Attack = ODD) -> None:
    table, space = opened(found, *texts, attack=attack)
    rng = np.random.default_rng(seed)
    rows = (rng.random((8, len(space))) * space.sizes).astype(np.int16)
    rows[2:][rng.random((6, len(space))) < 0.7] = 0
    rows[5:][rng.random((3, len(space))) < 0.2] = UNKNOWN
    rows[7:][rng.random((1, len(space))) < 0.2] = DELETED
    single, _ = space.swaps(space.original(), space.changeable)
    rows = np.concatenate([rows, single[rng.permutation(len(single))[:12]]])
    spelt = [space.spelt(row, found.reader._texts.hidden) for row in rows]
    assert queried(found, table, rows) == trained_on(found, spelt)


@pytest.mark.parametrize("kind", VICTIMS)
@pytest.mark.parametrize("attack", [ODD, recipes.pwws_rift(kinds.LEXICON)], ids=["odd", "pwws"])
@hypothesis.settings(max_examples=20)
@hypothesis.given(TEXT, st.integers(0, 99))
def test_queries_are_what_training_read(kind: str, attack: Attack, text: str, seed: int) -> None:
    check(VICTIMS[kind], seed, text, attack=attack)


@hypothesis.settings(max_examples=20)
@hypothesis.given(TEXT, TEXT, st.integers(0, 99), st.booleans())
def test_pairs_are_read_as_one_sequence(one: str, other: str, seed: int, first: bool) -> None:
    attack = dataclasses.replace(ODD, moving=(0, 1) if first else (1,))
    check(VICTIMS["wordpiece"], seed, one, other, attack=attack)


@hypothesis.settings(max_examples=20)
@hypothesis.given(TEXT, st.integers(0, 99))
def test_the_canonical_form_comes_first(text: str, seed: int) -> None:
    check(REWRITING, seed, text)


@pytest.mark.parametrize(
    "text",
    [
        "the film was good",
        'A great film, a (good) "Movie"! Film was bad.<br /><br />Film good',
        "film " * 40,
        "film isn't good; 8/10. Film's good",
    ],
)
def test_ordinary_words_are_spliced(text: str) -> None:
    table, space = opened(VICTIMS["wordpiece"], text, attack=recipes.beam(kinds.LEXICON))
    rows, _ = space.swaps(space.original(), space.changeable)
    spliced, rest = parted(Query(table, rows, np.arange(len(rows))))
    assert rest is None
    assert len(spliced.rows) == len(rows) > 2


def test_what_depends_on_its_neighbours_is_not_spliced() -> None:
    table, space = opened(VICTIMS["wordpiece"], "good film. Film good")
    assert space.choices[1] == ("film", "Movie", "cannot", "re", "8.", "br")
    assert table.whole[1, :6].tolist() == [False, False, True, True, True, True]


def test_a_capital_may_begin_a_sentence() -> None:
    found = VICTIMS["wordpiece"]
    table, space = opened(found, "8. film was good")
    assert space.choices[1][1] == "Movie"
    assert table.whole[1, 1]
    small, capital = trained_on(found, [("8. film",), ("8. Movie",)])
    assert len(small) < len(capital)  # "8." is one word, or a word and a full stop


def test_words_that_are_both_unknown_are_one_query() -> None:
    attack = recipes.beam(kinds.LEXICON)
    table, space = opened(VICTIMS["wordpiece"], "a film was bad", attack=attack)
    for at, word in ((1, "cinematograph"), (3, "wretchedness")):
        assert table.keys[at, space.choices[at].index(word)] == table.keys[at, UNKNOWN]
    known = [space.choices[1].index(word) for word in ("film", "movie", "cinematograph")]
    assert len({int(key) for key in table.keys[1, known]}) == 3


def test_a_hidden_word_is_the_unknown_token() -> None:
    found = VICTIMS["wordpiece"]
    table, space = opened(found, "the film was good")
    row = space.original()
    row[1] = UNKNOWN
    (ids,) = queried(found, table, row[None])
    assert ids[2] == found.tokenizer.unk_token_id
    assert len(ids) == 6


@pytest.mark.parametrize("found", [VICTIMS["wordpiece"], REWRITING], ids=["plain", "canonical"])
def test_scores_are_the_models_on_what_training_read(found: ModelVictim) -> None:
    texts = [("A film wasn't good.<br />Bad café",), ("unbelievable film",), ("good",)]
    answers = []
    for ids in trained_on(found, texts):
        with torch.no_grad():
            answers.append(found.model(input_ids=torch.tensor([ids])).logits.log_softmax(-1)[0])
    assert np.allclose(found.score(texts), torch.stack(answers), atol=1e-4)
    assert not np.allclose(found.score(texts), victim(word_level=False).score(texts), atol=1e-3)


def test_the_way_of_reading_is_part_of_the_fingerprint() -> None:
    assert victim().fingerprint != victim(word_level=False).fingerprint


@pytest.mark.parametrize("text", ["film " * 40, "film. " * 40, "film<br />" * 40])
def test_words_beyond_the_window_are_not_read(text: str) -> None:
    (reading,) = VICTIMS["wordpiece"].read([(Words.of(text),)])
    (ids,) = trained_on(VICTIMS["wordpiece"], [(text,)])
    film = VICTIMS["wordpiece"].tokenizer.vocab["film"]
    read = Words.of(text).words[: reading.visible[0]]
    assert sum(word.text == "film" for word in read) == ids.count(film)


ATTACKS = {
    "pwws": recipes.pwws_rift(kinds.LEXICON),
    "deepwordbug": recipes.deepwordbug(),
    "hotflip": recipes.hotflip(kinds.LEXICON),
    "hull": dataclasses.replace(recipes.hull(kinds.LEXICON), search=Corner(steps=4, restarts=2)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_hold_under_verification(name: str) -> None:
    found = VICTIMS["wordpiece"]
    data = labelled(found, sentences(7))
    assert isinstance(opened(found, data[0].texts[0])[0], SplicedSpace)
    outcomes = sorted(run_attack(ATTACKS[name], found, data, seed=0), key=lambda o: o.id)
    assert verify(ATTACKS[name], found, outcomes, data) >= 2
    few = run_attack(ATTACKS[name], found, data[::-1], seed=0, in_flight=1)
    assert sorted(few, key=lambda outcome: outcome.id) == outcomes


def test_workers_find_the_same() -> None:
    found = VICTIMS["wordpiece"]
    data = labelled(found, sentences(4))
    alone, helped = (
        sorted(run_attack(ATTACKS["pwws"], found, data, seed=0, workers=n), key=lambda o: o.id)
        for n in (0, 1)
    )
    assert alone == helped


# a checkpoint ---------------------------------------------------------------------------------

LEXICON = {"fine": ["great", "dull"], "great": ["weak"], "film": ["story", "cinematograph"]}


@pytest.fixture(scope="module", params=[None, Canonical(rounds=1)], ids=["plain", "canonical"])
def run(request, tmp_path_factory) -> Path:
    """The folder of a run in which a model of one id a word was trained."""
    folder = tmp_path_factory.mktemp("word_level")
    tiny.write_checkpoint(folder / "model")
    tiny.write_csv(folder / "data.csv", 40)
    (folder / "lexicon.json").write_text(json.dumps(LEXICON))
    config = TrainConfig(
        str(folder / "model"),
        folder / "run",
        DataConfig(file=folder / "data.csv", max_length=16),
        optimisation=Optimisation(learning_rate=1e-2, batch_size=8, epochs=1),
        substitutions=Substitutions(lexicon=folder / "lexicon.json", mode="word_level"),
        canonical=request.param,
    )
    fine_tune(config, progress=False)
    return folder


def test_a_trained_checkpoint_is_attacked(run: Path) -> None:
    found = load(run / "run" / "model", device="cpu")
    assert (found.word_level, found.max_length) == (True, 16)
    attack = recipes.beam(read_lexicon(run / "lexicon.json"))
    data = labelled(found, [example.texts[0] for example in tiny.examples(8)])
    outcomes = list(run_attack(attack, found, data, seed=0))
    assert {outcome.status for outcome in outcomes} & {"succeeded", "failed"}
    verify(attack, found, outcomes, data)


def test_predict_and_attack_see_the_same(run: Path, capsys) -> None:
    texts = ["a film<br />was great", "the Film wasn't fine.", "very dull and weak, a story"]
    folder = run / "run" / "model"
    assert cli.main(["predict", "--model", str(folder), "--json", *texts]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    predicted = [list(line["probabilities"].values()) for line in lines]
    answers = load(folder, device="cpu").score([(text,) for text in texts])
    assert np.allclose(np.exp(answers), predicted, atol=1e-4)


def test_the_command_attacks_it(run: Path, capsys) -> None:
    fixed = ["--model", str(run / "run" / "model"), "--lexicon", str(run / "lexicon.json")]
    assert cli.main(["attack", *fixed, "--text", "a fine film", "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["outcomes"]
    assert outcome["words"] == 3


def test_without_nltk_the_sentence_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", None)
    with pytest.raises(InputError, match="pip install nltk"):
        load(run / "run" / "model", device="cpu")
