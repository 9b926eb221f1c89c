"""Made-up records of everything a report can show; no model was ever near them."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.record import Metric, Outcome, RunRecord, Series, write_record
from holdfast.record.outcome import Change
from holdfast.statistics import wilson

ROBUST = {
    "plain": (0.91, 0.21, 0.33),
    "implicit": (0.89, 0.26, 0.37),
    "rift": (0.88, 0.46, 0.47),
    "rift-implicit": (0.875, 0.52, 0.49),
}
"""Model to its true accuracy: clean, under attack, on AdvGLUE."""
CONSTANT = "forgetful"
ATTACKS = ("pwws_rift", "genetic_jia")
ADVGLUE = {"sst2": 148, "qqp": 78, "mnli": 121, "mnli-mm": 162, "qnli": 148, "rte": 81}
SENTENCES = (
    ("A gorgeous , witty and deeply moving film .", "gorgeous", "picturesque"),
    ("The plot is a mess and the jokes are tired .", "mess", "muddle"),
    ("An utterly charming story told with great care .", "charming", "beguiling"),
    ("It never rises above the level of a bad sitcom .", "bad", "naughty"),
    ("One of the best performances of the year .", "best", "finest"),
)
NASTY = "<script>window.broken = 1</script> & <img src=x onerror='window.broken = 1'> \"so\" good"


def environment() -> dict[str, Any]:
    return {
        "holdfast": "0.1.0",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "python": "3.12.1",
        "packages": {"torch": "2.13.0", "transformers": "5.22.0"},
        "platform": "Linux x86_64",
        "cpus": 2,
    }


def config(model: str, seed: int, **changes: Any) -> dict[str, Any]:
    """What a TrainConfig of that model looks like in a record."""
    implicit = "implicit" in model
    solver = {"type": "Descent", "steps": changes.get("steps", 5), "step_size": 0.1}
    scheme = {"type": "ImplicitEuler", "step": 1.0}
    connection = {"layers": changes.get("layers", "all"), "scheme": scheme, "solver": solver}
    alpha = changes.get("alpha", 0.1)
    objective = {"type": "Rift", "alpha": alpha} if "rift" in model else {"type": "Standard"}
    return {
        "type": "TrainConfig",
        "model": "bert-base-uncased",
        "output": f"runs/{model}-{seed}",
        "connection": {"type": "Connection", **connection} if implicit else None,
        "objective": objective,
        "seed": seed,
    }


def marks(share: float, count: int, *key: object) -> str:
    """Return which of `count` examples are right: the same ones are hard for everybody."""
    rng = random.Random(repr(key))
    hard = random.Random("examples")
    return "".join(
        "1" if 0.6 * hard.random() + 0.4 * rng.random() < share else "0" for _ in range(count)
    )


def share(name: str, found: str, group: str = "", majority: float | None = None) -> Metric:
    right, total = found.count("1"), len(found)
    low, high = wilson(right, total)
    chance = None if majority is None else 0.5
    return Metric(name, right / total, low, high, right, total, group, majority, chance)


def record(model: str, task: str, seed: int | None, **fields: Any) -> RunRecord:
    """Return an evaluation record with all that is the same in every one."""
    known: dict[str, Any] = {
        "kind": "evaluation",
        "config": {"type": "Cell"},
        "checksums": {"data": f"data of {task}", "model": f"{model} {seed}"},
        "seeds": {"attack": 0},
        "environment": environment(),
        "device": "cpu",
        "seconds": 3.0,
        "training": config(model, seed or 0),
    }
    return RunRecord(model=model, task=task, seed=seed, **(known | fields))


def clean_record(model: str, seed: int, examples: int, value: float, **fields: Any) -> RunRecord:
    found = marks(value, examples, model, seed, "clean")
    metrics = (
        share("accuracy", found, majority=0.51),
        Metric("parameters", 109_482_240.0),
        Metric("gflops", 22.35 * (6 if "implicit" in model else 1)),
        Metric("latency_ms", 41.5 if "implicit" in model else 8.25),
    )
    return record(model, "sst2", seed, metrics=metrics, marks={"accuracy": found}, **fields)


def attack_record(
    model: str, seed: int, attack: str, examples: int, value: float, **fields: Any
) -> RunRecord:
    before = marks(min(1.0, value + 0.4), examples, model, seed, attack, "before")
    after = marks(value, examples, model, seed, attack)
    after = "".join(min(pair) for pair in zip(before, after, strict=True))
    layers = tuple(map(float, range(13)))
    rise = 0.05 if "implicit" in model else 0.09
    metrics = (
        share("accuracy", before, majority=0.51),
        share("accuracy_under_attack", after),
        share("success_rate", "".join("1" if a == "0" else "0" for a in after)),
        Metric("changed_words", 2.4),
        Metric("changed_share", 0.13),
        Metric("queries", 184.2),
        Metric("similarity", 0.874),
    )
    series = (
        Series("moved_attack", layers, tuple(0.1 + rise * layer for layer in layers)),
        Series("moved_random", layers, tuple(0.1 + 0.03 * layer for layer in layers)),
    )
    known: dict[str, Any] = {
        "attack": attack,
        "metrics": metrics,
        "series": series,
        "marks": {"accuracy": before, "accuracy_under_attack": after},
        "labels": ("bad", "good"),
    }
    return record(model, "sst2", seed, **(known | fields))


def advglue_record(model: str, seed: int, task: str, rows: int, value: float) -> RunRecord:
    found = marks(value, rows, model, seed, task)
    third = rows // 3
    parts = {
        "word": found[:third],
        "sentence": found[third : 2 * third],
        "human": found[2 * third :],
    }
    levels = [share("accuracy", part, level, 0.5) for level, part in parts.items()]
    both = marks(value - 0.05, rows, model, seed, task, "both")
    metrics = (
        share("accuracy", found, majority=76 / 148),
        *levels,
        share("paired_accuracy", both, majority=76 / 148),
    )
    name = f"advglue/{task}"
    return record(
        model, name, seed, metrics=metrics, marks={"accuracy": found, "paired_accuracy": both}
    )


def training_record(model: str, seed: int, **changes: Any) -> RunRecord:
    """Return a training with all its curves."""
    steps = tuple(float(step) for step in range(0, 1001, 50))
    speed = 3.0 if "rift" in model else 1.4
    rng = random.Random(f"{model} {seed}")
    noise = [rng.uniform(-0.01, 0.01) for _ in steps]
    layers = tuple(float(layer) for layer in range(1, 13))
    series = [
        Series(
            "loss",
            steps,
            tuple(0.3 + 0.4 / (1 + s / 150) + n for s, n in zip(steps, noise, strict=True)),
            "train",
        ),
        Series(
            "loss",
            steps,
            tuple(0.36 + 0.33 / (1 + s / 150) + n for s, n in zip(steps, noise, strict=True)),
            "validation",
        ),
        Series(
            "accuracy",
            steps,
            tuple(0.9 - 0.38 / (1 + s / 120) + n for s, n in zip(steps, noise, strict=True)),
            "validation",
        ),
        Series("distance", steps, tuple(speed * 1e-3 * (s / 100) ** 0.6 for s in steps)),
    ]
    if "implicit" in model:
        series.append(Series("residual", layers, tuple(2e-3 * (1 + layer / 4) for layer in layers)))
    accuracy = share("accuracy", marks(0.9, 200, model, seed, "validation"), "validation")
    return RunRecord(
        kind="training",
        model=model,
        task="sst2",
        seed=seed,
        config=config(model, seed, **changes),
        training=config(model, seed, **changes),
        metrics=(accuracy, Metric("distance", 0.012 * speed)),
        series=tuple(series),
        checksums={"data/train": "training data"},
        environment=environment(),
        device="cpu",
        seconds=420.0,
    )


def outcome(number: int, status: str, sentence: tuple[str, str, str] | None = None) -> Outcome:
    text, old, new = sentence or SENTENCES[number % len(SENTENCES)]
    label = number % 2
    broken = status == "succeeded"
    prediction = 1 - label if status == "skipped" else label
    probabilities = tuple(0.9 if code == prediction else 0.1 for code in (0, 1))
    return Outcome(
        id=f"sst2:{number}",
        texts=(text,),
        label=label,
        status=status,
        prediction=prediction,
        probabilities=probabilities,
        adversarial=(text.replace(old, new),) if broken else None,
        adversarial_prediction=1 - label if broken else None,
        adversarial_probabilities=tuple(reversed(probabilities)) if broken else (),
        changes=(Change(0, text.split().index(old), old, new),) if broken else (),
        words=8,
        queries=0 if status == "skipped" else 90 + number,
    )


def write_outcomes(path: Path, outcomes: Sequence[Outcome]) -> Path:
    header = {"outcomes": 1, "attack": "made up", "examples": len(outcomes)}
    lines = [json.dumps(header), *(json.dumps(one.to_json()) for one in outcomes)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def attack_outcomes(found: RunRecord) -> list[Outcome]:
    """Return an outcome for each example of a record of an attack; the first text is nasty."""
    pairs = zip(found.marks["accuracy"], found.marks["accuracy_under_attack"], strict=True)
    status = {"00": "skipped", "10": "succeeded", "11": "failed"}
    nasty = (NASTY, "good", "<b>fine</b>")
    return [
        outcome(number, status[before + after], nasty if number == 0 else None)
        for number, (before, after) in enumerate(pairs)
    ]


def features(model: str, points: int = 60) -> tuple[Series, ...]:
    rng = random.Random(model)
    return tuple(
        Series(
            "features",
            tuple(rng.gauss(8 * label * (when == "after"), 3) for _ in range(points)),
            tuple(rng.gauss(4 * label, 3) for _ in range(points)),
            f"{when}/{label}",
        )
        for when in ("before", "after")
        for label in (0, 1)
    )


def everything(
    examples: int = 60, seeds: Sequence[int] = (0, 1, 2)
) -> Iterator[tuple[str, RunRecord]]:
    """Yield records of all kinds, each with the stem of its file."""
    for model, (clean, robust, advglue) in ROBUST.items():
        for seed in seeds:
            place = f"{model}/{seed}"
            shift = 0.01 * seed
            yield f"{place}/sst2/clean-0", clean_record(model, seed, examples, clean - shift)
            for number, attack in enumerate(ATTACKS):
                left = robust - shift - 0.04 * number
                yield f"{place}/sst2/{attack}-0", attack_record(model, seed, attack, examples, left)
            for task, rows in ADVGLUE.items():
                yield f"{place}/advglue/{task}", advglue_record(model, seed, task, rows, advglue)
            yield f"{place}/sst2/adaptive-0", adaptive_record(model, seed, examples, robust)
            yield f"{place}/training", training_record(model, seed)
    yield f"{CONSTANT}/0/sst2/clean-0", constant_record(examples)
    map_of = record("rift", "sst2", 0, attack="map", series=features("rift"))
    yield "rift/0/sst2/features", map_of


def adaptive_record(model: str, seed: int, examples: int, robust: float) -> RunRecord:
    white = marks(robust - 0.06, examples, model, seed, "white")
    metrics = (share("white_box_accuracy", white), share("transfer_accuracy", white))
    notes = ()
    if model == "implicit":
        notes = ("The black-box attack pwws_rift left less accuracy than every white-box one.",)
    return record(model, "sst2", seed, attack="adaptive", metrics=metrics, notes=notes)


def constant_record(examples: int, **fields: Any) -> RunRecord:
    """A model that always answers the majority class."""
    right = round(0.55 * examples)
    found = "1" * right + "0" * (examples - right)
    metrics = (share("accuracy", found, majority=right / examples),)
    known: dict[str, Any] = {"metrics": metrics, "marks": {"accuracy": found}}
    return record(CONSTANT, "sst2", 0, **(known | {"notes": (one_class(examples),)} | fields))


def one_class(rows: int) -> str:
    """Return what an evaluation notes of a model whose predictions are all the same."""
    return (
        f"The model answers one class (1) for 100 % of the {rows} rows: its accuracy is that of a "
        "constant, and no attack can lower it."
    )


def sweep(examples: int = 60) -> Iterator[tuple[str, RunRecord]]:
    """Yield trainings that differ in the iterations, the layers, or alpha."""
    points: list[tuple[str, dict[str, Any], float]] = [
        *((f"implicit-T{steps}", {"steps": steps}, 0.2 + 0.01 * steps) for steps in (1, 5, 10, 15)),
        *((f"implicit-{span}", {"layers": span}, 0.27) for span in ("1-3", "4-6")),
        *((f"rift-a{alpha}", {"alpha": alpha}, 0.4 + alpha / 3) for alpha in (0.0, 0.1, 0.3)),
    ]
    for model, changes, value in points:
        trained = {"training": config(model, 0, **changes)}
        yield (
            f"{model}/0/sst2/clean-0",
            clean_record(model, 0, examples, 0.9 - value / 9, **trained),
        )
        yield (
            f"{model}/0/sst2/pwws_rift-0",
            attack_record(model, 0, "pwws_rift", examples, value, **trained),
        )


def write(folder: Path, records: Mapping[str, RunRecord] | Iterator[tuple[str, RunRecord]]) -> Path:
    """Write records, those of attacks with their outcomes beside them; return the folder."""
    for stem, one in dict(records).items():
        path = folder / f"{stem}.json"
        if "accuracy_under_attack" in one.marks:
            name = f"{path.stem}.outcomes.jsonl"
            write_outcomes(path.with_name(name), attack_outcomes(one))
            one = RunRecord(**(vars(one) | {"outcomes": name}))
        write_record(one, path)
    return folder
