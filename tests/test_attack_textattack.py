"""To TextAttack and back. The logs in data_files were written by TextAttack 0.3.11 itself, which
attacked the bag of words below; the numbers they must come to are those that it printed."""

import json
import pickle
import runpy
import sys
import types
from abc import ABC, abstractmethod
from collections import OrderedDict
from pathlib import Path

import attack_tiny
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import text_tokenizers
import torch
from attack_bag import BagOfWords

from holdfast.attack import ScoreDecrease, Summary, read_outcomes, summarise
from holdfast.attack.bridge import (
    model_wrapper,
    read_textattack_log,
    verify_answers,
    write_outcomes,
)
from holdfast.attack.bridge.marked import compare
from holdfast.errors import InputError, RunFailed
from holdfast.implicit import connect, recommended
from holdfast.record import Outcome
from holdfast.text import CanonicalMap
from holdfast.victim import Change, FunctionVictim, ModelVictim

FILES = Path(__file__).parent / "data_files"
SINGLE, PAIRS = FILES / "textattack_log.csv", FILES / "textattack_pairs_log.csv"
VICTIM = FunctionVictim(BagOfWords(bias=-0.9), name="bag")
HEADER = SINGLE.read_text().splitlines()[0]


class ModelWrapper(ABC):
    """TextAttack's base class, as far as it matters."""

    @abstractmethod
    def __call__(self, text_input_list, **kwargs): ...

    def tokenize(self, inputs):
        return self._tokenize(inputs)


