"""To TextAttack and back: victims as its models, its logs as outcomes.

TextAttack is no dependency: only `model_wrapper` needs it, and says so where it is missing.
"""

from holdfast.attack.bridge.answers import verify_answers
from holdfast.attack.bridge.log import read_textattack_log
from holdfast.attack.bridge.wrapper import model_wrapper
from holdfast.attack.bridge.written import write_outcomes

__all__ = ["model_wrapper", "read_textattack_log", "verify_answers", "write_outcomes"]
