"""Small NIfTI files whose brightness pattern tells the rank or age."""

from pathlib import Path

import nibabel
import numpy as np


def draw(target, side=16, seed=0):
    """(n, 1, side, side, side) noise with a ball whose radius grows with the target."""
    rng = np.random.default_rng(seed)
    axes = np.indices((side, side, side)) - (side - 1) / 2
    radius = np.sqrt((axes**2).sum(0))
    target = np.asarray(target, dtype=np.float64)
    share = (target - target.min()) / np.ptp(target)
    balls = radius[None] < side * (0.15 + 0.3 * share)[:, None, None, None]
    return (200 * balls + rng.uniform(1, 60, (len(target), side, side, side)))[:, None].astype(np.float32)


def write(folder, volumes, names, affine=None):
    """Write (n, 1, x, y, z) as files, in RAS with voxels of 1 mm unless an affine says otherwise."""
    paths = []
    for volume, name in zip(volumes, names, strict=True):
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nibabel.save(nibabel.Nifti1Image(volume[0], np.eye(4) if affine is None else affine), path)
        paths.append(path)
    return paths
