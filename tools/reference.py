"""Record predictions of one small fit per model and kind of data, and compare them with those of another version.

    python tools/reference.py record FILE        # with the version on PYTHONPATH
    python tools/reference.py compare FILE       # fit again, list every difference

Numbers are kept as hexadecimal floats: on one machine a refactoring leaves every bit as it was.
"""

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import ordinate

HAS_TRAINING = hasattr(ordinate, "Training")
ROWS = 8  # This many rows are recorded per fit.
RANK_MODELS = ("cloc", "otd", "cross_entropy", "orcnn", "corn_ranks", "coral")
TARGET_MODELS = (
    "supcr",
    "supremix",
    "l1",
    "mse",
    "huber",
    "dex",
    "dldl_v2",
    "or",
    "corn",
    "supcr_dex",
    "supremix_huber",
)
PAPER_RANKS = (
    "supcon",
    "simclr",
    "dino",
    "triplet",
    "siamese",
    "quadruplet",
    "n_pair",
    "rnc",
    "poe",
    "gol",
    "mwr",
)
PAPER_TARGETS = ("supcon", "simclr", "dino")
CORE = ("cloc", "otd", "cross_entropy", "supcr", "supremix", "l1")


def kinds() -> dict[str, tuple[Any, np.ndarray, np.ndarray]]:
    """Return samples, ranks and targets of every kind of data."""
    random = np.random.default_rng(0)

    def labels(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.digitize(value, np.quantile(value, [0.3, 0.6])), value

    table = random.normal(size=(120, 4))
    frame = pd.DataFrame(table[:, :2], columns=["a", "b"])
    frame["c"] = random.choice(["x", "y", "z"], 120)
    series = random.normal(size=(48, 2, 20)).cumsum(2)
    images = random.integers(0, 256, size=(40, 1, 24, 24), dtype=np.uint8)
    images[:, :, 4:12, 4:12] //= np.arange(1, 41)[:, None, None, None].astype(np.uint8) % 5 + 1
    volumes = random.normal(size=(24, 1, 12, 12, 12)).astype(np.float32)
    return {
        "table": (table, *labels(table[:, 0] + table[:, 1] ** 2)),
        "frame": (frame, *labels(frame["a"].to_numpy() + (frame["c"] == "x"))),
        "series": (series, *labels(series[:, 0, -1])),
        "images": (images, *labels(images[:, 0, 4:12, 4:12].mean((1, 2)) + random.normal(size=40))),
        "volumes": (volumes, *labels(volumes[:, 0].mean((1, 2, 3)) * 10)),
    }


def build(name: str, task: Any) -> Any:
    """Return an unfitted estimator with few epochs, under the names that this version has."""
    from ordinate.estimators.registry import build as build_named

    estimator = build_named(name, task)
    known = estimator.get_params(deep=False)
    settings: dict[str, Any] = {"random_state": 0}
    if "phase_epochs" in known:
        settings["phase_epochs"] = (3, 3)
    elif name == "cloc" or isinstance(known.get("epochs"), tuple):
        settings["epochs"] = (3, 3)
    elif name == "blend":
        settings |= {"epochs": 5, "members": 4, "folds": 4}
    else:
        settings["epochs"] = 3
    if not HAS_TRAINING and name != "blend" and "linear" in known:
        settings["linear"] = False
    if "training__calibration" in estimator.get_params():
        settings["training__calibration"] = False  # The versions before have none.
    return estimator.set_params(**settings)


def values(estimator: Any, X: Any) -> dict[str, list[str]]:
    """Return what a fitted estimator predicts of the first rows, exactly."""
    some = X.iloc[:ROWS] if isinstance(X, pd.DataFrame) else X[:ROWS]
    found = {"embeddings": estimator.transform(some).sum(1)}
    if hasattr(estimator, "predict_proba"):
        found["probabilities"] = estimator.predict_proba(some).ravel()
    found["predictions"] = estimator.predict(some)
    return {name: [float(value).hex() for value in each] for name, each in found.items()}


def cases() -> list[tuple[str, str, str]]:
    """Return name, task and kind of data of every fit."""
    found = [(name, "ranks", "table") for name in (*RANK_MODELS, *PAPER_RANKS, "blend")]
    found += [(name, "continuous", "table") for name in (*TARGET_MODELS, *PAPER_TARGETS, "blend")]
    for kind in ("frame", "series", "images", "volumes"):
        found += [(name, "ranks" if name in RANK_MODELS else "continuous", kind) for name in CORE]
    return [*found, ("blend", "ranks", "frame"), ("blend", "continuous", "frame")]


def fits(only: str) -> dict[str, Any]:
    """Fit every case whose name contains ``only``; return the recorded values, also of the model saved and loaded."""
    data, recorded = kinds(), {}
    for name, task, kind in cases():
        key = f"{name} {task} {kind}"
        if only not in key:
            continue
        X, ranks, targets = data[kind]
        try:
            estimator = build(name, task).fit(X, ranks if task == "ranks" else targets)
            recorded[key] = values(estimator, X)
            with tempfile.TemporaryDirectory() as folder:
                estimator.save(Path(folder) / "model")
                loaded = values(ordinate.load(Path(folder) / "model"), X)
            if loaded != recorded[key]:
                recorded[key]["loaded"] = ["differs"]
        except Exception as error:  # A failing model must not hide the others.
            recorded[key] = {"error": [f"{type(error).__name__}: {error}"]}
        print(key, *recorded[key].get("error", ()), file=sys.stderr, flush=True)
    return recorded


def difference(one: list[str], other: list[str]) -> str:
    """Describe how far two recorded lists are apart."""
    try:
        a, b = (np.array([float.fromhex(value) for value in each]) for each in (one, other))
    except ValueError:
        return f"{one[:1]} and {other[:1]}"
    if a.shape != b.shape:
        return f"{len(a)} and {len(b)} values"
    return f"largest difference {np.abs(a - b).max():.3g}"


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="part of a case's name, such as 'cloc ranks'")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = fits(options.only)
    if options.action == "record":
        options.file.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    kept = json.loads(options.file.read_text())
    apart = 0
    for key in found:
        for name in sorted({*found[key], *kept.get(key, {})}):
            one, other = kept.get(key, {}).get(name, []), found[key].get(name, [])
            if one != other:
                apart += 1
                print(f"{key}: {name}: {difference(one, other)}")
    print(f"{len(found)} fits, {apart} differences")
    return min(apart, 1)


if __name__ == "__main__":
    sys.exit(main())
