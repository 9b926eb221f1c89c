"""Recipes as values: which cells, under which names, in which shard."""

import dataclasses
import os
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.objectives import Rift
from holdfast.reproduce import REPRODUCTIONS, Cell, Measure, Setting, Shape, Shard
from holdfast.reproduce.budget import FULL, SMALL, TINY, find_budget
from holdfast.reproduce.cell import _told, name_of
from holdfast.reproduce.imbert import quarters
from holdfast.reproduce.misspellers import HIDES, SPELT
from holdfast.reproduce.shard import alone
from holdfast.text import Canonical

BASE = Setting("bert-base-uncased", Path("out"), data=Path("data"))
ALL = pytest.mark.parametrize("recipe", REPRODUCTIONS.values(), ids=list(REPRODUCTIONS))


def setting(**changes):
    return dataclasses.replace(BASE, **changes)


@ALL
@pytest.mark.parametrize("budget", [FULL, SMALL, TINY], ids=lambda budget: budget.name)
def test_every_place_of_a_run_row_has_a_cell_and_every_cell_a_place(recipe, budget):
    """A number that nobody measures, or that nobody shows, is a slip in a recipe."""
    at = setting(budget=budget)
    rows = {cell.row for cell in recipe.cells(at)}
    places = recipe.places(at)
    sources = [s for p in places for part in (p, *p.of) for s in part.sources]
    assert rows <= {source.row for source in sources}
    if budget is FULL:
        assert {source.row for source in sources} <= rows


def test_a_setting_of_canonical_text_that_comes_later_leaves_cells_what_they_were():
    """Else an upgrade would train anew what is done: only what is not as usual names a cell."""
    assert _told(Canonical(rounds=1, spelling=True)) == {"rounds": 1, "spelling": True}
    assert (_told(Canonical()), _told(None)) == ({}, None)
    both = Canonical(Path("words.json"), 1)  # in the order that it was first written in
    assert list(_told(both).items()) == [("rounds", 1), ("lexicon", "words.json")]
    cells = REPRODUCTIONS["misspellers"].cells(setting(budget=FULL))
    assert len({cell.id for cell in cells}) == len(cells)


@ALL
def test_at_full_budget_every_published_number_has_a_place(recipe):
    """BERT's places from a BERT, RoBERTa's from a RoBERTa."""
    placed = set()
    for shape in (Shape(), Shape("roberta", 24, 1024, 4096, pooler=False)):
        at = setting(shape=shape)
        placed |= {(p.row, p.column) for p in recipe.places(at) if not p.table}
    missing = {(n.row, n.column) for n in recipe.published.numbers} - placed
    assert not missing


@ALL
def test_a_cells_id_knows_its_training_and_not_its_place(recipe):
    at = setting()
    ids = [cell.id for cell in recipe.cells(at)]
    moved = [cell.id for cell in recipe.cells(setting(output=Path("elsewhere")))]
    assert ids == moved
    assert len(ids) == len({*ids})
    trained = [cell for cell in recipe.cells(at) if cell.train is not None]
    other = setting(model="another")
    assert not {c.id for c in trained} & {c.id for c in recipe.cells(other) if c.train}


def test_tables_share_cells_that_are_the_same():
    def ids(name):
        return {cell.id for cell in REPRODUCTIONS[name].cells(BASE)}

    assert len(ids("rift-table1") & ids("rift-table4")) == 2 * 3  # Adv-Base and RIFT, three seeds
    assert ids("rift-table1") & ids("rift-table3")
    assert ids("rift-figure2") & ids("rift-figure4")
    assert ids("imbert-table3") & ids("imbert-table6")
    assert ids("imbert-table1") & ids("imbert-table4")


def test_full_is_the_papers_protocol():
    cell = REPRODUCTIONS["rift-table2"].cells(BASE)[-1]
    train = cell.train
    assert isinstance(train.objective, Rift)
    assert (train.objective.alpha, train.objective.beta, train.objective.steps) == (0.7, 5, 10)
    assert (train.optimisation.epochs, train.optimisation.batch_size) == (20, 120)
    assert (train.data.max_length, train.substitutions.mode) == (80, "word_level")
    assert train.substitutions.freeze_premise
    assert cell.measure.attacks == ("genetic_jia", "pwws_rift")
    assert cell.measure.examples == 1000
    low = REPRODUCTIONS["imbert-table2"].cells(BASE)
    assert {c.train.data.examples for c in low} == {1000, 500}
    assert {c.train.connection.solver.steps for c in low if c.row.startswith("IM-BERT T")} == {
        *(5, 10, 15)
    }
    assert {c.seed for c in low} == {0, 1, 2, 3, 4}
    assert len(low) == 12 * 2 * 5 * 5


def test_small_is_short():
    for recipe in REPRODUCTIONS.values():
        cells = recipe.cells(setting(budget=SMALL))
        assert len({cell.id for cell in cells}) <= 4
        assert {cell.seed for cell in cells} == {0}
    one = REPRODUCTIONS["imbert-table2"].cells(setting(budget=SMALL))
    assert {c.train.data.examples for c in one} == {160, 80}


def test_seeds_and_reading_are_the_users_to_choose():
    at = setting(seeds=(3, 4), reading="aligned")
    cells = REPRODUCTIONS["rift-table1"].cells(at)
    assert {cell.seed for cell in cells} == {3, 4}
    assert {cell.train.substitutions.mode for cell in cells} == {"aligned"}