@pytest.fixture
def textattack(monkeypatch) -> None:
    """A package of the same name in the place of TextAttack."""
    wrappers = types.ModuleType("textattack.models.wrappers")
    wrappers.ModelWrapper = ModelWrapper
    for name in ("textattack", "textattack.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, wrappers.__name__, wrappers)


def tiny(**settings: object) -> ModelVictim:
    return attack_tiny.victim(text_tokenizers.wordpiece(), **settings)


def log(folder: Path, *rows: str) -> Path:
    path = folder / "log.csv"
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return path


def row(
    original: str,
    perturbed: str,
    kind: str = "Successful",
    outputs: str = "1,0,1",
    queries: str = "7",
) -> str:
    return f'"{original}","{perturbed}",0.1,0.6,{outputs},{queries},"{kind}"'


# Victims as models ----------------------------------------------------------------------------


@pytest.mark.usefixtures("textattack")
def test_a_victim_answers_as_a_model_wrapper_for_every_kind_of_input():
    wrapper, victim = model_wrapper(VICTIM), VICTIM
    assert isinstance(wrapper, ModelWrapper)
    assert wrapper.model is victim  # goal functions look at its class
    pair = OrderedDict(premise="a great film", hypothesis="a dull plot")
    given = [("a great film", "a dull plot"), pair, ["a great film", "a dull plot"]]
    expected = np.exp(victim.score([("a great film", "a dull plot")] * 3))
    np.testing.assert_allclose(wrapper(given), expected, atol=1e-5)
    np.testing.assert_allclose(wrapper(["good"]), np.exp(victim.score([("good",)])), atol=1e-5)
    assert wrapper([]).shape == (0, 2)


@pytest.mark.usefixtures("textattack")
def test_rows_sum_to_one_so_closely_that_textattack_leaves_them_alone():
    victim = FunctionVictim(lambda texts: [[0.1, 0.7, 0.2]] * len(texts), classes=3)
    rounded = np.exp(victim.score([("good",)])).sum(axis=1)
    assert abs(rounded[0] - 1) > 1e-6  # as it comes, a softmax would be put on top
    np.testing.assert_allclose(model_wrapper(victim)(["good"]).sum(axis=1), 1, atol=1e-12)


@pytest.mark.usefixtures("textattack")
def test_canonical_text_and_connection_are_part_of_what_is_attacked():
    plain = tiny()
    canonical = CanonicalMap({"movie": "film", "great": "good"}, "", 1)
    whole = tiny(canonical=canonical)
    connect(whole.model, recommended)
    texts = ["the movie was great", "a bad movie"]
    found = model_wrapper(whole)(texts)
    rewritten = ["the film was good", "a bad film"]
    np.testing.assert_allclose(found, model_wrapper(whole)(rewritten))
    assert (np.abs(found - model_wrapper(plain)(texts)) > 1e-3).any()
    assert model_wrapper(whole).model is whole.model
    assert model_wrapper(whole).max_length == whole.max_length


@pytest.mark.usefixtures("textattack")
def test_a_wrapper_can_be_sent_to_another_process():
    wrapper = model_wrapper(tiny())
    again = pickle.loads(pickle.dumps(wrapper))
    np.testing.assert_array_equal(again(["the film"]), wrapper(["the film"]))


@pytest.mark.usefixtures("textattack")
@pytest.mark.parametrize("given", ["a great film", ("a great film", "was good")])
def test_the_gradient_is_that_of_the_models_own_loss_at_its_tokens(given):
    victim = tiny()
    wrapper = model_wrapper(victim)
    found = wrapper.get_grad(given)
    assert all(parameter.grad is None for parameter in victim.model.parameters())
    encoded = victim.tokenizer(*([given] if isinstance(given, str) else given), return_tensors="pt")
    ids = encoded.pop("input_ids")
    vectors = victim.model.get_input_embeddings()(ids).detach().requires_grad_()
    answer = victim.model(inputs_embeds=vectors, **encoded).logits
    torch.nn.functional.cross_entropy(answer, answer.argmax(1)).backward()
    assert found["ids"] == ids[0].tolist()
    assert np.abs(found["gradient"]).max() > 1e-3
    np.testing.assert_allclose(found["gradient"], vectors.grad[0], atol=1e-6)
    names = victim.tokenizer.convert_ids_to_tokens(ids[0])
    assert wrapper.tokenize([given]) == [names]


@pytest.mark.usefixtures("textattack")
def test_a_gradient_that_would_belong_to_other_words_is_refused():
    canonical = CanonicalMap({"movie": "film"}, "", 1)
    with pytest.raises(InputError, match="other words than the text has"):
        model_wrapper(tiny(canonical=canonical)).get_grad("a movie")
    with pytest.raises(InputError, match="shows none"):
        model_wrapper(VICTIM).get_grad("a movie")


@pytest.mark.usefixtures("textattack")
def test_what_is_no_question_or_no_answer_is_said():
    with pytest.raises(InputError, match="give a list"):
        model_wrapper(VICTIM)("a film")
    broken = tiny()
    torch.nn.init.constant_(broken.model.classifier.bias, float("nan"))
    with pytest.raises(RunFailed, match="'a film' is no number"):
        model_wrapper(broken)(["a film"])


def test_without_textattack_a_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "textattack", None)
    with pytest.raises(InputError, match=r"TextAttack cannot be imported .*pip install textattack"):
        model_wrapper(VICTIM)


# Logs as outcomes -----------------------------------------------------------------------------


def percentages(summary: Summary) -> tuple[float, ...]:
    found = (summary.accuracy, summary.accuracy_under_attack, summary.success_rate)
    return tuple(round(100 * share.value, 2) for share in found)


def test_a_log_comes_to_the_numbers_that_textattack_printed():
    summary = summarise(read_textattack_log(SINGLE))
    assert percentages(summary) == (88.89, 44.44, 50.0)
    assert round(100 * summary.mean_changed_share, 2) == 25.54
    assert (summary.mean_queries, summary.mean_changes, summary.forwards) == (12.75, 2.0, 0)


