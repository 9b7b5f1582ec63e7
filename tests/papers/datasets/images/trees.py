"""Small trees of files in an owner's layout."""

import zipfile

import numpy as np
from PIL import Image


def write_images(root, names):
    """Write an image of 2 x 3 pixels to each path below the root."""
    pixels = Image.fromarray(np.arange(18, dtype=np.uint8).reshape(2, 3, 3))
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels.save(path)


def write_text(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def zipped(root):
    """Return a zip of all files below the root."""
    path = root.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(root.rglob("*")):
            archive.write(file, file.relative_to(root))
    return path


def rows(images, root=None):
    """Return (name, label, split, group) of every image, by name; None for what the set does not have."""
    names = [str(path).removeprefix(f"{root}/") for path in images.samples.paths]
    columns = [[None] * len(names) if c is None else c.tolist() for c in (images.splits, images.groups)]
    return sorted(zip(names, images.labels.tolist(), *columns, strict=True))
