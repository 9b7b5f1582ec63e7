"""How far images of the same set, and of others, lie from those of training, as a blend of images measures it.

    ORDINATE_DATA=DIR python benchmarks/image_kinds.py

Of each of five sets 250 images train a blend on the features of a pretrained network; labels are drawn at random, as
they do not change the distance. 60 others set the limit, the largest of their distances, and 190 more, and 40 of each
other set, are compared with it. Writes ``benchmarks/results/image_kinds.json``: for each set the largest ratio of its
own images, and the lowest and median ratio of the others. A model warns of an image from a ratio of 1.5 on.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate import BlendClassifier, ImageOptions
from ordinate.data.images.modality import ImageModality
from ordinate_papers.datasets.images import load

RESULTS = Path(__file__).parent / "results" / "image_kinds.json"
SETS = ("busi", "koa", "idrid", "fingers", "retinamnist")
SIDE, TRAINED, LIMIT, ALL = 112, 250, 310, 500


def pixels_of(name: str) -> NDArray[np.uint8]:
    """Return a random part of a set's images in colour, (n, 3, 112, 112)."""
    samples: Any = load(name).samples
    rows = np.random.default_rng(0).permutation(len(samples))[:ALL]
    options = ImageOptions(size=(SIDE, SIDE), channels=3)
    decoded = ImageModality().fit(samples[rows], options, encoder="auto", progress=False)[1]
    return np.asarray(decoded.pixels)


def main() -> None:
    """Measure all sets."""
    warnings.simplefilter("ignore")
    images = {name: pixels_of(name) for name in SETS}
    found = {}
    for name, x in images.items():
        labels = np.random.default_rng(0).integers(0, 3, TRAINED)
        options = ImageOptions(pretrained=True, size=(SIDE, SIDE))
        model = BlendClassifier(data=options, fine_tuned=0, epochs=2, trees=False, random_state=0)
        model.fit(x[:TRAINED], labels)
        limit = model.transform(x[TRAINED:LIMIT])[:, -1].max()
        others = {each: model.transform(images[each][:40])[:, -1] / limit for each in SETS if each != name}
        found[name] = {
            "own, largest": round(float(model.transform(x[LIMIT:])[:, -1].max() / limit), 3),
            **{each: [round(float(np.min(far)), 3), round(float(np.median(far)), 3)] for each, far in others.items()},
        }
        print(name, found[name], flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
