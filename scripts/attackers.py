"""Attacks of one name whose files differ are different attackers: what may be compared, and a note.

Some runs found WordNet without its counts of senses, by which `pwws_ren` guesses parts of speech:
9 % of SST-2's words have other synonyms then, and 8 % of SNLI's. Records tell the two apart by the
checksum of the attack.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from holdfast.record import RunRecord

Place = tuple[str, str]
"""Task and attack."""


def met_the_same(records: Iterable[RunRecord], reference: str) -> list[RunRecord]:
    """Return the records whose attacker is the one that the reference met with that seed.

    What is left is comparable seed by seed, whichever attacker a seed had; so they no longer say
    which it was.
    """
    known = list(records)
    theirs = {_place(record): _attacker(record) for record in known if record.model == reference}
    return [
        dataclasses.replace(record, checksums=_without_attacker(record))
        for record in known
        if _attacker(record) == theirs.get(_place(record))
    ]


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


def _without_attacker(record: RunRecord) -> dict[str, str]:
    return {name: value for name, value in record.checksums.items() if name != "attack"}
