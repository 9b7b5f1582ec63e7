"""Errors under corruptions of the images to predict (SupCR, Section 4.2, Fig. 3)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ordinate.data.images.pixels import Decoded
from ordinate.errors import OrdinateError
from ordinate_papers.protocols.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import check_labels, score


def corruption_robustness(
    model: BaseEstimator,
    images: NDArray[np.uint8] | Decoded,
    labels: ArrayLike,
    *,
    names: Sequence[str] = tuple(CORRUPTIONS),
    severities: Sequence[int] = SEVERITIES,
    seed: int = 0,
    keep: Keep = compute,
) -> Figures:
    """Mean absolute error of a model on clean test images and on corrupted ones (SupCR, Section 4.2, Fig. 3).

    The model was trained on clean images; the paper's curve is the mean over all 19 corruptions at each of 5
    severities. Chosen here: the corruptions are those of :mod:`~ordinate_papers.protocols.corruptions`, drawn anew for
    every image, the same for every model, at the size of the array; of ranks the error is counted in ranks.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        model: Fitted model with ``predict``.
        images: (n, c, h, w) uint8, as an array or decoded.
        labels: (n,).
        names: Names of the corruptions.
        severities: Strengths of the corruptions, 1 to 5.

    Returns:
        ``clean``, the error without corruption; ``severities``; ``errors``, from the name of a corruption to its error
        at each severity; ``mean``, over the corruptions, at each severity; and ``rows``, the same as records.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> images, labels = np.zeros((4, 1, 16, 16), dtype=np.uint8), np.arange(4.0)
        >>> model = DummyRegressor().fit(images, labels)
        >>> figures = corruption_robustness(model, images, labels, names=["fog", "snow"], severities=[1, 5])
        >>> figures["clean"], figures["mean"]
        (1.0, [1.0, 1.0])
    """
    check_labels(images, labels, "labels")
    unknown = sorted(set(names) - set(CORRUPTIONS))
    if unknown or not names:
        raise OrdinateError("names", f"{unknown or 'none'}", f"some of {', '.join(map(repr, CORRUPTIONS))}")
    if not severities or not set(severities) <= set(SEVERITIES):
        raise OrdinateError("severities", list(severities), "some of 1, 2, 3, 4, 5")

    def error(name: str, severity: int) -> float:
        if isinstance(images, Decoded):
            return score(model, replace(images, pixels=corrupt(images.pixels, name, severity, seed)), labels)["mae"]
        return score(model, corrupt(images, name, severity, seed), labels)["mae"]

    def part(name: str) -> Figures:
        return {"mae": [error(name, severity) for severity in severities]}

    clean = keep("clean", lambda: {"mae": score(model, images, labels)["mae"]})["mae"]
    errors = {name: keep(name, partial(part, name))["mae"] for name in names}
    return {
        "clean": clean,
        "severities": list(severities),
        "errors": errors,
        "mean": np.mean(list(errors.values()), axis=0).tolist(),
        "rows": [
            {"corruption": "none", "severity": 0, "mae": clean},
            *(
                {"corruption": name, "severity": severity, "mae": mae}
                for name, of_name in errors.items()
                for severity, mae in zip(severities, of_name, strict=True)
            ),
        ],
    }
