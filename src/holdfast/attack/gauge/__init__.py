"""What a white-box search can measure inside a model: one gauge a file.

Texts are measured one at a time: the shapes of all arrays then depend on the text alone, and
what is found does not depend on which other examples are under attack.
"""

from holdfast.attack.gauge.first_order import FirstOrder
from holdfast.attack.gauge.hull_weights import HullWeights

__all__ = ["FirstOrder", "HullWeights"]
