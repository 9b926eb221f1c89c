"""`holdfast lexicon`: which substitution lexicon is used, how to get one, and what is in it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.commands.settings import Interface
from holdfast.commands.table import paragraph
from holdfast.errors import InputError
from holdfast.record import refuse_file, write_atomically
from holdfast.text import (
    Lexicon,
    cache_lexicon,
    cached_lexicon,
    find_lexicon,
    find_wordnet,
    read_lexicon,
    wordnet_lexicon,
)

PUBLISHED = "counterfitted_neighbors.json"
PUBLISHED_SHA256 = "103247143f39bd5dd66850f3a912393392641dbd98093c61e2b24a4cc8a96fb0"
HOW_TO_GET_ONE = (
    f"The usual one is {PUBLISHED}, from the folder data of "
    "https://github.com/robinjia/certified-word-sub (MIT licence, sha256 "
    f"{PUBLISHED_SHA256}). Keep it for all runs with: holdfast lexicon --file {PUBLISHED}. "
    "Without it, build one of synonyms with: holdfast lexicon --wordnet."
)
ANYWHERE = "auto"


@dataclass(frozen=True)
class LexiconOptions:
    """What `holdfast lexicon` takes."""

    file: Path | None = None
    """Check this JSON file {word: [substitutes]} and keep a copy for all runs."""
    wordnet: str | None = None
    """Build from WordNet's files in this folder and keep it for all runs; without a folder, or with
    auto, from where they are found. With a file as well: both joined."""
    further: int | None = None
    """With a file or WordNet: a word also has its substitutes' own, so many in all at most."""
    word: str | None = None
    """Show the substitutes of this word."""
    output: Path | None = None
    """With a file or WordNet: write the lexicon here, instead of keeping it for all runs."""

    def __post_init__(self) -> None:
        made = self.file is not None or self.wordnet is not None
        for name in ("further", "output"):
            if getattr(self, name) is not None and not made:
                raise InputError(
                    f"Of which lexicon? --{name} goes with --file FILE, --wordnet or both."
                )
        if self.output is not None:
            refuse_file(self.output)
            if self.output.exists():
                told = f"{self.output} exists already; choose another --output or remove it."
                raise InputError(told)


INTERFACE = Interface(
    "lexicon",
    "Say which substitution lexicon hull training and attacks use now and how to get one; check "
    "and keep a file, or build one from WordNet; look up a word.",
    LexiconOptions,
    switches={"json": "print the result as one JSON object"},
)


def run(argv: Sequence[str]) -> None:
    """Keep a lexicon if asked to, then say what is used."""
    options, switches = INTERFACE.read(_with_folder(argv))
    found = _chosen(options)
    described = describe(found, options.word)
    print(json.dumps(described, ensure_ascii=False) if "json" in switches else _text(described))


def describe(lexicon: Lexicon | None, word: str | None = None) -> dict[str, Any]:
    """Return a lexicon as plain values; with a word, its substitutes as well."""
    described: dict[str, Any] = {"lexicon": None}
    if lexicon is not None:
        described["lexicon"] = {
            "source": lexicon.source,
            "words": len(lexicon.neighbours),
            "substitutes": lexicon.edges,
            "sha256": lexicon.sha256,
            "published": PUBLISHED if lexicon.sha256 == PUBLISHED_SHA256 else None,
        }
        if word is not None:
            described["word"] = word
            described["substitutes"] = list(lexicon.of(word))
    return described


def _with_folder(argv: Sequence[str]) -> list[str]:
    """Spell out a `--wordnet` that has no value."""
    following = [*argv[1:], "--"]
    bare = [
        word == "--wordnet" and after.startswith("--")
        for word, after in zip(argv, following, strict=False)
    ]
    return [f"{w}={ANYWHERE}" if alone else w for w, alone in zip(argv, bare, strict=True)]


def _chosen(options: LexiconOptions) -> Lexicon | None:
    """Return the lexicon that was made or is in use; None: there is none and none was needed."""
    made = None if options.wordnet is None else _of_wordnet(options.wordnet)
    if options.file is not None:
        own = read_lexicon(options.file)  # refuses it before the one in use is replaced
        if made is None and options.further is None:
            return _kept(options.file.read_bytes(), options.output)
        made = own if made is None else own.joined(made)
    if made is not None:
        wide = made if options.further is None else made.further(options.further)
        return _kept(wide.json().encode(), options.output)
    try:
        return find_lexicon()
    except InputError:
        if options.word is not None or cached_lexicon().is_file():
            raise
        return None


def _of_wordnet(folder: str) -> Lexicon:
    found = find_wordnet(None if folder == ANYWHERE else Path(folder))
    _note(f"Reading WordNet in {found}.")
    return wordnet_lexicon(found)


def _kept(content: bytes, output: Path | None) -> Lexicon:
    if output is not None:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(output, content)
        except OSError as error:
            raise InputError(
                f"The lexicon cannot be written to {output} ({error.strerror or error}); name a "
                "file in a folder that can be written."
            ) from error
        _note(f"Wrote {output}; name it with --lexicon, --canonical.lexicon and the like.")
        return read_lexicon(output)
    path = cache_lexicon(content)
    _note(f"Kept as {path}; every run without a lexicon of its own uses it.")
    return read_lexicon(path)


def _note(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _text(described: dict[str, Any]) -> str:
    lexicon = described["lexicon"]
    if lexicon is None:
        return paragraph(f"There is no substitution lexicon yet. {HOW_TO_GET_ONE}")
    if "word" in described:
        listed = ", ".join(described["substitutes"]) or "no substitutes"
        return paragraph(f"{described['word']}: {listed}")
    facts = {
        "lexicon": lexicon["source"],
        "words": f"{lexicon['words']:,}, with {lexicon['substitutes']:,} substitutes in all",
        "sha256": lexicon["sha256"],
        "known as": lexicon["published"] or "none that was published",
    }
    return "\n".join(paragraph(f"{name}: {fact}") for name, fact in facts.items())
