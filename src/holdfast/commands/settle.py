"""What recipes, presets and the classes named by flags settle, before any value is read.

The result is a tree in the form of a recipe. It decides which classes are chosen, and thereby
which options exist; the values of the other flags are laid over it later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.commands.flags import Flag, gather
from holdfast.commands.layout import Tree, merge, nearest, nest, options
from holdfast.commands.recipes import read_recipe
from holdfast.errors import InputError
from holdfast.record import encode

Presets = Mapping[str, Any]


def settle(config: type, sources: Sequence[Flag], flags: Sequence[Flag], presets: Presets) -> Tree:
    """Return the recipes from first to last, then `--preset`, then the classes `flags` name."""
    tree: Tree = {}
    for name in gather(sources, "config"):
        tree = merge(tree, _recipe(name, presets))
    for name in gather(sources, "preset"):
        tree = {**tree, "connection": _preset(name, presets)}
    tree = {key: value for key, value in tree.items() if value is not None}
    for flag in sorted(flags, key=lambda flag: flag.depth):
        tree = merge(tree, _touched(config, tree, flag))
    return tree


def _touched(config: type, tree: Tree, flag: Flag) -> Tree:
    """Return the sections a flag speaks of, with the class if that is what it names."""
    section = flag.name.removesuffix(".type")
    known = {option.name for option in options(config, tree)}
    if f"{section}.type" in known and len(flag.values) == 1:
        return nest(section, {"type": flag.values[0]})
    parent = flag.name.rpartition(".")[0]
    return nest(parent, {}) if parent else {}


def _recipe(name: str, presets: Presets) -> dict[str, Any]:
    recipe = read_recipe(name)
    if presets and "preset" in recipe:
        below = _preset(recipe.pop("preset"), presets)
        recipe["connection"] = merge(below, recipe.get("connection"))
    return recipe


def _preset(name: Any, presets: Presets) -> Any:
    if name not in presets:
        raise InputError(f"There is no preset {name!r}; {nearest(name, presets)}")
    return encode(presets[name])
