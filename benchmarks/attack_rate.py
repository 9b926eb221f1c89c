"""How much of the model's own speed an attack keeps: the engine beside the bare forward passes.

    python benchmarks/attack_rate.py --model FOLDER --texts sst2.jsonl --lexicon L.json
    python benchmarks/attack_rate.py --shape bert-base --tokenizer FOLDER --texts ... --lexicon ...

The same attack runs twice. The first run warms up and keeps the tokens of every text that was
run; the second is timed, from the start of its workers to the last outcome. Then those tokens,
packed into full batches beforehand, go through the model and nothing else: that is the bare
rate, taken from the faster of Python's own launches and recordings played again. With `--shape`
the weights are random, and the head is scaled so that words matter; labels are the model's own
answers.
"""

import argparse
import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from side_by_side import add_record_options, device_name, print_table, write
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from holdfast.attack import Attack, Outcome, recipes, run_attack
from holdfast.data import Example
from holdfast.text import read_lexicon
from holdfast.victim import ModelVictim, load
from holdfast.victim.lanes import Batch, Lanes

SHAPES = {
    "tiny": BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2),
    "minilm": BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    ),
    "bert-base": BertConfig(),
}
SEED = 0


class Recording(ModelVictim):
    """A victim that keeps every batch it runs."""

    kept: list[Batch] | None = None

    def run(self, batch: Batch) -> torch.Tensor:
        """Run a batch, and keep it if asked to."""
        if self.kept is not None:
            self.kept.append(batch)
        return super().run(batch)


def build(options: argparse.Namespace) -> Recording:
    """Return the victim under test, on the GPU where there is one."""
    settings = {
        "max_length": options.max_length,
        "precision": options.precision,
        "batch_tokens": options.batch_tokens,
    }
    if options.model is not None:
        plain = load(options.model, **settings)
        return Recording(plain.model, plain.tokenizer, canonical=plain.canonical, **settings)
    torch.manual_seed(SEED)
    model = BertForSequenceClassification(SHAPES[options.shape])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Recording(model.to(device), AutoTokenizer.from_pretrained(options.tokenizer), **settings)


def spread(victim: Recording, texts: list[tuple[str, ...]]) -> None:
    """Scale and centre a random head, so that about half the texts have each label."""
    answers = victim.score(texts)
    margins = answers[:, 1] - answers[:, 0]
    head: Any = victim.model.classifier
    scale = 3.0 / max(float(margins.std()), 1e-6)
    with torch.no_grad():
        head.weight.mul_(scale)
        head.bias.mul_(scale)
        head.bias[1] -= scale * float(np.median(margins))


def read_texts(path: Path, count: int) -> list[tuple[str, ...]]:
    """Return the first text of each line: JSON with a `sentence` or `text`, or plain."""
    with path.open(encoding="utf-8") as file:
        lines = list(itertools.islice(file, count))
    if path.suffix != ".jsonl":
        return [(line.strip(),) for line in lines]
    rows = map(json.loads, lines)
    return [(row.get("sentence") or row["text"],) for row in rows]


def measure(
    attack: Attack, victim: Recording, examples: list[Example], settings: dict[str, int]
) -> dict[str, Any]:
    """Run one attack and the bare passes; return one row of the table."""
    victim.kept = []
    list(run_attack(attack, victim, examples, seed=SEED, **settings))
    kept, victim.kept = victim.kept, None
    engine, outcomes = timed(victim, attack, examples, settings)
    launched, replayed = bare_seconds(victim, kept)
    bare = min(launched, replayed)
    forwards = sum(outcome.forwards for outcome in outcomes)
    rows = sum(len(batch.tokens) for batch in kept)
    return {
        "attack": attack.name,
        "examples": len(outcomes),
        "succeeded": sum(outcome.status == "succeeded" for outcome in outcomes),
        "queries": sum(outcome.queries for outcome in outcomes),
        "forwards": forwards,
        "rows filled": forwards / rows,
        "engine s": engine,
        "bare s": bare,
        "bare launched s": launched,
        "share of bare": bare / engine,
        "forwards/s": forwards / engine,
        "bare forwards/s": forwards / bare,
        "examples/s": len(outcomes) / engine,
    }


