"""What undoing misspellings costs and brings where there are few training texts and no lexicon.

    python benchmarks/spelling_small.py --model MODEL --data FOLDER --output spelling-small.json

The words of the training texts and of the tokenizer are all that is known: the recipe `own-csv`. So
right words are taken for slips more often than where a lexicon knows them too. The training texts
do not change, so one model is measured twice, with its spelling and without.
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


def trained(arguments: argparse.Namespace, seed: int, output: Path) -> ModelVictim:
    """Return a model of a few training sentences, with its spelling."""
    config = TrainConfig(
        model=arguments.model,
        output=output,
        data=DataConfig(
            task="sst2", folder=arguments.data, examples=arguments.examples, max_length=64
        ),
        canonical=Canonical(rounds=0, spelling=True),
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


def rows_of(arguments: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """Return what one model is worth with and without its spelling."""
    examples = read_split(find_task("sst2"), "validation", arguments.data).examples
    with tempfile.TemporaryDirectory() as folder:
        spelt = trained(arguments, seed, Path(folder) / "run")
    assert spelt.canonical is not None
    assert spelt.canonical.spelling is not None
    plain = ModelVictim(spelt.model, spelt.tokenizer, max_length=spelt.max_length)
    share = 100 * corrected_share(examples, spelt.canonical.spelling)
    return [
        {"seed": seed, "texts": name, "words corrected %": part}
        | measured(victim, examples, arguments.attacked)
        for name, victim, part in (("as they are", plain, 0.0), ("spelt", spelt, share))
    ]


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
    rows = [row for seed in range(arguments.seeds) for row in rows_of(arguments, seed)]
    print_table(f"SST-2, {arguments.examples} training sentences, accuracy in %", rows)
    write(arguments.output, {"rows": rows}, seed=0, commit=arguments.commit)


if __name__ == "__main__":
    main()
