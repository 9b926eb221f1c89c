"""The configuration of a run: it survives JSON, and refuses values that make no sense."""

import json
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.implicit import Connection
from holdfast.record import decode, encode
from holdfast.train import DataConfig, Optimisation, TrainConfig

DATA = DataConfig(task="sst2", folder=Path("data"))


@pytest.mark.parametrize("connection", [None, Connection(layers="1-2")])
def test_a_configuration_survives_json(connection):
    config = TrainConfig(
        "model", Path("out"), DATA, connection, optimisation=Optimisation(epochs=1)
    )
    assert decode(TrainConfig, json.loads(json.dumps(encode(config)))) == config


def test_the_defaults_are_the_papers():
    settings = Optimisation()
    assert (settings.learning_rate, settings.batch_size, settings.weight_decay) == (2e-5, 16, 0)
    assert (DATA.validation_share, DATA.max_length) == (0.2, 128)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0),
        ("batch_size", 0),
        ("epochs", 0.0),
        ("warmup", 1.0),
        ("weight_decay", -0.1),
        ("gradient_accumulation", 0),
        ("max_grad_norm", -1.0),
        ("checkpoint_every", 0),
        ("log_every", 0),
    ],
)
def test_an_optimisation_out_of_range_is_named(name, value):
    with pytest.raises(InputError, match=rf"optimisation\.{name} is out of range; expected"):
        Optimisation(**{name: value})


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_validation_share_leaves_both_parts_something(share):
    with pytest.raises(InputError, match="validation_share"):
        DataConfig(task="sst2", validation_share=share)


@pytest.mark.parametrize("given", [{}, {"task": "sst2", "file": Path("x.csv")}])
def test_data_is_a_task_or_a_file(given):
    with pytest.raises(InputError, match="exactly one"):
        DataConfig(**given)


def test_a_seed_is_one_that_every_generator_takes():
    with pytest.raises(InputError, match="seed"):
        TrainConfig("model", Path("out"), DATA, seed=-1)
