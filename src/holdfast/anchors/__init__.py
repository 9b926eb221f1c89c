"""Anchors: ways to stay near the pre-trained model; each goes with every objective."""

from holdfast.anchors.anchor import AnchorLike, Attached, OptimizerChoice
from holdfast.anchors.mixout import Mixout
from holdfast.anchors.pretrained_decay import PretrainedDecay
from holdfast.anchors.recadam import RecAdam, RecAdamW
from holdfast.anchors.reference import Reference

Anchor = PretrainedDecay | Mixout | RecAdam
"""Every anchor: what a configuration may name."""

__all__ = [
    "Anchor",
    "AnchorLike",
    "Attached",
    "Mixout",
    "OptimizerChoice",
    "PretrainedDecay",
    "RecAdam",
    "RecAdamW",
    "Reference",
]
