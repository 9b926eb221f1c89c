"""Searches in processes of their own, the model in this one.

A GPU answers faster than one process can ask. So several workers search and make tokens, and
this process does nothing but run them. Workers are forked, as those of a data loader are, and
never touch the device; which of them attacks an example changes nothing in its outcome.
"""

import dataclasses
import gc
import multiprocessing as mp
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from queue import Empty
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.attack.core import Attack
from holdfast.attack.search import Corner, HotFlip
from holdfast.attack.sources import ModelFolder
from holdfast.data import Example
from holdfast.errors import HoldfastError, InputError, RunFailed
from holdfast.record import Outcome
from holdfast.victim import LogProbabilities, Tickets, Victim

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from holdfast.victim import ModelVictim
    from holdfast.victim.model_session import ModelSession

Search = Callable[[Victim, Iterator[Example]], Iterator[Outcome]]
"""Runs an attack on a victim, in a worker."""

_OWNER = 56  # a ticket's bits from here on name the worker
_PATIENCE = 1.0  # seconds until one looks whether silent workers still live
_QUIET = 0.002  # seconds without a message after which a batch runs that is not full


def check_workers(attack: Attack, victim: Victim, workers: int) -> None:
    """Refuse workers where there is nothing that they can do."""
    if workers < 0 or workers > 64:
        raise InputError(f"{workers} workers were asked for; expected 0 to 64.")
    if not workers:
        return
    if not hasattr(victim, "distant"):
        raise InputError("Workers are for models: a function is called in this process alone.")
    if "fork" not in mp.get_all_start_methods():
        raise InputError("Workers are forked, which this system does not do; leave workers at 0.")
    parts = list(_parts(attack))
    if any(isinstance(part, HotFlip | Corner) for part in parts):
        raise InputError(
            f"The attack {attack.name} follows the gradient of the model, which workers do not "
            "have; leave workers at 0."
        )
    helpers = [part.source.name for part in parts if isinstance(part, ModelFolder)]
    if helpers and _gpu_in_use():
        raise InputError(
            f"The attack {attack.name} asks models of its own ({', '.join(helpers)}), and forked "
            "workers cannot run them on a GPU; leave workers at 0."
        )


def _parts(component: Any) -> Iterator[Any]:
    """Yield a component and all that it is made of."""
    yield component
    if isinstance(component, tuple):
        for item in component:
            yield from _parts(item)
    elif dataclasses.is_dataclass(component):
        for field in dataclasses.fields(component):
            yield from _parts(getattr(component, field.name))


def _gpu_in_use() -> bool:
    import torch  # who attacks a model has it already

    return torch.cuda.is_available()


def run_in_workers(
    search: Search, victim: "ModelVictim", examples: Sequence[Example], workers: int
) -> Iterator[Outcome]:
    """Yield the outcomes that the workers find."""
    context = mp.get_context("fork")
    inbound: Any = context.Queue()
    following = context.Value("q", 0)
    pipes = [context.Pipe(duplex=False) for _ in range(workers)]
    processes = [
        context.Process(
            target=_work,
            args=(number, search, victim, examples, following, inbound, pipe[0]),
            daemon=True,
        )
        for number, pipe in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    try:
        yield from _serve(victim.queue(), inbound, [pipe[1] for pipe in pipes], processes)
    finally:
        # not `terminate`: a worker may be waiting for its last words to be read, which nobody does
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def _work(
    number: int,
    search: Search,
    victim: "ModelVictim",
    examples: Sequence[Example],
    following: Any,
    inbound: Any,
    answers: "Connection[Any, Any]",
) -> None:
    """Attack examples one after the other, as long as there are any that nobody has begun."""
    import torch

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # threads do not survive a fork
    torch.set_num_threads(1)
    gc.freeze()  # what was there before never becomes garbage here

    def left() -> Iterator[Example]:
        while True:
            with following.get_lock():
                at = following.value
                following.value += 1
            if at >= len(examples):
                return
            yield examples[at]

    apart = victim.distant(lambda rows: inbound.put((number, rows)), lambda: _all_there(answers))
    try:
        for outcome in search(apart, left()):
            inbound.put((number, outcome))
        inbound.put((number, None))
    except Exception as error:  # whatever a search or a constraint raises is raised over there
        inbound.put((number, _told(error)))


def _told(error: Exception) -> HoldfastError:
    """Return an error that reaches the other process: one of others may hold what cannot be sent.

    The queue sends from a thread of its own, where nobody hears that it could not.
    """
    if isinstance(error, InputError | RunFailed):
        return type(error)(str(error))
    trace = "".join(traceback.format_exception(error)).rstrip()
    return RunFailed(
        "A worker of the attack came upon an error; mend what raised it, or leave workers at 0 to "
        f"see it here:\n{trace}"
    )


def _all_there(answers: "Connection[Any, Any]") -> tuple[Tickets, LogProbabilities]:
    """Wait for answers; return them together with all others that have arrived."""
    found = [answers.recv()]
    while answers.poll():
        found.append(answers.recv())
    tickets, log_probabilities = zip(*found, strict=True)
    return np.concatenate(tickets), np.concatenate(log_probabilities)


def _serve(
    session: "ModelSession",
    inbound: Any,
    outbound: Sequence["Connection[Any, Any]"],
    processes: Sequence[Any],
) -> Iterator[Outcome]:
    """Run what workers send, answer them, and yield their outcomes until all are done."""
    working = set(range(len(outbound)))
    while working:
        # before anything is received: who has ended by now has sent all it had to say
        ended = {at for at in working if not session.owing and processes[at].exitcode is not None}
        # A batch that is not full runs only when nobody sends anything: workers may be about to.
        wait = 0.0 if session.due else _QUIET if session.owing else _PATIENCE
        rows = []
        for number, message in _received(inbound, wait):
            if isinstance(message, Outcome):
                yield message
            elif isinstance(message, Exception):
                raise message
            elif message is None:
                working.remove(number)
            else:
                owner = np.int64(number) << _OWNER
                rows.append(message._replace(tickets=message.tickets + owner))
        session.put_all(rows)
        if session.due or (session.owing and not rows):
            _answer(*session.take(), outbound)
        elif working & ended:
            raise _ended_early()


def _received(inbound: Any, wait: float) -> Iterator[tuple[int, Any]]:
    """Yield what has come in; if nothing has, wait for the first of it."""
    try:
        while True:
            yield inbound.get(timeout=wait) if wait else inbound.get_nowait()
            wait = 0.0
    except Empty:
        return


def _ended_early() -> RunFailed:
    return RunFailed(
        "A worker of the attack ended without a last word: from outside, perhaps for want of "
        "memory; use fewer workers, or fewer examples in flight."
    )


def _answer(
    tickets: Tickets, answers: LogProbabilities, outbound: Sequence["Connection[Any, Any]"]
) -> None:
    owners = tickets >> _OWNER
    own = tickets & ((np.int64(1) << _OWNER) - 1)
    for number in np.unique(owners).tolist():
        mine = owners == number
        outbound[number].send((own[mine], answers[mine]))
