"""Wall time of ``ordinate fit`` as it is typed, and with limits: images, tables of 1,000 to ten million rows, text.

    python benchmarks/fit_time.py [--rows digits,photographs] [--limits none,1]

"ten million rows" is a folder of parquet files, of which "a sample of them" is 100,000 rows.

The table of 500,000 rows has a continuous target, and boosted trees of scikit-learn with 500 iterations are trained on
four fifths of it for comparison. Memory is the most that the command held at a time.

Writes ``benchmarks/results/fit_time.json``; a row that is measured again replaces the old one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

RESULTS = Path(__file__).parent / "results" / "fit_time.json"
WORDS = ("dull", "weak", "plain", "fair", "sound", "fine", "bright", "superb")


def make_digits(folder: Path, count: int = 900) -> list[str]:
    """Write the first digits of scikit-learn, enlarged to 32 x 32 pixels."""
    digits = load_digits()
    for place, image in enumerate(digits.images[:count]):
        grey = Image.fromarray((image * 15.9375).astype(np.uint8))
        grey.resize((32, 32), Image.Resampling.BILINEAR).save(folder / f"{place:03}.png")
    _write_labels(folder, "png", digits.target[:count])
    return [str(folder), "--target", "grade"]


def make_photographs(folder: Path, count: int = 500) -> list[str]:
    """Write pictures of 400 x 300 pixels with more and larger spots the higher their grade, of five."""
    random = np.random.default_rng(0)
    grades = random.integers(0, 5, count)
    for place, grade in enumerate(grades):
        ground = random.normal(random.uniform(90, 160), 12, (30, 40, 3)).clip(0, 255).astype(np.uint8)
        picture = Image.fromarray(ground).resize((400, 300), Image.Resampling.BICUBIC)
        pen = ImageDraw.Draw(picture)
        for _ in range(random.poisson(2 + 3 * grade)):
            x, y, r = random.uniform(0, 400), random.uniform(0, 300), random.uniform(3, 6 + 2 * grade)
            pen.ellipse((x - r, y - r, x + r, y + r), fill=tuple(random.integers(150, 256, 3).tolist()))
        picture.save(folder / f"{place:03}.jpg", quality=85)
    _write_labels(folder, "jpg", grades)
    return [str(folder), "--target", "grade"]


def make_table(folder: Path, count: int = 20_000) -> list[str]:
    """Write 20 columns of numbers and one of categories, with a noisy grade, of five."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(count, 20)), columns=[f"x{i}" for i in range(20)])
    frame["kind"] = random.choice(list("abcd"), count)
    score = frame["x0"] + frame["x1"] * frame["x2"] + (frame["kind"] == "a") + 0.5 * random.normal(size=count)
    frame["grade"] = pd.qcut(score, 5, labels=False)
    frame.to_csv(folder / "table.csv", index=False)
    return [str(folder / "table.csv"), "--target", "grade"]


def make_text(folder: Path, count: int = 5000) -> list[str]:
    """Write sentences whose words say the grade, of five, and some that say nothing."""
    random = np.random.default_rng(0)
    grades = random.integers(0, 5, count)
    texts = [
        " ".join(
            f"the {random.choice(['hall', 'tone', 'stage', 'sound', 'voice'])} was "
            f"{WORDS[int(np.clip(grade + random.integers(0, 4), 0, 7))]}"
            for _ in range(random.integers(2, 8))
        )
        for grade in grades
    ]
    pd.DataFrame({"review": texts, "grade": grades}).to_csv(folder / "text.csv", index=False)
    return [str(folder / "text.csv"), "--target", "grade", "--text", "review"]


def _write_labels(folder: Path, suffix: str, labels: np.ndarray) -> None:
    names = [f"{place:03}.{suffix}" for place in range(len(labels))]
    pd.DataFrame({"path": names, "grade": labels}).to_csv(folder / "labels.csv", index=False)


def make_small_table(folder: Path) -> list[str]:
    """Write 1000 rows of the table."""
    return make_table(folder, 1000)


