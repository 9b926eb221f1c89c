"""What every objective with a norm ball has to do, whatever its formula."""

import pytest
from families import classifier
from objective_cases import CONNECTIONS, FAMILIES
from objective_cases_balls import (
    SteadyL2,
    SteadyLinf,
    check_autocast,
    check_connected,
    check_leaves_alone,
    check_trains,
)

from holdfast.objectives import R3F, R4F, CreAT, FreeLB, InfoBERT, Smart

EVERY = [CreAT(), FreeLB(), InfoBERT(), R3F(), R4F(), Smart()]
MOVING_FAR = [  # enough for bf16 to see it
    CreAT(ball=SteadyL2(radius=0.5, step_size=0.4, begin_scale=0.02)),
    FreeLB(),
    InfoBERT(),
    R3F(epsilon=0.1),
    Smart(ball=SteadyLinf(radius=0.2, step_size=0.1, begin_scale=0.05)),
]


def name_of(objective: object) -> str:
    return type(objective).__name__


@pytest.mark.parametrize("objective", EVERY, ids=name_of)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family, objective):
    check_trains(objective, classifier(family))


@pytest.mark.parametrize("objective", EVERY, ids=name_of)
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_every_connection(connection, objective):
    check_connected(objective, connection)


@pytest.mark.parametrize("objective", EVERY, ids=name_of)
def test_the_rest_is_left_alone(objective):
    check_leaves_alone(objective)


@pytest.mark.parametrize("objective", MOVING_FAR, ids=name_of)
def test_bf16(objective):
    check_autocast(objective)