def test_a_row_is_read_with_its_quotes_lines_and_places():
    outcomes = read_textattack_log(SINGLE)
    assert outcomes[2] == Outcome(
        "textattack:2",
        ("A good film\nin two lines, and a great plot.",),
        1,
        "succeeded",
        1,
        adversarial=("A okay film\nin two lines, and a fine plot.",),
        adversarial_prediction=0,
        changes=(Change(0, 1, "good", "okay"), Change(0, 8, "great", "fine")),
        words=10,
        queries=16,
    )
    assert outcomes[0].adversarial == ('A fine film with a "okay" plot.',)
    assert outcomes[4].texts == ("A good film [[sic]] with a great story.",)  # its own brackets
    failed = outcomes[1]
    assert (failed.status, failed.texts) == ("failed", ("The plot is dull.",))
    assert failed.adversarial is failed.adversarial_prediction is None
    assert failed.changes == ()
    assert (outcomes[5].status, outcomes[5].prediction, outcomes[5].label) == ("skipped", 0, 1)


def test_pairs_are_told_apart_even_in_a_row_that_has_no_marks():
    outcomes = read_textattack_log(PAIRS)
    assert percentages(summarise(outcomes)) == (80.0, 60.0, 25.0)
    assert outcomes[0].texts == ("The film was great.", "It has a good story.")
    assert outcomes[0].adversarial == ("The film was fine.", "It has a okay story.")
    assert outcomes[0].changes == (Change(0, 3, "great", "fine"), Change(1, 3, "good", "okay"))
    assert outcomes[0].words == 9
    assert outcomes[1].texts == ("I saw a great film.\nIt was long.", "I saw a great film: yes")
    assert outcomes[2].texts == ("좋은 영화 great 입니다 그리고 정말", "great 영화")


def test_plain_logs_are_compared_word_by_word_and_told_their_columns(tmp_path):
    first = row(
        "Premise: a film<SPLIT>Hypothesis: a good plot",
        "Premise: a film<SPLIT>Hypothesis: a fine plot",
    )
    (outcome,) = read_textattack_log(log(tmp_path, first), columns=("premise", "hypothesis"))
    assert outcome.adversarial == ("a film", "a fine plot")
    assert outcome.changes == (Change(1, 1, "good", "fine"),)


@pytest.mark.parametrize(
    ("original", "perturbed", "changes"),
    [  # as TextAttack writes words that are put in, taken out, cut in two or given an apostrophe
        ("A [[great]] film, [[very]] good", "A film, good", [(1, "great", ""), (3, "very", "")]),
        ("A great film", "A [[dull]] great film", [(0, "A", "A dull")]),
        ("great café", "[[dull]] great café", [(0, "great", "dull great")]),
        ("The [[plot]] is", "The [[p]] [[lot]] is", [(1, "plot", "p lot")]),
        ("Is [[dull]].", "Is [[dreary]], [[slow]].", [(1, "dull", "dreary, slow")]),
        ("[[Great]] film", "'[[s]] film", [(0, "Great", "s")]),
        ("a [[b@d]] [[my_film]]", "a [[bad]] [[x]]", [(1, "b@d", "bad"), (3, "my_film", "x")]),
        (
            "[[[[good]]]] [[film]]",
            "[[[[okay]]]] [[movie]]",
            [(0, "good", "okay"), (1, "film", "movie")],
        ),
        ("a [[film]] [[sic]] good", "a [[f]] [[ilm]] [[sic]] good", [(1, "film", "f ilm")]),
    ],
)
def test_changes_that_are_not_word_for_word(tmp_path, original, perturbed, changes):
    (outcome,) = read_textattack_log(log(tmp_path, row(original, perturbed)))
    assert [tuple(change)[1:] for change in outcome.changes] == changes
    assert "[[sic]]" in outcome.texts[0] or "[[s" not in original
    assert outcome.adversarial != outcome.texts


