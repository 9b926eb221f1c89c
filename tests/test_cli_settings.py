"""Presets, recipes and flags become one frozen dataclass; what does not fit is refused."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from holdfast.cli import main
from holdfast.commands.layout import to_tree
from holdfast.commands.recipes import find_recipe, read_recipe, write_recipe
from holdfast.commands.settings import Interface
from holdfast.errors import InputError


@dataclass(frozen=True)
class Quick:
    """A quick solver."""

    steps: int = 5
    """Most steps."""
    tolerance: float = 0.5


@dataclass(frozen=True)
class Careful:
    """A careful solver."""

    tolerance: float = 0.001
    norm: Literal["sum", "mean"] = "sum"


@dataclass(frozen=True)
class Twice:
    """Solves with another solver inside."""

    inner: Quick | Careful = Quick()


@dataclass(frozen=True)
class Link:
    """How layers are linked."""

    layers: str | tuple[int, ...] = "all"
    solver: Quick | Careful | Twice = Quick()


@dataclass(frozen=True)
class Source:
    """Where examples come from."""

    folder: Path | None = None
    columns: tuple[str, ...] = ("text",)
    count: int | None = None
    shuffled: bool = False


@dataclass(frozen=True)
class Job:
    """All of it."""

    model: str
    source: Source = Source()
    connection: Link | None = None
    rate: float = 2e-5
    """Learning rate, about 0.002 % each step."""


PRESETS = {
    "plain": None,
    "printed": Link(layers="1-2", solver=Careful(tolerance=0.25, norm="mean")),
}
JOB = Interface(
    "job",
    "Does the job.",
    Job,
    switches={"dry_run": "only say it", "json": "as JSON"},
    sources={"config": "a recipe", "preset": "a connection"},
    presets=PRESETS,
)


def read(*argv: str) -> Job:
    return JOB.read(["--model", "m", *argv])[0]


def recipe(folder: Path, text: str) -> str:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(*argv: str) -> str:
    with pytest.raises(InputError) as caught:
        JOB.read(argv)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_but_the_required_gives_the_defaults() -> None:
    assert read() == Job("m")


def test_flags_are_read_with_the_type_of_their_field() -> None:
    job = read("--source.count", "7", "--source.folder=12", "--rate", "1e-3", "--source.shuffled")
    assert job == Job("m", Source(folder=Path("12"), count=7, shuffled=True), rate=1e-3)


def test_dashes_and_underscores_are_the_same_in_a_switch() -> None:
    assert JOB.read(["--model", "m", "--dry-run"])[1] == {"dry_run"}
    assert JOB.read(["--model", "m", "--dry_run"])[1] == {"dry_run"}


def test_a_list_takes_several_values_or_is_repeated() -> None:
    expected = ("premise", "a, b: [c]")
    assert read("--source.columns", *expected).source.columns == expected
    repeated = read("--source.columns", expected[0], "--source.columns", expected[1])
    assert repeated.source.columns == expected


def test_layers_stay_a_text_or_become_numbers() -> None:
    assert read("--connection.layers", "4").connection == Link(layers="4")
    assert read("--connection.layers", "1-3,5").connection == Link(layers="1-3,5")
    assert read("--connection.layers", "[1, 2]").connection == Link(layers=(1, 2))


def test_a_section_nobody_mentions_stays_none() -> None:
    assert read("--rate", "1").connection is None
    assert read("--connection.solver.steps", "3").connection == Link(solver=Quick(steps=3))


def test_a_chosen_class_starts_from_its_own_defaults() -> None:
    # Quick, the default, has a tolerance too: it must not leak into Careful.
    job = read("--connection.solver", "Careful", "--connection.solver.norm", "mean")
    assert job.connection == Link(solver=Careful(tolerance=0.001, norm="mean"))


@pytest.mark.parametrize("choice", ["--connection.solver", "--connection.solver.type"])
def test_the_order_of_class_and_setting_does_not_matter(choice: str) -> None:
    job = read("--connection.solver.norm", "mean", choice, "Careful")
    assert job.connection == Link(solver=Careful(norm="mean"))


def test_a_class_inside_a_chosen_class_can_be_chosen() -> None:
    job = read(
        *("--connection.solver.inner.norm", "mean", "--connection.solver.inner", "Careful"),
        *("--connection.solver", "Twice"),
    )
    assert job.connection == Link(solver=Twice(Careful(norm="mean")))


def test_a_preset_is_the_base_for_flags() -> None:
    job = read("--preset", "printed", "--connection.solver.norm", "sum")
    assert job.connection == Link("1-2", Careful(0.25, "sum"))
    job = read("--preset", "printed", "--connection.solver", "Quick")
    assert job.connection == Link("1-2", Quick())


def test_naming_the_class_of_the_preset_again_keeps_its_settings() -> None:
    job = read("--preset", "printed", "--connection.solver", "Careful")
    assert job.connection == PRESETS["printed"]


def test_flags_win_over_recipes_and_later_recipes_over_earlier(tmp_path: Path) -> None:
    first = tmp_path / "first.toml"
    first.write_text('rate = 1.0\n[source]\ncount = 1\ncolumns = ["a", "b"]\n')
    second = tmp_path / "second.toml"
    second.write_text("[source]\ncount = 2\n[connection.solver]\nsteps = 9\n")
    job = read("--rate", "3", "--config", str(first), "--config", str(second))
    assert job.source == Source(columns=("a", "b"), count=2)
    assert (job.rate, job.connection) == (3.0, Link(solver=Quick(steps=9)))


def test_a_recipe_lays_its_connection_on_the_preset_it_names(tmp_path: Path) -> None:
    path = recipe(tmp_path, 'preset = "printed"\n[connection.solver]\nnorm = "sum"\n')
    assert read("--config", path).connection == Link("1-2", Careful(0.25, "sum"))


def test_a_preset_flag_replaces_the_connection_of_a_recipe(tmp_path: Path) -> None:
    path = recipe(tmp_path, "[connection]\nlayers = [1, 2]\n")
    assert read("--config", path).connection == Link(layers=(1, 2))
    assert read("--config", path, "--preset", "plain").connection is None
    assert read("--config", path, "--preset", "printed").connection == PRESETS["printed"]


@pytest.mark.parametrize(
    "job",
    [
        Job("m"),
        Job('a "quoted" name\\with\ttab and é', Source(Path("x"), ("a", "b"), 3, True), rate=1.0),
        Job("m", connection=Link((1, 2), Twice(Careful(1e-9, "mean")))),
    ],
)
def test_what_is_written_as_a_recipe_reads_back_the_same(job: Job, tmp_path: Path) -> None:
    path = recipe(tmp_path, write_recipe(to_tree(job)))
    assert JOB.read(["--config", path])[0] == job


def test_a_recipe_names_classes_only_where_there_is_a_choice() -> None:
    written = tomllib.loads(write_recipe(to_tree(Job("m", connection=Link()))))
    assert written["connection"] == {
        "layers": "all",
        "solver": {"type": "Quick", "steps": 5, "tolerance": 0.5},
    }


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--modle", "m"], ["--modle", "did you mean --model?"]),
        (["--model", "m", "--connection.solver.stps", "3"], ["--connection.solver.steps?"]),
        (["--model", "m", "--cuont", "3"], ["no option --cuont; did you mean --source.count?"]),
        (["--model", "m", "--count", "3"], ["no option --count; did you mean --source.count?"]),
        (["--model", "m", "--qqqqqq", "3"], ["--qqqqqq", "holdfast job --help"]),
        (
            ["--model", "m", "--connection.solver", "Carefull"],
            ["Carefull", "did you mean Careful?"],
        ),
        (["--model", "m", "--connection.solver", "x"], ["expected one of Quick, Careful, Twice"]),
        (
            ["--model", "m", "--connection.solver.norm", "sum"],
            ["no option --connection.solver.norm"],
        ),
        (["--model", "m", "--source.count", "many"], ["--source.count", "many", "a whole number"]),
        (["--model", "m", "--rate", "fast"], ["--rate", "fast", "a number"]),
        (["--model", "m", "--source.shuffled", "maybe"], ["true or false"]),
        (["--model", "m", "--rate"], ["--rate takes one value", "none"]),
        (["--model", "m", "extra"], ["--model takes one value", "m extra"]),
        (["--model", "m", "--json", "x"], ["--json takes no value"]),
        (["--model", "m", "--preset", "printd"], ["printd", "did you mean printed?"]),
        (["m"], ["'m' is not an option"]),
        (["--rate", "1"], ["holdfast job needs --model"]),
        (["--model", "m", "--config", "nowhere.toml"], ["nowhere.toml"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(argv: list[str], words: list[str]) -> None:
    sentence = refusal(*argv)
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[source]\ncuont = 1\n", ["source.cuont", "did you mean source.count?"]),
        ("rate = 'fast'\n", ["rate", "fast", "float"]),
        ("connection = 'printed'\n", ["connection is 'printed'", "Link"]),
        ("[connection.solver]\ntype = 'Slow'\n", ["connection.solver", "Slow", "Quick"]),
        ("rate = \n", ["not valid TOML"]),
        ("preset = 'none'\n", ["no preset 'none'"]),
    ],
)
def test_a_bad_recipe_is_one_sentence(text: str, words: list[str], tmp_path: Path) -> None:
    sentence = refusal("--model", "m", "--config", recipe(tmp_path, text))
    for word in words:
        assert word in sentence


def test_a_recipe_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in refusal("--config", str(tmp_path / "bad.toml"))


def test_a_recipe_may_begin_with_a_mark_of_its_byte_order(tmp_path: Path) -> None:
    """Some editors write one."""
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbfrate = 0.5\n")
    assert read_recipe(str(tmp_path / "marked.toml")) == {"rate": 0.5}


def test_a_recipe_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(path: Path, **_: str) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    file = recipe(tmp_path, "rate = 0.5")
    monkeypatch.setattr(Path, "read_text", refuses)
    assert "cannot be read (Permission denied)" in refusal("--config", file)


def test_a_recipe_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "mine.toml").write_text("rate = 4.0\n")
    assert read("--config", "mine").rate == 4.0
    assert find_recipe("mine.toml") == Path("recipes/mine.toml")
    assert "mine" in refusal("--config", "yours")


def test_help_shows_the_settings_of_the_chosen_class(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        JOB.read(["--connection.solver", "Careful", "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    assert "--connection.solver {Quick,Careful,Twice}" in shown
    assert "--connection.solver.norm {sum,mean}" in shown
    assert "--connection.solver.steps" not in shown
    assert "0.002 % each step" in shown
    assert "(required)" in shown


def test_help_tells_a_part_that_is_off_from_one_that_is_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["train", "--help"])
    off = capsys.readouterr().out
    main(["train", "--canonical.rounds", "3", "--help"])
    on = capsys.readouterr().out
    assert "rounds" in off.partition("not used unless")[2]
    assert off.count("not used unless") == on.count("not used unless") + 1


def test_help_stays_within_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    with pytest.raises(SystemExit):
        JOB.read(["--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50
