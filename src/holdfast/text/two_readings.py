"""Two readings of a text, in canonical form and in its own words, and one answer.

p(y | x) = trust * p(y | canonical(x)) + (1 - trust) * p(y | x). Probabilities are mixed, not
logits: however sure the model is of a text's own words, they weigh 1 - trust and no more. So where
p(y | canonical(x)) > 1 / (2 trust), no text with the same canonical form is answered otherwise.
"""

import numpy as np
from numpy.typing import NDArray

LogProbabilities = NDArray[np.float64]


def blended(canonical: LogProbabilities, own: LogProbabilities, trust: float) -> LogProbabilities:
    """Return the log-probabilities of the mixture."""
    answer: LogProbabilities = np.logaddexp(canonical + np.log(trust), own + np.log1p(-trust))
    return answer
