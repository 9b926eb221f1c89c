"""The page in a real browser: it opens from disk, filters, switches, and runs nothing of a text."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import report_records as made

from holdfast.record import find_records
from holdfast.report import report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium is installed to open a page in"
)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two models, their curves and their outcomes, the first of which is a script."""
    folder = tmp_path_factory.mktemp("records")
    records = [
        (stem, record)
        for stem, record in made.everything(60, seeds=(0,))
        if record.model in ("plain", "rift") and not record.task.startswith("advglue/")
    ]
    made.write(folder, iter(records))
    (folder / "later.json").write_text('{"record": 99}')
    path = folder / "report.html"
    path.write_text(report(find_records([folder])).html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator:
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=options)
        yield opened
        opened.close()


@pytest.fixture
def context(browser) -> Iterator:
    opened = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    opened.set_default_timeout(20_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context, file: Path) -> Iterator:
    """The page, opened from disk; whatever the browser complains of fails the test."""
    opened, said = context.new_page(), []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url))
    opened.goto(file.as_uri())
    yield opened
    assert said == [file.as_uri()]


def ground(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def visible_examples(page):
    return page.locator(".example:visible")


def test_the_page_opens_from_disk_and_runs_no_text(page) -> None:
    assert page.title().startswith("2 models on sst2")
    assert page.locator("main h2").first.inner_text() == "Read this first"
    assert page.evaluate("window.broken") is None
    page.get_by_label("Words", exact=True).fill("window.broken")
    assert "<script>window.broken = 1</script>" in visible_examples(page).first.inner_text()
    assert page.evaluate("window.broken") is None


def test_a_script_that_got_into_the_page_would_not_run(context, file: Path) -> None:
    page = context.new_page()
    page.goto(file.as_uri())
    # the promise is kept when the browser refuses; `wait_for_function` would evaluate a string,
    # which the page does not allow either
    page.evaluate(
        """() => new Promise(done => {
            document.addEventListener("securitypolicyviolation", () => done());
            const script = document.createElement("script");
            script.textContent = "window.broken = 1";
            document.body.append(script);
        })"""
    )
    assert page.evaluate("window.broken") is None


def test_examples_are_filtered_by_model_attack_outcome_and_words(page) -> None:
    total = page.locator(".example").count()
    status = page.get_by_role("status")
    assert visible_examples(page).count() == 20
    assert f"{total} in the page" in status.inner_text()
    page.get_by_label("Model", exact=True).select_option("rift")
    page.get_by_label("Attack", exact=True).select_option("genetic_jia")
    page.get_by_label("Outcome", exact=True).select_option("broken")
    shown = visible_examples(page)
    assert 0 < shown.count() <= 20
    for text in shown.locator("h3").all_inner_texts():
        assert "broken" in text
        assert "rift" in text
        assert "genetic_jia" in text
    page.get_by_label("Words", exact=True).fill("CHARMING")
    assert all("charming" in text for text in shown.locator(".text").all_inner_texts())
    page.get_by_label("Words", exact=True).fill("no such words")
    assert shown.count() == 0
    assert status.inner_text() == f"None of the {total} examples fits."
    page.get_by_role("button", name="Clear").click()
    page.locator(".example:not([hidden])").nth(19).wait_for()
    assert shown.count() == 20


def test_more_examples_are_shown_when_asked_and_the_focus_goes_there(page) -> None:
    page.get_by_role("button", name="Show more").press("Enter")
    assert visible_examples(page).count() == 40
    focused = page.evaluate(
        "[...document.querySelectorAll('.example')].indexOf(document.activeElement)"
    )
    assert focused == 20


def test_the_theme_follows_the_system_until_one_is_chosen(context, page, file: Path) -> None:
    light = ground(page)
    page.emulate_media(color_scheme="dark")
    dark = ground(page)
    assert dark != light
    page.get_by_label("Light", exact=True).check()
    assert ground(page) == light
    again = context.new_page()
    again.emulate_media(color_scheme="dark")
    again.goto(file.as_uri())
    assert again.get_by_label("Light", exact=True).is_checked()
    assert ground(again) == light
    again.get_by_label("System", exact=True).check()
    assert ground(again) == dark


def test_drawings_take_the_colour_of_the_theme(page) -> None:
    fill = "getComputedStyle(document.querySelector('figure svg text')).fill"
    light = page.evaluate(fill)
    page.get_by_label("Dark", exact=True).check()
    assert page.evaluate(fill) != light


def test_the_keyboard_reaches_everything(page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator(".theme input:checked").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("Light", exact=True).is_checked()
    summary = page.locator("details.numbers > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.numbers table").first.is_visible()
    assert page.locator("details.numbers .scroll").first.get_attribute("tabindex") == "0"


def test_a_screen_reader_finds_names_and_roles(page) -> None:
    assert page.get_by_role("navigation", name="Contents").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("table").count() >= 4
    title = page.locator("figure h3").first.inner_text()
    assert page.get_by_role("img", name=title, exact=True).count() == 1
    assert page.get_by_role("img").count() == page.locator("figure").count() > 5
    names = page.get_by_role("region").all()
    assert all(region.get_attribute("aria-labelledby") for region in names)
    changed = page.locator("ins").first
    assert changed.evaluate("node => node.textContent").startswith("by: ")


def test_a_phone_scrolls_tables_and_not_the_page(context, page) -> None:
    page.set_viewport_size(PHONE)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == PHONE["width"]
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    assert page.evaluate(width) == PHONE["width"]
    sizes = page.locator("figure svg text").evaluate_all(
        "all => all.map((text) => text.getBoundingClientRect().height)"
    )
    assert min(size for size in sizes if size) >= 8


def test_paper_is_light_and_holds_the_tables_and_no_controls(page) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    assert ground(page) == "rgb(255, 255, 255)"
    assert not page.locator("form.filter").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("table").first.is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_every_example_is_there(browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert visible_examples(page).count() == page.locator(".example").count() > 40
    assert not page.locator("form.filter").is_visible()
    context.close()
