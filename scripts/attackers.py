"""Attacks of one name whose files differ are different attackers: what may be compared, and a note.

Some runs found WordNet without its counts of senses, by which `pwws_ren` guesses parts of speech:
9 % of SST-2's words have other synonyms then, and 8 % of SNLI's. Records tell the two apart by the
checksum of the attack.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from holdfast.record import RunRecord
from holdfast.record.attacks import attack_checksum

Place = tuple[str, str | None]
"""Task and attack."""


def met_the_same(records: Iterable[RunRecord], reference: str) -> list[RunRecord]:
    """Return the records whose attacker is the one that the reference met with that seed.

    What is left is comparable seed by seed, whichever attacker a seed had. Rows that lack other
    seeds are other comparisons: the reference is there once for each, without these seeds, and the
    checksum of the attack no longer says which it was, but which seeds are left out.
    """
    known = list(records)
    theirs = {_place(record): _attacker(record) for record in known if record.model == reference}
    left_out: dict[Place, dict[str, set[int | None]]] = defaultdict(lambda: defaultdict(set))
    for record in known:
        other = _attacker(record) != theirs.get(_place(record))
        left_out[record.task, record.attack][record.model] |= {record.seed} if other else set()
    return [
        _without(record, seeds)
        for record in known
        for seeds in _lacking(left_out[record.task, record.attack], record.model, reference)
        if record.seed not in seeds
    ]


def _lacking(
    left_out: Mapping[str, set[int | None]], model: str, reference: str
) -> set[frozenset[int | None]]:
    """Return what a model is compared without, the reference with each of the others."""
    return {frozenset(seeds) for row, seeds in left_out.items() if model in (row, reference)}


def told_apart(records: Iterable[RunRecord], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each attack that was not the same for all; `names` are its columns."""
    met: dict[Place, dict[str, dict[str, set[str]]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.attack in names:
            of = met[record.task, record.attack][_attacker(record)]
            of.setdefault(record.model, set()).add(str(record.seed))
    for (_, attack), attackers in met.items():
        if len(attackers) > 1:
            yield from (_sentence(names[attack], attackers), "")


def _sentence(column: str, attackers: Mapping[str, Mapping[str, set[str]]]) -> str:
    fewest = min(attackers.values(), key=lambda of: sum(map(len, of.values())))
    seeds = {model: ", ".join(sorted(own)) for model, own in fewest.items()}
    # where all rows met it, most of them with the same seeds, these need not be named one by one
    everywhere = all(seeds.keys() >= of.keys() for of in attackers.values())
    usual = Counter(seeds.values()).most_common(1)[0][0] if everywhere else ""
    which = [f"{model} ({own})" for model, own in seeds.items() if own != usual]
    which += [f"the other rows ({usual})"] if usual else []
    return (
        f"{column}: two builds of the attacker's files, which [differ](index.md#two-attackers) in "
        f"some synonyms. The rarer one met, with the seeds in brackets: {', '.join(which)}."
    )


def _place(record: RunRecord) -> tuple[str, str | None, int | None]:
    """Return where two models can meet the same attacker."""
    return record.task, record.attack, record.seed


def _attacker(record: RunRecord) -> str:
    return record.checksums.get("attack", "")


def _without(record: RunRecord, seeds: Collection[int | None]) -> RunRecord:
    """Return a record whose checksum of the attack tells which seeds it is compared without."""
    checksums = {name: value for name, value in record.checksums.items() if name != "attack"}
    apart = attack_checksum(sorted(map(str, seeds)))
    return dataclasses.replace(record, checksums={**checksums, "attack": apart})
