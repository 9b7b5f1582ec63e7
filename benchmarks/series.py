"""Time series with continuous targets, of the TSER archive: RMSE on its own test sets.

    ORDINATE_DATA=DIR python benchmarks/series.py [--seeds 3] [--aeon PYTHON]

DIR/tser holds NAME.npz with X_train, y_train, X_test and y_test, the archive's own split. SupCR, SupReMix and a plain
network have the small network and the epochs that `ordinate table` gives these sets, the squared error for a head, and
see whole series. aeon's regressors have aeon's own settings. aeon takes numba below 0.64, so it goes into an
environment of its own (`python -m venv aeon; aeon/bin/pip install aeon`), whose interpreter is PYTHON; these rows
are left out without it.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.papers.tables.budgets import budget
from ordinate.papers.tables.models import build
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "series.json"
DATA = ("FloodModeling1", "Covid3Month")
OURS = {"SupCR": "supcr_mse", "SupReMix": "supremix_mse", "plain network": "mse"}
SIMPLE = "training mean"
AEON = ("1-NN DTW", "Rocket", "MiniRocket", "MultiRocket", "DrCIF")
PARTS = ("X_train", "y_train", "X_test", "y_test")

Parts = dict[str, NDArray[np.float64]]


def read(name: str) -> Parts:
    """Return the archive's own split."""
    with np.load(Path(os.environ["ORDINATE_DATA"]) / "tser" / f"{name}.npz") as data:
        return {part: data[part].astype(np.float64) for part in PARTS}


def measure(model: str, seed: int, data: str, parts: Parts, aeon: str | None) -> dict[str, Any]:
    """Return the RMSE on the test set and the seconds of fitting and predicting."""
    X_train, y_train, X_test, y_test = (parts[name] for name in PARTS)
    if model in AEON:
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            np.savez(file, X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test)
            file.flush()
            command = [str(aeon), str(Path(__file__).with_name("series_aeon.py")), model, str(seed), file.name]
            shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return dict(json.loads(shown.splitlines()[-1]))
    start = time.perf_counter()
    if model == SIMPLE:
        predicted = np.full(len(y_test), y_train.mean())
    else:
        ours = build(OURS[model], "continuous", budget=budget(data.lower()), seed=seed)
        predicted = ours.fit(X_train, y_train).predict(X_test)
    rmse = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    return {"rmse": rmse, "seconds": time.perf_counter() - start}


def show(runs: list[dict[str, Any]]) -> None:
    """Print mean and deviation over seeds."""
    for data in DATA:
        rows = []
        for model in (SIMPLE, *OURS, *AEON):
            own = [run for run in runs if (run["data"], run["model"]) == (data, model)]
            if own:
                errors, seconds = ([run[key] for run in own] for key in ("rmse", "seconds"))
                rows.append(
                    [model, f"{np.mean(errors):.5f} ± {np.std(errors):.5f}", str(len(own)), f"{np.mean(seconds):.0f}"]
                )
        if rows:
            print(f"\n{data}\n" + table(["", "RMSE", "seeds", "seconds"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=[SIMPLE, *OURS, *AEON], choices=[SIMPLE, *OURS, *AEON])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--aeon", metavar="PYTHON", help="interpreter of an environment with aeon")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    runs = json.loads(options.results.read_text()) if options.results.exists() else []
    done = {(run["data"], run["model"], run["seed"]) for run in runs}
    for data in options.data:
        parts = read(data)
        for seed in range(options.seeds):
            for model in options.models:
                if (data, model, seed) in done or (model in AEON and options.aeon is None):
                    continue
                run = measure(model, seed, data, parts, options.aeon)
                runs.append({"data": data, "model": model, "seed": seed, **run})
                pending = options.results.with_suffix(".tmp")
                pending.write_text(json.dumps(runs, indent=1) + "\n")
                pending.replace(options.results)
                print(f"{data}, {model}, seed {seed}: {run['rmse']:.5f} in {run['seconds']:.0f} s", flush=True)
    show(runs)


if __name__ == "__main__":
    main()
