"""From the runs of a side to its row, and from the rows of a case to ratios."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from attack_peers_cases import Case, Side

from holdfast.attack import Share

WANTED = {
    ("PWWS, few texts", "TextAttack, as shipped"): 10.0,
    ("PWWS", "TextAttack, forward only, dynamic padding"): 1.3,
    ("genetic", "TextAttack, forward only, dynamic padding"): 3.0,
}
"""What this project set itself: so many times the peer's examples a CPU second."""

PACKED = 32
"""Texts of a batch when nothing but the model is run."""

MEASURED = (
    "rounds",
    "CPU s",
    "CPU s, least and most",
    "wall s",
    "texts per CPU s",
    "queries per text",
    "forwards per text",
    "rows filled",
    "mean batch",
    "share of bare",
    "succeeded",
    "success, 95 %",
    "verified",
)
"""What a row says of a side; forwards are different texts, rows are what the model was given."""

Run = Mapping[str, Any]


def row(case: Case, side: Side, runs: Sequence[Run], bare: float | None) -> dict[str, Any]:
    """Return a row of the table; `bare` are the seconds of one text in packed passes."""
    head = {"case": case.name, "side": side.name, "texts": case.texts}
    if not runs:
        return head | dict.fromkeys(MEASURED) | {"runs": "not run"}
    return (
        head
        | dict(zip(MEASURED, _measures(runs, case.texts, bare), strict=True))
        | {"runs": list(runs)}
    )


def _measures(runs: Sequence[Run], texts: int, bare: float | None) -> Iterator[Any]:
    first, seconds = runs[0], [run["seconds"]["cpu"] for run in runs]
    middle, rows, outcomes = statistics.median(seconds), first["rows"], first["outcomes"]
    different = first.get("forwards", rows)
    won = Share.of(sum(map(succeeded, outcomes)), len(outcomes))
    yield from (len(runs), middle, f"{min(seconds):.3g}-{max(seconds):.3g}")
    yield statistics.median(run["seconds"]["wall"] for run in runs)
    yield texts / middle
    yield sum(one["queries"] for one in outcomes) / texts
    yield from (different / texts, different / rows, rows / first["calls"])
    yield None if bare is None else bare * different / middle
    yield from (won.count, f"{won.low:.2f}-{won.high:.2f}", first.get("verified"))


def succeeded(outcome: Mapping[str, Any]) -> bool:
    """Return whether the attack on one text did."""
    return outcome["adversarial"] is not None


def compare(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each of Holdfast's rows beside each peer's on the same texts."""
    ran = [one for one in rows if one["runs"] != "not run"]
    ours = [one for one in ran if one["side"].startswith("Holdfast")]
    peers = [one for one in ran if "Attack, " in one["side"] and one not in ours]
    return [_beside(our, peer) for our in ours for peer in peers if our["case"] == peer["case"]]


def _beside(our: Mapping[str, Any], peer: Mapping[str, Any]) -> dict[str, Any]:
    pairs = list(zip(our["runs"][0]["outcomes"], peer["runs"][0]["outcomes"], strict=True))
    mine, theirs = (Share.of(one["succeeded"], one["texts"]) for one in (our, peer))
    ratio = peer["CPU s"] / our["CPU s"]
    wanted = WANTED.get((peer["case"], peer["side"]))
    return {
        "case": our["case"],
        "side": our["side"],
        "beside": peer["side"],
        "times faster": ratio,
        "wanted": wanted,
        "reached": None if wanted is None else ratio >= wanted,
        "intervals meet": mine.low <= theirs.high and theirs.low <= mine.high,
        "same outcome": sum(succeeded(one) == succeeded(other) for one, other in pairs),
        "same text": sum(one["adversarial"] == other["adversarial"] for one, other in pairs),
        "same queries": sum(one["queries"] == other["queries"] for one, other in pairs),
        "texts": our["texts"],
    }


def packed(kept: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
    """Return the different rows of some batches, sorted by length, 32 at a time, padded by 0."""
    rows = {
        tuple(tokens[:length])
        for batch, lengths in kept
        for tokens, length in zip(batch.tolist(), lengths.tolist(), strict=True)
    }
    ordered = sorted(rows, key=lambda tokens: (len(tokens), tokens))
    return [
        torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(tokens) for tokens in ordered[at : at + PACKED]], batch_first=True
        )
        for at in range(0, len(ordered), PACKED)
    ]


def recorded(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows as the record holds them: the texts belong to their data set, not to it."""
    return [dict(one) | {"runs": _without_texts(one["runs"])} for one in rows]


def _without_texts(runs: Sequence[Run] | str) -> Any:
    if isinstance(runs, str):
        return runs
    return [
        dict(run)
        | {
            "outcomes": [
                {"succeeded": succeeded(one), "queries": one["queries"]} for one in run["outcomes"]
            ]
        }
        for run in runs
    ]