def waves(count: int, seed: int) -> pd.DataFrame:
    """Return 18 columns of numbers and three of categories, with a noisy target that has waves, products and steps."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(count, 18)).round(4), columns=[f"x{i}" for i in range(18)])
    for name, size in (("kind", 4), ("place", 40), ("day", 7)):
        frame[name] = random.integers(0, size, count)
    effects = np.random.default_rng(1).normal(size=40)
    frame["y"] = (
        np.sin(2 * frame["x0"]) + frame["x1"] * frame["x2"] + 0.5 * (frame["x3"] > frame["x4"])
        + 0.3 * frame["x5"] * (frame["kind"] == 1) + 0.5 * effects[frame["place"]] + 0.3 * random.normal(size=count)
    ).round(4)  # fmt: skip
    for name in ("kind", "place", "day"):
        frame[name] = name[0] + frame[name].astype(str)
    return frame


def make_large_table(folder: Path, count: int = 500_000) -> list[str]:
    """Write such a table as csv."""
    waves(count, 0).to_csv(folder / "table.csv", index=False)
    return [str(folder / "table.csv"), "--target", "y"]


def make_parquet(folder: Path, parts: int = 20) -> list[str]:
    """Write a folder of parquet files with 500,000 rows each."""
    table = folder / "rows"
    table.mkdir()
    for part in range(parts):
        waves(500_000, part).to_parquet(table / f"{part:02}.parquet", index=False)
    return [str(table), "--target", "y"]


def make_sample(folder: Path, count: int = 100_000) -> list[str]:
    """Write the first rows of that parquet folder as a file."""
    waves(500_000, 0)[:count].to_parquet(folder / "sample.parquet", index=False)
    return [str(folder / "sample.parquet"), "--target", "y"]


def boost(path: Path) -> dict[str, float]:
    """Return the seconds and the mean absolute error of boosted trees on the table of 500,000 rows."""
    frame = pd.read_csv(path).astype({"kind": "category", "place": "category", "day": "category"})
    y = frame.pop("y")
    seen, unseen, y_seen, y_unseen = train_test_split(frame, y, test_size=0.2, random_state=0)
    start = time.perf_counter()
    trees = HistGradientBoostingRegressor(max_iter=500, random_state=0).fit(seen, y_seen)
    seconds = time.perf_counter() - start
    return {
        "boosting_seconds": round(seconds),
        "boosting_mae": round(float(np.abs(trees.predict(unseen) - y_unseen).mean()), 4),
    }


MAKE = {
    "digits": make_digits, "photographs": make_photographs, "small table": make_small_table, "table": make_table,
    "text": make_text, "large table": make_large_table, "ten million rows": make_parquet,
    "a sample of them": make_sample,
}  # fmt: skip


def measure(row: str, limit: float | None) -> dict[str, object]:
    """Run the command as a process of its own; return its wall and processor time and what it measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / row
        folder.mkdir()
        arguments = MAKE[row](folder)
        if limit is not None:
            arguments += ["--time-limit", f"{limit:g}"]
        load, start = os.getloadavg()[0], time.perf_counter()
        command = [sys.executable, "-m", "ordinate.cli", "fit", *arguments, "--out", f"{name}/model", "--quiet"]
        with Path(f"{name}/output").open("w+") as output:
            process = subprocess.Popen(command, stdout=output)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            output.seek(0)
            print(output.read())
        if status:
            sys.exit("fit failed")
        metrics = json.loads(Path(f"{name}/model/metrics.json").read_text())
        others = boost(folder / "table.csv") if row == "large table" and limit is None else {}
    return {
        "row": row, "limit_minutes": limit, "wall_minutes": round(seconds / 60, 2),
        "processor_minutes": round((usage.ru_utime + usage.ru_stime) / 60, 2),
        "load_before": round(load, 1), "cores": os.cpu_count(), "method": metrics["method"],
        "peak_gb": round(usage.ru_maxrss / 1e6, 2), "mae": round(metrics["mae"], 4),
        **({"accuracy": round(metrics["accuracy"], 4)} if "accuracy" in metrics else {}), **others,
    }  # fmt: skip


def main() -> None:
    """Measure the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(MAKE))
    parser.add_argument("--limits", default="none,1", help="minutes, none for the defaults")
    options = parser.parse_args()
    for row in options.rows.split(","):
        for given in options.limits.split(","):
            limit = None if given == "none" else float(given)
            result = measure(row, limit)
            print(result, flush=True)
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
            kept = [old for old in kept if (old["row"], old["limit_minutes"]) != (row, limit)]
            RESULTS.write_text(json.dumps([*kept, result], indent=1) + "\n")


if __name__ == "__main__":
    main()
