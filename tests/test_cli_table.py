"""A table fits its terminal, and no cell of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.commands.table import NBSP, table

HEADER = ["model", "accuracy", "note"]
ROWS = [["plain", "0.84", "as it was"], ["implicit", "0.831", "solved to a residual of 1 %"]]


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    assert table(HEADER, ROWS, 80).splitlines() == [
        "model     accuracy  note",
        "--------  --------  ---------------------------",
        "plain         0.84  as it was",
        "implicit     0.831  solved to a residual of 1 %",
    ]


def test_a_wide_column_wraps() -> None:
    assert table(HEADER, ROWS, 40).splitlines()[-2:] == [
        "implicit     0.831  solved to a residual",
        "                    of 1 %",
    ]


def test_a_very_narrow_terminal_gets_one_block_a_row() -> None:
    assert table(HEADER, ROWS, 24).splitlines() == [
        "model plain",
        "  accuracy: 0.84",
        "  note: as it was",
        "model implicit",
        "  accuracy: 0.831",
        "  note: solved to a",
        "    residual of 1 %",
    ]


def test_no_word_is_split_and_words_that_belong_together_stay() -> None:
    header = ["measured on", "loss", f"accuracy{NBSP}% (95{NBSP}%)"]
    rows = [["validation_matched, 40 examples", "0.6949", "32.5 (20.1-48.0)"]]
    assert table(header, rows, 45).splitlines() == [
        "measured on            loss        accuracy %",
        "                                       (95 %)",
        "-------------------  ------  ----------------",
        "validation_matched,  0.6949  32.5 (20.1-48.0)",
        "40 examples",
    ]
    assert "validation_matched" in table(header, rows, 44)


words = st.text(alphabet="abc 019.%", max_size=30).map(lambda text: " ".join(text.split()))


@given(
    st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(40, 120)
)
def test_every_line_fits_and_every_letter_is_there(rows: list[list[str]], width: int) -> None:
    shown = table(HEADER, rows, width)
    assert all(len(line) <= width for line in shown.splitlines())
    for letter in "abc019":
        wanted = sum(cell.count(letter) for row in rows for cell in row)
        assert shown.count(letter) >= wanted
