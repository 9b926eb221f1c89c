"""Recipes of one name on several encoders: no mean is taken over models that are not alike."""

from dataclasses import replace
from pathlib import Path

import report_records as made

from holdfast.record import Found, RunRecord
from holdfast.report import report
from holdfast.report.comparisons import reference_model
from holdfast.report.encoders import named_by_encoder


def on(encoder: str, record: RunRecord) -> RunRecord:
    """Return the same of another pre-trained model."""
    if record.kind == "evaluation":
        return replace(record, training={**(record.training or {}), "model": encoder})
    return replace(record, config={**record.config, "model": encoder})


def found(*records: RunRecord) -> Found:
    return Found(tuple((Path(f"{n}.json"), one) for n, one in enumerate(records)), ())


def names(*records: RunRecord) -> list[str]:
    return [record.model for _, record in named_by_encoder(found(*records)).records]


def test_a_name_on_two_encoders_is_two_models():
    plain, rift = made.clean_record("plain", 0, 50, 0.9), made.clean_record("rift", 0, 50, 0.9)
    told = names(on("models/e5-small", plain), on("org/minilm", plain), on("org/minilm", rift))
    assert told == ["plain, e5-small", "plain, minilm", "rift"]


def test_a_training_goes_with_its_evaluation():
    trained, measured = made.training_record("plain", 0), made.clean_record("plain", 0, 50, 0.9)
    pair = [on("a/one", trained), on("a/one", measured), on("b/two/", trained)]
    assert names(*pair) == ["plain, one", "plain, one", "plain, two"]


def test_one_encoder_in_two_places_and_a_model_that_names_none_keep_the_name():
    plain = made.clean_record("plain", 0, 50, 0.9)
    same = [on("here/one", plain), on("there\\one", plain), replace(plain, training=None)]
    assert names(*same) == ["plain"] * 3


def test_the_others_are_compared_with_a_plain_one_as_before():
    models = ["rift, one", "plain, one", "plain, two"]
    assert reference_model(models) == "plain, one"


def test_the_page_has_a_row_for_each():
    plain = made.clean_record("plain", 0, 50, 0.9)
    page = report(found(on("a/one", plain), on("a/two", plain))).markdown()
    assert "| plain, one" in page
    assert "| plain, two" in page
    assert "stands for several configurations" not in page
