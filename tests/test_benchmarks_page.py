"""docs/benchmarks.md: its tables and its prose's numbers are rebuilt from benchmarks/results."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<!\w)(?<![A-Za-z]-)\d+(?:[.,]\d+)*")
CODE = re.compile(r"`[^`]*`")
NAMES = {  # words of the prose that have digits and say no quantity
    *("H200", "SST-2", "e5-small's", "fp32", "TF32", "bf16", "all-MiniLM-L6-v2", "MiniLM-L6"),
    *("`Theta(0.5)`", "`Theta(1.0)`", "e5-small", '`norm="l2_example"`', '`"l2_token"`'),
}
NOT_RECORDED = {
    # settings of the scripts, which their records do not hold
    "layers 4-6 of 12": "connection_cost.py, cases(); the depth is the models' own",
    "16 texts": "residuals.py, main()",
    "IMDB reviews, 128 tokens": "residuals.py, compare()",
    "(5 steps of 0.1 on the squared sum)": "side_by_side.py, papers_descent()",
    "at a step of 0.1": "side_by_side.py, papers_descent()",
    "ten steps of the hull's ascent": "rift_step.py, Rift() as it is",
    "500 training sentences of SST-2, three epochs": "spelling_small.py, --examples and trained()",
    "872 validation sentences, and on 100 of them": "spelling_small.py, the split and --attacked",
    "8 a word at most": "attack_peers.py, main()",
    # what a run was given, and no script knows
    "the 67,349 sentences": "the published size of the training split",
    "6,000 SST-2 sentences (83.0 % right)": "how the attacked model was made beforehand",
    "a Xeon at 2.8 GHz": "the records name no processor",
}
"""Parts of sentences whose numbers no record has, and where they are from. Rather record more."""
LAYERS = 12  # of BERT-base and e5-small, see above
Record = dict[str, Any]
Told = Iterator[str]
"""For a section: rows of its tables, `cell | cell`; numbers of its prose, in order, with spaces."""


def extremes(values: Iterable[float], form: str, between: str = " ") -> str:
    found = sorted(values)
    return f"{found[0]:{form}}{between}{found[-1]:{form}}"


def mean_and_range(values: list[float]) -> str:
    return f"{mean(values):.1f} ({extremes(values, '.1f', '-')})"


def three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}"


def version(name: str, *records: Record) -> str:
    (found,) = {record["environment"]["packages"][name] for record in records}
    return ".".join(found.split(".")[:2])


EULER, HALF, FULL = (
    f"{scheme}, Anderson to 1e-2" for scheme in ("ImplicitEuler", "Theta(0.5)", "Theta(1.0)")
)


def connection(case: str) -> str:
    code = re.sub(r"ImplicitEuler|Theta\(...\)|Phantom|Detached|Unrolled", r"`\g<0>`", case)
    return code.replace("paper's Descent", "the paper's descent")


def costs(record: Record, case: str, table: str = "fp32") -> Record:
    return next(row for row in record["tables"][table] if row["case"] == case)


def connection_cost(*records: Record) -> Told:
    yield "Model | Connection | Evaluations | Forward | Training step | Memory"
    models = "BERT-base in shape, random weights", "e5-small, IMDB reviews"
    for model, record in zip((*models, "e5-small, SST-2 sentences"), records, strict=True):
        for case in (EULER, HALF, FULL, "paper's Descent, 5 steps, Detached"):
            form = "{evaluations} | {x plain:.2f} | {x plain step:.2f} | {x plain memory:.2f}"
            label = connection(case).removesuffix(", `Detached`")
            yield f"{model} | {label} | {form.format(**costs(record, case))}"
    yield "Connection | Memory | Share of the last row"
    for row in records[0]["tables"]["all layers, memory"]:
        memory = f"{row['memory'] / 1e9:.2f} GB | {100 * row['share of unrolled']:.1f} %"
        yield f"{connection(row['case']).replace(', 5 steps', '')} | {memory}"
    yield from connection_limits(*records)


def connection_limits(bert: Record, *small: Record) -> Told:
    def plain(records: Iterable[Record], *tables: str) -> str:
        rows = [costs(record, "plain", table) for record in records for table in tables]
        return extremes((row[key] for row in rows for key in ("x plain", "x plain step")), ".2f")

    def needed(case: str, *records: Record) -> list[int]:
        return [sum(map(int, costs(one, case)["evaluations"].split("+"))) for one in records]

    every, euler, half = (bert, *small), costs(bert, EULER), costs(bert, HALF)
    yield from {"{} {}".format(*record["batch"]) for record in every}
    yield f"{version('torch', *every)} {version('transformers', *every)}"
    yield plain(every, "fp32", "tf32", "bf16")
    yield f"{euler['limit']} {half['limit']} {euler['limit step']} {euler['limit memory']}"
    yield f"{plain([bert], 'fp32')} {half['x plain']:.2f} {half['limit']}"
    for case, form in ((EULER, ".1f"), (HALF, ".2f")):
        counts = needed(case, *small)
        yield f"{extremes(counts, 'd')} {extremes((1 + count / LAYERS for count in counts), form)}"
    faster = [costs(bert, case, table) for case in (EULER, HALF) for table in ("tf32", "bf16")]
    yield extremes((row["x plain"] for row in faster), ".1f")
    yield f"{extremes(needed(FULL, *every), 'd')} {extremes(needed(HALF, *every), 'd')}"


def residuals(*records: Record) -> Told:
    yield "Model | Texts | Median layer | Worst layer | Layers where descent ends above its start"
    texts = {"sst2": "SST-2 sentences", "imdb": "IMDB reviews, 128 tokens"}
    for record in records:
        rows = record["rows"]
        smaller = [row["times smaller"] for row in rows]
        above = f"{sum(row['descent'] > row['start'] for row in rows)} of {len(rows)}"
        layers = f"{median(smaller):.1f} times smaller | {min(smaller):.1f} | {above}"
        yield f"{record['model']} | {texts[record['texts']]} | {layers}"
    yield "Model | Texts | Squared sum | By example | By token | Anderson"
    for record in records:
        rows = record["rows"]
        left = [
            f"{median(row[name] / row['start'] for row in rows):.2f}"
            for name in ("descent", "by example", "by token", "anderson")
        ]
        yield f"{record['model']} | {texts[record['texts']]} | {' | '.join(left)}"
        for name in ("by example", "by token"):
            assert all(row["start"] / 2 < row[name] < row["start"] for row in rows)
    for work in ("descent work", "anderson work"):
        yield from {f"{row[work]:.0f}" for record in records for row in record["rows"]}


def rift_step(rift: Record) -> Told:
    yield "Step | Milliseconds | Of the released scheme | Memory | Inner loss"
    for row in rift["rows"]:
        step, memory = row["step"].replace("Rift", "`Rift`"), row["memory MiB"] / 1024
        seconds = "{milliseconds:.0f} | {of released:.2f}".format(**row)
        yield f"{step} | {seconds} | {memory:.1f} GiB | {row['inner loss']:.2f}"
    yield "{examples} {tokens}".format(**rift["settings"]) + f" {version('torch', rift)}"


HULL = {
    "standard": "`Standard`",
    "adversarial-light": "`Adversarial(beta={beta:g}, steps={steps})`",
    "adversarial": "`Adversarial(beta={beta:g}, steps={steps})`",
    "rift": "`Rift(alpha={alpha}, beta={beta:g}, steps={steps})`, {features} of tokens",
    "standard+canonical": "`Standard` on canonical text, two rounds",
}


def sst2_hull(hull: Record) -> Told:
    yield "Objective | Clean | Under PWWS"
    means = {}
    for name, form in HULL.items():
        own = [cell for cell in hull["cells"] if cell["objective"] == name]
        clean = [100 * cell["metrics"]["held_out_accuracy"] for cell in own]
        attacked = [100 * cell["attack"]["accuracy_under_attack"]["value"] for cell in own]
        label = form.format(**own[0]["config"]["objective"])
        yield f"{label} | {mean_and_range(clean)} | {mean_and_range(attacked)}"
        means[name] = mean(clean), mean(attacked)
    configs = [cell["config"] for cell in hull["cells"]]
    yield from {f"{100 * config['data']['validation_share']:g}" for config in configs}
    yield from {str(config["optimisation"]["batch_size"]) for config in configs}
    yield from {str(cell["attack"]["examples"]) for cell in hull["cells"]}
    before, under = means["standard"]
    for clean, attacked in (means["adversarial-light"], means["standard+canonical"]):
        yield f"{attacked - under:.1f} {before - clean:.1f}"


def spelling_small(spelling: Record) -> Told:
    yield "Texts | Words changed, % | Clean | Misspelt"
    for name, label in (
        ("as they are", "as they are"),
        ("unknown words undone", "unknown words undone"),
        ("known words too", "known words too, `misspelt` 0.1"),
    ):
        own = [row for row in spelling["rows"] if row["texts"] == name]
        columns = ([row[key] for row in own] for key in ("words corrected %", "clean", "misspelt"))
        yield " | ".join([label, *map(mean_and_range, columns)])


def attack_rate(memory: Record, bert: Record, minilm: Record) -> Told:
    yield "Shape | Attack | Examples | Seconds | Forwards/s | Examples/s | Share of the bare rate"
    for shape, record in (("MiniLM", minilm), ("BERT-base", bert)):
        for row in record["rows"]:
            rates = f"{three_digits(row['forwards/s'])} | {three_digits(row['examples/s'])}"
            asked = "`{attack}` | {examples:,} | {engine s:.1f}".format(**row)
            yield f"{shape} | {asked} | {rates} | {100 * row['share of bare']:.0f} %"
    yield from {f"{one['workers']} {one['in_flight']}" for one in (memory, bert, minilm)}
    for record in (minilm, bert):
        yield extremes((row["bare launched s"] / row["bare s"] for row in record["rows"]), ".1f")
    rows = [row for row in memory["rows"] if row["workers MiB"]]  # before they end
    yield f"{extremes((row['outcomes'] for row in rows), ',')} {memory['examples']:,}"
    yield f"{extremes((row['MiB'] for row in rows), '.0f')} {memory['workers']}"
    yield " ".join(three_digits(find(row["workers MiB"] for row in rows)) for find in (min, max))


def attack_peers(peers: Record) -> Told:
    head = "Attack, texts | Side | CPU s, median (range) | Forwards a text | Mean batch | Of bare"
    yield f"{head} | Success, 95 %"
    for row in (row for row in peers["rows"] if not row["side"].startswith("bare")):
        case, texts = row["case"].removesuffix(", few texts"), row["texts"]
        recipe = "`pwws_rift`" if case == "PWWS" else "`genetic_jia`"
        side = row["side"].replace("its recipe", recipe).replace("forward only, ", "")
        runs = [run["seconds"]["cpu"] for run in row["runs"]]
        around = f" ({extremes(runs, '.1f', '-')})" if len(runs) > 1 else ""
        seconds = f"{row['CPU s']:.{1 if row['CPU s'] < 100 else 0}f}{around}"
        # OpenAttack's genetic search ran shorter texts than the bare model did: no comparison
        incomparable = side.startswith("OpenAttack") and case == "genetic"
        bare = "-" if incomparable else f"{row['share of bare']:.2f}"
        work = f"{row['forwards per text']:,.0f} | {row['mean batch']:.1f} | {bare}"
        success = f"{row['succeeded']} of {texts}, {row['success, 95 %'].replace('0.', '')} %"
        yield f"{case}, {texts} | {side} | {seconds} | {work} | {success}"
    yield from peers_ratios(peers)


def peers_ratios(peers: Record) -> Told:
    # of Holdfast's two rows of a case the first, its recipe
    rows = {(row["case"], row["side"].split(",")[0]): row for row in reversed(peers["rows"])}
    shipped = rows["PWWS, few texts", "TextAttack"]["runs"][0]
    beside = [one for one in peers["ratios"] if one["beside"].startswith("TextAttack")]
    few, few_same, pwws, same, genetic, _, bound = beside  # as attack_peers_cases.py orders them
    (packed,) = set(re.findall(r"(\d+) at a time", str(peers["rows"])))
    yield f"{version('torch', peers)} {version('transformers', peers)}"
    yield "{textattack[textattack]} {openattack[OpenAttack]}".format(**peers["peers"])
    yield f"{shipped['tokens'] / shipped['rows']:g}"  # tokens of a query
    yield "{same text} {texts} {same queries}".format(**same) + f" {packed}"
    yield extremes({row["texts"] for row in rows.values()} - {pwws["texts"]}, "d")
    yield f"{few['wanted']:g} {few['times faster']:.1f} {few_same['times faster']:.1f}"
    its, ours = rows["PWWS", "TextAttack"]["share of bare"], rows["PWWS", "Holdfast"]
    yield f"{pwws['wanted']} {pwws['times faster']:.2f} {same['times faster']:.2f}"
    yield f"{its:.2f} {1 / its:.2f} {ours['share of bare']:.2f} {pwws['texts']} {packed}"
    yield f"{ours['forwards per text'] - ours['queries per text']:.0f}"
    its = rows["genetic", "TextAttack"]["share of bare"]
    yield f"{genetic['wanted']:g} {genetic['times faster']:.1f} {its:.2f} {1 / its:.1f}"
    yield from (*NUMBER.findall(bound["case"]), f"{bound['times faster']:.1f}")


def report_scale(scale: Record) -> Told:
    yield "{records:,} {outcomes:,} {page_mb:.2f} {seconds:.1f} {card_seconds:.1f}".format(**scale)


SECTIONS: dict[str, tuple[Callable[..., Told], str]] = {
    "Time and memory on one H200": (connection_cost, "connection-cost-*"),
    "How well the equation is solved for the same work": (residuals, "residuals-*"),
    "One step of RIFT": (rift_step, "rift-step*"),
    "Hull training on SST-2": (sst2_hull, "sst2-hull*"),
    "Undoing misspellings with few texts": (spelling_small, "spelling-small*"),
    "Attacks on one H200": (attack_rate, "attack-[mr]*"),
    "Attacks beside the peers, on one CPU thread": (attack_peers, "attack-peers-*"),
    "The report at scale": (report_scale, "report-scale*"),
}
"""What rebuilds a section, and the records it is given, in the order of their names."""


@cache
def told(heading: str) -> tuple[set[str], list[str]]:
    """Return the rows and the numbers that the records have for a section."""
    rebuild, names = SECTIONS.get(heading, (lambda: (), "no record"))
    said = list(rebuild(*(json.loads(path.read_text()) for path in sorted(RECORDS.glob(names)))))
    rows = {one for one in said if " | " in one}
    return rows, " ".join(one for one in said if one not in rows).split()


def shown(section: str) -> tuple[set[str], list[str]]:
    """Return the rows of a section, an empty cell as the one above it, and its prose's numbers."""
    rows: list[list[str]] = []
    for line in re.findall(r"^\|(?!-)(.*)\|$", section, flags=re.M):
        now = [cell.strip() for cell in line.split("|")]
        rows.append([cell or rows[-1][at] for at, cell in enumerate(now)])
    prose = " ".join(re.sub(r"^\|.*\|$", "", section, flags=re.M).split())
    for part in NOT_RECORDED:
        prose = prose.replace(part, "")
    return {" | ".join(row) for row in rows}, NUMBER.findall(CODE.sub("", prose))


