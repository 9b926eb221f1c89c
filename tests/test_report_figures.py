"""Pictures of stability: both formats, words for who cannot see them, the same file each time."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from holdfast.implicit.stability import METHODS, error_curves, stability_region
from holdfast.report import Picture, errors_picture, growth_picture, regions_picture
from holdfast.report.figures import LINE_STYLES

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Growth:
    name: str
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def growths() -> list[Growth]:
    return [
        Growth("plain", (0.01, 0.02, 0.04), (0.01, 0.015, 0.03), (0.01, 0.03, 0.05)),
        Growth("implicit < & >", (0.01, 0.005, 0.002), (0.01, 0.004, 0.001), (0.01, 0.006, 0.003)),
    ]


def regions() -> Picture:
    return regions_picture(
        [stability_region(name, theta, resolution=41) for name, theta in METHODS.items()]
    )


def errors() -> Picture:
    return errors_picture([error_curves(z, steps=5) for z in (-2.5, 0.5 + 1j)])


PICTURES = {"regions": regions, "errors": errors, "growth": lambda: growth_picture(growths())}
once = functools.cache(lambda name: PICTURES[name]())


def test_the_bars_of_the_growth_are_explained_in_the_picture_and_in_words() -> None:
    told = "bars from the 10th to the 90th percentile of the texts"
    assert told in once("growth").description
    drawn = growth_picture(growths(), quantiles=(0.25, 0.75))
    assert "from the 25th to the 75th percentile" in drawn.description
    assert drawn.svg != once("growth").svg


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_valid_in_both_formats_and_described(name: str, tmp_path: Path) -> None:
    picture = once(name)
    svg, png = picture.save(tmp_path / "new" / f"{name}.v1")
    assert (svg.name, png.name) == (f"{name}.v1.svg", f"{name}.v1.png")
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == picture.title
    assert root.findtext(f"{SVG}desc") == picture.description
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_same_numbers_give_the_same_file() -> None:
    assert regions() == once("regions")


def test_the_words_carry_the_numbers() -> None:
    assert "explicit (theta = 0): stable on" in once("regions").description
    assert "explicit at z = -2.5: 1 becomes 7.59 after 5 steps" in once("errors").description
    assert "z = 0.5+1i" in once("errors").description
    assert "implicit < & >: 0.01 becomes 0.002" in once("growth").description


def test_no_two_lines_differ_by_colour_alone() -> None:
    assert len({style.color for style in LINE_STYLES}) == len(LINE_STYLES)
    assert len({(style.linestyle, style.marker) for style in LINE_STYLES}) == len(LINE_STYLES)


def test_reports_are_drawn_without_torch() -> None:
    code = "import sys, holdfast.report; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
