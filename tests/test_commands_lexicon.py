"""`holdfast lexicon`: what is used, keeping a file, building from WordNet, looking up a word."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from miniature_wordnet import write_wordnet

import holdfast.text.wordnet as wordnet_module
from holdfast import cli
from holdfast.commands.lexicon import PUBLISHED_SHA256, describe
from holdfast.text import Lexicon, cached_lexicon


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and no WordNet but where the variable says."""
    places = wordnet_module._usual_places
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(
        wordnet_module,
        "_usual_places",
        lambda: (place for place in places() if tmp_path in place.parents),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.json"
    path.write_text('{"film": ["movie", "picture"], "good": ["fine"]}')
    return path


def run(*argv: str) -> int:
    return cli.main(["lexicon", *argv])


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    assert run(*argv, "--json") == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_without_a_lexicon_it_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr()
    assert "no substitution lexicon yet" in shown.out
    assert PUBLISHED_SHA256 in shown.out
    assert "holdfast lexicon --wordnet" in " ".join(shown.out.split())
    assert answer(capsys) == {"lexicon": None}


def test_a_file_is_checked_and_kept(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--file", str(file)) == 0
    shown = capsys.readouterr()
    assert "words: 2, with 3 substitutes in all" in shown.out
    assert str(cached_lexicon()) in " ".join(shown.err.split())
    assert cached_lexicon().read_bytes() == file.read_bytes()
    assert answer(capsys)["lexicon"]["words"] == 2


def test_a_bad_file_does_not_replace_the_one_in_use(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--file", str(file))
    kept, bad = cached_lexicon().read_bytes(), tmp_path / "bad.json"
    bad.write_text("[]")
    assert run("--file", str(bad)) == 2
    assert cached_lexicon().read_bytes() == kept
    assert "bad.json" in capsys.readouterr().err


@pytest.mark.parametrize("named", [True, False])
def test_wordnet_is_built_and_kept(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_wordnet(tmp_path / "wordnet")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    found = answer(capsys, "--wordnet", *([str(folder)] if named else []))
    assert found["lexicon"]["source"] == str(cached_lexicon())
    assert answer(capsys, "--word", "film")["substitutes"] == [
        "celluloid",
        "shoot",
        "movie",
        "picture",
    ]
    assert answer(capsys)["lexicon"] == found["lexicon"]


def test_a_lexicon_can_reach_further(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"good": ["nice"], "nice": ["pleasant", "kind"]}', encoding="utf-8")
    answer(capsys, "--file", str(file), "--further", "2")
    assert answer(capsys, "--word", "good")["substitutes"] == ["nice", "pleasant"]


def test_further_than_no_lexicon_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--further", "50") != 0
    assert "--further goes with --file FILE" in " ".join(capsys.readouterr().err.split())


def test_a_lexicon_can_be_written_beside_the_one_in_use(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = tmp_path / "wide.json"
    found = answer(capsys, "--file", str(file), "--further", "9", "--output", str(wide))
    assert found["lexicon"]["source"] == str(wide)
    assert not cached_lexicon().exists()  # other runs have the attacker they had
    assert run("--file", str(file), "--output", str(wide)) == 2
    assert "exists already; choose another --output" in " ".join(capsys.readouterr().err.split())
    assert run("--file", str(file), "--output", str(tmp_path / "new" / "wide.json")) == 0
    capsys.readouterr()
    assert run("--file", str(file), "--output", str(file / "wide.json")) == 2
    assert "is a file, and nothing can be written in it" in " ".join(
        capsys.readouterr().err.split()
    )
    assert run("--output", str(tmp_path / "new.json")) == 2
    assert "--output goes with --file FILE" in " ".join(capsys.readouterr().err.split())


def test_a_file_and_wordnet_are_joined(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = answer(capsys, "--file", str(file), "--word", "film")["substitutes"]
    folder = write_wordnet(tmp_path / "wordnet")
    both = answer(capsys, "--file", str(file), "--wordnet", str(folder), "--word", "film")
    assert both["substitutes"][: len(alone)] == alone  # its own come first
    assert {"celluloid", "shoot", "movie", "picture"} <= set(both["substitutes"])
    assert len(set(both["substitutes"])) == len(both["substitutes"])


def test_a_wordnet_that_is_found_is_used_unkept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(write_wordnet(tmp_path / "wordnet")))
    assert "WordNet in" in answer(capsys)["lexicon"]["source"]
    assert not cached_lexicon().exists()


def test_a_word_is_looked_up(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--file", str(file))
    capsys.readouterr()
    assert run("--word", "Film") == 0
    assert capsys.readouterr().out == "Film: movie, picture\n"
    assert run("--word", "the") == 0
    assert capsys.readouterr().out == "the: no substitutes\n"


def test_the_published_file_is_known_by_its_checksum() -> None:
    lexicon = Lexicon({"film": ("movie",)}, "here", PUBLISHED_SHA256)
    assert describe(lexicon)["lexicon"]["published"] == "counterfitted_neighbors.json"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--word", "film"], "holdfast lexicon"),
        (["--wordnet"], "apt install wordnet-base"),
        (["--wordnet", "nowhere"], "nowhere does not hold WordNet's files"),
        (["--file", "nowhere.json"], "nowhere.json cannot be read"),
        (["--file", "nowhere.json", "--wordnet", "nowhere"], "nowhere does not hold WordNet's"),
        (["--flie", "a.json"], "did you mean --file?"),
    ],
)
def test_a_mistake_is_one_sentence(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == 2
    shown = capsys.readouterr()
    assert (shown.out, words in shown.err) == ("", True)


def test_a_damaged_cache_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    cached_lexicon().parent.mkdir()
    cached_lexicon().write_text("{")
    assert run() == 2
    assert "is not JSON" in capsys.readouterr().err


def test_it_does_not_wait_for_torch() -> None:
    code = "import sys, holdfast.cli as c; c.main(['lexicon']); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
