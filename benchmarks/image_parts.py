"""How many fine-tuned networks a blend on images needs, and which decision: folds of the training images of four sets.

    ORDINATE_DATA=DIR python benchmarks/image_parts.py [--sets idrid ...] [--folds 3] [--networks 0 1 3]

Every blend has the size, network and options of `ordinate fit` and is trained on two of three folds of the images that
the owners give for training; the third is predicted. No test image is read. Scores are the ranked probability score,
and accuracy and MAE if the mode and if the median of the probabilities decides. Appends a line per blend to
``benchmarks/results/image_parts.jsonl``; those that are there are not trained again. ``--table`` prints the
scores by fold.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image

from default_images import SETS, write
from ordinate import BlendClassifier, ImageOptions
from ordinate.commands.fit.image_plan import TIERS, Wanted, plan_images
from ordinate.data.images.files import ImageFiles
from ordinate.data.splits import split_folds
from ordinate.decisions import predict_ranks
from ordinate.metrics import ranked_probability_score

RESULTS = Path(__file__).parent / "results" / "image_parts.jsonl"
MOST = 1500  # Images of a set.


def training_images(name: str, folder: Path) -> tuple[list[Path], np.ndarray]:
    """Return the paths and grades of the images that are not for testing, of very many a random part."""
    table = write(name, 0, folder)
    table = table[table["split"] != "test"]
    if len(table) > MOST:
        table = table.sample(MOST, random_state=0)
    return [folder / path for path in table["path"]], table["grade"].to_numpy()


def measure(name: str, fold: int, folds: int, networks: int) -> dict[str, Any]:
    """Train a blend without a fold of the images, and return its scores on them."""
    with tempfile.TemporaryDirectory() as place:
        paths, grades = training_images(name, Path(place))
        with Image.open(paths[0]) as first:
            own = first.height, first.width
        plan = plan_images(own, len(paths), Wanted(), cores=2)
        rest, held_out = split_folds(grades, len(paths), None, folds, seed=0)[fold]
        options = ImageOptions(pretrained=True, size=plan.size)
        blend = BlendClassifier(fine_tuned=networks, fine_tuned_side=TIERS[1].side, data=options, random_state=0)
        started = time.perf_counter()
        images: Any = ImageFiles([paths[row] for row in rest])
        blend.fit(images, grades[rest])
        seconds = time.perf_counter() - started
        probabilities = blend.fitted.predict_numbers(ImageFiles([paths[row] for row in held_out]))
    ranks = np.searchsorted(blend.fitted.ranks, grades[held_out])
    found: dict[str, Any] = {
        "set": name, "fold": fold, "networks": networks, "training": len(rest), "held_out": len(held_out),
        "size": plan.size, "threads": torch.get_num_threads(), "seconds": round(seconds), "shares": blend.shares_,
        "rps": round(ranked_probability_score(ranks, probabilities), 4),
    }  # fmt: skip
    for rule in ("mode", "median"):
        errors = np.abs(predict_ranks(probabilities, rule) - ranks)
        found[rule] = {"accuracy": round(float((errors == 0).mean()), 4), "mae": round(float(errors.mean()), 4)}
    return found


def summary() -> pd.DataFrame:
    """Return the ranked probability score, and the MAE by the median, of each fold and number of networks."""
    runs = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    flat = pd.DataFrame([{**run, "mae": run["median"]["mae"]} for run in runs])
    return flat.pivot_table(["rps", "mae"], ["set", "fold"], "networks").round(3)


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(all)")
    parser.add_argument("--folds", type=int, default=3, help="folds of the images (%(default)s)")
    parser.add_argument("--networks", nargs="+", type=int, default=[0, 1, 3], help="numbers of networks (0 1 3)")
    parser.add_argument("--table", action="store_true", help="print the scores by fold")
    options = parser.parse_args()
    if options.table:
        print(summary().to_string())
        return
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    done = {(run["set"], run["fold"], run["networks"]) for run in map(json.loads, lines)}
    for fold in range(options.folds):
        for name in options.sets:
            for networks in options.networks:
                if (name, fold, networks) in done:
                    continue
                run = measure(name, fold, options.folds, networks)
                print(os.getpid(), run, flush=True)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(run) + "\n")


if __name__ == "__main__":
    main()
