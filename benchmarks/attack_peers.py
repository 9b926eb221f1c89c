"""Attacks beside TextAttack and OpenAttack: the same model, texts and words, one CPU thread.

    python benchmarks/attack_peers.py --model FOLDER --data FOLDER --lexicon FILE \
        --textattack PYTHON --openattack PYTHON

Each peer runs in an environment of its own, whose interpreter is named; without it its rows say
that it was not run. All sides are loaded and warmed up first; then they take turns, one at work
and the others waiting. Ratios are those of the attacking process's CPU seconds.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attack_peers_cases import CASES, ROUNDS, Case, Side, attack_of
from attack_peers_process import Peer
from attack_peers_rows import compare, packed, recorded, row
from side_by_side import add_record_options, print_table, write

from holdfast.attack import run_attack
from holdfast.attack.constraint.stop_words import ENGLISH
from holdfast.data import Example, find_task, read_split
from holdfast.text import Lexicon, Words, read_lexicon
from holdfast.victim import ModelVictim, load

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from side import Passes, seconds_of

SEED, MAX_LENGTH = 0, 512


class Recording(ModelVictim):
    """A victim that keeps the tokens it runs."""

    kept: list[tuple[torch.Tensor, torch.Tensor]]

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Run a batch, and keep it."""
        self.kept.append((tokens, lengths))
        return super().forward(tokens, lengths)


class Holdfast:
    """Holdfast's own side, in this process."""

    def __init__(self, folder: Path, lexicon: Lexicon) -> None:
        self._first = load(folder, max_length=MAX_LENGTH, device="cpu")
        self._passes = Passes(self._first.model)
        self._lexicon = lexicon
        self.packed: list[torch.Tensor] = []

    def score(self, texts: Sequence[str]) -> list[int]:
        """Return the classes of texts."""
        found: list[int] = self._first.score([(text,) for text in texts]).argmax(axis=1).tolist()
        return found

    def run(self, case: Case, side: Side, texts: Sequence[Example]) -> dict[str, Any]:
        """Attack; the victim is a new one, which has learnt no word yet."""
        attack = attack_of(case, side, self._lexicon)
        victim = Recording(self._first.model, self._first.tokenizer, max_length=MAX_LENGTH)
        victim.kept = []
        self._passes.taken()
        with seconds_of() as seconds:
            outcomes = list(run_attack(attack, victim, texts, seed=SEED))
        self.packed = packed(victim.kept)
        by_id = {outcome.id: outcome for outcome in outcomes}
        found = [by_id[example.id] for example in texts]
        return {
            "seconds": seconds,
            **self._passes.taken(),
            "forwards": sum(outcome.forwards for outcome in outcomes),
            "outcomes": [
                {"adversarial": one.adversarial and one.adversarial[0], "queries": one.queries}
                for one in found
            ],
        }

    def bare(self) -> dict[str, Any]:
        """Run the last attack's texts, packed beforehand, and nothing else."""
        self._passes.taken()
        with seconds_of() as seconds, torch.no_grad():
            for tokens in self.packed:
                self._first.model(input_ids=tokens, attention_mask=(tokens != 0).long())
        return {"seconds": seconds, **self._passes.taken(), "outcomes": []}


def choose(holdfast: Holdfast, data: Path, lexicon: Lexicon) -> list[Example]:
    """Return the first validation sentences that are read right and have a word to replace."""
    wanted = max(case.texts for case in CASES)
    examples = read_split(find_task("sst2"), "validation", data).examples
    right = holdfast.score([example.texts[0] for example in examples])
    return [
        example
        for example, label in zip(examples, right, strict=True)
        if label == example.label and any(_free(example.texts[0], lexicon))
    ][:wanted]


def _free(text: str, lexicon: Lexicon) -> Iterator[bool]:
    for word in Words.of(text).words:
        yield word.text.lower() not in ENGLISH and bool(lexicon.of(word.text))


