"""The errors Holdfast raises: each message says what happened, what was expected, what to do."""


class HoldfastError(Exception):
    """Base of every error raised on purpose; its message is written for the user."""


class InputError(HoldfastError, ValueError):
    """The user asked for something that cannot be done; the command exits with 2."""


class RunFailed(HoldfastError, RuntimeError):
    """The work was started as asked and could not be finished; the command exits with 1."""


def first_line(error: BaseException) -> str:
    """Return what another library's error says, fit to stand in brackets within a sentence."""
    said = str(error).strip().partition("\n")[0].strip().rstrip(".")
    return said or type(error).__name__
