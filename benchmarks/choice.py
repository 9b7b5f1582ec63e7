"""Measure how ``ordinate fit`` chooses: the model it takes, compared with those that it could have taken.

    ORDINATE_DATA=DIR python benchmarks/choice.py [--seeds 3]

The sets and splits are those of the leaderboards of tables; the command chooses by the training part alone. Every run
is kept in the results file, and the script continues where it was stopped. The table shows the mean absolute error on
the test part, as a mean over splits: of the chosen model, of the candidate that validated best, and of each candidate.
"""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leaderboard as sets
from ordinate.commands.fit.command import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.data.rows import take
from ordinate.estimators.registry import build
from ordinate.extensions import Task
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

LEADERBOARD = Path(__file__).parent / "results" / "leaderboards" / "tabular-ordinal.csv"
SETS: dict[Task, tuple[str, ...]] = {
    "ranks": ("esl", "lev", "era", "swd", "balance_scale", "car"),
    "continuous": ("diabetes", "boston", "yacht", "energy", "concrete", "airfoil"),
}
CANDIDATES: dict[Task, tuple[str, ...]] = {
    "ranks": ("blend", "cloc", "otd"),
    "continuous": ("blend", "supcr", "supremix"),
}


def measure(name: str, split: int) -> Run:
    """Return what the command chose on a split, and what it knew of each candidate."""
    task: Task = "ranks" if name in SETS["ranks"] else "continuous"
    X, y, train, test = sets.load(name, split)
    rows = np.concatenate([train, test])
    frame = pd.DataFrame(X).iloc[rows].rename(columns="feature {}".format).reset_index(drop=True)
    frame["label"], frame["part"] = y[rows], np.repeat(["train", "test"], [len(train), len(test)])
    errors = _measured(name, split)
    for model in CANDIDATES[task]:
        if model not in errors:
            estimator = build(model, task, random_state=split).fit(take(X, train), y[train])
            errors[model] = float(np.abs(estimator.predict(take(X, test)) - y[test]).mean())
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(f"{folder}/table.csv", index=False)
        start = time.perf_counter()
        fit(
            FitOptions(
                f"{folder}/table.csv", target="label", split="part", task=task, out=f"{folder}/model", quiet=True,
                seed=split, keep=",".join(frame.columns[:-2]),
            )
        )  # fmt: skip
        seconds = time.perf_counter() - start
        metrics = json.loads(Path(f"{folder}/model/metrics.json").read_text())
    return {
        "chosen": metrics["method"], "test_mae": metrics["mae"],
        "candidates": metrics["candidates"], "test_maes": errors, "seconds": round(seconds, 1),
    }  # fmt: skip


def _measured(name: str, split: int) -> dict[str, float]:
    """Return the test errors of the leaderboard of ranks, whose candidates have the same settings."""
    board = pd.read_csv(LEADERBOARD)
    rows = board[(board["set"] == name) & (board["split"] == split) & board["model"].isin(CANDIDATES["ranks"])]
    return dict(zip(rows["model"], rows["mae"], strict=True))


def errors_of(runs: list[Run], task: Task) -> NDArray[np.float64]:
    """Return the mean test errors of what was chosen, of what validated best, and of each candidate."""
    rows = []
    for each in runs:
        errors, tried = each["test_maes"], each["candidates"]
        samples = {model: tried[model].get("samples", 0) for model in CANDIDATES[task]}
        # Candidates that were not given up have the most samples.
        whole = [model for model in samples if samples[model] == max(samples.values())]
        lowest = min(whole, key=lambda model: tried[model]["mae"])
        rows.append([errors[model] for model in (each["chosen"], lowest, *CANDIDATES[task])])
    return np.mean(rows, axis=0)


def show(runs: list[Run]) -> None:
    """Print a table per kind of label, its last row the mean over sets of errors over those of the blend."""
    for task, names in SETS.items():
        found = {name: where(runs, set=name) for name in names}
        errors = {name: errors_of(of, task) for name, of in found.items() if of}
        if not errors:
            continue
        rows = [
            [name, *(f"{error:.4g}" for error in of), ", ".join(dict.fromkeys(each["chosen"] for each in found[name]))]
            for name, of in errors.items()
        ]
        shares = np.mean([of / of[2] for of in errors.values()], axis=0)
        rows.append(["mean over the blend's", *(f"{share:.3f}" for share in shares), ""])
        print("\n" + table(["MAE", "fit", "lowest", *CANDIDATES[task], "chosen"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    options = parser_of(__file__, __doc__, seeds=3, jobs=1).parse_args()
    wanted = [(name, split) for split in range(options.seeds) for names in SETS.values() for name in names]
    show(complete(measure, wanted, ("set", "split"), options))


if __name__ == "__main__":
    main()
