"""Embeddings in two dimensions, in several ways, within a time that users wait."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from ordinate.counts import counted
from ordinate.data.rows import random_part
from ordinate.optional import optional

PROJECTIONS = ("pca", "tsne", "umap")
MOST_FOR_TSNE = 3000  # Larger sets are sampled at random.


@dataclass(frozen=True)
class Projection:
    """Coordinates (n, 2), centred, the farther extent 1, NaN for samples that were left out, and what they are."""

    key: str
    name: str
    note: str
    points: NDArray[np.float32]


def project(embeddings: NDArray[np.float64], keys: tuple[str, ...] = PROJECTIONS) -> list[Projection]:
    """Project embeddings (n, d): by principal components always, by t-SNE and UMAP of 10 different samples or more.

    UMAP is left out where umap-learn is not installed. The same embeddings give the same pictures.
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
        found += _by_neighbours(centred, MOST_FOR_TSNE, _tsne)
    if "umap" in keys and find_spec("umap") is not None:
        found += _by_neighbours(centred, 20_000, _umap)
    return found


def _by_neighbours(
    centred: NDArray[np.float64], most: int, draw: Callable[[NDArray[np.float32]], Projection], least: int = 10
) -> list[Projection]:
    """Return the projection of at most so many samples, none where fewer than ``least`` of them differ."""
    rows = random_part(len(centred), most)
    shown = centred[rows].astype(np.float32)
    if len(np.unique(shown, axis=0)) < least:
        return []
    drawn = draw(shown)
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


def _umap(shown: NDArray[np.float32]) -> Projection:
    count = min(15, len(shown) - 1)
    # Exact neighbours are found before UMAP's approximate search is compiled.
    distances, neighbours = NearestNeighbors(n_neighbors=count).fit(shown).kneighbors(shown)
    points = umap_points(
        shown, n_neighbors=count, n_epochs=200, init="pca", precomputed_knn=(neighbours, distances, None)
    )
    note = "Near samples are similar; distances between far groups mean little."
    return Projection("umap", "UMAP", note, points.astype(np.float32))


def umap_points(embeddings: NDArray[np.floating], **options: object) -> NDArray[np.float64]:
    """Return the coordinates (n, 2) of embeddings (n, d) by UMAP (McInnes et al., 2018), with its seed fixed.

    UMAP's loops start Numba's OpenMP threads and change the number of threads that torch uses, which slows down every
    later operation of torch. The number is therefore restored.

    Args:
        embeddings: (n, d).
        options: Options of ``umap.UMAP``.

    Raises:
        OrdinateError: umap-learn is not installed.
    """
    threads = torch.get_num_threads()
    try:
        with warnings.catch_warnings():
            # UMAP warns of optional packages and of a disconnected graph, which the picture shows.
            warnings.simplefilter("ignore")
            umap = optional("umap", "umap", "UMAP")
            # A fixed random state allows only one job.
            points = umap.UMAP(random_state=0, n_jobs=1, **options).fit_transform(embeddings)
    finally:
        torch.set_num_threads(threads)
    return np.asarray(points, dtype=np.float64)


def _scaled(points: NDArray[np.float64]) -> NDArray[np.float32]:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    extent = float((high - low).max())
    return ((points - (low + high) / 2) / (extent or 1.0)).astype(np.float32)
