"""UMAP (McInnes et al., 2018), which leaves torch's threads as they were."""

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ordinate.optional import optional


def umap_points(embeddings: NDArray[Any], **options: Any) -> NDArray[np.float64]:
    """Return coordinates (n, 2), the same for the same embeddings (n, d); ``options`` are those of ``umap.UMAP``.

    Its loops start Numba's OpenMP threads, whose number torch would use too: every later operation, however small,
    would then wait for all of them.
    """
    threads = torch.get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages it could use, and of a graph in parts, as the picture shows
            umap = optional("umap", "umap", 'projection="umap"')
            # one job, because a fixed random state leaves no more
            points = umap.UMAP(random_state=0, n_jobs=1, **options).fit_transform(embeddings)
    finally:
        torch.set_num_threads(threads)
    return np.asarray(points, dtype=np.float64)
