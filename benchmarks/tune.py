"""Measure what ``ordinate tune`` gains over ``ordinate fit``, both without a method, on tables.

    ORDINATE_DATA=DIR python benchmarks/tune.py [--minutes 10] [--seeds 1] [--jobs 1]

The sets and splits are those of the leaderboards. The test part is seen by neither the trials nor the choice. Every
finished run is kept in the results file.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import leaderboard
from ordinate.commands.fit.command import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.tune import tune
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

SETS = ("swd", "concrete", "era", "energy", "balance_scale")


def measure(name: str, split: int, minutes: float) -> Run:
    """Return the test errors with the defaults and with tuned settings."""
    X, y, train, test = leaderboard.load(name, split)
    rows = np.concatenate([train, test])
    frame = pd.DataFrame(X).iloc[rows].rename(columns="feature {}".format).reset_index(drop=True)
    frame["label"], frame["part"] = y[rows], np.repeat(["train", "test"], [len(train), len(test)])
    given: dict[str, Any] = {"target": "label", "split": "part", "seed": split, "quiet": True}
    given["keep"] = ",".join(frame.columns[:-2])
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(f"{folder}/table.csv", index=False)

        def error(run: Callable[[], None], out: str) -> float:
            run()
            return float(json.loads(Path(f"{out}/metrics.json").read_text())["mae"])

        data, plain, tuned = (f"{folder}/{part}" for part in ("table.csv", "plain", "tuned"))
        start = time.perf_counter()
        before = error(lambda: fit(FitOptions(data, out=plain, **given)), plain)
        seconds = time.perf_counter() - start
        options = FitOptions(data, out=tuned, time_limit=minutes, **given)
        after = error(lambda: tune(options), tuned)
    return {"defaults": before, "tuned": after, "seconds_of_a_fit": round(seconds, 1)}


def main() -> None:
    """Run what is missing and print the mean errors."""
    parser = parser_of(__file__, __doc__, seeds=1, jobs=1)
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes of trials (%(default)s)")
    options = parser.parse_args()
    wanted = [(name, split, options.minutes) for split in range(options.seeds) for name in SETS]
    runs = complete(measure, wanted, ("set", "split", "minutes"), options)
    rows = []
    for name in SETS:
        of_set = where(runs, set=name, minutes=options.minutes)
        means = [np.mean([run[kind] for run in of_set]) for kind in ("defaults", "tuned")]
        rows.append([name, str(len(of_set)), *(f"{mean:.4f}" for mean in means)])
    print(table(["set", "splits", "MAE with defaults", "MAE tuned"], rows))


if __name__ == "__main__":
    main()
