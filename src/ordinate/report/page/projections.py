"""Embeddings in two dimensions, in several ways, within a time that users wait."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ordinate.counts import counted
from ordinate.data.rows import random_part

PROJECTIONS = ("pca", "tsne")
MOST_FOR_TSNE = 3000  # Larger sets are sampled at random.


@dataclass(frozen=True)
class Projection:
    """Coordinates (n, 2), centred, the farther extent 1, NaN for samples that were left out, and what they are."""

    key: str
    name: str
    note: str
    points: NDArray[np.float32]


def project(embeddings: NDArray[np.float64], keys: tuple[str, ...] = PROJECTIONS) -> list[Projection]:
    """Project embeddings (n, d): by principal components always, by t-SNE of 10 different samples or more.

    The same embeddings give the same pictures.
    """
    centred = embeddings - embeddings.mean(axis=0)
    extent = float(np.abs(centred).max())
    differ = extent > 1e-6 * np.abs(embeddings).max()  # Smaller differences are rounding.
    if not differ:
        centred, extent = np.zeros_like(centred), 1.0
    centred = centred / extent
    centred = np.pad(centred, ((0, 0), (0, max(0, 2 - centred.shape[1]))))
    found = []
    if "pca" in keys:
        found.append(_principal_components(centred))
    if "tsne" in keys:
        found += _by_neighbours(centred)
    return found


def _by_neighbours(centred: NDArray[np.float64], least: int = 10) -> list[Projection]:
    """Return the projection by t-SNE, none where fewer than ``least`` samples differ."""
    rows = random_part(len(centred), MOST_FOR_TSNE)
    shown = centred[rows].astype(np.float32)
    if len(np.unique(shown, axis=0)) < least:
        return []
    drawn = _tsne(shown)
    placed = np.full((len(centred), 2), np.nan)
    placed[rows] = drawn.points
    note = drawn.note
    if len(rows) < len(centred):
        note += f" Shows {len(rows):,} of {counted(len(centred), 'sample')}, at random."
    return [replace(drawn, note=note, points=_scaled(placed))]


def _principal_components(centred: NDArray[np.float64]) -> Projection:
    values, vectors = np.linalg.eigh(centred.T @ centred)
    points = centred @ vectors[:, ::-1][:, :2]
    shares = np.maximum(values[::-1][:2], 0) / max(float(values.sum()), 1e-300)
    note = (
        f"The two directions in which embeddings differ most: {shares.sum():.0%} of their variance. "
        "Distances are those along these two."
    )
    return Projection("pca", "PCA", note, _scaled(points))


def _tsne(shown: NDArray[np.float32]) -> Projection:
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=min(30.0, (len(shown) - 1) / 3), init="pca", max_iter=500, random_state=0)
    with threadpool_limits(1):  # With so few samples, threads wait for each other; two take ten times as long.
        points = tsne.fit_transform(shown)
    note = "Near samples are similar; distances between far groups, and the sizes of groups, mean nothing."
    return Projection("tsne", "t-SNE", note, points)


def _scaled(points: NDArray[np.float64]) -> NDArray[np.float32]:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    extent = float((high - low).max())
    return ((points - (low + high) / 2) / (extent or 1.0)).astype(np.float32)
