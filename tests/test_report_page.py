"""The page and its twin: structure, safety, what stands in them; no browser needed."""

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import report_records as made
from report_html import Page

from holdfast.record import Found, find_records
from holdfast.report import Report, report
from holdfast.report.changed_text import LONGEST, changed_text
from holdfast.report.content import Cell, Content, Figure, Gallery, Piece, Table
from holdfast.report.markdown import file_name, text_of
from holdfast.report.page import TEMPLATES
from holdfast.report.sketch import Sketch, shown_name, sketch, style_of
from holdfast.report.sweeps import without

LABELS = ("aria-labelledby", "aria-describedby")
SECTIONS = [
    "Read this first",
    "What could not be read",
    "Results",
    "Which differences are more than chance",
    "Clean against robust",
    "By level of the attack",
    "What one setting does",
    "What the attacks did",
    "Inside the models",
    "Training",
    "Features",
    "Cost",
    "Adversarial examples",
    "How it was made",
    "Definitions",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report of everything there can be, and of one record that cannot be read."""
    folder = made.write(tmp_path_factory.mktemp("records"), made.everything(40, seeds=(0, 1)))
    made.write(folder / "sweeps", made.sweep(40))
    (folder / "later.json").write_text('{"record": 99, "model": "<b>later</b>"}')
    return report(find_records([folder]))


@pytest.fixture(scope="module")
def html(whole: Report) -> str:
    return whole.html()


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_page_has_all_sections_in_order(page: Page) -> None:
    levels = page.headings()
    assert levels[0] == (1, "14 models on sst2")
    assert [text for level, text in levels if level == 2] == SECTIONS
    assert [text for _, text in page.all("a") if text in SECTIONS] == SECTIONS


def test_headings_skip_no_level(page: Page) -> None:
    levels = [level for level, _ in page.headings()]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_landmarks_and_a_way_to_skip_to_the_content(page: Page) -> None:
    count = Counter(tag for tag, _, _ in page.elements)
    assert [count[tag] for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    first_link, _ = next(page.all("a"))
    assert first_link["href"] == "#main"
    assert next(page.all("main"))[0]["id"] == "main"
    sections = [own for own, _ in page.all("section")]
    assert all(own["aria-labelledby"] for own in sections)


def test_tables_have_captions_and_heads_with_a_scope(page: Page) -> None:
    tables = len(list(page.all("table")))
    figures = len(list(page.all("figure")))
    assert tables >= figures + 9  # one behind each figure, and those of the sections
    assert len([text for _, text in page.all("caption") if text]) == tables
    assert {own.get("scope") for own, _ in page.all("th")} == {"row", "col"}


def test_the_page_is_well_formed_and_no_id_comes_twice(page: Page) -> None:
    assert page.unbalanced == []
    ids = [own["id"] for _, own, _ in page.elements if "id" in own]
    assert len(ids) == len(set(ids))
    named = [own[name] for _, own, _ in page.elements for name in own if name in LABELS]
    assert {part for value in named for part in value.split()} <= set(ids)
    links = [own["href"][1:] for own, _ in page.all("a")]
    assert set(links) <= set(ids)


def test_every_figure_has_a_title_words_and_numbers(page: Page, whole: Report) -> None:
    drawings = [own for own, _ in page.all("svg", role="img")]
    assert len(drawings) == len(whole.content.figures) == len(list(page.all("figure")))
    assert all(len(figure.sketch.description) > 40 for figure in whole.content.figures)
    assert all(figure.numbers.rows for figure in whole.content.figures)
    assert len([text for _, text in page.all("desc") if text]) == len(drawings)


def test_nothing_is_fetched(html: str) -> None:
    addresses = re.findall(r"https?://[^\s\"'<)]+", html)
    assert {address for address in addresses if "www.w3.org" not in address} == set()
    assert not re.search(r"<(?:link|img|iframe)\b|@import|url\((?!#)", html)
    assert "default-src 'none'" in html


def test_texts_with_scripts_are_shown_as_text(page: Page, html: str) -> None:
    assert len(list(page.all("script"))) == 1
    assert not [own for _, own, _ in page.elements if any(name.startswith("on") for name in own)]
    assert "&lt;script&gt;window.broken" in html
    shown = [text for _, text in page.all("p") if text.startswith("<script>window.broken")]
    assert shown
    assert any("later.json is a record of format 99" in text for _, text in page.all("li"))


def test_names_with_scripts_are_shown_as_text() -> None:
    name = "</script><script>alert(1)</script>$x_1$ \"'&"
    records = [
        replace(record, model=name if record.model == "plain" else record.model)
        for _, record in made.everything(40, seeds=(0,))
        if record.task == "sst2" and record.model in ("plain", "rift")
    ]
    given = Found(tuple((Path("x.json"), record) for record in records), (f"{name} is no record.",))
    made_page = report(given, title=name)
    shown = Page(made_page.html())
    assert len(list(shown.all("script"))) == 1
    assert shown.headings()[0] == (1, name)
    assert shown.unbalanced == []
    assert "<script>" not in made_page.markdown()
    for figure in made_page.content.figures:
        ElementTree.fromstring(figure.sketch.svg)


def test_the_same_records_give_the_same_page() -> None:
    records = [one for _, one in made.everything(40, seeds=(0,)) if not one.task.startswith("adv")]
    given = Found(tuple((Path("x.json"), record) for record in records[:4]), ())
    assert report(given).html() == report(given).html()


def test_marks_are_words_and_not_signs_alone(page: Page) -> None:
    flags = [text for own, text in page.all("span") if own.get("class") == "flag"]
    assert flags
    assert set(flags) == {"▼ no better than majority", "▼ one answer to everything"}


def test_the_twin_has_the_same_sections_and_numbers(whole: Report) -> None:
    text = whole.markdown()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    tables = re.findall(r"^\| :--- ", text, re.MULTILINE)
    assert len(tables) > len(whole.content.figures)
    clean = whole.content.sections[0].blocks[0].rows[0].cells[0]
    assert f"{clean.text}** ({clean.detail})" in text or f"{clean.text} ({clean.detail})" in text
    assert "▼ no better than majority" in text
    assert "<script>" not in text
    assert "~~" in text


def gallery(content: Content) -> Gallery:
    blocks = [b for section in content.sections for b in section.blocks]
    return next(block for block in blocks if isinstance(block, Gallery))


def test_examples_are_drawn_of_every_model_attack_and_outcome(whole: Report) -> None:
    shown = gallery(whole.content)
    kinds = {(e.model, e.attack, e.status) for e in shown.examples}
    assert {(m, a) for m, a, _ in kinds} >= {(m, a) for m in made.ROBUST for a in made.ATTACKS}
    assert {status for _, _, status in kinds} == {"broken", "held", "wrong before"}
    assert len({(e.model, e.attack, e.status, e.texts) for e in shown.examples}) > 100
    assert shown.total == 40 * (len(made.ROBUST) * 2 * 2 + 9)
    assert f"{len(shown.examples)} texts of {shown.total:,}" in whole.html()


def test_examples_say_the_names_of_the_classes(whole: Report) -> None:
    shown = gallery(whole.content).examples
    assert {example.label for example in shown} == {"bad", "good"}
    assert {example.before.split(" (")[0] for example in shown} == {"bad", "good"}


def test_how_a_text_is_rewritten_is_told_with_the_training() -> None:
    spelt = {"type": "Canonical", "rounds": 0, "spelling": True}
    record = made.clean_record("m", 0, 10, 0.9, training={"model": "base", "canonical": spelt})
    html = report(Found(((Path("a"), record),), ())).html()
    assert "Canonical(rounds=0, spelling=True)" in html


def test_at_most_so_many_examples_as_asked_and_none_of_zero(tmp_path: Path) -> None:
    attack = made.attack_record("m", 0, "pwws_rift", 60, 0.4)
    given = find_records([made.write(tmp_path, iter([("a", attack)]))])
    few = gallery(report(given, examples=9).content).examples
    assert len(few) == 9
    assert few == gallery(report(given, examples=9).content).examples
    assert "Adversarial examples" not in report(given, examples=0).html()


def test_changed_words_are_found_by_comparing_the_texts() -> None:
    pieces = changed_text("A fine , fine film .", "A grand , fine movie .")
    assert pieces == (
        Piece("A "),
        Piece("fine", "grand"),
        Piece(" , fine "),
        Piece("film", "movie"),
        Piece(" ."),
    )
    assert changed_text("same", None) == (Piece("same"),)
    assert changed_text("a b", "a") == (Piece("a"), Piece(" b", ""))
    assert changed_text("a b c d e", "a b new c d e") == (
        Piece("a b "),
        Piece("", "new "),
        Piece("c d e"),
    )


@pytest.mark.parametrize("count", [0, 1, 7])
def test_the_pieces_are_both_texts_whole(count: int) -> None:
    old = [
        *("the", "film", "is", "bad", ","),
        *("the", "film", "is", "bad", ","),
        "the",
        "end",
        ".",
    ]
    new = [f"{word}s out" if n % 4 < count % 4 else word for n, word in enumerate(old)]
    pieces = changed_text(" ".join(old), " ".join(new))
    assert "".join(piece.old for piece in pieces) == " ".join(old)
    assert "".join(p.old if p.new is None else p.new for p in pieces) == " ".join(new)


def test_a_long_text_is_cut_to_what_surrounds_its_changes() -> None:
    words = ["word"] * 800
    text, other = " ".join([*words, "good", *words]), " ".join([*words, "bad", *words])
    before, change, after = changed_text(text, other)
    assert change == Piece("good", "bad")
    assert len(before.old) + len(after.old) < LONGEST
    assert before.old.startswith(" […] ")
    assert len(changed_text(text, None)[0].old) <= LONGEST + 10


@pytest.mark.parametrize(
    "text", ["# head", "- item", "1. one", "<b>x</b>", "a|b", "[a](b)", "`c`", "a\n\n# b"]
)
def test_markdown_reads_nothing_in_a_text_as_markdown(text: str) -> None:
    safe = text_of(text)
    assert "\n" not in safe
    assert not re.search(r"(?<!\\)[<|`\[#]", safe)
    assert not re.match(r"[-+=#]|\d+\.", safe)


def test_a_name_in_a_drawing_is_no_formula_and_no_hidden_label() -> None:
    assert shown_name("_hidden") == "hidden"
    assert shown_name("a$b$") == r"a\$b\$"
    assert len(shown_name("x" * 99)) == 30


def test_a_drawing_takes_the_colours_of_its_page_and_keeps_its_text() -> None:
    label = 'id="x" #000000'
    drawn = sketch("t & t", "words", lambda axes: axes.plot([0, 1], [0, 1], label=label))
    inline = drawn.inline("fig-7")
    root = ElementTree.fromstring(inline)
    assert root.get("aria-labelledby") == "fig-7-title"
    assert root.get("aria-describedby") == "fig-7-desc"
    assert label in "".join(root.itertext())
    styles = " ".join(element.get("style", "") for element in root.iter())
    assert "var(--grid)" in styles
    assert not re.search("#(?:000000|ffffff|dddddd)", styles)
    assert all(i.startswith("fig-7-") for e in root.iter() if (i := e.get("id")))


def test_no_two_lines_of_a_drawing_look_the_same() -> None:
    styles = [style_of(index) for index in range(8)]
    assert len({(one.color, one.linestyle, one.marker) for one in styles}) == 8
    assert len({(one.linestyle, one.marker) for one in styles}) == 8


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


PAIRS = {
    "ink": ("paper", "surface", "sunk", "warn-sunk", "note-sunk", "bad-sunk"),
    "muted": ("paper", "surface", "sunk", "warn-sunk", "note-sunk"),
    "accent": ("paper", "surface", "sunk"),
    "warn": ("surface", "warn-sunk"),
    "note": ("note-sunk",),
    "bad": ("bad-sunk", "surface"),
    "good": ("good-sunk", "surface"),
}


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_of_level_aa(theme: int) -> None:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: pair[theme] for name, *pair in found}
    for name, grounds in PAIRS.items():
        for ground in grounds:
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for number in range(1, 7):
        assert contrast(colours[f"line-{number}"], colours["surface"]) >= 3


def test_a_page_of_many_texts_stays_small(tmp_path: Path) -> None:
    attack = replace(made.attack_record("m", 0, "pwws_rift", 40, 0.4), outcomes="o.jsonl")
    text = " ".join(["long"] * 2000)
    outcomes = [made.outcome(n, "succeeded", (f"bad {text}", "bad", "ill")) for n in range(60)]
    made.write_outcomes(tmp_path / "o.jsonl", outcomes)
    given = Found(
        tuple((tmp_path / "a.json", replace(attack, model=f"{n}")) for n in range(20)), ()
    )
    assert len(report(given).html().encode()) < 2_000_000


def test_a_setting_that_came_later_does_not_make_two_configurations_of_one() -> None:
    """A record of before says nothing of it; one of after says that there is none."""
    plain = {"canonical": {"rounds": 2}, "anchor": None}
    later = {"canonical": {"rounds": 2, "frequent": None}}
    assert without(plain) == without(later)
    assert without(plain) != without({"canonical": {"rounds": 1}})


def figure(name: str) -> Figure:
    return Figure(name, Sketch("", "", ""), Table("", (Cell(""),), ()), "")


def test_figures_of_other_scripts_have_files_of_their_own() -> None:
    names = {file_name(figure(name)) for name in ("levels-评论", "levels-新闻", "../x")}
    assert names == {"levels-评论", "levels-新闻", "x"}
