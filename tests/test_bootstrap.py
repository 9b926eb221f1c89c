"""scripts/bootstrap.py: it repairs what is broken, and every failure is one sentence."""

import importlib.util
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The script as a module, with a .venv of its own that nothing was installed into."""
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv/bin/python")
    monkeypatch.setattr(module, "LOG", tmp_path / ".venv/pip.log")
    monkeypatch.setattr(module, "UNFINISHED", tmp_path / ".venv/.unfinished")
    return module


@pytest.fixture
def usable(bootstrap):
    """The same, with a .venv that stands: its Python is this one."""
    (bootstrap.VENV / "bin").mkdir(parents=True)
    bootstrap.PYTHON.symlink_to(sys.executable)
    return bootstrap


def is_one_sentence(text: str) -> bool:
    return "\n" not in text.strip() and text.strip().endswith(".")


@pytest.fixture
def pip_printing(usable, monkeypatch):
    """A pip that prints given lines and exits with a given code."""

    def replace(code: int, *lines: str) -> None:
        script = f"import sys; print({chr(10).join(lines)!r}); sys.exit({code})"
        fake = SimpleNamespace(**vars(subprocess))
        fake.Popen = lambda _, **how: subprocess.Popen([sys.executable, "-c", script], **how)
        monkeypatch.setattr(usable, "subprocess", fake)

    return replace


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("ERROR: No matching distribution found for torch==2.13.0", "registry"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk filled up"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE FILE", "sha256 differs"),
        ("ERROR: ResolutionImpossible", "ResolutionImpossible"),
    ],
)
def test_pip_failure_is_explained_in_one_sentence(usable, pip_printing, printed, expected):
    pip_printing(1, "Collecting torch", printed)
    with pytest.raises(usable.Stop) as stop:
        usable.pip("Installing ...", "torch")
    assert expected in str(stop.value)
    assert is_one_sentence(str(stop.value))


def test_environment_is_unusable_when_pip_died_while_copying(usable, pip_printing):
    pip_printing(1, "Installing collected packages: a, b", "Killed")
    assert usable.is_usable()
    with pytest.raises(usable.Stop):
        usable.pip("Installing ...", "a")
    assert not usable.is_usable()


def test_environment_stays_usable_when_pip_only_failed_to_download(usable, pip_printing):
    pip_printing(1, "Collecting a", "ERROR: Connection refused")
    with pytest.raises(usable.Stop):
        usable.pip("Installing ...", "a")
    assert usable.is_usable()


def test_environment_is_usable_after_a_finished_install(usable, pip_printing):
    pip_printing(0, "Installing collected packages: a", "Successfully installed a")
    usable.pip("Installing ...", "a")
    assert usable.is_usable()


def test_nothing_is_installed_twice(usable, monkeypatch):
    runs = []
    monkeypatch.setattr(usable, "install", runs.append)
    monkeypatch.setattr(usable, "require_disk_space", lambda: None)
    usable.prepare("test")
    usable.prepare("test")
    assert runs == ["test"]
    usable.prepare("demo")
    assert runs == ["test", "demo"]


def test_changed_pins_are_installed_again(usable, monkeypatch, tmp_path):
    pins = tmp_path / "constraints.txt"
    pins.write_text("torch==2.13.0")
    monkeypatch.setattr(usable, "DECIDES_WHAT_IS_INSTALLED", (pins,))
    usable.stamp("test").write_text(usable.fingerprint())
    assert usable.is_ready("test")
    pins.write_text("torch==2.14.0")
    assert not usable.is_ready("test")


def test_moved_environment_is_made_anew(usable):
    usable.stamp("test").write_text("/somewhere/else\nfingerprint\n")
    assert not usable.is_usable()


def test_full_disk_is_told_before_anything_is_written(bootstrap, monkeypatch, capsys):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda _: usage(free=10**9))
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "demo"])
    assert bootstrap.main() == 1
    message = capsys.readouterr().err
    assert "needs 6 GB" in message
    assert is_one_sentence(message)
    assert not bootstrap.VENV.exists()


def test_old_python_is_told_what_is_needed(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "demo"])
    assert bootstrap.main() == 1
    message = capsys.readouterr().err
    assert "needs Python 3.11 or newer, but this one is 3.9" in message
    assert is_one_sentence(message)


def test_old_python_hands_over_to_a_newer_one(bootstrap, monkeypatch):
    class HandedOver(Exception):
        pass

    def execute(path, arguments):
        raise HandedOver(path, arguments)

    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda _: sys.executable)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "demo"])
    monkeypatch.setattr(bootstrap.os, "execv", execute)
    with pytest.raises(HandedOver) as handed:
        bootstrap.require_python()
    assert handed.value.args == (sys.executable, [sys.executable, "bootstrap.py", "demo"])


def test_missing_venv_module_is_one_sentence(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(bootstrap, "require_disk_space", lambda: None)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "demo"])
    assert bootstrap.main() == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert "venv module" in message
    assert is_one_sentence(message)


def test_unknown_target_is_bad_input(bootstrap, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "everything"])
    assert bootstrap.main() == 2
