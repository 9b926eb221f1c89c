"""The command line: a table of commands, and what each kind of failure returns.

Nothing here imports torch, so `holdfast --help` answers at once. Each command is a module of
`holdfast.commands` with one function `run(argv)`, imported when it is asked for. Exit codes:
0 done, 1 failed, 2 bad input, 130 interrupted.
"""

import difflib
import importlib
import logging
import os
import select
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.errors import HoldfastError, InputError
from holdfast.record import version

COMMANDS = {
    "demo": "fine-tune a plain, an implicit and robust models, attack and compare them",
    "train": "fine-tune a model, plain or with implicit connections, by a recipe or flags",
    "predict": "label texts with a trained model",
    "attack": "replace words until the model errs: its accuracy under attack",
    "evaluate": "measure checkpoints on tasks and under attacks, and compare them",
    "report": "make one page of records: tables, pictures, comparisons, adversarial texts",
    "reproduce": "run the papers' tables and figures on one's own model, beside what they print",
    "inspect": "show what a connection does inside a model: residuals, stability, cost",
    "tasks": "list the tasks and what of them is in a data folder",
    "models": "list the model families, or describe one model",
    "lexicon": "check, cache or build the substitution lexicon that hull training and attacks use",
}
NEED_TORCH = ("demo", "train", "predict", "attack", "evaluate", "reproduce", "inspect")
OPTIONS = {
    "--help": "after a command: everything it takes",
    "--version": "print the version",
    "--debug": "show the traceback of an error",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one sentence on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        with warnings.catch_warnings(), _narrating():
            if not debug:
                _keep_own_warnings()
            _dispatch([item for item in arguments if item != "--debug"])
            sys.stdout.flush()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        _say(str(stop.code))
        return 1
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        print(file=sys.stderr)  # leave the line of a progress bar
        _say("interrupted; a run that was under way resumes with the same command.")
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _report(error)
    return 0


def _dispatch(arguments: list[str]) -> None:
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "help"):
        print(usage())
    elif name in ("-V", "--version"):
        print(f"holdfast {version()}")
    elif name in COMMANDS:
        with _waiting(name):
            command = importlib.import_module(f"holdfast.commands.{name}")
        command.run(arguments[1:])
    else:
        raise InputError(_unknown(name))


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(COMMANDS)}."
    return f"There is no command {name!r}; {hint}"


def usage() -> str:
    """Return the text of `holdfast --help`, wrapped to the terminal."""
    return "\n".join(
        [
            "usage: holdfast COMMAND [options]\n",
            textwrap.fill("Language models that hold fast under adversarial text.", _width()),
            "\ncommands:",
            *(_entry(name, about) for name, about in COMMANDS.items()),
            "\noptions:",
            *(_entry(name, about) for name, about in OPTIONS.items()),
        ]
    )


def _entry(name: str, about: str) -> str:
    first, rest = f"  {name:<10} ", " " * 13
    return textwrap.fill(about, _width(), initial_indent=first, subsequent_indent=rest)


def _width() -> int:
    return max(30, min(shutil.get_terminal_size().columns, 100))


def _report(error: Exception) -> int:
    if isinstance(error, HoldfastError):
        _say(" ".join(str(error).split()))
        return 2 if isinstance(error, InputError) else 1
    detail = " ".join(str(error).split()) or "no further message"
    _say(f"failed with {type(error).__name__}: {detail} (--debug shows the traceback)")
    return 1


def _say(sentence: str) -> None:
    print(f"holdfast: {sentence}", file=sys.stderr)


def _note(sentence: str) -> None:
    """Say something that is no error, above any progress bar."""
    _above_bars(f"holdfast: note: {sentence}")


def _above_bars(line: str) -> None:
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)
    else:
        print(line, file=sys.stderr)


def _keep_own_warnings() -> None:
    """Show Holdfast's warnings as sentences, and not those of the libraries below it."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module=r"holdfast\b")
    warnings.showwarning = lambda message, *_: _note(str(message))


class _Narrator(logging.Handler):
    """Shows what the library logs: how the work goes as plain lines, warnings as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        show = _note if record.levelno >= logging.WARNING else _above_bars
        show(record.getMessage())


@contextmanager
def _narrating() -> Iterator[None]:
    log, narrator = logging.getLogger("holdfast"), _Narrator()
    level = log.level
    log.addHandler(narrator)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(narrator)
        log.setLevel(level)


@contextmanager
def _waiting(name: str) -> Iterator[None]:
    """Tell who sits at a terminal why nothing happens yet: importing torch takes seconds."""
    shown = name in NEED_TORCH and sys.stderr.isatty()
    if shown:
        print("loading torch and transformers ...", end="\r", flush=True, file=sys.stderr)
    try:
        yield
    finally:
        if shown:
            print("\x1b[K", end="", flush=True, file=sys.stderr)


def _reader_left() -> int:
    # The reader of a pipe (head, less) closed it. Python would complain again at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if _has_no_reader(sys.stdout.fileno()):
        os.dup2(nowhere, sys.stdout.fileno())
        return 0
    os.dup2(nowhere, sys.stderr.fileno())  # it was the one of stderr: nobody can be told
    return 1


def _has_no_reader(pipe: int) -> bool:
    waiting = select.poll()
    waiting.register(pipe, select.POLLOUT)
    return any(event & select.POLLERR for _, event in waiting.poll(0))


if __name__ == "__main__":
    sys.exit(main())
