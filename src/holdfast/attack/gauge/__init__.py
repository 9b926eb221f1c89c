"""What a white-box search can measure inside a model: one gauge a file.

Texts are measured one at a time, or on a GPU some at once: the shapes of all arrays depend on the
text alone (see `rows`), and what is found does not depend on which other examples are under attack.
"""

from holdfast.attack.gauge.first_order import FirstOrder
from holdfast.attack.gauge.hull_weights import HullWeights

__all__ = ["FirstOrder", "HullWeights"]
