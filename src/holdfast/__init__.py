"""Holdfast: language models that hold fast under adversarial text.

The public names are imported when they are first used, so that `import holdfast` (and with it
`holdfast --help`) does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.errors import HoldfastError, InputError, RunFailed
    from holdfast.implicit import (
        PRESETS,
        Connected,
        Connection,
        Explicit,
        ImplicitEuler,
        Theta,
        bert,
        connect,
        connected,
        ex_bert,
        im_bert,
        load,
        recommended,
        save,
    )
    from holdfast.objectives import Loss, Objective, Standard
    from holdfast.solve import (
        Anderson,
        Broyden,
        Descent,
        Detached,
        FixedPoint,
        ImplicitFunction,
        Phantom,
        Solution,
        Unrolled,
    )
    from holdfast.train import RobustTrainer, TrainConfig, fine_tune

    __version__: str

__all__ = [
    "PRESETS",
    "Anderson",
    "Broyden",
    "Connected",
    "Connection",
    "Descent",
    "Detached",
    "Explicit",
    "FixedPoint",
    "HoldfastError",
    "ImplicitEuler",
    "ImplicitFunction",
    "InputError",
    "Loss",
    "Objective",
    "Phantom",
    "RobustTrainer",
    "RunFailed",
    "Solution",
    "Standard",
    "Theta",
    "TrainConfig",
    "Unrolled",
    "__version__",
    "bert",
    "connect",
    "connected",
    "ex_bert",
    "fine_tune",
    "im_bert",
    "load",
    "recommended",
    "save",
]

_EXPORTS = {
    "holdfast.errors": "HoldfastError InputError RunFailed",
    "holdfast.solve": "FixedPoint Anderson Broyden Descent Solution "
    "Unrolled Detached Phantom ImplicitFunction",
    "holdfast.implicit": "Connection Connected Explicit ImplicitEuler Theta connect connected "
    "save load PRESETS bert ex_bert im_bert recommended",
    "holdfast.objectives": "Loss Objective Standard",
    "holdfast.train": "RobustTrainer TrainConfig fine_tune",
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("holdfast.record").version()
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
