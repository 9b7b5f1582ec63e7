"""Seconds until `ordinate fit` prints its first line, and those of `ordinate predict` on 20 rows.

    python benchmarks/start_time.py [--repeats 7]

They are measured in turn with a process that imports PyTorch, pandas and scikit-learn and does nothing else. Writes the
medians to ``benchmarks/results/start_time.json``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pandas as pd

from fit_time import make_small_table

RESULTS = Path(__file__).parent / "results" / "start_time.json"
ORDINATE = (sys.executable, "-m", "ordinate.cli")
IMPORTS = (sys.executable, "-c", "import torch, pandas, sklearn.base")


def seconds_of(*command: str) -> float:
    """Return the wall time of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def seconds_to_first_line(*command: str) -> float:
    """Return the wall time until a command prints its first line; it is ended then."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if process.stdout is None or not process.stdout.readline():
            sys.exit("the command printed nothing")
        seconds = time.perf_counter() - start
        process.kill()
    return seconds


def main() -> None:
    """Measure and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="number of times (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit = (*ORDINATE, "fit", *make_small_table(folder))
        model, rows = str(folder / "model"), str(folder / "rows.csv")
        pd.read_csv(folder / "table.csv").drop(columns="grade").head(20).to_csv(rows, index=False)
        subprocess.run([*fit, "--out", model, "--quiet", "--no-report"], check=True, capture_output=True)
        load = os.getloadavg()[0]
        found: dict[str, list[float]] = {"imports": [], "first line of fit": [], "predict, 20 rows": []}
        for _ in range(options.repeats):
            found["imports"].append(seconds_of(*IMPORTS))
            found["first line of fit"].append(seconds_to_first_line(*fit, "--out", str(folder / "other")))
            found["predict, 20 rows"].append(seconds_of(*ORDINATE, "predict", model, rows))
    medians = {name: round(median(times), 2) for name, times in found.items()}
    result = {"seconds": medians, "repeats": options.repeats, "cores": os.cpu_count(), "load_before": round(load, 1)}
    print(result)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
