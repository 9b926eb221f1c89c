"""Whether an attack's memory stays flat: what its processes hold after every tenth of the examples.

    python benchmarks/attack_memory.py --shape minilm --tokenizer FOLDER --texts sst2.jsonl \
        --lexicon L.json --examples 10000 --workers 14

Outcomes go to a file as they finish, as `holdfast attack --output` writes them. Memory is the
proportional set size: a page that several processes share is counted once.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from attack_rate import SEED, add_victim, build, label_texts
from side_by_side import add_record_options, device_name, print_table, write

from holdfast.attack import Outcome, attack_to_file, recipes
from holdfast.text import read_lexicon

MIB = 1024  # kibibytes


def resident_mib(process: int) -> float:
    """Return what a process holds, shared pages divided among those who share them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0.0
    return next((int(line.split()[1]) / MIB for line in lines if line.startswith("Pss:")), 0.0)


def workers_mib() -> float:
    """Return what all children of this process hold together."""
    me = os.getpid()
    children = Path(f"/proc/{me}/task/{me}/children").read_text(encoding="utf-8").split()
    return sum(map(resident_mib, map(int, children)))


def main() -> None:
    """Attack, and look at the memory on the way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_victim(parser)
    parser.add_argument("--attack", default="pwws_rift")
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--workers", type=int, default=0)
    add_record_options(parser, Path("runs/attack_memory.json"))
    options = parser.parse_args()
    victim = build(options)
    examples = label_texts(victim, options, options.examples)
    attack = recipes.find_recipe(options.attack)(read_lexicon(options.lexicon))
    rows: list[dict[str, Any]] = []
    done, step = 0, max(1, len(examples) // 10)

    def watch(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if done % step == 0:
            own = resident_mib(os.getpid())
            rows.append({"outcomes": done, "MiB": own, "workers MiB": workers_mib()})

    settings = {"seed": SEED, "in_flight": options.in_flight, "workers": options.workers}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes.jsonl"
        attack_to_file(attack, victim, examples, path, watch=watch, **settings)
    print_table(f"{attack.name}, {len(examples)} examples, {device_name()}", rows)
    content = {"attack": attack.name, "examples": len(examples), **settings, "rows": rows}
    write(options.output, content, seed=SEED, commit=options.commit)


if __name__ == "__main__":
    main()
