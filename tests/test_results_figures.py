"""The pictures of docs/results are drawn from the records that are published."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "results" / "rift.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def figures(script):
    """The script that draws them."""
    return script("figures")


def drawn_from(file: Path) -> str:
    found = re.search(
        r"<dc:description>([\w ]+)</dc:description>", file.read_text(encoding="utf-8")
    )
    assert found is not None, file
    return found[1]


def test_each_is_of_the_records_as_they_are(figures):
    for name, picture in figures.FIGURES.items():
        found = drawn_from(figures.FOLDER / f"{name}.svg")
        assert found == picture.drawn_from, "run: python scripts/figures.py"


def test_each_is_shown_with_words_for_those_who_cannot_see_it(figures):
    for name in figures.FIGURES:
        assert re.search(rf"!\[[^]]{{40,}}\]\(figures/{name}\.svg\)", PAGE), name


def test_each_draws_a_line_for_every_method_and_a_cloud_for_every_class(figures):
    from matplotlib.figure import Figure

    lines, clouds = {}, {}
    for name, picture in figures.FIGURES.items():
        picture.draw(figure := Figure(figsize=picture.inches))
        lines[name] = [len(axes.containers) for axes in figure.axes]
        clouds[name] = [len(axes.collections) for axes in figure.axes]
    both = len(figures.ENCODERS)
    assert lines["rift-figure2"] == [3, 1] * both
    assert lines["rift-figure3"] == [0] * 4 * both
    assert lines["rift-figure4"] == [4] * both
    assert clouds["rift-figure3"] == [2] * 4 * both
