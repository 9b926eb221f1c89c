"""Limits that a linter does not know: one sitting for a file, one screen for a function."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def length(node: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    documented = ast.get_docstring(node, clean=False) is not None
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return node.end_lineno - node.lineno + 1 - docstring


def functions() -> Iterator[tuple[str, int]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", length(node)


def test_no_file_is_longer_than_one_sitting():
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: count for name, count in lines.items() if count > 300}


def test_no_function_is_longer_than_a_screen():
    assert not [(name, lines) for name, lines in functions() if lines > 40]


def test_functions_are_short():
    assert statistics.median(lines for _, lines in functions()) < 10


def test_no_file_is_called_utils():
    assert not [path for path in SOURCES if path.stem in ("utils", "helpers", "common", "misc")]
