"""Which attacks are the same: a name may stand for several, and a checksum may be missing."""

from holdfast.record import RunRecord
from holdfast.record.attacks import (
    UNKNOWN,
    settings_apart,
    settings_in,
    with_settings,
    without_settings,
)


def record(
    settings: str | None, attack: str | None = "pwws", task: str = "sst2", **checksums: str
) -> RunRecord:
    known = {} if settings is None else {"attack": settings * 64}
    return RunRecord("evaluation", "m", task, 0, {}, attack=attack, checksums=known | checksums)


def test_a_name_that_stands_for_one_attack_needs_no_settings() -> None:
    others = [record(None, None), record("b", "textfooler"), record("c", task="imdb")]
    assert settings_apart([record("a"), record("a"), *others]) == [""] * 5
    assert settings_apart([]) == []


def test_attacks_of_one_name_are_told_apart_by_their_checksums() -> None:
    large, small, elsewhere = record("a"), record("b"), record("b", task="imdb")
    assert settings_apart([large, small, large, elsewhere]) == ["aaaaaa", "bbbbbb", "aaaaaa", ""]


def test_a_record_without_a_checksum_goes_by_the_name_as_long_as_that_is_clear() -> None:
    early, large, small = record(None), record("a"), record("b")
    assert settings_apart([early, large]) == ["", ""]
    assert settings_apart([early, large, small]) == [UNKNOWN, "aaaaaa", "bbbbbb"]


def test_the_checksum_of_holdfast_attack_is_of_another_form() -> None:
    """It is of the same attack another one, so only two of the same form tell attacks apart."""
    suite = record("a")
    large, small = (record(name, outcomes="file") for name in "xy")
    assert settings_apart([suite, large]) == ["", ""]
    assert settings_apart([suite, large, small]) == ["aaaaaa", "xxxxxx", "yyyyyy"]


def test_a_name_and_its_settings_can_be_taken_apart_again() -> None:
    name = with_settings("pwws to class 1", "aaaaaa")
    assert name == "pwws to class 1 (settings aaaaaa)"
    assert (without_settings(name), settings_in(name)) == ("pwws to class 1", "aaaaaa")
    assert (without_settings("pwws"), settings_in("pwws")) == ("pwws", "")
    assert (without_settings(None), settings_in(None)) == (None, "")
    assert with_settings("pwws", "") == "pwws"
