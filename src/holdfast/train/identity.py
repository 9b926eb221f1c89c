"""What a run is, and in which respects another one differs from it: where files lie is none."""

import json
from collections.abc import Mapping
from typing import Any

from holdfast.errors import InputError
from holdfast.record import decode, encode
from holdfast.record.leaves import differing, first_few, same_place, shown
from holdfast.train.config import TrainConfig

Json = dict[str, Any]

LYING = {
    "data.parts": ("config.data.folder", "config.data.file", "config.data.held_out_file"),
    "lexicons": ("config.substitutions.lexicon", "config.canonical.lexicon"),
}
"""What tells the content of files, to the settings that tell where they lie."""
UNTOLD = ("config.output", "data.sources")
"""Where the run is, and where its examples were read: neither makes it another one."""


def differences(before: Json, now: Json) -> list[str]:
    """Return in words where a run differs from the one in a folder."""
    found = differing(_completed(before), _plain(now))
    told = [
        _difference(name, *pair)
        for name, pair in found.items()
        if not _only_lies_elsewhere(name, found)
    ]
    return first_few(list(dict.fromkeys(told)))


def _only_lies_elsewhere(name: str, found: Mapping[str, tuple[Any, Any]]) -> bool:
    """Whether a setting names another place, and what lies there is the same."""
    if _begins(name, UNTOLD):
        return True
    if name == "config.model":  # no checksum is kept of it
        return same_place(*found[name])
    content = next((content for content, settings in LYING.items() if name in settings), None)
    return content is not None and not any(_begins(other, (content,)) for other in found)


def _begins(name: str, settings: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in settings)


def _completed(identity: Json) -> Json:
    """Return the identity with settings that its version did not know yet, at their defaults."""
    try:
        config: TrainConfig = decode(TrainConfig, identity["config"], where="the configuration")
    except (InputError, KeyError):
        return identity  # what is wrong with it shows as a difference
    return _plain({**identity, "config": encode(config)})


def _plain(identity: Json) -> Json:
    """Return it as it is read from its file."""
    plain: Json = json.loads(json.dumps(identity))
    return plain


def _difference(name: str, there: Any, here: Any) -> str:
    kind, _, setting = name.partition(".")
    if kind == "config":
        return f"{setting} was {shown(there)} and is {shown(here)}"
    known = {"data": "its data were other examples", "lexicons": "its lexicon was another"}
    return known.get(kind, "it has another format")
