"""The adaptive check: attacks made for this very model, so that nothing merely hides from them.

A model may withstand attacks that only ask and fall to one that follows its gradients. And
gradients may mislead: a connection that trains with `Detached` or `Phantom` shows autograd
something else than what it computes. So white-box attacks here differentiate the solve itself,
which is tested against finite differences; a search that only asks runs beside them; and texts
that broke another model are tried.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.attack import Attack, Material, build_attack, run_attack, verify
from holdfast.attack.search import Genetic
from holdfast.attack.spaces import build_space
from holdfast.data import Example
from holdfast.errors import InputError
from holdfast.evaluate.baselines import baselines, marks_of, share
from holdfast.evaluate.clean import predictions
from holdfast.evaluate.measured import Measured, mark_key
from holdfast.evaluate.true_gradient import differentiated, true_gradient
from holdfast.record import WARNING, Metric, Outcome
from holdfast.text import Words
from holdfast.victim import ModelVictim, Opened, Space, Victim
from holdfast.victim.splice import SplicedSpace
from holdfast.victim.two_readings import OpenedTwice

WHITE_BOX = ("hotflip", "hull")
SMALL_GENETIC = "small_genetic"
"""A short genetic search over the words of the white-box attacks; it only asks."""
_THOROUGH = ("genetic_jia", "beam")  # where one of these was run, the short one would add nothing
_UNLIKELY = 0.05
_SAME_WORDS = (*_THOROUGH, SMALL_GENETIC, "pwws_rift", "random_search")
_PROBES = 4  # texts on which gradients are tested


def attacks_run(black_box: Container[str]) -> tuple[str, ...]:
    """Return the attacks that the check runs beside those of `black_box`."""
    thorough = any(name in black_box for name in _THOROUGH)
    return WHITE_BOX if thorough else (*WHITE_BOX, SMALL_GENETIC)


def adaptive(
    victim: Victim,
    examples: Sequence[Example],
    material: Material,
    *,
    seed: int,
    black_box: Mapping[str, float],
    transferred: Sequence[Outcome] = (),
    moving: tuple[int, ...] = (-1,),
    certify: bool = False,
    watch: Callable[[Outcome], None] = lambda outcome: None,
) -> Measured:
    """Return the accuracy that is left by attacks which see gradients, and by other models' texts.

    `black_box` is what attacks that only ask left of the accuracy on the same examples, by their
    names; `transferred` are another model's outcomes. Without a group `white_box_accuracy` counts
    the examples that withstand every white-box attack. A victim without a model has none. With
    `certify` no gradient is followed where it is proved that none leads anywhere. `watch` is told
    each outcome as it comes.
    """
    if not examples:
        raise InputError("There are no examples for the adaptive check; give at least one.")
    attacked = _Attacked(victim, examples, material, seed, moving, certify, watch)
    looked = _look_inside(attacked) if isinstance(victim, ModelVictim) else _NOTHING_TO_SEE
    asked = attacked.by_asking() if SMALL_GENETIC in attacks_run(black_box) else Measured(())
    moved = _transfer(victim, transferred)
    against = {**black_box, **{metric.group: metric.value or 0.0 for metric in asked.metrics}}
    return Measured(
        (*looked.metrics, *asked.metrics, *moved.metrics),
        {**looked.marks, **asked.marks, **moved.marks},
        notes=(*looked.notes, *beaten(looked.metrics, against), *moved.notes),
    )


_NOTHING_TO_SEE = Measured(
    (),
    notes=("White-box attacks were left out: the victim is a function and shows no gradients.",),
)


@dataclass(frozen=True, eq=False)
class _Attacked:
    """A victim and what it is attacked on."""

    victim: Victim
    examples: Sequence[Example]
    material: Material
    seed: int
    moving: tuple[int, ...]
    certify: bool
    watch: Callable[[Outcome], None]

    def attack(self, name: str) -> Attack:
        return build_attack(name, self.material, moving=self.moving)

    def outcomes(self, attack: Attack) -> list[Outcome]:
        """Return what became of each example, in their order."""
        found = {}
        outcomes = run_attack(
            attack, self.victim, self.examples, seed=self.seed, certify=self.certify
        )
        for outcome in outcomes:
            found[outcome.id] = outcome
            self.watch(outcome)
        return [found[example.id] for example in self.examples]

    def measured(self, name: str, marks: Mapping[str, str]) -> Measured:
        """Return the shares of marks, each under its group, with the baseline of a constant."""
        known = baselines([example.label for example in self.examples], self.victim.classes)
        return Measured(
            tuple(share(name, of, group=g, majority=known.majority) for g, of in marks.items()),
            {mark_key(name, group): of for group, of in marks.items()},
        )

    def by_asking(self) -> Measured:
        """Return what the short genetic search leaves."""
        short = Genetic(population=20, iterations=10)
        attack = replace(self.attack("beam"), name=SMALL_GENETIC, search=short)
        outcomes = self.outcomes(attack)
        verify(attack, self.victim, outcomes, self.examples)
        return self.measured("accuracy_under_attack", {SMALL_GENETIC: _survivors(outcomes)})


def _survivors(outcomes: Sequence[Outcome]) -> str:
    return "".join("01"[outcome.survived] for outcome in outcomes)


def _look_inside(attacked: _Attacked) -> Measured:
    """Run the attacks that see gradients: true ones, as far as there are any."""
    victim = attacked.victim
    assert isinstance(victim, ModelVictim)
    chosen = true_gradient(victim, [example.texts for example in attacked.examples[:_PROBES]])
    marks = {}
    for name in WHITE_BOX:
        attack = attacked.attack(name)
        with differentiated(victim.model, chosen.gradient):
            outcomes = attacked.outcomes(attack)
        verify(attack, victim, outcomes, attacked.examples)  # as the model is used
        marks[name] = _survivors(outcomes)
    withstood = "".join(map(min, *marks.values()))
    found = attacked.measured("white_box_accuracy", {"": withstood, **marks})
    notes = (chosen.sentence, *_blind_spots(victim, attacked))
    return replace(found, notes=tuple(filter(None, notes)))


def _blind_spots(victim: ModelVictim, attacked: _Attacked) -> Iterator[str]:
    """Yield what gradients cannot see of these examples, whatever is differentiated."""
    texts = [tuple(map(Words.of, example.texts)) for example in attacked.examples]
    readings, attack = victim.read(texts), attacked.attack(WHITE_BOX[0])
    pairs = zip(texts, readings, strict=True)
    spaces = [build_space(attack, words, reading.visible) for words, reading in pairs]
    opened = victim.open(readings, spaces)
    whole = sum(not _is_spliced(one) for one in opened)
    if whole:
        yield (
            f"In {whole} of {len(texts)} texts words share tokens: no gradient was followed there."
        )
    if victim.blend.trust < 1:
        yield (
            "Texts are read twice, rewritten word by word and in their own words. HotFlip followed "
            "the gradient of the answer that comes out of both; the ascent in the hull climbed in "
            "each reading apart."
        )
    elif victim.canonical is not None:
        same = sum(map(_unseen, spaces, opened))
        every = sum(int((space.sizes - 1).sum()) for space in spaces)
        if same == 0:  # only its spelling is mended
            return
        yield (
            f"Texts are rewritten word by word before the model reads them: {same} of {every} "
            "substitutes come out as the very word they stand for, so that they change nothing "
            "and no gradient points at them. Words that the lexicon does not have are another "
            "matter."
        )


def _is_spliced(opened: Opened) -> bool:
    if isinstance(opened, OpenedTwice):
        return _is_spliced(opened.canonical) and _is_spliced(opened.own)
    return isinstance(opened, SplicedSpace)


def _unseen(space: Space, opened: Opened) -> int:
    """Count the substitutes that the victim cannot tell from the word itself."""
    keys = zip(opened.keys, space.sizes, strict=True)
    return sum(int((of[1:size] == of[0]).sum()) for of, size in keys)


# Comparisons --------------------------------------------------------------------------------------


def beaten(white: Sequence[Metric], black_box: Mapping[str, float]) -> Iterator[str]:
    """Yield a warning for each attack that only asks and leaves less than every white-box one."""
    each = [metric for metric in white if metric.group]
    if not each:
        return
    best = min(each, key=lambda metric: metric.value or 0.0)
    left = best.value or 0.0
    for name, value in black_box.items():
        if value >= left:
            continue
        other = "" if name in _SAME_WORDS else " It may change other words, or in other ways."
        by_chance = _by_chance(best, value)
        yield (
            f"{'' if by_chance else WARNING}The attack {name}, which only asks, leaves "
            f"{100 * value:.1f} % and the strongest "
            f"white-box attack ({best.group}) {100 * left:.1f} %, {_verdict(by_chance)}{other}"
        )


def asks(note: str) -> str:
    """Return which attack a sentence of `beaten` is about; of another sentence, nothing."""
    found = re.fullmatch(rf"(?:{re.escape(WARNING)})?The attack (\S+), which only asks, .*", note)
    return found[1] if found else ""


def _by_chance(white: Metric, left: float) -> bool:
    """Whether so much less may be left of equally many examples by chance: Fisher's exact test.

    They are the same examples; which of them are left is not passed on, so the test is careful.
    """
    from scipy.stats import fisher_exact  # type: ignore[import-untyped]  # half a second

    total, held = white.total or 0, white.count or 0
    fewer = round(left * total)
    return bool(fisher_exact([[held, total - held], [fewer, total - fewer]]).pvalue >= _UNLIKELY)


def _verdict(by_chance: bool) -> str:
    if by_chance:
        return "as chance may have it; the lower figure counts."
    return (
        "more than chance explains: the gradients may be masked, or the search is simply stronger; "
        "the lower figure counts."
    )


def _transfer(victim: Victim, outcomes: Sequence[Outcome]) -> Measured:
    """Return how many of the texts that broke another model this one gets right."""
    won = [outcome for outcome in outcomes if outcome.adversarial is not None]
    if not won:
        none = "The other model was never broken: there are no texts to transfer."
        return Measured((), notes=(none,) if outcomes else ())
    labels = [outcome.label for outcome in won]
    before = marks_of(predictions(victim, [outcome.texts for outcome in won]), labels)
    found = predictions(victim, [outcome.adversarial or () for outcome in won])
    after, known = marks_of(found, labels), vars(baselines(labels, victim.classes))
    return Measured(
        (
            share("transfer_accuracy", after, **known),
            share("original_accuracy", before, group="transfer", **known),
        ),
        {"transfer_accuracy": after, mark_key("original_accuracy", "transfer"): before},
    )
