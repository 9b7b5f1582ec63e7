"""Draw curves of the image papers on the data at hand.

    ORDINATE_DATA=DIR python benchmarks/image_curves.py [--curves precautions sizes trade]

Margins learned with and without CLOC's precautions (CLOC, Fig. 4) and separability by the size of OTD's embedding (OTD,
Fig. 13) on RetinaMNIST, and what one boundary's margin trades (CLOC, Table 2) on KOA: on its validation images, so that
a margin can be chosen without a look at the test images. All are trained with the small recipes. A finished training is
kept in the results file; a stopped one continues from its last epoch when the script is given again.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ordinate import CLOCClassifier, OTDClassifier
from ordinate.report.curves import accuracy_by_embedding_size, margin_trade, margins_over_training
from ordinate.report.figures import save
from ordinate.report.margin_sweep import mean_trade, sweep_margin
from ordinate_papers.datasets.images import load
from ordinate_papers.figures.embedding_sizes import mean_by_size, sweep_embedding_dim
from ordinate_papers.tables.variants import varied
from runs import read, results_of, write
from small_recipes import small_recipe

RESULTS = results_of(__file__)
STATE = Path(os.environ.get("ORDINATE_STATE", "images-state"))
SIZES, SIZE_SEEDS = (2, 4, 8, 16, 32, 64, 128, 256), (0, 1, 2)
MARGINS: tuple[float | None, ...] = (None, 1.5, 2.0)  # above 2 nothing changes: no two cosines differ by more
BOUNDARY, TRADE_SEEDS = (1, 2), (0, 1, 2)
PHASE_ONE = 60  # epochs; without precautions margins are gone long before


def trainings(curve: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of every training of a curve, and what runs it and returns its record."""
    if curve == "precautions":
        for name, precautions in (("with", 2), ("without", 0)):
            yield name, partial(_margins_learned, precautions)
    elif curve == "sizes":
        for size in SIZES:
            for seed in SIZE_SEEDS:
                yield f"{size}-{seed}", partial(_size, size, seed)
    else:
        for margin in MARGINS:
            for seed in TRADE_SEEDS:
                yield f"{margin}-{seed}", partial(_trade, margin, seed)


def _margins_learned(precautions: int) -> list[dict[str, float]]:
    """The history of a phase one, on all of RetinaMNIST that is no test image; it never stops early."""
    recipe = small_recipe("cloc-retinamnist").build()
    run = {"random_state": 0, "training__checkpoint_dir": _folder("precautions", str(precautions))}
    settings = {"epochs": (PHASE_ONE, 1), **run}
    kind = varied(CLOCClassifier, {"precautions": precautions})
    X, y, _, _ = _read("retinamnist", "test")
    return kind(**recipe.get_params(deep=False)).set_params(**settings).fit(X, y).history_[:PHASE_ONE]


def _size(size: int, seed: int) -> Any:
    own = small_recipe("cloc-retinamnist").build()
    shared = {name: getattr(own, name) for name in ("encoder", "batch_size", "data", "training")}

    def build(embedding_dim: int, seed: int) -> OTDClassifier:
        folder = _folder("sizes", f"{embedding_dim}-{seed}")
        model = OTDClassifier(embedding_dim=embedding_dim, epochs=30, random_state=seed, **shared)
        return model.set_params(training__checkpoint_dir=folder)

    return sweep_embedding_dim(build, *_read("retinamnist", "test"), [size], [seed])[0]


def _trade(margin: float | None, seed: int) -> Any:
    def build(margins: Any, seed: int) -> CLOCClassifier:
        folder = _folder("trade", f"{margin}-{seed}")
        run = {"random_state": seed, "training__checkpoint_dir": folder, "verbose": 1}
        return small_recipe("cloc-koa").build(critical_margins=margins, **run)

    return sweep_margin(build, *_read("koa", "validation"), BOUNDARY, [margin], [seed])[0]


def _read(name: str, judged: str) -> tuple[Any, Any, Any, Any]:
    """Images and ranks to train on, then those to measure on; with validation images, test images are left out."""
    images: Any = load(name)
    ranks, splits = images.labels.to_numpy(), images.splits.to_numpy()
    train = np.flatnonzero((splits != judged) & (splits != "test"))
    held_out = np.flatnonzero(splits == judged)
    return images.samples[train], ranks[train], images.samples[held_out], ranks[held_out]


def _folder(*names: str) -> str:
    folder = STATE / "-".join(("curves", *names))
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def draw(done: dict[str, dict[str, Any]], folder: Path) -> list[Path]:
    """Draw the curves whose trainings are all there."""
    paths = []
    if set(done.get("precautions", {})) == {"with", "without"}:
        histories = done["precautions"]
        names = [str(rank) for rank in range(5)]
        figure = margins_over_training(histories["with"], names, [False] * 4, histories["without"])
        paths.append(save(figure, folder / "margins-precautions.png"))
    if len(done.get("sizes", {})) == len(SIZES) * len(SIZE_SEEDS):
        sizes, accuracies = mean_by_size(list(done["sizes"].values()))
        figure = accuracy_by_embedding_size(sizes, {"RetinaMNIST, OTD": accuracies})
        paths.append(save(figure, folder / "embedding-size.png"))
    if len(done.get("trade", {})) == len(MARGINS) * len(TRADE_SEEDS):
        figure = margin_trade(**mean_trade(list(done["trade"].values())), boundary_name="KOA grade 1 | 2")
        paths.append(save(figure, folder / "margin-trade.png"))
    return paths


def main() -> None:
    """Run what is missing, draw what is complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    curves = ("precautions", "sizes", "trade")
    parser.add_argument("--curves", nargs="+", choices=curves, default=list(curves))
    parser.add_argument("--pictures", type=Path, default=Path(), help="folder for the pictures (the current one)")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    warnings.simplefilter("ignore")
    for curve in options.curves:
        for name, run in trainings(curve):
            if name not in _done().get(curve, {}):
                record = run()
                done = _done()  # another process may have added to it
                done.setdefault(curve, {})[name] = record
                write(RESULTS, done)
                print(curve, name, record[-1] if isinstance(record, list) else record, flush=True)
    for path in draw(_done(), options.pictures):
        print(path)


def _done() -> dict[str, dict[str, Any]]:
    return read(RESULTS) or {}


if __name__ == "__main__":
    main()
