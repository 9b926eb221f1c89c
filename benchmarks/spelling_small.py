"""What undoing misspellings costs and brings where there are few training texts and no lexicon.

    python benchmarks/spelling_small.py --model MODEL --data FOLDER --output spelling-small.json

The words of the training texts and of the tokenizer are all that is known: the recipe `own-csv`. So
right words are taken for slips more often than where a lexicon knows them too. Three models for a
seed: on the texts as they are, with known words taken for right, and with a share of them expected
to be misspelt.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from side_by_side import print_table, write

from holdfast.attack import recipes, run_attack, summarise, verify
from holdfast.data import Example, find_task, read_split
from holdfast.text import Canonical
from holdfast.train import DataConfig, Optimisation, TrainConfig, fine_tune
from holdfast.train.wording import corrected_share
from holdfast.victim import ModelVictim, load

SPELLINGS = {
    "as they are": None,
    "unknown words undone": Canonical(rounds=0, spelling=True),
    "known words too": Canonical(rounds=0, spelling=True, misspelt=0.1),
}


def trained(
    arguments: argparse.Namespace, how: Canonical | None, seed: int, output: Path
) -> ModelVictim:
    """Return a model of a few training sentences, with its spelling."""
    config = TrainConfig(
        model=arguments.model,
        output=output,
        data=DataConfig(
            task="sst2", folder=arguments.data, examples=arguments.examples, max_length=64
        ),
        canonical=how,
        optimisation=Optimisation(learning_rate=1e-4, batch_size=16, epochs=3),
        seed=seed,
    )
    return load(fine_tune(config, progress=False).model)


def measured(victim: ModelVictim, examples: list[Example], attacked: int) -> dict[str, float]:
    """Return the accuracy in % on texts as they are, and on misspelt ones."""
    scores = victim.score([example.texts for example in examples])
    right = [int(row.argmax()) == e.label for row, e in zip(scores, examples, strict=True)]
    attack, some = recipes.deepwordbug(), examples[:attacked]
    outcomes = list(run_attack(attack, victim, some, seed=0))
    verify(attack, victim, outcomes, some)
    left = summarise(outcomes).accuracy_under_attack.value
    return {"clean": 100 * sum(right) / len(right), "misspelt": 100 * (left or 0.0)}


def row_of(arguments: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    """Return what one model is worth with its spelling."""
    examples = read_split(find_task("sst2"), "validation", arguments.data).examples
    with tempfile.TemporaryDirectory() as folder:
        victim = trained(arguments, SPELLINGS[name], seed, Path(folder) / "run")
    spelling = None if victim.canonical is None else victim.canonical.spelling
    share = 0.0 if spelling is None else 100 * corrected_share(examples, spelling)
    found = {"seed": seed, "texts": name, "words corrected %": share}
    return found | measured(victim, examples, arguments.attacked)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--attacked", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--commit", help="of the code that runs")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = [row_of(arguments, name, seed) for seed in range(arguments.seeds) for name in SPELLINGS]
    print_table(f"SST-2, {arguments.examples} training sentences, accuracy in %", rows)
    write(arguments.output, {"rows": rows}, seed=0, commit=arguments.commit)


if __name__ == "__main__":
    main()
