"""Small pictures for tests: a bright bar whose place is the label."""

import numpy as np
from PIL import Image

SIDE = 16


def draw(ranks, seed=0, channels=1, side=SIDE):
    """Return pictures (n, channels, side, side), uint8, a bar for every rank at a place of its own, in noise."""
    random = np.random.default_rng(seed)
    pictures = random.integers(0, 60, (len(ranks), channels, side, side))
    for picture, rank in zip(pictures, ranks, strict=True):
        start = 1 + 4 * int(rank)
        picture[:, :, start : start + 3] += 150
    return pictures.astype(np.uint8)


def write(folder, pictures, names):
    """Write pictures as files and return their paths."""
    paths = [folder / name for name in names]
    for path, picture in zip(paths, pictures, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture[0] if len(picture) == 1 else picture.transpose(1, 2, 0)).save(path)
    return paths
