"""What is compared with what: the same examples, the same attack, by the metric of its kind."""

from dataclasses import replace
from typing import Any

from holdfast.evaluate.comparing import findings, grouped, is_advglue, pooled, unmatched
from holdfast.record import Metric, RunRecord

GOOD, BAD = "1" * 60 + "0" * 40, "0" * 100


def record(model: str, settings: str | None = None, seed: int = 0, **marks: str) -> RunRecord:
    """A record under an attack with these settings; none: a checksum is missing."""
    known = {"data": "d", "model": f"{model} {seed}"}
    checksums = known if settings is None else {**known, "attack": settings}
    metrics = tuple(Metric(name, of.count("1") / len(of)) for name, of in marks.items())
    fields: dict[str, Any] = {"attack": "pwws", "metrics": metrics, "marks": marks}
    return RunRecord("evaluation", model, "sst2", seed, {}, checksums=checksums, **fields)


def under(model: str, marks: str, settings: str | None = None, seed: int = 0) -> RunRecord:
    return record(model, settings, seed, accuracy=GOOD, accuracy_under_attack=marks)


def test_attacks_with_other_settings_are_not_compared() -> None:
    records = [under("plain", BAD, "large"), under("mine", GOOD, "small")]
    assert findings(records, "plain") == []
    assert [group.settings for group in grouped(records)] == ["large", "small"]
    assert unmatched(records, "plain") == [
        "sst2, pwws (settings small): mine was attacked with other settings or files than plain, "
        "so the two are not compared."
    ]
    assert len(findings([records[0], under("mine", GOOD, "large")], "plain")) == 1


def test_trainings_are_compared_under_the_settings_that_they_share() -> None:
    records = [
        under(model, marks, settings, seed)
        for model, marks in (("plain", BAD), ("mine", GOOD))
        for seed, settings in enumerate(("large", "large", "small"))
    ]
    found = findings(records, "plain")
    assert [(one.group.settings, one.comparison.seeds) for one in found] == [
        ("large", 2),
        ("small", 1),
    ]
    assert found[0].sentence().startswith("sst2, pwws (settings large): mine is better")
    assert unmatched(records, "plain") == []


def test_a_record_without_the_checksum_is_compared_by_the_name_of_its_attack() -> None:
    early, late = under("plain", BAD), under("mine", GOOD, "large")
    assert [one.group.title for one in findings([early, late], "plain")] == ["sst2, pwws"]
    assert findings([early, late, under("third", GOOD, "small")], "plain") == []


def test_a_record_of_now_and_one_of_before_met_the_attack_that_their_checksums_say() -> None:
    def sealed(model: str, settings: str) -> RunRecord:
        one = under(model, GOOD, settings)
        return replace(one, checksums={**one.checksums, "outcomes": "its own"})

    before = under("plain", BAD, "large")
    assert findings([before, sealed("mine", "small")], "plain") == []
    assert len(findings([before, sealed("mine", "large")], "plain")) == 1


def test_other_examples_are_told_from_other_settings() -> None:
    plain, mine = under("plain", BAD, "large"), under("mine", GOOD, "large")
    moved = replace(mine, checksums={**mine.checksums, "data": "others"})
    (told,) = unmatched([plain, moved], "plain")
    assert told == (
        "sst2, pwws: mine was measured on other examples than plain, so the two are not compared."
    )


def test_a_record_without_marks_is_left_out_and_changes_no_metric() -> None:
    plain, mine = under("plain", GOOD), under("mine", BAD)
    lacking = record("third", accuracy="1" * 100)
    alone, beside = findings([plain, mine], "plain"), findings([plain, mine, lacking], "plain")
    assert alone == [replace(one, group=alone[0].group) for one in beside]
    assert [(one.metric, one.comparison.first) for one in beside] == [
        ("accuracy_under_attack", "mine")
    ]
    assert findings([lacking, mine], "third") == []  # there is nothing to compare with
    seeds = [under("mine", BAD), record("mine", seed=1, accuracy=GOOD)]
    assert findings([plain, *seeds], "plain")[0].comparison.seeds == 1


def test_under_an_attack_no_model_is_compared_by_what_it_was_before() -> None:
    assert findings([record("plain", accuracy=GOOD), record("mine", accuracy=BAD)], "plain") == []


def test_without_an_attack_advglue_has_its_own_metric() -> None:
    def row(model: str, **marks: str) -> RunRecord:
        return replace(record(model, **marks), attack=None, task="advglue/sst2")

    rows = [row(m, accuracy=GOOD, paired_accuracy=of) for m, of in (("plain", BAD), ("a", GOOD))]
    found = findings([*rows, row("b", accuracy=GOOD)], "plain")
    assert [(one.metric, one.comparison.first) for one in found] == [("paired_accuracy", "a")]
    early = [row("plain", accuracy=BAD), row("a", accuracy=GOOD)]
    assert [one.metric for one in findings(early, "plain")] == ["accuracy"]


def test_attacks_with_other_settings_have_no_number_together() -> None:
    both = [under("mine", GOOD, "large"), under("mine", BAD, "small")]
    assert pooled(both, "accuracy_under_attack") is None
    assert pooled(both[:1], "accuracy_under_attack").value == 0.6
    assert pooled(both, "accuracy").value == 0.6


def test_a_file_called_like_advglue_is_a_file() -> None:
    """Its accuracy is shown as that of any other."""
    assert [name for name in ("advglue", "advglue/sst2", "advglue_mine") if is_advglue(name)] == [
        "advglue",
        "advglue/sst2",
    ]
