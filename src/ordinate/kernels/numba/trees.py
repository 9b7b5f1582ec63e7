"""The leaves that samples reach in decision trees, one sample after the other."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor

from ordinate.kernels.numba import LOOP, in_threads


def mean_of_leaves(
    x: Float[Tensor, "n f"],
    roots: Int[Tensor, " t"],
    feature: Int[Tensor, " m"],
    threshold: Float[Tensor, " m"],
    left: Int[Tensor, " m"],
    right: Int[Tensor, " m"],
    value: Float[Tensor, "m o"],
    depth: int,
) -> Float[Tensor, "n o"]:
    """Return the mean value of the leaves, which lead to themselves, that each sample reaches, in float64."""
    found = np.zeros((len(x), value.shape[1]))
    nodes = [part.numpy() for part in (roots, feature, threshold, left, right, value)]
    in_threads(_mean_of_leaves, len(x), x.numpy(), *nodes, depth, found)
    return torch.from_numpy(found)


@njit(**LOOP)
def _mean_of_leaves(start, stop, x, roots, feature, threshold, left, right, value, depth, found):
    outputs = value.shape[1]
    for tree in range(len(roots)):  # The nodes of one tree stay in the cache.
        for i in range(start, stop):
            node = roots[tree]
            for _ in range(depth):
                following = right[node] if x[i, feature[node]] > threshold[node] else left[node]
                if following == node:
                    break
                node = following
            for k in range(outputs):
                found[i, k] += value[node, k]
    for i in range(start, stop):
        for k in range(outputs):
            found[i, k] /= len(roots)
