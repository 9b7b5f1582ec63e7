"""A synthetic set with the imbalanced ages of AgeDB-DIR."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.errors import OrdinateError

LABELS = Path("agedb_dir_labels") / "agedb_dir_age_split.csv.gz"

Part = tuple[NDArray[np.float64], NDArray[np.float64]]  # The samples X and their labels y.


@dataclass(frozen=True)
class ImbalancedSet:
    """A regression set with few training samples at some targets: ``(X, y)`` of each part."""

    train: Part
    validation: Part
    test: Part


def draw_imbalanced(seed: int = 0, *, labels: str | Path | None = None) -> ImbalancedSet:
    """Draw a synthetic set with the ages and the split of AgeDB-DIR (12,208 / 2,140 / 2,140 samples).

    Every sample has its age t, in centuries, a hidden identity u of three standard normal numbers, and 16 features

        x_j = s_j tanh(a_j (t - b_j)) + v_j . u + e_j

    with a sign s_j, a slope a_j uniform in 2..8, a turning point b_j uniform in 0..1, v_j normal with deviation 0.3,
    and normal noise e_j of deviation 1. Each feature tells about ages near its turning point, as wrinkles and height
    do. The ages of a sample's features are uncertain by some nine years, about the error that the papers report on
    faces.

    Args:
        seed: Seed of the features' coefficients, the identities and the noise.
        labels: A CSV with the columns ``age`` and ``split`` (train, val, test); None reads that of AgeDB-DIR under
            the folder that the environment variable ``ORDINATE_DATA`` names.

    Raises:
        OrdinateError: a file that is not there, or lacks one of the parts.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frame = pd.DataFrame({"age": [30, 30, 70, 50], "split": ["train", "train", "val", "test"]})
        ...     frame.to_csv(f"{folder}/ages.csv", index=False)
        ...     data = draw_imbalanced(labels=f"{folder}/ages.csv")
        >>> data.train[0].shape, data.test[1].tolist()
        ((2, 16), [50.0])
    """
    ages, split = _read(labels)
    random = np.random.default_rng(seed)
    sign = random.choice([-1.0, 1.0], 16)
    slope = random.uniform(2, 8, len(sign))
    turn = random.uniform(0, 1, len(sign))
    mixing = random.normal(scale=0.3, size=(3, len(sign)))
    identity = random.normal(size=(len(ages), len(mixing)))
    noise = random.normal(size=(len(ages), len(sign)))
    X = sign * np.tanh(slope * (ages[:, None] / 100 - turn)) + identity @ mixing + noise
    return ImbalancedSet(*((X[split == part], ages[split == part]) for part in ("train", "val", "test")))


def _read(labels: str | Path | None) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the ages and the part of each."""
    if labels is None:
        folder = os.environ.get("ORDINATE_DATA")
        if folder is None:
            raise OrdinateError("labels", "None and no ORDINATE_DATA", f"a CSV or a folder with {LABELS}")
        labels = Path(folder) / LABELS
    if not Path(labels).is_file():
        raise OrdinateError("labels", f"{labels}, which is not there", "a CSV with the columns age and split")
    frame = pd.read_csv(labels, index_col=False)
    parts = set(frame.get("split", ()))
    if "age" not in frame or not {"train", "val", "test"} <= parts:
        raise OrdinateError(
            "labels", problem=f"{labels} lacks the column age or a part of split", expected="train, val and test"
        )
    return frame["age"].to_numpy(dtype=np.float64), frame["split"].to_numpy(dtype=str)
