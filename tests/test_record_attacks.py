"""Which attacks are the same: a name may stand for several, and a checksum may be missing."""

from holdfast.record import RunRecord
from holdfast.record.attacks import (
    UNKNOWN,
    attack_checksum,
    named_apart,
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


def test_checksums_tell_attacks_apart_whoever_made_the_records() -> None:
    """Those of now have one of their outcomes, too, which the published ones have not."""
    published = record("a")
    same, other = (record(name, outcomes="file") for name in "ab")
    assert settings_apart([published, same]) == ["", ""]
    assert settings_apart([published, other]) == ["aaaaaa", "bbbbbb"]


def test_the_checksum_is_that_of_all_settings_in_any_order() -> None:
    one = attack_checksum([{"name": "pwws", "most": 3}])
    assert attack_checksum(iter([{"most": 3, "name": "pwws"}])) == one
    assert attack_checksum([{"name": "pwws", "most": 4}]) != one
    assert len(one) == 64


def test_without_an_attack_there_are_no_settings() -> None:
    assert settings_apart([record("a", None), record("b", None)]) == ["", ""]


def test_records_are_named_by_the_settings_where_a_name_is_not_enough() -> None:
    large, small, other = record("a"), record("b"), record("c", "textfooler")
    named = named_apart([large, small, other])
    assert [one.attack for one in named] == [
        *("pwws (settings aaaaaa)", "pwws (settings bbbbbb)", "textfooler")
    ]
    assert named_apart(named) == named  # once is enough
    assert named_apart([large, other]) == [large, other]


def test_a_name_and_its_settings_can_be_taken_apart_again() -> None:
    name = with_settings("pwws to class 1", "aaaaaa")
    assert name == "pwws to class 1 (settings aaaaaa)"
    assert (without_settings(name), settings_in(name)) == ("pwws to class 1", "aaaaaa")
    assert (without_settings("pwws"), settings_in("pwws")) == ("pwws", "")
    assert (without_settings(None), settings_in(None)) == (None, "")
    assert with_settings("pwws", "") == "pwws"
