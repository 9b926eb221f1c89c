"""The engine: many searches at once, their questions merged, a victim that is never idle.

What comes out does not depend on how many searches are under way or in which order answers
arrive: each example has its own random numbers, drawn from the seed and its id.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from holdfast.attack.certify import certain_first, provable
from holdfast.attack.core import Attack, Comparison, Gauge, Look, Verdict
from holdfast.attack.flight import SHIFT, Flight, all_allowed, attempt
from holdfast.attack.goal import Targeted
from holdfast.attack.spaces import build_space
from holdfast.attack.workers import check_workers, run_in_workers
from holdfast.data import Example
from holdfast.errors import InputError
from holdfast.record import Outcome
from holdfast.text import Words
from holdfast.victim import GivenVictim, LogProbabilities, Query, Tickets, Victim, as_victim

_TOGETHER = 32  # examples that are read by the victim in one go


def run_attack(
    attack: Attack,
    victim: GivenVictim,
    examples: Iterable[Example],
    *,
    seed: int,
    in_flight: int = 256,
    workers: int = 0,
    certify: bool = False,
) -> Iterator[Outcome]:
    """Yield the outcome of each example, as they finish; `in_flight` are under way at a time.

    `workers` are processes that search while this one runs the model: a GPU wants several. With
    `certify` an example is not searched where it can be proved that nothing would be found.
    """
    victim = as_victim(victim)
    check_workers(attack, victim, workers)
    if seed < 0 or in_flight < 1:
        raise InputError(
            f"The seed is {seed} and {in_flight} examples were to be in flight; expected a seed of "
            "0 or more and at least one example."
        )
    if isinstance(attack.goal, Targeted) and attack.goal.target >= victim.classes:
        raise InputError(
            f"The target class is {attack.goal.target} and the victim has {victim.classes} "
            "classes, counted from 0; name one of them."
        )
    found = _searching(attack, victim, seed, in_flight, workers)
    model = provable(attack, victim) if certify else None
    if model is None:
        return found(iter(examples))
    all_of_them = list(examples)
    _check_block(all_of_them, victim.classes)
    return certain_first(attack, model, all_of_them, found)


def _searching(
    attack: Attack, victim: Victim, seed: int, in_flight: int, workers: int
) -> Callable[[Iterator[Example]], Iterator[Outcome]]:
    """Return what searches examples, here or in workers."""
    if not workers:
        return lambda examples: _Run(attack, victim, seed, in_flight).outcomes(examples)
    model: Any = victim  # that has been checked
    share = max(1, in_flight // workers)
    return lambda examples: run_in_workers(
        lambda apart, left: _Run(attack, apart, seed, share).outcomes(left),
        model,
        list(examples),
        workers,
    )


class _Run:
    """The searches under way."""

    def __init__(self, attack: Attack, victim: Victim, seed: int, in_flight: int) -> None:
        self._attack, self._victim = attack, victim
        self._seed, self._in_flight = seed, in_flight
        self._session = victim.session()
        self._flights: dict[int, Flight] = {}
        self._begun = 0

    def outcomes(self, examples: Iterator[Example]) -> Iterator[Outcome]:
        while True:
            yield from self._admit(examples)
            if not self._flights:
                return
            yield from self._advance(self._deliver(*self._session.take()))

    def _admit(self, examples: Iterator[Example]) -> Iterator[Outcome]:
        """Begin more searches, while there is room for them."""
        while (room := self._in_flight - len(self._flights)) > 0 and not self._session.full:
            block = list(islice(examples, min(room, _TOGETHER)))
            if not block:
                return
            yield from self._advance(self._begin(block))

    def _begin(self, block: Sequence[Example]) -> list[Flight]:
        _check_block(block, self._victim.classes)
        texts = [tuple(Words.of(text) for text in example.texts) for example in block]
        readings = self._victim.read(texts)
        spaces = [
            build_space(self._attack, words, reading.visible)
            for words, reading in zip(texts, readings, strict=True)
        ]
        opened = self._victim.open(readings, spaces)
        flights = []
        for example, space, ready in zip(block, spaces, opened, strict=True):
            steps = attempt(self._attack, space, example.label, example_rng(self._seed, example.id))
            limit = self._attack.max_queries
            flight = Flight(self._begun, example, space, ready, steps, limit)
            self._flights[self._begun] = flight
            self._begun += 1
            flights.append(flight)
        return flights

    def _deliver(self, tickets: Tickets, answers: LogProbabilities) -> list[Flight]:
        """Hand answers to their searches; return those that have all they asked for."""
        order = np.argsort(tickets, kind="stable")
        tickets, answers = tickets[order], answers[order]
        numbers = tickets >> SHIFT
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        complete = []
        for start, end in zip(starts, [*starts[1:], len(tickets)], strict=True):
            flight = self._flights[int(numbers[start])]
            flight.learn(tickets[start:end], answers[start:end])
            if not flight.owed:
                complete.append(flight)
        return complete

    def _advance(self, ready: Sequence[Flight]) -> Iterator[Outcome]:
        """Let searches go on until each waits for the victim or is over."""
        queries: list[Query] = []
        while ready:
            for flight in ready:
                flight.advance()
            asking = [flight for flight in ready if flight.outcome is None]
            self._measure(asking)
            known = []
            for flight, verdict in zip(asking, self._judge(asking), strict=True):
                within = flight.within_budget(verdict)
                if within is None:
                    flight.give_up()
                elif (query := flight.question(within)) is not None:
                    queries.append(query)
                else:
                    known.append(flight)
            yield from self._land(ready)
            ready = known
        self._session.put(queries)

    def _measure(self, flights: Sequence[Flight]) -> None:
        """Look into the victim for the searches that ask for it, those with one gauge together."""
        groups: dict[Gauge, list[tuple[Flight, Look]]] = {}
        for flight in flights:
            ask, goal = flight.ask, self._attack.goal
            flight.merits = None
            if ask is not None and ask.gauge is not None:
                text = (flight.space, ask.rows[0], flight.example.label, goal, ask.seed)
                look = Look(self._victim, flight.opened, *text)
                groups.setdefault(ask.gauge, []).append((flight, look))
        for gauge, group in groups.items():
            measured = gauge.measure([look for _, look in group])
            for (flight, _), merits in zip(group, measured, strict=True):
                flight.merits = merits

    def _land(self, flights: Sequence[Flight]) -> Iterator[Outcome]:
        for flight in flights:
            if flight.outcome is not None:
                del self._flights[flight.number]
                yield flight.outcome

    def _judge(self, flights: Sequence[Flight]) -> list[Verdict]:
        """Put the texts that are asked for to the attack's constraints."""
        asks = [flight.ask for flight in flights if flight.ask is not None]
        verdicts = [all_allowed(ask.rows) for ask in asks]
        judged = [at for at, ask in enumerate(asks) if not ask.probe]
        for constraint in self._attack.text_constraints if judged else ():
            comparisons = []
            for at in judged:
                space, reference = flights[at].space, asks[at].reference
                if reference is None or constraint.against_original:
                    reference = space.original()
                comparisons.append(Comparison(space, asks[at].rows, reference))
            for at, found in zip(judged, constraint.judge(comparisons), strict=True):
                verdicts[at] = both(verdicts[at], found)
        return verdicts


def both(one: Verdict, other: Verdict) -> Verdict:
    """Return the verdict of two constraints together: both must allow, the lesser score counts."""
    scores = [verdict.similarity for verdict in (one, other) if verdict.similarity is not None]
    similarity = np.minimum(*scores) if len(scores) == 2 else next(iter(scores), None)
    return Verdict(one.allowed & other.allowed, similarity)


def example_rng(seed: int, example: str) -> np.random.Generator:
    """Return the random numbers of one example, the same in whichever process it is attacked."""
    own = int.from_bytes(hashlib.sha256(example.encode()).digest()[:8], "little")
    return np.random.default_rng([seed, own])


def _check_block(block: Sequence[Example], classes: int) -> None:
    for example in block:
        if not 0 <= example.label < classes:
            raise InputError(
                f"Example {example.id} has the label {example.label} and the victim has {classes} "
                "classes, counted from 0; attack a model that was trained for these labels."
            )
        if len(example.texts) != len(block[0].texts) or not example.texts:
            raise InputError(
                f"Example {example.id} has {len(example.texts)} text(s) and {block[0].id} has "
                f"{len(block[0].texts)}; attack single texts or pairs, one at a time."
            )
