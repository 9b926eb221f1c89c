"""Recipes: TOML files whose sections are the fields of a configuration."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.commands.layout import nearest
from holdfast.errors import InputError

PACKAGE = Path(__file__).resolve().parents[1]


def read_recipe(name: str) -> dict[str, Any]:
    """Return the content of the recipe `name`: a path, or the name of one that is installed."""
    path = find_recipe(name)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"The recipe {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InputError(f"The recipe {path} is not UTF-8 text.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"The recipe {path} is not valid TOML: {error}.") from error


def find_recipe(name: str) -> Path:
    """Return the file called `name`, or `name`.toml in ./recipes or among the installed ones."""
    given = Path(name)
    if given.is_file():
        return given
    if given.name == name:
        stem = given.name.removesuffix(".toml")
        for folder in recipe_folders():
            if (folder / f"{stem}.toml").is_file():
                return folder / f"{stem}.toml"
    known = sorted({path.stem for folder in recipe_folders() for path in folder.glob("*.toml")})
    otherwise = (
        "give the path of a TOML file, or one of "
        f"{', '.join(known) or 'those that come with Holdfast (none was found)'}."
    )
    hint = nearest(name.removesuffix(".toml"), known, otherwise)
    raise InputError(f"There is no recipe {name!r}; {hint}")


def recipe_folders() -> list[Path]:
    """Return where recipes are looked for: ./recipes, then those that came with Holdfast."""
    checkout = PACKAGE.parents[1] / "recipes"  # an editable install has no copy in the package
    folders = (Path("recipes"), PACKAGE / "recipes", checkout)
    return [folder for folder in folders if folder.is_dir()]


def write_recipe(tree: Mapping[str, Any]) -> str:
    """Return `tree` as TOML; what is None is left out, which reads back as the default."""
    return "\n".join(_section(tree, "")).strip() + "\n"


def _section(tree: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in tree.items():
        if not isinstance(value, Mapping) and value is not None:
            # JSON's strings, numbers, booleans and lists of them are TOML's as well.
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield f"\n[{prefix}{key}]"
            yield from _section(value, f"{prefix}{key}.")
