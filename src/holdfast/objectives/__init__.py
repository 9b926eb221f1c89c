"""Training objectives: one loss per file; each yields what is to be differentiated."""

from holdfast.adversary import Batch, inputs_of
from holdfast.objectives.adversarial import Adversarial
from holdfast.objectives.creat import CreAT
from holdfast.objectives.freelb import FreeLB
from holdfast.objectives.infobert import InfoBERT
from holdfast.objectives.informative import Informative
from holdfast.objectives.objective import Loss, Objective
from holdfast.objectives.r3f import R3F, R4F
from holdfast.objectives.rift import Rift
from holdfast.objectives.smart import Smart
from holdfast.objectives.standard import Standard

AnyObjective = (
    Standard | Informative | Adversarial | Rift | FreeLB | Smart | R3F | R4F | CreAT | InfoBERT
)
"""Every objective: what a configuration may name."""

__all__ = [
    "R3F",
    "R4F",
    "Adversarial",
    "AnyObjective",
    "Batch",
    "CreAT",
    "FreeLB",
    "InfoBERT",
    "Informative",
    "Loss",
    "Objective",
    "Rift",
    "Smart",
    "Standard",
    "inputs_of",
]
