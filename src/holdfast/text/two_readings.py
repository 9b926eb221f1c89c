"""Two readings of a text, in canonical form and in its own words, and one answer.

p(y | x) = w p(y | canonical(x)) + (1 - w) p(y | x). Probabilities are mixed, not logits: however
sure the model is of a text's own words, they weigh 1 - w and no more. The weight w is the `trust`
in the canonical form. Where that `gives_way`, it has this weight only if it is sure,

    max over y of p(y | canonical(x)) > 1 / (2 trust),

and 1 - trust if it is not: then the text's own words lead. Either way an answer that the canonical
form is sure of is given to every text that has this form.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LogProbabilities = NDArray[np.float64]
"""(texts, classes)"""


@dataclass(frozen=True)
class Blend:
    """How two answers become one."""

    trust: float = 1.0
    """Weight of the canonical form that leads."""
    gives_way: bool = False
    """Whether it leads only where it is sure."""

    @property
    def sure(self) -> float:
        """The probability above which no other reading changes an answer."""
        return 1 / (2 * self.trust)

    def weights(self, canonical: LogProbabilities) -> NDArray[np.float64]:
        """Return the weight of the canonical form for each text."""
        sure = canonical.max(axis=-1) > np.log(self.sure)
        return np.where(sure | (not self.gives_way), self.trust, 1 - self.trust)

    def __call__(self, canonical: LogProbabilities, own: LogProbabilities) -> LogProbabilities:
        """Return the log-probabilities of the mixture."""
        weight = self.weights(canonical)[..., None]
        answer: LogProbabilities = np.logaddexp(canonical + np.log(weight), own + np.log1p(-weight))
        return answer
