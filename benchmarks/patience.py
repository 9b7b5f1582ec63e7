"""How long the networks of a blend have to wait for a better epoch: curves without early stopping, and rules on them.

    python benchmarks/patience.py [--group development | earlier] [--epochs 160]
    python benchmarks/patience.py --table

Trains the networks alone on the training rows of the tables of ``ordinal_tables.py``, and appends the loss of unseen
folds in each epoch to ``benchmarks/results/patience.jsonl``; curves that are there are left out. ``--table`` prints for
some rules the lowest loss before they stop, over the lowest of the curve, and their steps over those of the first rule.
"""

import argparse
import json
import math
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from ordinal_tables import TABLES, load, split
from ordinate import BlendClassifier, Training

RESULTS = Path(__file__).parent / "results" / "patience.jsonl"
BATCH = 128
RULES = [(150, 1), (100, 1), (75, 1), (50, 1), (50, 5), (30, 5)]  # Fewest steps, and fewest epochs within 150 steps.


def curve_of(table: str, number: int, epochs: int) -> dict[str, Any]:
    """Return the validation loss of the networks in every epoch."""
    X, y = load(table)
    train, _ = split(y, number)
    model = BlendClassifier(
        random_state=number, epochs=epochs, trees=False, linear=False, training=Training(patience=None, refit=0)
    ).fit(X.iloc[train].reset_index(drop=True), y[train])
    losses = [round(float(epoch["val_loss"]), 5) for epoch in model.history_]
    return {"table": table, "split": number, "rows": len(train), "losses": losses}


def stopped(losses: list[float], batches: int, fewest_steps: int, fewest_epochs: int) -> tuple[float, int]:
    """Return the lowest loss before a rule stops, and the steps until then."""
    fewest = max(math.ceil(fewest_steps / batches), min(fewest_epochs, math.ceil(150 / batches)))
    most = max(40, math.ceil(400 / batches))
    best = 0
    for epoch, loss in enumerate(losses):
        if loss < losses[best]:
            best = epoch
        if epoch - best >= min(most, max(fewest, best + 1)):
            break
    return losses[best], (epoch + 1) * batches


def print_table(lines: list[dict[str, Any]]) -> None:
    """Print what each rule costs and saves."""
    print("| fewest steps | fewest epochs | loss over lowest, mean | worst | steps |\n|---|---|---|---|---|")
    usual: list[int] = []
    for rule in RULES:
        found = [stopped(line["losses"], math.ceil(line["rows"] / BATCH), *rule) for line in lines]
        over = [loss / min(line["losses"]) for (loss, _), line in zip(found, lines, strict=True)]
        steps = [each for _, each in found]
        usual = usual or steps
        share = mean(each / first for each, first in zip(steps, usual, strict=True))
        print(f"| {rule[0]} | {rule[1]} | {mean(over):.4f} | {max(over):.3f} | {share:.2f} |")


def main() -> None:
    """Record the curves that are missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", choices=["development", "earlier"], help="tables of a group (both)")
    parser.add_argument("--epochs", type=int, default=160)
    parser.add_argument("--table", action="store_true", help="print what rules make of the curves that are there")
    options = parser.parse_args()
    lines = []
    if RESULTS.exists():
        lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    if options.table:
        print_table(lines)
        return
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    done = {(line["table"], line["split"]) for line in lines}
    for name, table in TABLES.items():
        if table["group"] == "test" or options.group not in (None, table["group"]):
            continue
        for number in {0, 1} - {number for known, number in done if known == name}:
            line = curve_of(name, number, options.epochs)
            print(name, number, min(line["losses"]), flush=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
