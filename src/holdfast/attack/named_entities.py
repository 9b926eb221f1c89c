"""Names in the place of other names of their kind, as PWWS replaces named entities."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from holdfast.attack.core import Substitutes
from holdfast.attack.sources import EntityFile
from holdfast.errors import InputError
from holdfast.text import Words


@dataclass(frozen=True)
class NamedEntities:
    """A name becomes the first other name of its kind; a list takes the place of a recogniser."""

    entities: EntityFile

    def substitutes(self, text: Words) -> Substitutes:
        """Return the substitutes of each word of a text."""
        known = read_entities(self.entities.source)
        return [known.get(word.text, ()) for word in text.words]


@lru_cache(maxsize=2)
def read_entities(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Return what may stand for each name, from a file {kind: [names, the most frequent first]}."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} holds no named entities: it is not JSON ({error}).") from error
    if not isinstance(content, dict) or not all(map(_is_list_of_names, content.values())):
        raise InputError(
            f'{path} holds no named entities; expected {{"PERSON": ["Smith", "Jones"], ...}}, '
            "the most frequent name of a kind first."
        )
    found: dict[str, tuple[str, ...]] = {}
    for names in content.values():
        for name in names:
            other = next((one for one in names if one != name), None)
            if other is not None:
                found.setdefault(name, (other,))
    return found


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)
