r"""Time the models of IM-BERT's Table 5, alone on the card; see --help.

    python scripts/latency.py --models models --data data --output runs all-MiniLM-L6-v2 e5-small

The campaign counts operations beside a dozen other processes, which would spoil the time. The inner
steps are of a fixed number, so that the time does not depend on the weights: these are the
pre-trained ones. The records stand where the campaign's stood, with the time in them.
"""

import argparse
import dataclasses
from pathlib import Path

from campaign import cells_of, choose_kernels, setting_of
from studies import ALONE, MODELS, STUDIES

from holdfast.data import Example, find_task, read_split
from holdfast.implicit import connect
from holdfast.reproduce import Cell, Setting
from holdfast.reproduce.cell import Probed
from holdfast.reproduce.probe_cost import cost_record
from holdfast.reproduce.probe_features import pretrained_victim
from holdfast.reproduce.run import COUNTED, Workshop

STUDY = STUDIES["imbert-imdb"]


def timed(setting: Setting, cell: Cell, examples: list[Example]) -> Path:
    """Write the cost of one model and return where."""
    assert cell.train is not None
    victim = pretrained_victim(setting.model, word_level=False)
    if cell.train.connection is not None:
        connect(victim.model, cell.train.connection)
    probed = Probed(cell, setting.model, setting.data, setting.reading)
    record = cost_record(probed, victim, examples)
    alone = dataclasses.replace(record, notes=(*record.notes, ALONE))
    return Workshop(setting).write(alone, f"{record.task}.json")


def main() -> None:
    """Time every column of the table, one seed: there is no chance in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="MODEL")
    parser.add_argument("--models", type=Path, required=True, help="folder of the encoders")
    parser.add_argument("--data", type=Path, required=True, help="folder of the tasks")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, default=None)
    options = parser.parse_args()
    choose_kernels()
    task = find_task("imdb")
    examples = read_split(task, "test", options.data).examples[:COUNTED]
    for name in options.names:
        setting = setting_of(STUDY, name, options)
        cells = [cell for cell in cells_of(STUDY, setting) if cell.seed == 0]
        for cell in sorted(cells, key=lambda cell: cell.row != "BERT"):  # which all are held to
            print(timed(setting, cell, examples))


if __name__ == "__main__":
    main()
