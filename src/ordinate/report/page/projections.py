"""Embeddings in two dimensions, in several ways, within a time that users wait."""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from ordinate.data.part import random_part
from ordinate.report.umap_points import umap_points

PROJECTIONS = ("pca", "tsne", "umap")
MOST_FOR_TSNE, MOST_FOR_UMAP = 3000, 20_000  # samples; a random part of more
LEAST = 10  # samples of which neighbours tell something


@dataclass(frozen=True)
class Projection:
    """Coordinates (n, 2), centred, the farther extent 1, NaN for samples that were left out, and what they are."""

    key: str
    name: str
    note: str
    points: NDArray[np.float32]


def project(embeddings: NDArray[np.float64], keys: tuple[str, ...] = PROJECTIONS) -> list[Projection]:
    """Project embeddings (n, d): by principal components always, by t-SNE and UMAP of 10 samples or more.

    UMAP is left out where umap-learn is not installed. The same embeddings give the same pictures.
    """
    found = [_principal_components(embeddings)] if "pca" in keys else []
    if len(embeddings) >= LEAST and np.ptp(embeddings, axis=0).max() > 0:
        if "tsne" in keys:
            found.append(_tsne(embeddings))
        if "umap" in keys and find_spec("umap") is not None:
            found.append(_umap(embeddings))
    return found


def _principal_components(embeddings: NDArray[np.float64]) -> Projection:
    centred = embeddings - embeddings.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    points = centred @ vectors[:, ::-1][:, :2]
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    shares = np.maximum(values[::-1][:2], 0) / max(float(values.sum()), 1e-300)
    note = (
        f"The two directions in which embeddings differ most: {shares.sum():.0%} of their variance. "
        "Distances are those along these two."
    )
    return Projection("pca", "PCA", note, _scaled(points))


def _tsne(embeddings: NDArray[np.float64]) -> Projection:
    from sklearn.manifold import TSNE

    rows = random_part(len(embeddings), MOST_FOR_TSNE)
    tsne = TSNE(perplexity=min(30.0, (len(rows) - 1) / 3), init="pca", max_iter=500, random_state=0)
    with threadpool_limits(1):  # on so few samples threads wait for each other: ten times as long with two
        points = tsne.fit_transform(embeddings[rows].astype(np.float32))
    note = "Near samples are alike; distances between far groups, and the sizes of groups, mean nothing."
    return Projection("tsne", "t-SNE", note + _left_out(rows, embeddings), _placed(points, rows, len(embeddings)))


def _umap(embeddings: NDArray[np.float64]) -> Projection:
    rows = random_part(len(embeddings), MOST_FOR_UMAP)
    shown = embeddings[rows].astype(np.float32)
    count = min(15, len(rows) - 1)
    # exact neighbours are sooner found than UMAP's search for near ones is compiled
    distances, neighbours = NearestNeighbors(n_neighbors=count).fit(shown).kneighbors(shown)
    points = umap_points(
        shown, n_neighbors=count, n_epochs=200, init="pca", precomputed_knn=(neighbours, distances, None)
    )
    note = "Near samples are alike; distances between far groups mean little."
    return Projection("umap", "UMAP", note + _left_out(rows, embeddings), _placed(points, rows, len(embeddings)))


def _left_out(rows: NDArray[np.int64], embeddings: NDArray[np.float64]) -> str:
    return "" if len(rows) == len(embeddings) else f" Shows {len(rows):,} of {len(embeddings):,} samples, at random."


def _placed(points: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    placed = np.full((n, 2), np.nan)
    placed[rows] = points
    return _scaled(placed)


def _scaled(points: NDArray[np.float64]) -> NDArray[np.float32]:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    extent = float((high - low).max())
    return ((points - (low + high) / 2) / (extent if extent > 0 else 1.0)).astype(np.float32)