@hypothesis.given(
    st.lists(
        st.tuples(
            st.sampled_from(["good", "film's", "a@b", "e-mail", "naïve", "[[sic]]"]),
            st.sampled_from(["fine", "movie", "c_d", None]),
            st.sampled_from([" ", ", ", "\n", ' "', ": "]),
        ),
        max_size=8,
    )
)
def test_whatever_was_marked_word_for_word_is_read_back(words):
    swaps = [new is not None and old[0] != "[" for old, new, _ in words]
    both = [
        (old, new if swap else old, gap) for (old, new, gap), swap in zip(words, swaps, strict=True)
    ]
    original, perturbed = ("".join(w[n] + w[2] for w in both) for n in (0, 1))
    marked = [
        "".join(
            (f"[[{w[n]}]]" if swap else w[n]) + w[2] for w, swap in zip(both, swaps, strict=True)
        )
        for n in (0, 1)
    ]
    found = compare(*marked)
    assert (found.original, found.perturbed) == (original, perturbed)
    assert [edit.new for edit in found.edits] == [
        w[1] for w, swap in zip(both, swaps, strict=True) if swap
    ]


@pytest.mark.parametrize(
    ("kind", "outputs", "status", "note"),
    [
        ("Failed", "1,1,1", "failed", ""),
        ("Skipped", "0,0,1", "skipped", ""),
        ("Successful", "0,2,1", "skipped", "attacked it all the same: Successful"),
        ("Skipped", "1,1,1", "untouched", "goal was reached from the start"),
        ("Maximized", "1,0,1", "succeeded", "maximised a score"),
        ("Maximized", "1,1,1", "failed", "maximised a score"),
        ("Successful", "1,1,1", "succeeded", "did not change"),
        ("Successful", "1.0,0.0,1.0", "succeeded", ""),
    ],
)
def test_what_became_of_an_example_is_said_in_our_words(tmp_path, kind, outputs, status, note):
    path = log(tmp_path, row("a [[good]] film", "a [[dull]] film", kind, outputs))
    (outcome,) = read_textattack_log(path)
    assert outcome.status == status
    assert note in outcome.note
    assert bool(note) == bool(outcome.note)
    assert (outcome.adversarial is None) == (status != "succeeded") == (not outcome.changes)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (row("a", "b", "Successfull"), r"line 3: result_type is 'Successfull'; expected one of"),
        (
            row("a", "b", outputs='0.5,0,"x"'),
            r"line 3: ground_truth_output is 'x'; expected a whole",
        ),
        (row("a", "b", outputs="0.5,0,1"), r"line 3: original_output is '0.5'; expected a whole"),
        (row("a", "b", queries="nan"), r"line 3: num_queries is 'nan'; expected a whole"),
        (row("a", "b")[:-4], r"line 3: the row that starts here is not valid CSV"),
        (row("a", "b")[:20], r"line 3: the row has 7 fields and the header 9"),
    ],
)
def test_a_malformed_or_torn_row_is_named_with_its_line(tmp_path, second, message):
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER, row("a", "b"), second]))
    with pytest.raises(InputError, match=message):
        read_textattack_log(path)


def test_a_file_that_is_no_log_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('"text","label"\n"good",1\n')
    with pytest.raises(
        InputError, match=r"line 1 \(the header\): there is no column 'original_text'"
    ):
        read_textattack_log(path)


def test_a_pair_that_lacks_a_text_is_named_with_its_line(tmp_path):
    lines = PAIRS.read_text().splitlines()[1:3]
    with pytest.raises(
        InputError, match="line 4: the texts 'Premise' and 'Hypothesis' are not all"
    ):
        read_textattack_log(log(tmp_path, *lines, row("only one", "only one", "Failed")))


# Outcomes as a file, and checked again ----------------------------------------------------------