def test_without_a_pooler_features_are_the_first_tokens():
    at = setting(shape=Shape(pooler=False))
    assert REPRODUCTIONS["rift-table1"].cells(at)[-1].train.objective.features == "first"


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (12, ["1-3", "4-6", "7-9", "10-12"]),
        (6, ["1-1", "2-3", "4-4", "5-6"]),
        (2, ["1-1", "1-1", "2-2", "2-2"]),
        (1, ["1-1"] * 4),
    ],
)
def test_quarters_of_any_depth_are_layers_that_exist(layers, expected):
    assert quarters(Shape(layers=layers)) == expected


def test_shards_are_disjoint_and_complete():
    cells = list(range(11))
    parts = [Shard(i, 3).of(cells) for i in (1, 2, 3)]
    assert sorted(cell for part in parts for cell in part) == cells
    assert Shard.read("2/3").of(cells) == [1, 4, 7, 10]
    assert Shard.read(None) == Shard(1, 1)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/2"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="shard"):
        Shard.read(text)


def test_a_launchers_processes_take_their_part_and_work_alone(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    assert Shard.read(None) == Shard(2, 2)
    assert Shard.read("1/4") == Shard(1, 4)
    with alone():
        assert "RANK" not in os.environ
        assert "WORLD_SIZE" not in os.environ
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "5"
    assert os.environ["RANK"] == "1"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with alone():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_names_of_rows_are_names_of_folders():
    assert name_of("IM-BERT T=5, N=1000") == "IM-BERT T5 N1000"
    assert name_of("Layer (4-6)") == "Layer 4-6"
    with pytest.raises(InputError, match="folder"):
        Cell("../up", (), None, Measure("sst2"))


def test_budgets_are_found_by_name():
    assert find_budget("small") is SMALL
    with pytest.raises(InputError, match="small or full"):
        find_budget("huge")


def test_a_budget_that_could_not_be_measured_is_refused_before_anything_is_trained():
    with pytest.raises(InputError, match=r"small measures in fp16 .* bf16 or fp32, or leave out"):
        dataclasses.replace(SMALL, measured_in="fp16", checks=True)
    assert dataclasses.replace(SMALL, measured_in="fp16").measured_in == "fp16"
    assert dataclasses.replace(SMALL, measured_in="bf16", checks=True).checks


@pytest.mark.parametrize("budget", [FULL, SMALL, TINY], ids=lambda budget: budget.name)
def test_tables_in_one_output_never_write_the_same_record_differently(budget):
    """Records lie under row, seed and task: whoever shares them must mean the same model."""
    known = {}
    for recipe in REPRODUCTIONS.values():
        for cell in recipe.cells(setting(budget=budget)):
            if cell.train is None or not cell.measure.evaluated:
                continue
            same = dataclasses.replace(cell.measure, attacks=(), probes=())
            found = known.setdefault((cell.row, cell.seed, same.task), (cell.id, same))
            assert found == (cell.id, same)


@pytest.mark.parametrize("words", [Path("further.json"), None])
def test_who_is_made_for_further_words_reads_texts_over_those_words(words):
    at = setting(budget=FULL, lexicon=Path("lexicon.json"), further=words)
    read_over = {c.row: c.train.canonical for c in REPRODUCTIONS["further"].cells(at)}
    assert read_over["Plain canonical apart 1.5"].lexicon == Path("lexicon.json")
    made_for_them = read_over.get("Plain canonical further")
    assert words == (made_for_them and made_for_them.lexicon)  # without the file no such row


def test_who_has_a_thesaurus_of_his_own_meets_the_models_of_the_composition():
    own = REPRODUCTIONS["neighbours"].cells(setting(budget=FULL))
    known = {cell.id for cell in REPRODUCTIONS["composition"].cells(setting(budget=FULL))}
    assert {cell.id for cell in own} == known


def test_what_misspellers_meet_differs_in_the_spelling_alone():
    """So that a difference between two rows says what undoing misspellings does."""
    all_cells = REPRODUCTIONS["misspellers"].cells(setting(budget=FULL))
    cells = [cell for cell in all_cells if cell.row in SPELT]
    spelt = {c.row: c.train.canonical for c in cells}
    assert spelt["Plain"] is None
    shares = {row: text.misspelt for row, text in spelt.items() if text}
    assert shares == {"Plain spelt": 0.0, "Plain spelt 0.1": 0.1, "Plain spelt 0.3": 0.3}
    assert not any(text.rewrites for text in spelt.values() if text)
    same = {
        (c.train.data.task, c.seed, dataclasses.replace(c.train, canonical=None)) for c in cells
    }
    assert len(same) == 3 * 3  # one training of each task and seed, but for the spelling
    assert all_cells == cells  # for want of the joined lexicon, which the last row needs
    joined = setting(budget=FULL, joined=Path("joined.json"))
    (hides,) = {c.row for c in REPRODUCTIONS["misspellers"].cells(joined)} - {*SPELT}
    assert hides == HIDES


def test_a_candidate_that_hides_slips_is_trained_so():
    cells = REPRODUCTIONS["strongest"].cells(setting(budget=FULL, joined=Path("joined.json")))
    hides = {c.row: c.train.canonical.slips for c in cells if c.train.canonical}
    assert {row for row, slips in hides.items() if slips} == {r for r in hides if " slips " in r}
    assert any(hides.values())
