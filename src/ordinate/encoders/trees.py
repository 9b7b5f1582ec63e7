"""Decision trees as tensors, so that they are saved, and run elsewhere, like the rest of a model."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate import kernels
from ordinate.counts import counted

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

MANY_SAMPLES = 256  # For fewer the import of compiled loops takes longer than it saves.


class Trees(nn.Module):
    """The mean of the leaves that a sample reaches in each of the trees.

    Args:
        trees: Number of trees.
        nodes: Number of nodes of all trees together.
        outputs: Number of values of a leaf.
        depth: Depth of the deepest tree.
    """

    roots: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor

    def __init__(self, trees: int, nodes: int, outputs: int, depth: int) -> None:
        super().__init__()
        self.depth = depth
        self.register_buffer("roots", torch.zeros(trees, dtype=torch.int64))
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.int64))
        self.register_buffer("threshold", torch.zeros(nodes))
        self.register_buffer("value", torch.zeros(nodes, outputs))

    def config(self) -> dict[str, int]:
        """Return the arguments of the constructor."""
        return {
            "trees": len(self.roots),
            "nodes": len(self.feature),
            "outputs": self.out_features,
            "depth": self.depth,
        }

    @classmethod
    def of_forest(
        cls,
        forest: "ExtraTreesRegressor",
        decode: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        columns: NDArray[np.int64],
    ) -> Self:
        """Return the trees of a fitted forest of scikit-learn, which compares float32 inputs.

        Args:
            forest: Forest for regression.
            decode: Linear function from its outputs (n, k) to those of the trees (n, o).
            columns: Columns (f,) of a sample that the forest was fitted on.
        """
        trees = [estimator.tree_ for estimator in forest.estimators_]
        parts = []
        for tree in trees:
            is_leaf = tree.children_left < 0
            value = decode(tree.value[:, :, 0])
            left, right = tree.children_left, tree.children_right
            feature = columns[np.where(is_leaf, 0, tree.feature)]
            parts.append(_Tree(feature, tree.threshold, left, right, is_leaf, value))
        return cls._joined(parts, max(tree.max_depth for tree in trees))

    @classmethod
    def of_boosting(
        cls, models: Sequence["HistGradientBoostingRegressor"], columns: NDArray[np.int64], slope: float = 1.0
    ) -> Self:
        """Return the mean of models of boosted trees of scikit-learn, fitted without missing values.

        Args:
            models: Fitted models, of as many trees each.
            columns: Columns (f,) of a sample that they were fitted on.
            slope: Factor of their predictions.
        """
        parts, depth = [], 0
        for model in models:
            start = slope * float(np.ravel(model._baseline_prediction)[0])  # It has no public name.
            trees = [predictor.nodes for round_ in model._predictors for predictor in round_]
            for nodes in trees:
                is_leaf = nodes["is_leaf"].astype(bool)
                value = start + slope * len(trees) * np.where(is_leaf, nodes["value"], 0.0)  # Trees are averaged.
                left, right = (nodes[side].astype(np.int64) for side in ("left", "right"))
                feature = columns[nodes["feature_idx"]]
                parts.append(_Tree(feature, nodes["num_threshold"], left, right, is_leaf, value[:, None]))
                depth = max(depth, int(nodes["depth"].max()))
        return cls._joined(parts, depth)

    @classmethod
    def _joined(cls, trees: Sequence["_Tree"], depth: int) -> Self:
        starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])
        found = cls(len(trees), int(starts[-1]), trees[0].value.shape[1], depth)
        found.roots.copy_(torch.from_numpy(starts[:-1]))
        for start, tree in zip(starts, trees, strict=False):
            nodes = slice(int(start), int(start) + len(tree.feature))
            itself = np.arange(len(tree.feature))
            found.feature[nodes] = torch.from_numpy(tree.feature)
            found.left[nodes] = torch.from_numpy(np.where(tree.is_leaf, itself, tree.left) + start)
            found.right[nodes] = torch.from_numpy(np.where(tree.is_leaf, itself, tree.right) + start)
            found.threshold[nodes] = torch.from_numpy(_below(np.where(tree.is_leaf, 0.0, tree.threshold)))
            found.value[nodes] = torch.from_numpy(tree.value).float()
        return found

    @property
    def out_features(self) -> int:
        """Values of a leaf."""
        return self.value.shape[1]

    def check(self, columns: int) -> None:
        """Raise ValueError where a node points outside the trees, or to a column that samples do not have."""
        if not 0 <= self.depth < max(1, len(self.feature)):
            raise ValueError(f"its trees of {counted(len(self.feature), 'node')} have a depth of {self.depth}")
        nodes = torch.cat([self.roots, self.left, self.right])
        if int(nodes.min()) < 0 or int(nodes.max()) >= len(self.feature):
            raise ValueError("a node of its trees leads outside them")
        if int(self.feature.min()) < 0 or int(self.feature.max()) >= columns:
            raise ValueError(f"a node of its trees is on a column that the {columns} do not have")

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n o"]:
        if kernels.uses_numba(x) and len(x) >= MANY_SAMPLES:
            from ordinate.kernels.numba.trees import mean_of_leaves

            nodes = (self.roots, self.feature, self.threshold, self.left, self.right, self.value)
            return mean_of_leaves(x, *nodes, self.depth).to(self.value.dtype)
        node = self.roots.expand(x.shape[0], -1)
        for _ in range(self.depth):
            is_right = x.gather(1, self.feature[node]) > self.threshold[node]
            node = torch.where(is_right, self.right[node], self.left[node])
        return self.value[node].mean(1)


class _Tree(NamedTuple):
    """The nodes of a tree, from its root on."""

    feature: NDArray[np.integer]
    threshold: NDArray[np.float64]
    left: NDArray[np.integer]
    right: NDArray[np.integer]
    is_leaf: NDArray[np.bool_]
    value: NDArray[np.float64]


def _below(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 that are not above thresholds in float64: both divide float32 numbers equally."""
    rounded = thresholds.astype(np.float32)
    return np.where(rounded > thresholds, np.nextafter(rounded, np.float32(-np.inf)), rounded)
