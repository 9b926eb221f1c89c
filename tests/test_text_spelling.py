"""Spelling: which misspelling is read as which word, and that right words stay."""

import dataclasses
import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.attack import recipes, run_attack
from holdfast.data import Example, Task
from holdfast.errors import InputError
from holdfast.text import Canonical, CanonicalMap, Wording, lexicon_of
from holdfast.text.settings import TextSettings
from holdfast.text.spelling import slips, spelling_of, whole_words
from holdfast.train import DataConfig, TrainConfig
from holdfast.train.examples import RunExamples
from holdfast.train.lexicons import lexicons_of
from holdfast.train.narration import tell_spelling
from holdfast.train.wording import wording_of

COUNTS = {"movie": 3, "moves": 9, "good": 5, "goods": 1, "great": 2, "it's": 4, "the": 90}
SPELLING = spelling_of(COUNTS, ["mover", "great"])
LEXICON = lexicon_of({"movie": ["film"], "great": ["grand"]}, "here")
TEXTS = ["a film, the FILM and a film", "a movie that is great", "great"]


@pytest.mark.parametrize(
    ("word", "read"),
    [
        ("mvoie", "movie"),  # two neighbours exchanged
        ("moie", "movie"),  # one left out
        ("moviie", "movie"),  # one too many
        ("movxe", "movie"),  # another one
        ("mobie", "movie"),
        ("moive", "movie"),
        ("greaat", "great"),
        ("movee", "moves"),  # both have another letter there, and this one is more frequent
        ("moevs", "moves"),
        ("moer", "mover"),  # known to be right, and the letter is lost
        ("movie", None),  # right, though "moves" is more frequent
        ("mover", None),  # known to be right, though never seen
        ("mvoiee", None),  # two letters away
        ("goo", "good"),
        ("gd", None),  # too short to tell
        ("m0vie", None),  # a word of letters and signs is left to others
        ("mövie", None),  # letters beyond a to z are not taken for slips
        ("", None),
        ("zzzz", None),
    ],
)
def test_a_word_that_nobody_knows_is_read_as_its_neighbour(word: str, read: str | None) -> None:
    assert SPELLING.corrected(word) == read


def test_an_exchange_explains_more_than_another_letter() -> None:
    """Of 5 letters 4 pairs can be exchanged, and 125 letters can be others."""
    assert spelling_of({"trial": 2, "treal": 30}, ()).corrected("tiral") == "trial"


@pytest.mark.parametrize(
    ("vocabulary", "words"),
    [
        (["[CLS]", "film", "##ing", "is", "good", "1990"], {"film", "good"}),
        (["<s>", "Ġfilm", "ing", "Ġis", "ĠGood"], {"film", "good"}),
        (["<s>", "▁film", "ing", "▁good"], {"film", "good"}),
        ([], set()),
    ],
)
def test_words_that_are_one_token_are_right(vocabulary: list[str], words: set[str]) -> None:
    assert whole_words(vocabulary) == words


def test_of_two_like_letters_either_may_be_lost() -> None:
    """Twice the ways make up for fewer counts: 2 x 4 against 7."""
    assert spelling_of({"better": 4, "bexter": 7}, ()).corrected("beter") == "better"


def test_equally_frequent_neighbours_become_the_first_in_the_alphabet() -> None:
    assert spelling_of({"coats": 1, "boats": 1}, ()).corrected("aoats") == "boats"


FREQUENT = {"that": 5000, "hat": 20, "of": 8000, "fog": 400}


@pytest.mark.parametrize(
    ("word", "misspelt", "read"),
    [
        ("hat", 0.0, None),  # it is known
        ("hat", 0.01, None),  # 20.5 x 0.99 against 5000.5 x 0.01 / 4 / 4, one letter of four lost
        ("hat", 0.1, "that"),  # 20.5 x 0.9 against 5000.5 x 0.1 / 4 / 4
        ("that", 0.9, None),  # 5000.5 x 0.1 against 20.5 x 0.9 / 4 / (26 x 4)
        ("fo", 0.0, None),  # too short to tell, where known words are right
        ("fo", 0.1, "of"),
        ("o", 0.1, "of"),
        ("f", 0.1, "of"),
        ("zzz", 0.1, None),
        ("unk", 0.1, None),
    ],
)
def test_where_words_are_misspelt_a_rare_one_is_read_as_the_frequent_one_it_slipped_from(
    word: str, misspelt: float, read: str | None
) -> None:
    assert spelling_of(FREQUENT, ["unk"], misspelt).corrected(word) == read


