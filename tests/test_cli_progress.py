"""Which part of a work is under way: lines in a file, a bar with a clock on a terminal."""

import contextlib
import io

import pytest

from holdfast.commands import progress
from holdfast.commands.progress import steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_each_part_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with steps("inspecting", 2) as told:
        told("FLOPs")
        told("growth")
    assert capsys.readouterr().err == "inspecting: FLOPs\ninspecting: growth\n"


def test_on_a_terminal_a_bar_counts_the_parts_that_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with steps("inspecting", 2) as told:
        told("FLOPs")
        told("growth")
    shown = terminal.getvalue()
    assert "inspecting: FLOPs" in shown
    assert "inspecting: growth" in shown
    assert "1/2" in shown
    assert shown.rstrip(" ").endswith("\r")  # the line is free for the result


def test_the_clock_stops_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(progress, "TICK", 0.001)
    before = progress.threading.active_count()
    with contextlib.suppress(ZeroDivisionError), steps("inspecting", 1) as told:
        told("FLOPs")
        raise ZeroDivisionError
    assert progress.threading.active_count() == before
