"""What cells read: examples, attacks, AdvGLUE's rows; each is read once, and before any model."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.attack import Attack, Material, build_attack
from holdfast.evaluate.adaptive import WHITE_BOX
from holdfast.evaluate.advglue import AdvExample, read_advglue
from holdfast.evaluate.cells import AdaptiveCell, AdvGLUECell, AttackCell, Cell, Reading
from holdfast.evaluate.drawing import Drawn, draw
from holdfast.evaluate.fitting import Labels
from holdfast.evaluate.suite import Moving

MOVING = {"last": (-1,), "first": (0,), "both": (0, -1)}
"""Which texts of an example may change, as attacks count them."""


class Supplies:
    """What was read so far; a lexicon may take seconds to build."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._attacks: dict[tuple[str, Material, Moving], Attack] = {}
        self._drawn: dict[tuple[Reading, Labels], Drawn] = {}
        self._advglue: dict[Path, Mapping[str, tuple[AdvExample, ...]]] = {}

    def get(self, cells: Iterable[Cell], labels: Labels) -> None:
        """Read what cells need, so that what is wrong with it is said before anything runs."""
        for cell in cells:
            match cell:
                case AdvGLUECell():
                    self.rows(cell.file)
                case _:
                    self.drawn(cell.reading, labels)
            match cell:
                case AttackCell():
                    self.attack(cell.attack, cell.material, cell.moving)
                case AdaptiveCell():
                    self.white_box(cell.material, cell.moving)

    def attack(self, name: str, material: Material, moving: Moving) -> Attack:
        """Return the attack of that name with what it takes of `material`."""
        key = (name, material, moving)
        if key not in self._attacks:
            self._attacks[key] = build_attack(name, material, moving=MOVING[moving])
        return self._attacks[key]

    def white_box(self, material: Material, moving: Moving) -> list[Attack]:
        """Return the attacks that see gradients."""
        return [self.attack(name, material, moving) for name in WHITE_BOX]

    def drawn(self, reading: Reading, labels: Labels) -> Drawn:
        """Return the examples for a model with these labels."""
        key = (reading, labels)
        if key not in self._drawn:
            self._drawn[key] = draw(reading, labels)
        return self._drawn[key]

    def rows(self, file: Path) -> Mapping[str, tuple[AdvExample, ...]]:
        """Return AdvGLUE's rows of each task."""
        if file not in self._advglue:
            self._advglue[file] = read_advglue(file)
        return self._advglue[file]