def test_who_expects_slips_knows_short_words_of_the_tokenizer() -> None:
    assert whole_words(["a", "tv", "film", "##b"], 1) == {"a", "tv", "film"}


@pytest.mark.parametrize("misspelt", [-0.1, 1.0, float("nan")])
def test_a_share_of_misspelt_words_is_one(misspelt: float) -> None:
    with pytest.raises(InputError, match="expected a number from 0 to below 1"):
        Canonical(rounds=0, spelling=True, misspelt=misspelt)


def test_misspelt_words_are_not_expected_where_they_are_not_undone() -> None:
    with pytest.raises(InputError, match=r"--canonical\.spelling true"):
        Canonical(misspelt=0.1)


@given(st.text(alphabet="abcxyz", min_size=4, max_size=8), st.data())
def test_every_slip_of_one_letter_leads_back(word: str, data: st.DataObject) -> None:
    slip = data.draw(st.sampled_from(sorted({w for w, _ in slips(word) if len(w) > 3})))
    found = spelling_of({word: 1}, ()).corrected(slip)
    assert found == (None if slip == word else word)


def test_a_misspelt_synonym_becomes_the_canonical_word_in_its_own_case() -> None:
    made = CanonicalMap.fit(TEXTS, LEXICON, spelling=True)
    assert made.apply("A mvoie, GREEAT and grannd; filn").text == "A film, GREAT and great; film"
    assert made.apply("grand").text == "great"  # the lexicon knows it
    plain = CanonicalMap.fit(TEXTS, LEXICON)
    assert plain.apply("A mvoie").text == "A mvoie"


def test_spelling_alone_leaves_synonyms_as_they_are() -> None:
    made = CanonicalMap.fit(TEXTS, LEXICON, rounds=0, spelling=True)
    assert made.mapping == {}
    assert made.apply("the mvoie was a grand film").text == "the movie was a grand film"


def test_spelling_alone_needs_no_lexicon(tmp_path: Path, monkeypatch) -> None:
    def none(*_: object) -> None:
        raise AssertionError("a lexicon was looked for")

    monkeypatch.setattr("holdfast.train.lexicons.find_lexicon", none)
    data = DataConfig(file=tmp_path / "own.csv")
    config = TrainConfig("model", tmp_path, data, canonical=Canonical(rounds=0, spelling=True))
    found = lexicons_of(config)
    assert found.substitutes is None
    assert found.canonical is not None
    assert not found.canonical.neighbours
    with pytest.raises(AssertionError, match="looked for"):
        lexicons_of(dataclasses.replace(config, canonical=Canonical(rounds=1, spelling=True)))


def test_spans_lead_back_to_the_misspelt_word() -> None:
    found = CanonicalMap.fit(TEXTS, LEXICON, spelling=True).apply("one mvoie ends")
    assert found.text == "one film ends"
    assert found.to_original(4, 8) == (4, 9)


def test_it_is_saved_and_loaded_with_the_map(tmp_path: Path) -> None:
    made = CanonicalMap.fit(TEXTS, LEXICON, spelling=True)
    made.save(tmp_path)
    assert CanonicalMap.load(tmp_path) == made
    file = tmp_path / "canonical.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["format"] == 2  # a version that knows no spelling refuses it
    file.write_text(json.dumps({**content, "counts": 3}), encoding="utf-8")
    with pytest.raises(InputError, match="does not say which words are known"):
        CanonicalMap.load(tmp_path)
    CanonicalMap.fit(TEXTS, LEXICON).save(tmp_path)
    loaded = CanonicalMap.load(tmp_path)
    assert loaded is not None
    assert loaded.spelling is None


def test_the_share_of_misspelt_words_is_saved_and_loaded(tmp_path: Path) -> None:
    made = CanonicalMap.fit(["that"] * 99 + ["hat"], LEXICON, spelling=True, misspelt=0.2, trust=1)
    assert made.apply("a hat").text == "a that"
    made.save(tmp_path)
    assert CanonicalMap.load(tmp_path) == made
    file = tmp_path / "canonical.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["format"] == 5  # a version that takes all known words for right refuses it
    for wrong in (2.0, "0.2"):
        file.write_text(json.dumps({**content, "misspelt": wrong}), encoding="utf-8")
        with pytest.raises(InputError, match=r"canonical\.json"):
            CanonicalMap.load(tmp_path)


