"""Texts that stand in a command: refused where no model could read them."""

from collections.abc import Sequence

from holdfast.errors import InputError


def refuse_unreadable(texts: Sequence[str]) -> None:
    """Raise where a text is empty, or is not whole characters."""
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(f"Text {number} is empty; leave it out or write something in it.")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(
                f"Text {number} holds bytes that are not UTF-8, or half of a surrogate pair; write "
                "the whole character or remove it."
            )
