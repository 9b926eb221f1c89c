"""Refusing settings that nothing can be done with, when they are made rather than when used."""

from collections.abc import Collection

from holdfast.errors import InputError


def require_at_least(minimum: int, component: object, *names: str) -> None:
    """Refuse a component one of whose settings is below `minimum`."""
    for name in names:
        value = getattr(component, name)
        if not value >= minimum:
            raise InputError(f"{_place(component, name)} is {value}; expected {minimum} or more.")


def require_positive(component: object, *names: str) -> None:
    """Refuse a component one of whose settings is not above 0."""
    for name in names:
        value = getattr(component, name)
        if not value > 0:
            raise InputError(f"{_place(component, name)} is {value}; expected more than 0.")


def require_one_of(options: Collection[str], component: object, name: str) -> None:
    """Refuse a component whose setting is none of the options."""
    value = getattr(component, name)
    if value not in options:
        expected = ", ".join(options)
        raise InputError(f"{_place(component, name)} is {value!r}; expected one of {expected}.")


def _place(component: object, name: str) -> str:
    return f"{type(component).__name__}.{name}"
