"""Draw the margins that CLOC learns with and without its precautions (CLOC, Fig. 4) on RetinaMNIST.

    ORDINATE_DATA=DIR python benchmarks/image_curves.py

Both are trained with the small recipe. A finished training is kept in the results file; a stopped one continues from
its last epoch when the script is given again.
"""

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import torch

from ordinate import CLOCClassifier
from ordinate.report.figures import margins_over_training, save
from ordinate_papers.datasets.images import load
from ordinate_papers.tables.variants import varied
from runs import read, results_of, write
from small_recipes import small_recipe

RESULTS = results_of(__file__)
STATE = Path(os.environ.get("ORDINATE_STATE", "images-state"))
PHASE_ONE = 60  # Without precautions, margins collapse long before this epoch.


def margins_learned(precautions: int) -> list[dict[str, float]]:
    """Return the history of a phase one, on all of RetinaMNIST that is no test image; it never stops early."""
    folder = STATE / f"curves-precautions-{precautions}"
    folder.mkdir(parents=True, exist_ok=True)
    recipe = small_recipe("cloc-retinamnist").build()
    settings = {"epochs": (PHASE_ONE, 1), "random_state": 0, "training__checkpoint_dir": str(folder)}
    kind = varied(CLOCClassifier, {"precautions": precautions})
    images: Any = load("retinamnist")
    train = (images.splits != "test").to_numpy().nonzero()[0]
    model = kind(**recipe.get_params(deep=False)).set_params(**settings)
    return model.fit(images.samples[train], images.labels.to_numpy()[train]).history_[:PHASE_ONE]


def main() -> None:
    """Run what is missing and draw both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=Path(), help="folder for the picture (the current one)")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    warnings.simplefilter("ignore")
    done = read(RESULTS) or {"precautions": {}}
    for name, precautions in (("with", 2), ("without", 0)):
        if name not in done["precautions"]:
            done["precautions"][name] = margins_learned(precautions)
            write(RESULTS, done)
    names = [str(rank) for rank in range(5)]
    curves = done["precautions"]
    figure = margins_over_training(curves["with"], names, [False] * 4, curves["without"])
    print(save(figure, options.pictures / "margins-precautions.png"))


if __name__ == "__main__":
    main()
