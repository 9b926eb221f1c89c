"""How an attack goes: a bar with the accuracy so far."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from holdfast.record import Outcome


@contextmanager
def progress(name: str, total: int, rank: int) -> Iterator[Callable[[Outcome], None]]:
    """Show on stderr how the attack goes in the first process: the accuracy so far, the rates."""
    done = survived = queries = 0
    begun, hidden = time.perf_counter(), total < 2 or rank > 0
    often = 0.1 if sys.stderr.isatty() else 10.0  # seconds; in a log every line stays
    settings: dict[str, Any] = {"desc": name, "unit": "ex", "mininterval": often}
    with tqdm(total=total, file=sys.stderr, disable=hidden, **settings) as bar:

        def watch(outcome: Outcome) -> None:
            nonlocal done, survived, queries
            done, survived = done + 1, survived + outcome.survived
            queries += outcome.queries
            rate = queries / max(time.perf_counter() - begun, 1e-9)
            bar.set_postfix_str(
                f"accuracy under attack {survived / done:.1%}, {rate:,.0f} queries/s", refresh=False
            )
            bar.update()

        yield watch
