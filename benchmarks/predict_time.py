"""Time and memory of ``ordinate predict`` from csv to csv, compared with pandas and usual models on the same file.

    python benchmarks/predict_time.py [--rows 1000000] [--repeats 3] [--label now]

The table is drawn: 19 columns of numbers and five ranks. Each model is trained on the same 3,000 rows and saved; then a
process of its own predicts the file, and its wall time and peak memory are kept. Appends a line for each model and
repeat to ``benchmarks/results/predict_time.jsonl``, and leaves out those that are there. It needs

    pip install catboost
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "predict_time.jsonl"
COLUMNS = [f"x{place}" for place in range(19)]
OF_PANDAS = """
import sys, joblib, pandas as pd
model, data, out = sys.argv[1:]
model = joblib.load(model)
pd.DataFrame(model.predict_proba(pd.read_csv(data)), columns=model.classes_).to_csv(out, index=False)
"""
MODELS = ("blend", "CatBoost", "random forest")


def draw(rows: int, seed: int) -> pd.DataFrame:
    """Return rows of 19 numbers and a rank."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, len(COLUMNS)))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * random.normal(size=rows)
    frame = pd.DataFrame(X.round(4), columns=COLUMNS)
    return frame.assign(grade=np.digitize(score, [-1.5, -0.5, 0.5, 1.5]))


def train(name: str, folder: Path) -> None:
    """Train a model and save it."""
    seen = draw(3000, seed=0)
    X, y = seen[COLUMNS], seen["grade"]
    if name == "blend":
        seen.to_csv(folder / "seen.csv", index=False)
        command = [sys.executable, "-m", "ordinate", "fit", str(folder / "seen.csv"), "--target", "grade"]
        subprocess.run([*command, "--out", str(folder / name)], check=True, capture_output=True)
        return
    if name == "CatBoost":
        catboost: Any = import_module("catboost")
        model = catboost.CatBoostClassifier(n_estimators=300, verbose=False, allow_writing_files=False, random_state=0)
    else:
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(500, n_jobs=os.cpu_count(), random_state=0)
    joblib.dump(model.fit(X, y), folder / name)


def measure(name: str, folder: Path, data: Path) -> dict[str, float]:
    """Return wall seconds, processor seconds and peak memory in MB of a process that predicts the file."""
    model, out = str(folder / name), str(folder / "out.csv")
    command = [sys.executable, "-c", OF_PANDAS, model, str(data), out]
    if name == "blend":
        command = [sys.executable, "-m", "ordinate", "predict", model, str(data), "--out", out, "--overwrite"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "processor": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure what is missing, in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--label", default="now", help="name of the measured version")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = []
    if options.results.exists():
        lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    done = {(line["label"], line["rows"], line["model"], line["repeat"]) for line in lines}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in MODELS:
            train(model, folder)
        for rows in options.rows:
            data = folder / f"{rows}.csv"
            draw(rows, seed=1)[COLUMNS].to_csv(data, index=False)
            for repeat in range(options.repeats):
                for model in MODELS:
                    if (options.label, rows, model, repeat) in done:
                        continue
                    line = {"label": options.label, "rows": rows, "model": model, "repeat": repeat}
                    line |= {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
                    line |= measure(model, folder, data)
                    print(line, flush=True)
                    with options.results.open("a") as file:
                        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