def test_a_word_that_is_read_as_another_stands_for_no_group() -> None:
    """A hat is read as "that": were the group called hat, its own words would be told apart."""
    texts = ["that"] * 500 + ["hat"] * 2 + ["cap"]
    hats = lexicon_of({"hat": ["cap", "bonnet"], "cap": ["bonnet"]}, "here")
    for how in ({"groups": 0.01}, {"rounds": 2}):
        made = CanonicalMap.fit(texts, hats, spelling=True, misspelt=0.1, **how)  # type: ignore[arg-type]
        assert made.apply("hat cap bonnet").text == "that cap cap"
    known = CanonicalMap.fit(texts, hats, spelling=True, groups=0.01)
    assert known.apply("hat cap bonnet").text == "hat hat hat"


def test_what_could_not_be_loaded_again_is_not_made() -> None:
    for wrong in ({"misspelt": 1.5}, {"trust": 0.4}):
        with pytest.raises(InputError, match="expected a number"):
            CanonicalMap.fit(TEXTS, LEXICON, spelling=True, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="misspellings are not undone"):
        CanonicalMap.fit(TEXTS, LEXICON, misspelt=0.1)


def test_an_attack_by_misspelling_meets_it() -> None:
    """The victim that undoes one slip answers as if the text were untouched."""
    from attack_tiny import victim
    from text_tokenizers import wordpiece

    texts = ["the film was good", "the picture was nice"]
    words = lexicon_of({"film": ["movie"], "good": ["nice"]}, "here")
    made = CanonicalMap.fit(texts, words, rounds=0, spelling=True)
    reads = victim(wordpiece(), canonical=made)
    examples = [Example("0", (texts[0],), int(reads.score([(texts[0],)]).argmax()))]
    assert reads.fingerprint != victim(wordpiece()).fingerprint
    (outcome,) = run_attack(recipes.deepwordbug(), reads, examples, seed=0)
    before, after = reads.score([(texts[0],)]), reads.score([("the flim was goood",)])
    assert before.tolist() == after.tolist()
    assert outcome.survived


@pytest.mark.parametrize("hides", ["[UNK]", "<unk>", "<oov>", "NULL", "[MASK]"])
def test_what_hides_a_word_is_no_misspelling(hides: str) -> None:
    words = ["bunk", "gov", "full", "dull", "mark", "masks", "good", "film"]
    made = CanonicalMap.fit([" ".join(words)], LEXICON, spelling=True)
    assert made.apply(f"a {hides} flim").text == f"a {hides} film"


def test_an_attack_hides_a_word_behind_an_unknown_one() -> None:
    """The most important word is asked for by hiding it, not by writing another in its place."""
    from attack_tiny import victim
    from text_tokenizers import wordpiece

    made = CanonicalMap.fit(["the film was good or bunk"], LEXICON, spelling=True)
    hidden, plain = ("the [UNK] was good",), victim(wordpiece())
    reads = victim(wordpiece(), canonical=made)
    assert reads.tokenise([hidden]) == plain.tokenise([hidden])


def test_a_run_says_how_many_words_it_corrects_and_warns_of_too_many(caplog) -> None:
    task = Task("own", ("text",), ("bad", "good"))
    spelling = CanonicalMap.fit(TEXTS, LEXICON, rounds=0, spelling=True)
    wording = Wording(TextSettings(16, "aligned"), spelling)

    def told(*texts: str) -> list[str]:
        caplog.clear()
        rows = [Example(str(number), (text,), 0) for number, text in enumerate(texts)]
        with caplog.at_level(logging.INFO, logger="holdfast"):
            tell_spelling(RunExamples(task, rows, rows), wording)
        return [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]

    known = " ".join(TEXTS)
    assert told(*[known] * 10) == []
    assert "0.0 % of those in the validation texts" in caplog.text
    (warning,) = told("mvoie moviee", known)
    assert "leave it out (--canonical.spelling false)" in warning
    caplog.clear()
    tell_spelling(RunExamples(task, [], []), Wording(TextSettings(16, "aligned")))
    assert not caplog.records


def test_a_run_expects_so_many_misspelt_words_and_knows_the_short_ones_of_its_tokenizer(
    tmp_path: Path,
) -> None:
    task = Task("own", ("text",), ("bad", "good"))
    rows = [Example("0", ("that " * 200 + "hat",), 0)]

    def made(misspelt: float) -> CanonicalMap | None:
        how = Canonical(rounds=0, spelling=True, misspelt=misspelt)
        data = DataConfig(file=tmp_path / "own.csv")
        config = TrainConfig("model", tmp_path, data, canonical=how)
        return wording_of(RunExamples(task, rows, []), config, LEXICON, ["tv", "film"]).canonical

    some, none = made(0.2), made(0.0)
    assert some is not None
    assert none is not None
    assert some.apply("a hat on tvv").text == "a that on tv"
    assert none.apply("a hat on tvv").text == "a hat on tvv"
