"""Holdfast: language models that hold fast under adversarial text.

The public names are imported when they are first used, so that `import holdfast` (and with it
`holdfast --help`) does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.adversary import ConvexHull, L2Ball, LinfBall
    from holdfast.anchors import Mixout, PretrainedDecay, RecAdam
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
    from holdfast.objectives import (
        R3F,
        R4F,
        Adversarial,
        CreAT,
        FreeLB,
        InfoBERT,
        Informative,
        Loss,
        Objective,
        Rift,
        Smart,
        Standard,
    )
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
    from holdfast.text import Canonical, Lexicon, Substitutions, find_lexicon, read_lexicon
    from holdfast.train import RobustTrainer, TrainConfig, fine_tune
    from holdfast.victim import TextClassifier

    __version__: str

__all__ = [
    "PRESETS",
    "R3F",
    "R4F",
    "Adversarial",
    "Anderson",
    "Broyden",
    "Canonical",
    "Connected",
    "Connection",
    "ConvexHull",
    "CreAT",
    "Descent",
    "Detached",
    "Explicit",
    "FixedPoint",
    "FreeLB",
    "HoldfastError",
    "ImplicitEuler",
    "ImplicitFunction",
    "InfoBERT",
    "Informative",
    "InputError",
    "L2Ball",
    "Lexicon",
    "LinfBall",
    "Loss",
    "Mixout",
    "Objective",
    "Phantom",
    "PretrainedDecay",
    "RecAdam",
    "Rift",
    "RobustTrainer",
    "RunFailed",
    "Smart",
    "Solution",
    "Standard",
    "Substitutions",
    "TextClassifier",
    "Theta",
    "TrainConfig",
    "Unrolled",
    "__version__",
    "bert",
    "connect",
    "connected",
    "ex_bert",
    "find_lexicon",
    "fine_tune",
    "im_bert",
    "load",
    "read_lexicon",
    "recommended",
    "save",
]

_EXPORTS = {
    "holdfast.errors": "HoldfastError InputError RunFailed",
    "holdfast.solve": "FixedPoint Anderson Broyden Descent Solution "
    "Unrolled Detached Phantom ImplicitFunction",
    "holdfast.implicit": "Connection Connected Explicit ImplicitEuler Theta connect connected "
    "save load PRESETS bert ex_bert im_bert recommended",
    "holdfast.adversary": "ConvexHull L2Ball LinfBall",
    "holdfast.objectives": "Loss Objective Standard Informative Adversarial Rift FreeLB Smart "
    "R3F R4F CreAT InfoBERT",
    "holdfast.anchors": "PretrainedDecay Mixout RecAdam",
    "holdfast.text": "Canonical Lexicon Substitutions find_lexicon read_lexicon",
    "holdfast.train": "RobustTrainer TrainConfig fine_tune",
    "holdfast.victim": "TextClassifier",
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