class Stage:
    """All sides of one case, in turn."""

    def __init__(self, holdfast: Holdfast, peers: Mapping[str, Peer], all_: list[Example]) -> None:
        self._holdfast, self._peers, self._all = holdfast, peers, all_

    def play(self, case: Case) -> list[dict[str, Any]]:
        """Return a row for each side, and one for the bare passes."""
        texts = self._all[: case.texts]
        sides = [side for side in case.sides if side.peer is None or side.peer in self._peers]
        for side in sides:
            self._run(case.warm_up(), side, texts[:1])
        runs: dict[Side, list[dict[str, Any]]] = {side: [] for side in sides}
        bare = []
        for turn in range(ROUNDS):
            for side in (side for side in sides if turn < side.rounds):
                runs[side].append(self._checked(self._run(case, side, texts), texts))
                spent = runs[side][-1]["seconds"]["cpu"]
                print(f"{case.name}: {side.name}: {spent:.1f} CPU s", file=sys.stderr, flush=True)
                if side.bare:
                    bare.append(self._holdfast.bare())
        pace = row(case, Side("bare forward passes, length-sorted, 32 at a time"), bare, None)
        per_row = pace["CPU s"] / bare[0]["rows"]
        return [row(case, side, runs.get(side, []), per_row) for side in case.sides] + [pace]

    def _run(self, case: Case, side: Side, texts: Sequence[Example]) -> dict[str, Any]:
        if side.peer is None:
            return self._holdfast.run(case, side, texts)
        told = [(example.texts[0], example.label) for example in texts]
        return self._peers[side.peer].ask(case.job(side) | {"texts": told, "seed": SEED})

    def _checked(self, run: dict[str, Any], texts: Sequence[Example]) -> dict[str, Any]:
        """Ask the model itself about every text that is said to fool it."""
        found = [
            (one["adversarial"], example.label)
            for one, example in zip(run["outcomes"], texts, strict=True)
            if one["adversarial"] is not None
        ]
        labels = self._holdfast.score([text for text, _ in found]) if found else []
        wrong = sum(now != label for now, (_, label) in zip(labels, found, strict=True))
        return run | {"verified": wrong}


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of a classifier")
    parser.add_argument("--data", type=Path, required=True, help="folder with SST-2")
    parser.add_argument("--lexicon", type=Path, required=True)
    parser.add_argument("--textattack", type=Path, help="the interpreter of its environment")
    parser.add_argument("--openattack", type=Path, help="the interpreter of its environment")
    parser.add_argument("--cases", nargs="+", default=[case.name for case in CASES])
    add_record_options(parser, Path("runs/attack_peers.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    lexicon = read_lexicon(options.lexicon)
    holdfast = Holdfast(options.model, lexicon)
    setting = {
        "model": str(options.model.resolve()),
        "lexicon": {word: own[:8] for word, own in lexicon.neighbours.items()},
        "stop_words": ENGLISH,
    }
    named = {"textattack": options.textattack, "openattack": options.openattack}
    peers = {
        name: Peer(python, f"{name}_side.py", setting) for name, python in named.items() if python
    }
    stage = Stage(holdfast, peers, choose(holdfast, options.data, lexicon))
    rows = [r for case in CASES if case.name in options.cases for r in stage.play(case)]
    shown = [{key: value for key, value in one.items() if key != "runs"} for one in rows]
    print_table("Attacks beside the peers, one CPU thread", shown)
    ratios = compare(rows)
    if ratios:
        print_table("Ratios of CPU seconds on the same texts", ratios)
    content = {
        "lexicon": lexicon.sha256,
        "peers": {name: peer.versions for name, peer in peers.items()},
        "ratios": ratios,
        "rows": recorded(rows),
    }
    write(options.output, content, seed=SEED, commit=options.commit)
    for peer in peers.values():
        peer.end()


if __name__ == "__main__":
    main()
