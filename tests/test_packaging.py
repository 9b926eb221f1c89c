"""The package as others meet it: its metadata, its public names, its wheel."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import holdfast

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
WRITTEN = ("src", "tests", "docs", "recipes", "benchmarks", "examples", "scripts", ".ci")
TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cff", ""}


def python(code: str, **kwargs: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **kwargs)
    return done.stdout.strip()


def constraints() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): Version(next(iter(pin.specifier)).version) for pin in pins}


def declared() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    listed = [*PROJECT["dependencies"], *(item for extra in extras for item in extra)]
    return [Requirement(item) for item in listed if not item.startswith("holdfast")]


def test_metadata_of_the_installed_package():
    about = metadata.metadata("holdfast")
    assert about["Name"] == "holdfast"
    assert about["Version"] == PROJECT["version"] == holdfast.__version__
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"


def test_changelog_opens_with_the_version():
    headings = re.findall(r"^## \[?([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == PROJECT["version"]


def test_citation_names_the_version_and_both_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    titles = " ".join(reference["title"] for reference in citation["references"])
    assert "IM-BERT" in titles
    assert "Fine-Tuned Towards Adversarial Robustness" in titles


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_pinned_version_lies_in_the_declared_range(requirement):
    pinned = constraints()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pinned)


@pytest.mark.parametrize("module", ["holdfast", "holdfast.cli", "holdfast.record"])
def test_importing_does_not_wait_for_torch(module):
    heavy = ("torch", "transformers", "numpy", "matplotlib", "jsonargparse")
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    assert python(code) == "[]"


@pytest.mark.parametrize("name", holdfast.__all__)
def test_public_name_resolves(name):
    assert hasattr(holdfast, name)


def test_public_names_are_the_ones_type_checkers_see():
    tree = ast.parse(Path(holdfast.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert seen == holdfast._HOME
    assert sorted({*seen, "__version__"}) == sorted(holdfast.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = holdfast.conect


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("holdfast-*.whl"))


def test_wheel_holds_the_package_its_types_its_recipes_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {f"holdfast/{path.relative_to(ROOT / 'src/holdfast')}" for path in SOURCES}
    recipes = {f"holdfast/recipes/{path.name}" for path in (ROOT / "recipes").glob("*")}
    templates = {
        f"holdfast/report/templates/{path.name}"
        for path in (ROOT / "src/holdfast/report/templates").glob("*")
    }
    assert recipes
    assert templates
    read = {"holdfast/py.typed", "holdfast/reproduce/published.toml"}
    about = {name for name in names if ".dist-info/" in name}
    assert any(name.endswith("licenses/LICENSE") for name in about)
    assert names - about == package | recipes | templates | read


def test_wheel_runs_outside_the_checkout(wheel, tmp_path):
    target = tmp_path / "installed"
    options = ["--quiet", "--no-deps", "--no-index", "--target", target]
    command = [sys.executable, "-m", "pip", "install", *options, wheel]
    subprocess.run(command, check=True, capture_output=True)
    start = f"import sys; sys.path.insert(0, {str(target)!r}); import holdfast.cli as cli; "
    show = "print(cli.__file__); sys.exit(cli.main(['--help']))"
    printed = python(start + show, cwd=str(tmp_path))
    assert printed.startswith(str(target))
    assert "usage: holdfast" in printed


def test_hooks_run_the_commands_of_make_test():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = (ROOT / "Makefile").read_text().split("\ntest:")[1].split("\n\n")[0]
    commands = re.findall(r"^\t\$\(BIN\)/(.+?)(?: \$\(ARGS\))?$", recipe, re.MULTILINE)
    assert [hook["entry"] for hook in hooks] == [f".venv/bin/{command}" for command in commands]


def test_continuous_integration_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text()


def written_files() -> list[Path]:
    inside = [path for folder in WRITTEN for path in (ROOT / folder).rglob("*")]
    candidates = [*inside, *ROOT.glob("*")]
    return [path for path in candidates if path.is_file() and path.suffix in TEXT]


def test_no_file_names_a_machine():
    paths = re.compile("/" + "(?:root|work|home|opt)" + r"/\w|\bpypi\b" + r"\.org|file:" + "///")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in written_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if paths.search(line)
    ]
    assert not found
