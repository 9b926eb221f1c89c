"""What a loaded classifier refuses before it is trained."""

import pytest
from families import classifier

from holdfast.errors import InputError
from holdfast.train.loading import Classifier


def loaded(family: str, **changes: int) -> Classifier:
    return Classifier(classifier(family, **changes), tokenizer=None, new_weights=())


def test_checkpointing_is_refused_where_the_architecture_has_none() -> None:
    with pytest.raises(InputError, match=r"'mpnet' have no gradient checkpointing; leave optimi"):
        loaded("mpnet").check_checkpointing(True)
    loaded("mpnet").check_checkpointing(False)
    loaded("bert").check_checkpointing(True)


def test_texts_may_be_as_long_as_the_positions_reach() -> None:
    roberta = loaded("roberta", max_position_embeddings=16)
    roberta.check_length(15)
    with pytest.raises(InputError, match=r"16 tokens and the model reads at most 15"):
        roberta.check_length(16)
    loaded("t5").check_length(10_000)
