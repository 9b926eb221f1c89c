"""What a reproduction would do, before anything is run."""

from dataclasses import asdict, dataclass
from typing import Any

from holdfast.reproduce.cell import distinct
from holdfast.reproduce.differences import differences
from holdfast.reproduce.recipe import Reproduction
from holdfast.reproduce.run import title
from holdfast.reproduce.setting import Setting


@dataclass(frozen=True)
class Explanation:
    """The cells that would be run, and where they would not be the paper's."""

    reproduction: Reproduction
    budget: str
    cells: tuple[str, ...]
    differences: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """Return it as plain values."""
        recipe = self.reproduction
        return {
            "reproduction": recipe.name,
            "about": recipe.about,
            "protocol": " ".join(recipe.protocol.split()),
            "choices": [asdict(choice) for choice in recipe.choices],
            "claims": list(recipe.published.claims),
            "differences": list(self.differences),
            "budget": self.budget,
            "cells": list(self.cells),
        }


def explanation(recipe: Reproduction, setting: Setting) -> Explanation:
    """Return what a reproduction would do with a setting; each training is there once."""
    cells = distinct(recipe.cells(setting))
    found = differences(recipe, setting, cells)
    return Explanation(recipe, setting.budget.name, tuple(map(title, cells)), tuple(found))
