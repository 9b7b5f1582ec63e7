"""`ordinate fit` as it is typed on KOA, BUSI, RetinaMNIST and IDRiD, on their owners' splits or on BUSI's five blocks.

    ORDINATE_DATA=DIR python benchmarks/default_images.py [--sets koa busi retinamnist idrid] [--seeds 5]

Appends a line per run to ``benchmarks/results/default_images.jsonl``; runs that are there are not repeated.
``svm_accuracy`` is that of a support vector machine on the embeddings, as in OTD's Table 1. ``ece`` is the expected
calibration error of the predicted rank in ten bins, and ``ece_uncalibrated`` that of the same model without its
temperature; a blend has none. ``shares``, ``unseen_losses`` and ``unseen_decisions`` are what the blend found on
training images that its parts had not seen: weights, ranked probability scores, and accuracy and MAE of each decision.
``mode`` and ``median`` have accuracy and MAE on the test images if the mode or the median of the probabilities decides.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image

import ordinate
from ordinate.data.images.files import ImageFiles
from ordinate.decisions import predict_ranks
from ordinate.functional.similarity import unit
from ordinate.heads.ranks import Temperature
from ordinate.report.page.measures import measure_calibration
from ordinate_papers.datasets.images import load
from ordinate_papers.protocols.classifiers import svm_accuracy

RESULTS = Path(__file__).parent / "results" / "default_images.jsonl"
SETS = ("koa", "busi", "retinamnist", "idrid")


def write(name: str, seed: int, folder: Path) -> pd.DataFrame:
    """Write the images of a set and their labels.csv into a folder, and return its rows."""
    if name == "idrid":
        return write_idrid(folder)
    images: Any = load(name, fold=seed) if name == "busi" else load(name)
    paths = []
    for place in range(len(images.samples)):
        if isinstance(images.samples, ImageFiles):
            path = f"{place:05}.webp"
            (folder / path).write_bytes(images.samples.content(place))
        else:
            path = f"{place:05}.png"
            Image.fromarray(images.samples[place].transpose(1, 2, 0)).save(folder / path)
        paths.append(path)
    table = pd.DataFrame({"path": paths, "grade": images.labels, "split": images.splits})
    table.to_csv(folder / "labels.csv", index=False)
    return table


def write_idrid(folder: Path) -> pd.DataFrame:
    """Write the photographs of IDRiD, with the grade of retinopathy and the official split."""
    with zipfile.ZipFile(Path(os.environ["ORDINATE_DATA"]) / "idrid" / "idrid_434x288_jpg92.zip") as archive:
        archive.extractall(folder)
    table = pd.read_csv(folder / "labels.csv")
    table = pd.DataFrame({"path": table["file"], "grade": table["dr_grade"], "split": table["split"]})
    table.to_csv(folder / "labels.csv", index=False)
    return table


def measure(name: str, seed: int) -> dict[str, Any]:
    """Run the command as a process of its own and return its time and the figures of its model."""
    with tempfile.TemporaryDirectory() as place:
        folder, model = Path(place) / name, Path(place) / "model"
        folder.mkdir()
        table = write(name, seed, folder)
        command = [sys.executable, "-m", "ordinate.cli", "fit", str(folder), "--target", "grade", "--split", "split"]
        load_before, started = os.getloadavg()[0], time.perf_counter()
        subprocess.run([*command, "--seed", str(seed), "--out", str(model), "--quiet"], check=True, capture_output=True)
        seconds = time.perf_counter() - started
        figures = json.loads((model / "metrics.json").read_text())
        trained: Any = ordinate.load(model)
        svm = separability(trained, folder, table)
        confidence = calibration_errors(trained, folder, table)
        facts = trained.fitted.facts
        unseen = {
            "shares": facts.get("shares_"), "unseen_losses": facts.get("unseen_losses_"),
            "unseen_decisions": facts.get("decision_scores_"), **by_decision(trained, folder, table),
        }  # fmt: skip
    return {
        "set": name, "seed": seed, "seconds": round(seconds), "load_before": round(load_before, 1),
        "cores": os.cpu_count(), "method": figures["method"], "accuracy": round(figures["accuracy"], 4),
        "mae": round(figures["mae"], 4), "svm_accuracy": round(svm, 4), **confidence, **unseen,
    }  # fmt: skip


def separability(model: Any, folder: Path, table: pd.DataFrame) -> float:
    """Return the accuracy of a support vector machine on the embeddings of the test images."""
    embeddings = {}
    for part in ("train", "test"):
        files = ImageFiles([folder / path for path in table["path"][table["split"] == part]])
        embeddings[part] = unit(torch.from_numpy(model.transform(files)).double()).numpy()
    ranks = {part: table["grade"][table["split"] == part].to_numpy() for part in embeddings}
    return svm_accuracy(embeddings["test"], ranks["test"], ref_emb=embeddings["train"], ref_labels=ranks["train"])


def calibration_errors(model: Any, folder: Path, table: pd.DataFrame) -> dict[str, float]:
    """Return the calibration error on the test images, and without the temperature of the model if it has one."""
    tested = table[table["split"] == "test"]
    ranks = tested["grade"].to_numpy()
    embeddings = model.fitted.embed_new(ImageFiles([folder / path for path in tested["path"]]))

    def error() -> float:
        probabilities = model.fitted.predicted(embeddings)
        return round(measure_calibration(probabilities.max(1), probabilities.argmax(1) == ranks).error, 4)

    found = {"ece": error()}
    predictor: Any = model.fitted.predictor
    if hasattr(predictor, "temperature"):
        predictor.temperature = Temperature()
        found["ece_uncalibrated"] = error()
    return found


def by_decision(model: Any, folder: Path, table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return accuracy and MAE on the test images by each of two decisions."""
    tested = table[table["split"] == "test"]
    ranks = tested["grade"].to_numpy()
    probabilities = model.fitted.predict_numbers(ImageFiles([folder / path for path in tested["path"]]))
    found = {}
    for rule in ("mode", "median"):
        errors = np.abs(predict_ranks(probabilities, rule) - ranks)
        found[rule] = {"accuracy": round(float((errors == 0).mean()), 4), "mae": round(float(errors.mean()), 4)}
    return found


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(all)")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds or blocks (%(default)s)")
    options = parser.parse_args()
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    done = {(run["set"], run["seed"]) for run in map(json.loads, lines)}
    for seed in range(options.seeds):
        for name in options.sets:
            if (name, seed) in done:
                continue
            run = measure(name, seed)
            print(run, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")


if __name__ == "__main__":
    main()
