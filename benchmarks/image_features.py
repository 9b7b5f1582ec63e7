"""What a frozen network says of images: its last layer, or the maps of its stages, by folds of the training images.

    ORDINATE_DATA=DIR python benchmarks/image_features.py [--sets idrid ...]
    python benchmarks/image_features.py --table

Features of EfficientNet-Lite0 with ImageNet weights, means of those of an image and its mirror image, at the size of
`ordinate fit`: means and maxima of the last layer's maps, or means and deviations of those of the last five stages
(:class:`~ordinate.encoders.network.StageMoments`). They are standardised and reduced to principal components, which
have a variance of 1 each (white) or keep their share of it (own). A cumulative link model predicts each of four folds
from the others, twice. The score is the ranked probability score for each number of components. No test image is read.
A line per set, features and variance goes to ``benchmarks/results/image_features.jsonl``.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.model_selection import RepeatedStratifiedKFold

from default_images import SETS
from image_parts import training_images
from ordinate.commands.fit.image_plan import Wanted, plan_images
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import choose_preprocessing, decode
from ordinate.encoders.build import build_encoder
from ordinate.heads.cumulative_fit import fit_cumulative_link
from ordinate.metrics import ranked_probability_score

RESULTS = Path(__file__).parent / "results" / "image_features.jsonl"
FEATURES: dict[str, dict[str, Any]] = {
    "last layer, means and maxima": {"global_pool": "catavgmax"},
    "five stages, means and deviations": {"by_stages": True},
}
COUNTS = (16, 32, 64, 128, 256)


def features_of(name: str) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.int64]]]:
    """Yield the name of features, these (n, f), and the ranks (n,) of a set of images."""
    with tempfile.TemporaryDirectory() as place:
        paths, grades = training_images(name, Path(place))
        with Image.open(paths[0]) as first:
            plan = plan_images((first.height, first.width), len(paths), Wanted(), cores=2)
        files = ImageFiles(paths)
        pixels, _ = decode(files, choose_preprocessing(files, plan.size))
    ranks = np.unique(grades, return_inverse=True)[1]
    for kind, options in FEATURES.items():
        encoder: Any = build_encoder(
            "efficientnet_lite0", pixels.shape[1:], None, frozen=True, pretrained=True, **options
        ).eval()
        encoder.mirror = True
        with torch.no_grad():
            parts = [encoder.features(part) for part in torch.from_numpy(pixels).split(32)]
        yield kind, torch.cat(parts).double().numpy(), ranks


def scores(features: NDArray[np.float64], ranks: NDArray[np.int64], *, white: bool) -> dict[int, float]:
    """Return the ranked probability score of unseen images by number of components."""
    found: dict[int, list[float]] = {count: [] for count in COUNTS}
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    for seen, unseen in folds.split(features, ranks):
        centre, deviation = features[seen].mean(0), features[seen].std(0)
        x = (features - centre) / np.maximum(deviation, 1e-3 * deviation.max())
        _, values, axes = np.linalg.svd(x[seen], full_matrices=False)
        components = x @ axes.T / ((values if white else values[0]) / len(seen) ** 0.5)
        for count in COUNTS:
            z, y = torch.from_numpy(components[:, :count]), torch.from_numpy(ranks)
            layer, link = fit_cumulative_link(z[seen], y[seen], int(ranks.max()) + 1, None)
            with torch.no_grad():
                predicted = link(layer(z[unseen])).numpy()
            found[count].append(float(ranked_probability_score(ranks[unseen], predicted)))
    return {count: round(float(np.mean(each)), 4) for count, each in found.items()}


def main() -> None:
    """Measure what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(all)")
    parser.add_argument("--table", action="store_true", help="print the scores")
    options = parser.parse_args()
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    runs = list(map(json.loads, lines))
    if options.table:
        print(pd.DataFrame(runs).set_index(["set", "features", "variance"]).to_string())
        return
    for name in options.sets:
        if any(run["set"] == name for run in runs):
            continue
        for kind, features, ranks in features_of(name):
            for variance in ("white", "own"):
                found = scores(features, ranks, white=variance == "white")
                scored: dict[str, float] = {str(count): score for count, score in found.items()}
                run = {"set": name, "features": kind, "variance": variance} | scored
                print(os.getpid(), run, flush=True)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(run) + "\n")


if __name__ == "__main__":
    main()
