"""Draw the pair of pictures on the front page: one data set, embedded by a plain network and by SupReMix.

    ORDINATE_DATA=DIR python benchmarks/front_page.py

Both networks train on the first split of airfoil as in the experiment "retrieval: airfoil" of ``pays.py``. Drawn are
the held-out samples on the first two principal components of their embeddings of norm 1. The average precision is the
mean over the runs of that experiment in ``results/pays.json``. One picture is for light pages, one for dark pages.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from ordinate.metrics.embedding import unit_norm
from pays import EXPERIMENTS, read

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = "retrieval: airfoil"
TITLES = {"l1": "Network with L1 loss", "supremix": "Same network with SupReMix"}
TEXT_COLOURS = {"front-page.png": "#222832", "front-page-dark.png": "#ced6dd"}
TRANSPARENT = {"front-page-dark.png"}


def average_precision(model: str) -> float:
    """Return the mean over the recorded runs of a model."""
    runs = json.loads((ROOT / "benchmarks" / "results" / "pays.json").read_text(encoding="utf-8"))
    chosen = [run for run in runs if run["experiment"] == EXPERIMENT and run["model"] == model]
    return float(np.mean([run["figures"]["average_precision"] for run in chosen]))


def points(model: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Train a model; return the places of the held-out samples in a plane, and their labels."""
    X, y, X_test, y_test = read("airfoil", 0)
    estimator = EXPERIMENTS[EXPERIMENT].build(model, 0).fit(X, y)
    places = PCA(2).fit_transform(unit_norm(estimator.transform(X_test)))
    centred = y_test - y_test.mean()
    places *= np.sign([centred @ places[:, 0], -(centred**2) @ places[:, 1]])  # High labels right, middle labels up.
    return places, y_test


def draw(embedded: dict[str, tuple[NDArray[Any], NDArray[Any]]], name: str, text_colour: str) -> None:
    """Write the picture with all panels and a scale of colours."""
    style: dict[Any, Any] = {
        "text.color": text_colour,
        "axes.labelcolor": text_colour,
        "ytick.color": text_colour,
        "font.size": 10,
    }
    with plt.rc_context(style):
        figure, panels = plt.subplots(1, len(embedded), figsize=(6.4, 2.3), layout="constrained")
        for panel, (model, (places, labels)) in zip(panels, embedded.items(), strict=True):
            drawn = panel.scatter(*places.T, c=labels, cmap="viridis", s=16, linewidths=0)
            panel.set_title(f"{TITLES[model]}\naverage precision {average_precision(model):.2f}", fontsize=11)
            panel.set_aspect("equal", adjustable="box")
            panel.axis("off")
        scale = figure.colorbar(drawn, ax=panels, label="noise level, dB", shrink=0.9)
        scale.outline.set_visible(False)
        figure.savefig(ROOT / "docs" / name, dpi=160, transparent=name in TRANSPARENT)
        plt.close(figure)


def main() -> None:
    """Train both models and write both pictures."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    embedded = {model: points(model) for model in TITLES}
    for name, text_colour in TEXT_COLOURS.items():
        draw(embedded, name, text_colour)


if __name__ == "__main__":
    main()
