"""What a model must be for its answers to be the classes of texts."""

from typing import Any

from holdfast.errors import InputError

_SEVERAL = "multi_label_classification"


def require_classes(config: Any, model: str = "The model") -> None:
    """Refuse a model that does not choose one of several labels; `model` is its name."""
    kind = config.problem_type
    if config.num_labels >= 2 and kind not in (_SEVERAL, "regression"):
        return
    raise InputError(
        f"{model} answers with {'several labels at once' if kind == _SEVERAL else 'a number'}, and "
        "what is labelled or attacked here is a classifier that gives one of several labels; take "
        "a model that was trained for that, as holdfast train does."
    )