def timed(
    victim: Recording, attack: Attack, examples: list[Example], settings: dict[str, int]
) -> tuple[float, list[Outcome]]:
    """Return the seconds of a run and its outcomes."""
    wait()
    begin = time.perf_counter()
    outcomes = list(run_attack(attack, victim, examples, seed=SEED, **settings))
    wait()
    return time.perf_counter() - begin, outcomes


def bare_seconds(victim: Recording, kept: list[Batch]) -> tuple[float, float]:
    """Run the same different texts again, packed beforehand.

    Return the seconds of launching every kernel from Python, and of `ModelVictim.run`, which
    plays recordings where there is a GPU.
    """
    device, batches = victim.model.device, list(repacked(victim, kept))
    moved = [
        (torch.from_numpy(b.tokens).to(device), torch.from_numpy(b.lengths).to(device))
        for b in batches
    ]
    launched = seconds_of(lambda: [victim.forward(*pair) for pair in moved])
    return launched, seconds_of(lambda: [victim.run(batch) for batch in batches])


def seconds_of(work: Callable[[], Any]) -> float:
    """Do it twice, the second time by the clock."""
    work()
    wait()
    begin = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begin


def repacked(victim: Recording, kept: list[Batch]) -> Iterator[Batch]:
    """Yield full batches of the rows that were no copies."""
    lanes = Lanes(victim.shape)
    for batch in kept:
        own = batch.part(slice(len(batch.tickets)))
        rows = zip(own.tokens, own.lengths, strict=True)
        flat = np.concatenate([row[:count] for row, count in rows])
        lanes.put(flat, own.lengths, 0, np.zeros(len(own.tickets), dtype=np.int64))
    while (batch := lanes.fullest()) is not None:
        yield batch


def add_victim(parser: argparse.ArgumentParser) -> None:
    """Add what is attacked: a model, the texts, the lexicon."""
    parser.add_argument("--model", type=Path, help="folder of a fine-tuned classifier")
    parser.add_argument("--shape", choices=SHAPES, default="minilm")
    parser.add_argument("--tokenizer", type=Path, help="folder, with --shape")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--lexicon", type=Path, required=True)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--batch-tokens", type=int)


def label_texts(victim: Recording, options: argparse.Namespace, count: int) -> list[Example]:
    """Return the first texts with the labels that the victim gives them."""
    texts = read_texts(options.texts, count)
    if options.model is None:
        spread(victim, texts)
    answers = victim.score(texts).argmax(axis=1)
    return [
        Example(f"texts:{number}", text, int(answer))
        for number, (text, answer) in enumerate(zip(texts, answers, strict=True))
    ]


def wait() -> None:
    """Let the device finish."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_victim(parser)
    parser.add_argument("--attack", nargs="+", default=["pwws_rift", "genetic_jia"])
    parser.add_argument("--examples", type=int, nargs="+", default=[1000, 200])
    parser.add_argument("--in-flight", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=0)
    add_record_options(parser, Path("runs/attack_rate.json"))
    options = parser.parse_args()
    victim = build(options)
    examples = label_texts(victim, options, max(options.examples))
    lexicon, rows = read_lexicon(options.lexicon), []
    settings = {"in_flight": options.in_flight, "workers": options.workers}
    for name, count in zip(options.attack, itertools.cycle(options.examples), strict=False):
        attack = recipes.find_recipe(name)(lexicon)
        rows.append(measure(attack, victim, examples[:count], settings))
    named = str(options.model or f"{options.shape} shape, random weights")
    print_table(f"{named}, {options.precision}, {device_name()}", rows)
    shape = dataclasses.asdict(victim.shape)
    content = {
        "model": named,
        "precision": options.precision,
        "shape": shape,
        **settings,
        "rows": rows,
    }
    write(options.output, content, seed=SEED, commit=options.commit)


if __name__ == "__main__":
    main()
