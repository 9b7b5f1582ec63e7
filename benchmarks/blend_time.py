"""Time of ``BlendClassifier().fit`` compared with a forest of 500 trees, in turn on the same table.

    python benchmarks/blend_time.py [--tables swd,nine_ranks] [--repeats 3] [--label after]

The table ``swd`` is that of skordinal, 1,000 rows and 10 columns in four ranks; ``nine_ranks`` is generated in the size
of abalone, 4,174 rows, 10 columns and nine ranks. Appends a line for each pair to
``benchmarks/results/blend_time.jsonl`` and prints the medians of all lines of the label.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ordinate import BlendClassifier

RESULTS = Path(__file__).parent / "results" / "blend_time.jsonl"
Table = tuple[pd.DataFrame, NDArray[np.int64]]


def read_swd() -> Table:
    """Return the ratings of social workers."""
    from skordinal.datasets import load_swd

    data = load_swd()
    X = pd.DataFrame(np.asarray(data.data, dtype=np.float64)).rename(columns="x{}".format)
    return X, np.unique(data.target, return_inverse=True)[1]


def make_nine_ranks(count: int = 4174) -> Table:
    """Return correlated measures of a size, three kinds, and noisy ranks of an age."""
    random = np.random.default_rng(0)
    age = random.gamma(10, 1, count)
    size = np.log(age) + 0.25 * random.normal(size=count)
    X = pd.DataFrame({f"x{i}": np.exp(size + 0.1 * random.normal(size=count)) for i in range(7)})
    kinds = random.integers(0, 3, count)
    for kind in range(3):
        X[f"kind{kind}"] = (kinds == kind).astype(np.float64)
    return X, np.asarray(pd.qcut(age + 0.5 * kinds + random.normal(size=count), 9, labels=False), dtype=np.int64)


TABLES: dict[str, Callable[[], Table]] = {"swd": read_swd, "nine_ranks": make_nine_ranks}


def seconds(fit: Callable[[], Any]) -> dict[str, float]:
    """Return wall time and processor time of a fit."""
    wall, processor = time.perf_counter(), time.process_time()
    fit()
    return {
        "wall": round(time.perf_counter() - wall, 2),
        "processor": round(time.process_time() - processor, 2),
    }


def main() -> None:
    """Measure the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--label", default="after", help="name of the measured version, such as before or after a change"
    )
    options = parser.parse_args()
    for table in options.tables.split(","):
        X, y = TABLES[table]()
        for seed in range(options.repeats):
            line: dict[str, Any] = {
                "label": options.label, "table": table, "rows": len(X), "columns": X.shape[1],
                "ranks": int(y.max()) + 1, "cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 1),
            }  # fmt: skip
            blend = BlendClassifier(random_state=seed)
            line["blend"] = seconds(lambda: blend.fit(X, y))  # noqa: B023  # It is called at once.
            forest = RandomForestClassifier(500, random_state=seed)
            line["forest"] = seconds(lambda: forest.fit(X, y))  # noqa: B023
            line["epochs"] = blend.n_iter_
            print(line, flush=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")
    _print_medians(options.label)


def _print_medians(label: str) -> None:
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    for table in TABLES:
        of_table = [line for line in lines if (line["table"], line["label"]) == (table, label)]
        if not of_table:
            continue
        for clock in ("wall", "processor"):
            blend = median(line["blend"][clock] for line in of_table)
            forest = median(line["forest"][clock] for line in of_table)
            ratio = median(line["blend"][clock] / line["forest"][clock] for line in of_table)
            print(f"{table}, {clock}: blend {blend:.1f} s, forest {forest:.1f} s, ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
