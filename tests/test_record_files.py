"""Files that appear whole: content, the draft beside them, and two processes at once."""

import os

import pytest

from holdfast.record import draft_of, write_atomically
from holdfast.train import checkpoint


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("content", ["größer\n", b"\x00\xff\n"])
def test_a_file_holds_what_was_written_and_no_draft_stays(tmp_path, content, shared):
    path = tmp_path / "note.json"
    path.write_text("the one before, which was longer")
    write_atomically(path, content, shared=shared)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("shared", [False, True])
def test_a_kill_before_the_renaming_leaves_the_file_before(tmp_path, monkeypatch, shared):
    path = tmp_path / "note.json"
    path.write_text("before")

    def killed(draft, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "after", shared=shared)
    assert path.read_text() == "before"
    assert draft_of(path).exists() is not shared


def test_processes_that_share_a_file_do_not_take_each_others_draft(tmp_path, monkeypatch):
    path = tmp_path / "lexicon.json"
    replace = os.replace

    def interrupted(draft, target):
        """Let another process write the same file before this one renames its draft."""
        monkeypatch.setattr(os, "replace", replace)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        write_atomically(path, "theirs", shared=True)
        assert path.read_text() == "theirs"
        replace(draft, target)

    monkeypatch.setattr(os, "replace", interrupted)
    write_atomically(path, "ours", shared=True)
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_the_trainers_name_for_it_is_the_same():
    assert checkpoint.write_atomically is write_atomically
