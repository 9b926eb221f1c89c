"""What the pages tell a reader to type works: flags exist, code runs, names are there."""

import re
import shlex
from pathlib import Path

import pytest
import train_tiny

import holdfast
from holdfast import cli
from holdfast.implicit.presets import PRESETS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def commands_of(page: Path) -> list[list[str]]:
    texts = [block.replace("\\\n", " ") for block in blocks(page, "bash")]
    lines = [line for text in texts for line in text.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("holdfast ")]


def commands() -> list[list[str]]:
    return [command for page in PAGES for command in commands_of(page)]


def imports() -> set[str]:
    found = [
        re.findall(r"^from holdfast import (.+)$", block, re.MULTILINE)
        for page in PAGES
        for block in blocks(page, "python")
    ]
    return {name.strip() for lines in found for line in lines for name in line.split(",")}


def test_there_is_something_to_check():
    assert {command[1] for command in commands()} >= {"train", "predict", "inspect"}
    assert "connect" in imports()


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_command_takes_the_flags_it_is_shown_with(command, capsys):
    _, name, *arguments = command
    flags = {item.partition("=")[0] for item in arguments if item.startswith("--")}
    if name == "train":
        assert cli.main([name, *arguments, "--dry-run"]) == 0
    else:
        cli.main([name, "--help"])
        shown = re.findall(r"--[\w.]+", capsys.readouterr().out)
        assert {flag[:2] + flag[2:].replace("-", "_") for flag in flags} <= set(shown)


@pytest.mark.parametrize("name", sorted(imports()))
def test_imported_name_exists(name):
    assert name in holdfast.__all__


def test_python_of_the_readme_runs_on_a_model_like_the_demos(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "holdfast-demo" / "plain" / "model"
    train_tiny.model().save_pretrained(folder)
    train_tiny.tokenizer().save_pretrained(folder)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(blocks(ROOT / "README.md", "python")[0], names)
    assert capsys.readouterr().out.count("LayerReading") == 2
    assert holdfast.connected(names["model"]) is None


def test_commands_of_the_readme_need_no_network():
    models = [
        words[words.index("--model") + 1]
        for words in commands_of(ROOT / "README.md")
        if "--model" in words
    ]
    assert models
    assert not [name for name in models if not name.startswith(("holdfast-demo/", "runs/"))]


def test_every_preset_is_explained():
    explained = (ROOT / "docs" / "connections.md").read_text()
    assert not [name for name in PRESETS if f"| `{name}` |" not in explained]


def test_map_names_every_package():
    architecture = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in (ROOT / "src/holdfast").glob("*/__init__.py")]
    assert not [name for name in packages if f"`{name}/`" not in architecture]


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"```.*?```", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    kept = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"[\s-]+", "-", heading) for heading in kept}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings_that_are_there(page: Path) -> None:
    for name, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"
