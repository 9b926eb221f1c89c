"""Where nothing can be written, it is said before the work is done."""

import os
from pathlib import Path

import pytest

from holdfast import cli
from holdfast.errors import InputError
from holdfast.record import refuse_file, refuse_folder


@pytest.mark.parametrize("place", ["new", "new/deeper", "."])
def test_a_place_that_can_be_made_is_taken_and_left_as_it_is(place: str, tmp_path: Path) -> None:
    refuse_folder(tmp_path / place)
    refuse_file(tmp_path / place / "out.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_may_be_written_again(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("{}")
    refuse_file(tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == "{}"


@pytest.mark.parametrize("refuse", [refuse_file, refuse_folder])
def test_what_lies_in_a_file_is_refused(refuse, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file is a file, and nothing can be written in it"):
        refuse(tmp_path / "file" / "a" / "b")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        refuse_file(tmp_path)


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    for length in (250, 300):  # the draft that is renamed has a longer one
        with pytest.raises(InputError, match="File name too long"):
            refuse_file(tmp_path / f"{'a' * length}.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    for refuse in (refuse_file, refuse_folder):
        with pytest.raises(InputError, match="Permission denied"):
            refuse(tmp_path / "closed" / "out")


@pytest.mark.parametrize(
    "words",
    [
        ["demo", "--quick"],
        ["report", "."],
        ["inspect", "--text", "fine"],
        ["attack", "--text", "fine", "--attack", "deepwordbug"],
        ["lexicon", "--file", "lexicon.json"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_refuses_before_it_works(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """No model is there to work with: it is not even looked for."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    Path("lexicon.json").write_text('{"good": ["fine"]}')
    model = ["--model", "nowhere"] if words[0] in ("attack", "inspect") else []
    assert cli.main([*words, *model, "--output", "file/out"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "file is a file, and nothing can be written in it; name a place in a folder" in told
