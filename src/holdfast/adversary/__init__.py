"""Adversaries in the space of token vectors: regions, and the one loop that climbs in them."""

from holdfast.adversary.ascend import ascend, attacking
from holdfast.adversary.balls import L2Ball, LinfBall
from holdfast.adversary.batch import Batch, inputs_of, movable
from holdfast.adversary.embedded import look_up, plain, run_on, run_on_both
from holdfast.adversary.hull import ConvexHull, with_candidate_vectors
from holdfast.adversary.region import Region
from holdfast.adversary.worst import hull_predictions, worst_corner

__all__ = [
    "Batch",
    "ConvexHull",
    "L2Ball",
    "LinfBall",
    "Region",
    "ascend",
    "attacking",
    "hull_predictions",
    "inputs_of",
    "look_up",
    "movable",
    "plain",
    "run_on",
    "run_on_both",
    "with_candidate_vectors",
    "worst_corner",
]
