"""A model is used as it was trained: canonical text and word-level reading stay with it."""

import json

import pytest
import train_tiny as tiny

from holdfast import cli
from holdfast.errors import InputError
from holdfast.text import Canonical, Substitutions, Wording
from holdfast.text.settings import TextSettings
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune

LEXICON = {"fine": ["great"], "dull": ["cold"], "film": ["story"]}


def trained(folder, **changes):
    tiny.write_checkpoint(folder / "model")
    tiny.write_csv(folder / "data.csv", 40)
    (folder / "lexicon.json").write_text(json.dumps(LEXICON))
    mode = changes.pop("mode", "aligned")
    config = TrainConfig(
        str(folder / "model"),
        folder / "run",
        DataConfig(file=folder / "data.csv", max_length=16),
        optimisation=Optimisation(learning_rate=1e-2, batch_size=8, epochs=1),
        substitutions=Substitutions(lexicon=folder / "lexicon.json", mode=mode),
        **changes,
    )
    return fine_tune(config, progress=False).model


def predictions(model, capsys, *texts):
    assert cli.main(["predict", "--model", str(model), "--json", *texts]) == 0
    return [json.loads(line)["probabilities"] for line in capsys.readouterr().out.splitlines()]


def test_predict_cannot_tell_substitutes_apart_on_canonical_text(tmp_path, capsys):
    model = trained(tmp_path, canonical=Canonical(rounds=2))
    one, other, far = predictions(model, capsys, "a fine film", "a great story", "a dull film")
    assert one == other
    assert one != far
    (model / "canonical.json").unlink()
    one, other = predictions(model, capsys, "a fine film", "a great story")
    assert one != other


def test_predict_reads_word_by_word_what_was_trained_so(tmp_path, capsys):
    pytest.importorskip("nltk")
    model = trained(tmp_path, mode="word_level")
    one, other = predictions(model, capsys, "a film<br />was warm", "a film was warm")
    assert one == other


def test_the_note_says_what_is_wrong_with_it(tmp_path):
    TextSettings(32, "word_level").save(tmp_path)
    assert Wording.load(tmp_path) == Wording(TextSettings(32, "word_level"))
    (tmp_path / "text.json").write_text('{"format": 9}')
    with pytest.raises(InputError, match="format 9"):
        TextSettings.load(tmp_path)
    (tmp_path / "text.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        TextSettings.load(tmp_path)
    (tmp_path / "text.json").unlink()
    assert Wording.load(tmp_path) == Wording()
