"""The numbers of the papers: complete, and consistent where arithmetic can tell."""

import pytest

from holdfast.implicit.flops import paper_flops
from holdfast.reproduce import REPRODUCTIONS, find_reproduction, published
from holdfast.reproduce.imbert import METHODS, flops, printed
from holdfast.reproduce.setting import BERT_BASE, Shape

TABLES = published()
ROBERTA_LARGE = Shape("roberta", layers=24, width=1024, feed_forward=4096)


def test_every_table_is_there_with_every_number():
    numbers = {name: len(table.numbers) for name, table in TABLES.items()}
    assert numbers == {
        "imbert-table1": 49,
        "imbert-table1-test": 56,
        "imbert-table2": 98,
        "imbert-table3": 36,
        "imbert-table4": 16,
        "imbert-table5": 8,
        "imbert-table6": 33,
        "imbert-propositions": 0,
        "rift-table1": 20,
        "rift-table2": 20,
        "rift-table3": 16,
        "rift-table4": 24,
        "rift-figure2": 0,
        "rift-figure3": 0,
        "composition": 0,
        "strongest": 0,
        "further": 0,
        "neighbours": 0,
        "misspellers": 0,
        "rift-figure4": 0,
    }


def test_every_reproduction_has_its_published_section_and_claims():
    assert set(TABLES) - set(REPRODUCTIONS) == {"imbert-table1-test"}
    assert all(recipe.published.claims for recipe in REPRODUCTIONS.values())
    with pytest.raises(ValueError, match=r"'imbert-table9'.*imbert-table1"):
        find_reproduction("imbert-table9")


@pytest.mark.parametrize("name", ["imbert-table1", "imbert-table1-test", "imbert-table2"])
def test_averages_are_plain_means_but_for_those_that_are_noted(name):
    table = TABLES[name]
    tasks = [column for column in table.columns if column != "Avg."]
    off = set()
    for row in table.rows:
        mean = sum(table.number(row, task).value for task in tasks) / len(tasks)
        if abs(mean - table.number(row, "Avg.").value) > 0.075:
            off.add(row)
    noted = {
        "imbert-table1": {"CreAT"},
        "imbert-table1-test": {
            *("SMART-large", "SMART-RoBERTa", "InfoBERT-RoBERTa", "FreeLB-RoBERTa")
        },
        "imbert-table2": set(),
    }
    assert off == noted[name]
    assert all("mean" in table.number(row, "Avg.").note for row in off)


def test_the_official_averages_of_the_copied_rows_are_not_plain_ones():
    """Their plain means would be 30.78, 53.12, 47.15 and 47.92."""
    table = TABLES["imbert-table1-test"]
    for row, plain in {"SMART-large": 30.78, "FreeLB-RoBERTa": 47.92}.items():
        values = [table.number(row, column).value for column in table.columns[:-1]]
        assert sum(values) / 6 == pytest.approx(plain, abs=0.006)
        assert f"{plain}" in table.number(row, "Avg.").note


def test_table4_averages_are_means_of_the_levels():
    table = TABLES["imbert-table4"]
    for column in table.columns:
        levels = [table.number(row, column).value for row in table.rows[:-1]]
        assert sum(levels) / 3 == pytest.approx(table.number("Avg.", column).value, abs=0.01)


def test_flops_of_the_papers_are_what_the_rule_gives():
    three, five = TABLES["imbert-table3"], TABLES["imbert-table5"]
    bert = flops(None, BERT_BASE)
    assert bert == pytest.approx(22.35, abs=0.005)
    for steps in (1, 5, 10, 15):
        known = five.number("FLOPs", f"T={steps}").value
        assert flops(METHODS[f"IM-BERT T={steps}"].connection, BERT_BASE) == pytest.approx(
            known, abs=0.05
        )
        assert known == pytest.approx(22.35 * (1 + steps), abs=0.02)
    quarter = flops(printed(5, "4-6").connection, BERT_BASE)
    assert quarter == pytest.approx(three.number("Layer (4-6)", "FLOPs").value, abs=0.02)


def test_flops_of_roberta_large_are_what_the_rule_gives():
    six = TABLES["imbert-table6"]
    assert flops(printed(5, "4-7").connection, ROBERTA_LARGE) == pytest.approx(144.76, abs=0.1)
    assert six.number("IM-RoBERTa (4-7)", "FLOPs").value == 144.76
    whole = flops(printed(5).connection, ROBERTA_LARGE)
    assert whole == pytest.approx(six.number("IM-RoBERTa (All)", "FLOPs").value, rel=1e-3)
    smart = six.number("SMART-BERT", "FLOPs").value
    assert smart == pytest.approx(3 * flops(None, BERT_BASE), abs=0.06)


def test_tables_that_repeat_numbers_repeat_them():
    one, three, four = (TABLES[f"rift-table{n}"] for n in (1, 3, 4))
    for attack in ("Genetic", "PWWS"):
        best = one.number("RIFT", f"BERT {attack}").value
        assert three.number("BERT I(S;T|Y)", f"IMDB {attack}").value == best
        assert four.number("IMDB alpha=0.1", attack).value == best
        base = one.number("Adv-Base", f"BERT {attack}").value
        assert four.number("IMDB alpha=0", attack).value == base
    levels, cost = TABLES["imbert-table3"], TABLES["imbert-table6"]
    assert levels.number("IM-BERT", "All").value == cost.number("IM-BERT (All)", "Accuracy").value


def test_doubts_stand_beside_the_numbers_they_are_about():
    table = TABLES["imbert-table3"]
    assert "swapped" in table.number("BERT", "Sentence").note
    assert "swapped" in table.number("IM-BERT", "Human").note
    assert "swapped" not in table.number("IM-BERT", "Word").note
    assert table.number("IM-BERT", "Sentence").spread == 13.5
    assert table.number("IM-BERT", "FLOPs").unit == "G"
    assert TABLES["imbert-table5"].number("FLOPs", "T=5").unit == "G"
    assert TABLES["imbert-table5"].number("Accuracy", "T=5").unit == "%"


def test_the_rule_is_the_librarys_own():
    from transformers import BertConfig

    assert flops(None, BERT_BASE) == paper_flops(BertConfig()) / 1e9


def test_how_far_the_levels_miss_all_is_what_the_note_says():
    table = TABLES["imbert-table3"]
    for told, order in (("4.2", ("Sentence", "Human")), ("1.4", ("Human", "Sentence"))):
        misses = []
        for row in table.rows:
            levels = [table.number(row, column).value for column in ("Word", *order)]
            weighted = sum(n * value for n, value in zip((80, 51, 17), levels, strict=True)) / 148
            misses.append(weighted - table.number(row, "All").value)
        root = (sum(miss**2 for miss in misses) / len(misses)) ** 0.5
        assert f"{root:.1f}" == told
        absolute = sum(map(abs, misses)) / len(misses)
        note = table.number("IM-BERT", "Sentence").note
        assert f"by {told}" in note
        assert f"{absolute:.1f}" in note
    assert "root mean squares" in note


def test_the_claimed_gaps_of_table2_are_of_different_sizes():
    table = TABLES["imbert-table2"]

    def gap(steps, size):
        ours = table.number(f"IM-BERT T={steps}, N={size}", "Avg.").value
        return round(ours - table.number(f"BERT, N={size}", "Avg.").value, 1)

    assert (gap(15, 1000), gap(10, 500)) == (5.8, 5.9)
    assert (gap(10, 1000), gap(15, 500)) == (3.8, 4.4)
    note = table.number("IM-BERT T=10, N=1000", "Avg.").note
    assert "T=15 with 1,000 examples and T=10 with 500" in note
