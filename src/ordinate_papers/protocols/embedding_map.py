"""Where an embedding puts the test samples, by UMAP (CLOC, Figs. 5 and 9; SupCR, Fig. 1)."""

import warnings

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator

from ordinate.data.decoded import evenly_spread
from ordinate.data.rows import Samples, take
from ordinate.metrics import spearman
from ordinate.optional import optional
from ordinate_papers.protocols.parts import Figures


def embedding_map(model: BaseEstimator, X_test: Samples, y_test: ArrayLike) -> Figures:
    """Coordinates of test embeddings by UMAP, and the rank correlation of their distances with those of labels.

    The papers have pictures alone. Chosen here: UMAP's own settings, at most 1000 samples, evenly spread.

    Args:
        model: Fitted model with ``transform``; requires ``pip install "ordinate[umap]"``.
        X_test: Three samples or more.
        y_test: (n,), their labels.

    Returns:
        ``places`` (m, 2), ``labels`` (m,), and ``order`` in [-1, 1], over all pairs of the m samples, Euclidean.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.25, 0.5, 0.75])
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, y)
        >>> figures = embedding_map(model, X, y)  # doctest: +SKIP
    """
    labels = np.asarray(y_test, dtype=np.float64)
    rows = np.array(evenly_spread(len(labels), 1000))
    embeddings = model.transform(take(X_test, rows))
    return {
        "order": spearman(pdist(labels[rows, None]), pdist(embeddings)),
        "places": umap_points(embeddings).round(4).tolist(),
        "labels": labels[rows].tolist(),
    }


def umap_points(embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the coordinates (n, 2) of embeddings (n, d) by UMAP (McInnes et al., 2018), with its seed fixed.

    UMAP's loops start Numba's OpenMP threads and change the number of threads that torch uses, which slows down every
    later operation of torch. The number is therefore restored.

    Args:
        embeddings: (n, d).

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
            points = umap.UMAP(random_state=0, n_jobs=1).fit_transform(embeddings)
    finally:
        torch.set_num_threads(threads)
    return np.asarray(points, dtype=np.float64)