def faults(page: str) -> list[Any]:
    """Return for each section where the page differs from the records: theirs, and its own."""
    parts = {part.partition("\n")[0]: part for part in re.split("^## ", page, flags=re.M)}
    found: list[Any] = []
    for heading in {**SECTIONS, **parts}:
        (rows, numbers), (own_rows, own_numbers) = told(heading), shown(parts.get(heading, ""))
        found += [(rows - own_rows, own_rows - rows)] if rows != own_rows else []
        found += [(numbers, own_numbers)] if numbers != own_numbers else []
    return found


def test_the_page_says_what_the_records_say_and_no_other_number():
    assert not faults(PAGE)


def test_every_record_is_behind_a_section():
    used = {path for _, names in SECTIONS.values() for path in RECORDS.glob(names)}
    assert used == set(RECORDS.glob("*.json"))


def test_what_is_excused_still_stands_on_the_page():
    assert not [part for part in NOT_RECORDED if part not in " ".join(PAGE.split())]


def test_a_changed_digit_is_caught_wherever_it_says_a_quantity():
    unnoticed = set()
    for word in re.finditer(r"[^\s|]+", PAGE):
        for digit in re.finditer(r"\d", word[0]):
            at = word.start() + digit.start()
            changed = f"{PAGE[:at]}{(int(PAGE[at]) + 1) % 10}{PAGE[at + 1 :]}"
            unnoticed |= set() if faults(changed) else {word[0].strip("(),.:")}
    assert unnoticed == NAMES


def test_numbers_in_each_others_rows_are_caught():
    assert faults(PAGE.replace("2.91", "swap").replace("4.17", "2.91").replace("swap", "4.17"))
