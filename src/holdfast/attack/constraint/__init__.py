"""What a substitute, or a whole text, must keep to: one constraint a file."""

from holdfast.attack.constraint.modification_rate import ModificationRate

__all__ = ["ModificationRate"]
