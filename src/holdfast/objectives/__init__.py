"""Training objectives: one loss per file; each yields what is to be differentiated."""

from holdfast.objectives.objective import Batch, Loss, Objective, inputs_of
from holdfast.objectives.standard import Standard

__all__ = ["Batch", "Loss", "Objective", "Standard", "inputs_of"]