def test_outcomes_become_a_file_like_those_of_our_own_attacks(tmp_path):
    outcomes = read_textattack_log(SINGLE)
    path = write_outcomes(outcomes, tmp_path / "new" / "o.jsonl", attack="wir", victim="a bag")
    assert list(read_outcomes(path)) == outcomes
    assert summarise(read_outcomes(path)) == summarise(outcomes)
    header = json.loads(path.read_text().splitlines()[0])
    assert header.pop("data_sha256") != json.loads(
        write_outcomes(outcomes[1:], tmp_path / "p.jsonl", attack="wir", victim="a bag")
        .read_text()
        .splitlines()[0]
    ).pop("data_sha256")
    named = {"type": "TextAttack", "name": "wir"}
    assert header == {
        "outcomes": 1,
        "attack": named,
        "victim": "a bag",
        "seed": None,
        "examples": 9,
    }
    with pytest.raises(InputError, match="exists; choose another"):
        write_outcomes(outcomes, path, attack="wir", victim="a bag")
    with pytest.raises(InputError, match="same id"):
        write_outcomes([*outcomes, outcomes[0]], tmp_path / "q.jsonl", attack="wir", victim="a bag")


def test_the_digest_of_the_data_is_that_of_our_own_files(tmp_path):
    from holdfast.attack import attack_to_file, recipes
    from holdfast.data import Example

    outcomes = read_textattack_log(SINGLE)[:2]
    examples = [Example(outcome.id, outcome.texts, outcome.label) for outcome in outcomes]
    attack = recipes.random_search(text_tokenizers.LEXICON)
    ours = attack_to_file(attack, VICTIM, examples, tmp_path / "ours.jsonl", seed=0)
    theirs = write_outcomes(outcomes, tmp_path / "theirs.jsonl", attack="wir", victim="a bag")
    one, other = (json.loads(path.read_text().splitlines()[0]) for path in (ours, theirs))
    assert one.keys() == other.keys()
    assert one["data_sha256"] == other["data_sha256"]


def test_successes_of_a_log_are_put_to_the_victim_again():
    outcomes = read_textattack_log(SINGLE)
    assert verify_answers(VICTIM, outcomes) == 4
    assert verify_answers(VICTIM, read_textattack_log(PAIRS)) == 1
    with pytest.raises(RunFailed, match=r"example textattack:0 .*still says 1"):
        verify_answers(FunctionVictim(BagOfWords(bias=-0.5)), outcomes)
    with pytest.raises(RunFailed, match=r"example textattack:1 .*says 1 of the original"):
        verify_answers(FunctionVictim(BagOfWords(bias=2.5)), outcomes)


def test_a_success_is_held_to_the_goal_it_had(tmp_path):
    path = log(tmp_path, row("A [[great]] film", "A [[good]] film", outputs="1,1,1"))
    outcomes = read_textattack_log(path)
    with pytest.raises(RunFailed, match="still says 1"):
        verify_answers(VICTIM, outcomes)
    assert verify_answers(VICTIM, outcomes, goal=ScoreDecrease(0.7)) == 1


# TextAttack itself, where it is installed -------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_textattack_itself_takes_a_victim_for_a_model(capfd):
    pytest.importorskip("textattack")
    example = Path(__file__).parents[1] / "examples" / "attack_with_textattack.py"
    runpy.run_path(str(example), run_name="__main__")
    assert "Share(count=1, total=3" in capfd.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_textattack_itself_follows_our_gradient():
    textattack = pytest.importorskip("textattack")
    victim = tiny()
    search = textattack.search_methods.GreedyWordSwapWIR(wir_method="gradient")
    goal = textattack.goal_functions.UntargetedClassification(model_wrapper(victim))
    swap = textattack.transformations.WordSwapRandomCharacterDeletion()
    attack = textattack.Attack(goal, [], swap, search)
    for example in attack_tiny.labelled(victim, ["the film was good", "a bad film"]):
        result = attack.attack(example.texts[0], example.label)
        assert result.original_result.output == example.label
        said = np.exp(victim.score([(result.perturbed_result.attacked_text.text,)]))[0]
        np.testing.assert_allclose(result.perturbed_result.raw_output, said, atol=1e-5)


def test_the_example_is_short():
    example = Path(__file__).parents[1] / "examples" / "attack_with_textattack.py"
    assert len(example.read_text().splitlines()) < 60
