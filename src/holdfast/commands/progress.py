"""Which part of a longer work is under way: a bar with a running clock, or plain lines."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

TICK = 0.5  # seconds; a part may take long, and a clock that runs says that it still works


class Steps:
    """Told what begins, shows it on stderr."""

    def __init__(self, about: str, total: int) -> None:
        """Expect `total` parts of the work that `about` names."""
        self._about, self._begun = about, 0
        self._bar: Any = None
        if sys.stderr.isatty():
            layout = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}"
            self._bar = tqdm(total=total, leave=False, dynamic_ncols=True, bar_format=layout)

    def __call__(self, part: str) -> None:
        """Say that `part` begins, and that the one before it is done."""
        if self._bar is None:
            print(f"{self._about}: {part}", file=sys.stderr)
            return
        self._bar.update(min(self._begun, 1))
        self._bar.set_description_str(f"{self._about}: {part}")
        self._begun += 1

    def tick(self, ended: threading.Event) -> None:
        """Keep the clock running until the work has ended."""
        while self._bar is not None and not ended.wait(TICK):
            self._bar.refresh()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def steps(about: str, total: int) -> Iterator[Steps]:
    """Show the parts of a work while it goes on."""
    shown, ended = Steps(about, total), threading.Event()
    clock = threading.Thread(target=shown.tick, args=(ended,), daemon=True)
    clock.start()
    try:
        yield shown
    finally:
        ended.set()
        clock.join()
        shown.close()
