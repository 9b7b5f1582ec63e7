"""Seconds that ``ordinate fit`` reads a csv of a million rows, over those of ``pandas.read_csv``.

    python benchmarks/csv_time.py [--rows 1000000] [--repeats 5]

The file has 20 columns: twelve floats, four whole numbers, a date, a category of eight values, yes or no, and the
grade, with missing cells in some of them. All three are measured in turn, each in a process of its own:

- ``pandas``: ``pandas.read_csv``, after its import.
- ``fit``: ``ordinate fit`` until it prints its line of "N samples of ...", after the imports.
- ``fit_with_imports``: the command as it is typed, from its start to this line.

Writes the medians to ``benchmarks/results/csv_time.json``: wall time, and processor time of the first two, which a busy
machine changes less.
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

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "csv_time.json"
LINE = " samples of "
PANDAS = """
import sys, time, pandas
start, processor = time.perf_counter(), time.process_time()
pandas.read_csv(sys.argv[1])
print(time.perf_counter() - start, time.process_time() - processor)
"""
FIT = f"""
import os, sys, time
import ordinate.cli, ordinate.commands.fit.command

class Watch:
    def write(self, text):
        if {LINE!r} in text:
            seconds = time.perf_counter() - start, time.process_time() - processor
            print(*seconds, file=sys.__stdout__, flush=True)
            os._exit(0)

    def flush(self):
        pass

sys.stdout = Watch()
start, processor = time.perf_counter(), time.process_time()
sys.exit(ordinate.cli.main(sys.argv[1:]) or "the line was not printed")
"""


def write_table(path: Path, rows: int) -> None:
    """Write the csv."""
    random = np.random.default_rng(0)
    columns: dict[str, object] = {}
    for place in range(12):
        columns[f"size_{place}"] = random.normal(10 * place, 3, rows).round(5 if place % 2 else 3)
    for place in range(4):
        columns[f"count_{place}"] = random.integers(0, 10 ** (place + 1), rows)
    frame = pd.DataFrame(columns)
    frame["seen"] = (pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 3650, rows), unit="D")).astype(str)
    frame["region"] = random.choice(["north", "south", "east", "west", "centre", "coast", "hills", "islands"], rows)
    frame["smoker"] = random.choice(["yes", "no"], rows)
    score = frame["size_0"] / 3 + frame["count_0"] / 5 + (frame["smoker"] == "yes") + random.normal(size=rows)
    frame["grade"] = pd.qcut(score, 5, labels=False)
    for name in ("size_1", "size_4", "count_2", "seen", "region"):
        frame[name] = frame[name].mask(random.random(rows) < 0.002)
    frame["count_2"] = frame["count_2"].astype("Int64")
    frame.to_csv(path, index=False)


def seconds_said(*command: str) -> tuple[float, float]:
    """Return the seconds that a process measured and printed: wall and processor time."""
    wall, processor = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(wall), float(processor)


def seconds_to_line(*command: str) -> float:
    """Return the seconds until a command prints the line; it is ended then."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        if process.stdout is None or not any(LINE in line for line in process.stdout):
            sys.exit("the command ended before the line")
        seconds = time.perf_counter() - start
        process.kill()
    return seconds


def main() -> None:
    """Measure and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="number of times (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        table = str(Path(name) / "table.csv")
        write_table(Path(table), options.rows)
        megabytes = Path(table).stat().st_size / 1e6
        fit = ("fit", table, "--target", "grade", "--quiet", "--out", str(Path(name) / "model"))
        load = os.getloadavg()[0]
        found: dict[str, list[tuple[float, float]]] = {"pandas": [], "fit": []}
        with_imports = []
        for _ in range(options.repeats):
            found["pandas"].append(seconds_said(sys.executable, "-c", PANDAS, table))
            found["fit"].append(seconds_said(sys.executable, "-c", FIT, *fit))
            # Output is unbuffered, so that the line comes in time.
            with_imports.append(seconds_to_line(sys.executable, "-u", "-m", "ordinate.cli", *fit))
    seconds = {name: median(wall for wall, _ in times) for name, times in found.items()}
    seconds["fit_with_imports"] = median(with_imports)
    processor = {name: median(each for _, each in times) for name, times in found.items()}
    result = {
        "rows": options.rows, "megabytes": round(megabytes), "repeats": options.repeats, "cores": os.cpu_count(),
        "load_before": round(load, 1), "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "processor_seconds": {name: round(value, 2) for name, value in processor.items()},
        "fit_over_pandas": round(seconds["fit"] / seconds["pandas"], 2),
        "fit_over_pandas_processor": round(processor["fit"] / processor["pandas"], 2),
        "fit_with_imports_over_pandas": round(seconds["fit_with_imports"] / seconds["pandas"], 2),
    }  # fmt: skip
    print(result)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
