"""Several processes attack together: those of a launcher, and the workers of one of them."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import attack_aids as aids
import attack_two_processes
import pytest
import text_tokenizers as kinds
import train_process  # noqa: F401  (what the processes are forked from)
from attack_tiny import labelled, model, sentences, victim
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from holdfast import cli
from holdfast.attack import (
    AnyOf,
    Attack,
    Beam,
    LanguageModel,
    MaskedWords,
    ModelFolder,
    Neighbours,
    SentenceSimilarity,
    recipes,
    run_attack,
    verify,
)
from holdfast.attack.machine import ANY_MACHINE
from holdfast.errors import InputError

# ranks ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder in which two processes have attacked a checkpoint together."""
    root, tokenizer = tmp_path_factory.mktemp("attacked"), kinds.wordpiece()
    model(tokenizer).save_pretrained(root / "model")
    tokenizer.save_pretrained(root / "model")
    (root / "lexicon.json").write_text(kinds.LEXICON.json())
    data = labelled(victim(tokenizer), sentences(11))  # which two cannot share evenly
    lines = [json.dumps({"text": e.texts[0], "label": e.label}) for e in data]
    (root / "data.jsonl").write_text("\n".join(lines))
    launch = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id="attack",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="forkserver",
        logs_specs=DefaultLogsSpecs(log_dir=str(root / "logs"), redirects=Std.ALL),
    )
    elastic_launch(launch, attack_two_processes.main)(command(root, "two.jsonl"))
    return root


def command(root: Path, output: str) -> list[str]:
    given = {"model": "model", "lexicon": "lexicon.json", "file": "data.jsonl", "output": output}
    paths = [word for name, path in given.items() for word in (f"--{name}", str(root / path))]
    return ["attack", *paths, "--attack", "genetic_jia"]


def test_two_processes_write_the_file_of_one(root: Path) -> None:
    assert cli.main(command(root, "one.jsonl")) == 0
    one = (root / "one.jsonl").read_bytes()
    assert (root / "two.jsonl").read_bytes() == one
    statuses = [json.loads(line)["status"] for line in one.splitlines()[1:]]
    assert len(statuses) == 11
    assert {"succeeded", "skipped"} <= set(statuses)


def test_nothing_is_left_beside_the_file(root: Path) -> None:
    assert not list(root.glob(".two.jsonl*"))


def test_only_the_first_process_prints(root: Path) -> None:
    printed = {path.parent.name: path.read_text() for path in (root / "logs").rglob("stdout.log")}
    assert "accuracy under attack" in printed["0"]
    assert printed["1"] == ""


# workers --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def helped(tmp_path_factory) -> dict[str, Attack]:
    """Attacks that ask models of their own."""
    folder = tmp_path_factory.mktemp("helpers")
    for make in (aids.encoder, aids.causal, aids.masked):
        make(folder / make.__name__)
    models = {name: ModelFolder.of(folder / name) for name in ("encoder", "causal", "masked")}
    plain = Attack("helped", Beam(1), Neighbours(kinds.LEXICON))
    similar, likely = SentenceSimilarity(models["encoder"], 0.1), LanguageModel(models["causal"])
    masked = AnyOf((plain.transformation, MaskedWords(models["masked"], limit=4)))
    return {
        "encoder": dataclasses.replace(plain, text_constraints=(similar,)),
        "causal": dataclasses.replace(plain, word_constraints=(likely,)),
        "masked": dataclasses.replace(plain, transformation=masked),
    }


HELPERS = ("encoder", "causal", "masked")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a GPU."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)


@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.usefixtures("gpu")
def test_models_of_an_attack_cannot_be_on_a_gpu_in_workers(name: str, helped) -> None:
    with pytest.raises(InputError, match=rf"models of its own \({name}\).*leave workers at 0"):
        run_attack(helped[name], victim(kinds.wordpiece()), [], seed=0, workers=2)


@pytest.mark.usefixtures("gpu")
def test_an_attack_without_models_has_workers_beside_a_gpu() -> None:
    found = victim(kinds.wordpiece())
    assert list(run_attack(recipes.pwws_rift(kinds.LEXICON), found, [], seed=0, workers=1)) == []


@pytest.mark.parametrize("name", HELPERS)
def test_without_a_gpu_workers_run_them(name: str, helped) -> None:
    found = victim(kinds.wordpiece())
    data = labelled(found, sentences(3))
    alone, apart = (
        sorted(run_attack(helped[name], found, data, seed=0, workers=n), key=lambda o: o.id)
        for n in (0, 1)
    )
    assert alone == apart
    verify(helped[name], found, apart, data)


@pytest.mark.parametrize("recipe", [recipes.hotflip, recipes.hull])
def test_workers_have_no_gradient(recipe) -> None:
    with pytest.raises(InputError, match=r"gradient.*leave workers at 0"):
        run_attack(recipe(kinds.LEXICON), victim(kinds.wordpiece()), [], seed=0, workers=1)


def test_workers_are_chosen_where_they_can_help(helped, monkeypatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    on_gpu = SimpleNamespace(model=SimpleNamespace(device=SimpleNamespace(type="cuda")))
    lonely = [*helped.values(), recipes.hotflip(kinds.LEXICON), recipes.hull(kinds.LEXICON)]
    assert [ANY_MACHINE.settled(attack, on_gpu) for attack in lonely] == [(256, 0)] * 5
    assert ANY_MACHINE.settled(recipes.pwws_rift(kinds.LEXICON), on_gpu) == (4096, 2)
