"""Saving and loading: a plain checkpoint that anyone can read, and a small file beside it."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from families import NAMES, batch, classifier
from transformers import AutoModel, AutoModelForSequenceClassification

from holdfast.errors import InputError
from holdfast.implicit import (
    PRESETS,
    Connection,
    Explicit,
    Theta,
    connect,
    connected,
    im_bert,
    load,
    recommended,
    save,
)
from holdfast.implicit.checkpoint import (
    note_connection,
    read_connection,
    require_safetensors,
    write_connection,
)
from holdfast.solve import Anderson, Broyden, Descent, ImplicitFunction, Unrolled

PAST = Path(__file__).parent / "data_files" / "connection-format-1.json"
INPUTS = batch((7, 12, 4))


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def saved(folder: Path, connection: Connection | None = recommended, family: str = "bert") -> Path:
    model = classifier(family)
    if connection is not None:
        connect(model, connection)
    save(model, folder)
    return folder


def rewrite(folder: Path, **changes: Any) -> Path:
    file = folder / "connection.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return folder


@pytest.mark.parametrize("family", NAMES)
def test_a_checkpoint_is_plain_and_loads_connected(tmp_path: Path, family: str) -> None:
    model = classifier(family)
    plain, settings = model(**INPUTS).logits, model.config.to_dict()
    handle = connect(model, recommended)
    wanted = model(**INPUTS).logits
    save(model, tmp_path)
    attention = {"attn_implementation": "eager"}
    ordinary = AutoModelForSequenceClassification.from_pretrained(tmp_path, **attention).eval()
    assert connected(ordinary) is None
    assert torch.equal(ordinary(**INPUTS).logits, plain)
    assert ordinary.config.use_cache == settings["use_cache"] if "use_cache" in settings else True
    again = load(tmp_path).eval()
    assert connected(again).connection == handle.connection
    torch.testing.assert_close(again(**INPUTS).logits, wanted, rtol=0, atol=1e-5)
    again.set_attn_implementation("eager")
    assert torch.equal(again(**INPUTS).logits, wanted)
    connected(again).remove()
    assert torch.equal(again(**INPUTS).logits, plain)


@pytest.mark.parametrize("preset", ["ex_bert", "im_bert", "recommended"])
def test_presets_come_back(tmp_path: Path, preset: str) -> None:
    assert connected(load(saved(tmp_path, PRESETS[preset]))).connection == PRESETS[preset]


def test_what_stands_in_the_file(tmp_path: Path) -> None:
    content = json.loads((saved(tmp_path) / "connection.json").read_text())
    assert set(content) == {"format", "holdfast", "commit", "connection"}
    assert content["format"] == 1
    assert isinstance(content["holdfast"], str)
    assert content["commit"] is None or len(content["commit"]) == 40


def test_weights_are_safetensors_under_their_usual_names(tmp_path: Path) -> None:
    saved(tmp_path / "plain", None)
    saved(tmp_path / "connected")
    names = [{file.name for file in (tmp_path / x).iterdir()} for x in ("plain", "connected")]
    assert names[1] - names[0] == {"connection.json"}
    for name in names[0]:
        assert (tmp_path / "plain" / name).read_bytes() == (
            tmp_path / "connected" / name
        ).read_bytes()


def test_a_plain_model_loads_plain_and_takes_an_old_connection_away(tmp_path: Path) -> None:
    saved(tmp_path)
    saved(tmp_path, None)
    assert not (tmp_path / "connection.json").exists()
    assert connected(load(tmp_path)) is None


def test_a_body_without_a_head(tmp_path: Path) -> None:
    model = classifier("bert").bert
    connect(model, recommended)
    save(model, tmp_path)
    again = load(tmp_path, auto_class=AutoModel)
    assert connected(again).layers == (1, 2, 3)


@pytest.mark.parametrize("part", ["body", "whole"])
def test_a_connection_is_found_with_and_without_the_head(tmp_path: Path, part: str) -> None:
    model = classifier("bert")
    handle = connect(model.bert if part == "body" else model, recommended)
    assert connected(model) is connected(model.bert) is handle
    save(model, tmp_path)
    assert connected(load(tmp_path)).connection == recommended
    copied = copy.deepcopy(model)
    assert connected(copied) is connected(copied.bert) is not handle
    handle.remove()
    assert connected(model) is connected(model.bert) is None
    assert connected(copied) is not None
    connect(model, recommended)


def test_the_note_follows_the_model(tmp_path: Path) -> None:
    """As a trainer writes it beside weights that it saved itself."""
    model = classifier("bert")
    note_connection(model, tmp_path)
    assert list(tmp_path.iterdir()) == []
    with connect(model, recommended):
        note_connection(model, tmp_path)
        assert read_connection(tmp_path) == recommended
    with connect(model, im_bert):
        note_connection(model, tmp_path)
        assert read_connection(tmp_path) == im_bert
    note_connection(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_note_cut_short_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_connection(im_bert, tmp_path)

    def full(file: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)  # the draft is written, and does not reach the disk
    with pytest.raises(OSError, match="No space left"):
        write_connection(recommended, tmp_path)
    assert read_connection(tmp_path) == im_bert


def test_a_file_of_the_past_stays_readable(tmp_path: Path) -> None:
    saved(tmp_path, None)
    shutil.copy(PAST, tmp_path / "connection.json")
    model = load(tmp_path)
    assert connected(model).connection == Connection(
        layers="2-3",
        scheme=Theta(0.5),
        solver=Anderson(max_steps=8, tolerance=1e-2, memory=4),
        gradient=ImplicitFunction(Broyden(max_steps=12, tolerance=1e-3, memory=8)),
        on_failure="keep",
    )
    assert bool(model.eval()(**INPUTS).logits.isfinite().all())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": 2}, r"has format 2 and this version of Holdfast reads 1; install the version"),
        ({"format": None}, r"has format None"),
        ({"connection": {"layer": "all"}}, r"connection\.json has no setting layer; Connection"),
        ({"connection": {"solver": {"type": "Newton"}}}, r"solver has type 'Newton'"),
        ({"connection": {"layers": "4-6"}}, r"Layer 4 does not exist: the model has layers 1 to 3"),
        ({"connection": []}, r"expected the fields of Connection"),
    ],
)
def test_a_connection_that_cannot_be_read(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        load(rewrite(saved(tmp_path), **changes))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", r"connection\.json is not valid JSON"),
        (b"", r"connection\.json is not valid JSON"),
        (b"\xff\xfe\x00", r"connection\.json is not valid JSON"),
        (b"[1, 2]", r"connection\.json describes no connection"),
        (b'{"format": 1}', r"connection\.json describes no connection"),
    ],
)
def test_a_file_that_is_no_connection(tmp_path: Path, content: bytes, sentence: str) -> None:
    (saved(tmp_path) / "connection.json").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        load(tmp_path)


def test_pickled_weights_are_never_loaded(tmp_path: Path) -> None:
    (saved(tmp_path) / "model.safetensors").unlink()
    torch.save(classifier("bert").state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"no \.safetensors file.*pickled weights are never"):
        load(tmp_path)


def test_a_pickle_under_another_name_is_not_loaded_either(tmp_path: Path) -> None:
    torch.save(classifier("bert").state_dict(), saved(tmp_path) / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors"):
        load(tmp_path)


def test_a_file_cut_short_is_told(tmp_path: Path) -> None:
    file = saved(tmp_path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"model\.safetensors is damaged"):
        load(tmp_path)


def test_a_model_may_be_saved_where_it_came_from(tmp_path: Path) -> None:
    """Its weights are still read from the file that is being replaced."""
    model = load(saved(tmp_path)).eval()
    save(model, tmp_path)
    assert torch.equal(load(tmp_path).eval()(**INPUTS).logits, model(**INPUTS).logits)


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no checkpoint folder .*nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no config\.json"):
        load(tmp_path)


def test_connections_without_a_solver_in_use_come_back(tmp_path: Path) -> None:
    connection = Connection(layers=(1, 3), scheme=Explicit(0.5))
    assert connected(load(saved(tmp_path, connection))).connection == connection
    assert connected(load(saved(tmp_path, im_bert))).connection == im_bert


def test_the_preset_of_the_plain_model_is_no_connection() -> None:
    with pytest.raises(InputError, match="use the model as it is"):
        connect(classifier("bert"), PRESETS["bert"])


def test_the_folder_of_a_run_stands_for_its_model(tmp_path):
    model = classifier("bert")
    model.save_pretrained(tmp_path / "run" / "model")
    (tmp_path / "run" / "config.json").write_text("{}")  # of the run
    loaded = load(tmp_path / "run").state_dict()
    assert all(torch.equal(loaded[name], weight) for name, weight in model.state_dict().items())
    with pytest.raises(InputError, match=r"folder of a run; give its model, .*run/model"):
        require_safetensors(tmp_path / "run")


def test_a_model_of_canonical_text_warns_that_texts_must_be_rewritten(tmp_path, caplog):
    save(classifier("bert"), tmp_path)
    (tmp_path / "canonical.json").write_text("{}")
    load(tmp_path)
    assert "canonical text" in caplog.text


def test_a_connection_that_differentiates_twice_comes_back(tmp_path: Path) -> None:
    twice = Connection(solver=Descent(2), gradient=Unrolled(), on_failure="keep")
    model = classifier("bert", attention="eager")
    connect(model, twice)
    save(model, tmp_path)
    with torch.enable_grad():
        again = load(tmp_path)
        assert torch.equal(again.eval()(**INPUTS).logits, model.eval()(**INPUTS).logits)
        again(**INPUTS, labels=torch.tensor([0, 1, 1])).loss.backward()
    handle = connected(again)
    assert handle is not None
    assert handle.connection == twice
