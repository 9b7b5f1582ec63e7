"""Decision trees as tensors, so that they are saved, and run elsewhere, like the rest of a model."""

from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn


class Trees(nn.Module):
    """The mean of the leaves that a sample reaches in a number of trees.

    Args:
        trees: how many.
        nodes: of all trees together.
        outputs: values of a leaf.
        depth: of the deepest tree.
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

    @classmethod
    def of_forest(cls, forest: Any, columns: int | None = None) -> Self:
        """Return the trees of a fitted forest of scikit-learn, which compares float32 inputs.

        Args:
            forest: of trees of classification, whose classes are numbered from 0, or of regression.
            columns: how many classes there are, where the forest may have seen fewer; None for regression.
        """
        trees = [estimator.tree_ for estimator in forest.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        outputs = 1 if columns is None else columns
        found = cls(len(trees), int(starts[-1]), outputs, max(tree.max_depth for tree in trees))
        found.roots.copy_(torch.from_numpy(starts[:-1]))
        places = slice(None) if columns is None else torch.from_numpy(np.asarray(forest.classes_, dtype=np.int64))
        for start, tree in zip(starts, trees, strict=False):
            nodes = slice(int(start), int(start) + tree.node_count)
            itself = np.arange(tree.node_count)
            leaf = tree.children_left < 0
            found.feature[nodes] = torch.from_numpy(np.where(leaf, 0, tree.feature))
            found.left[nodes] = torch.from_numpy(np.where(leaf, itself, tree.children_left) + start)
            found.right[nodes] = torch.from_numpy(np.where(leaf, itself, tree.children_right) + start)
            found.threshold[nodes] = torch.from_numpy(_below(tree.threshold))
            found.value[nodes, places] = torch.from_numpy(tree.value[:, 0]).float()
        return found

    @property
    def out_features(self) -> int:
        """Values of a leaf."""
        return self.value.shape[1]

    def check(self, columns: int) -> None:
        """Raise ValueError where a node points outside the trees, or to a column that samples do not have."""
        if not 0 <= self.depth < max(1, len(self.feature)):
            raise ValueError(f"its trees of {len(self.feature)} nodes have a depth of {self.depth}")
        nodes = torch.cat([self.roots, self.left, self.right])
        if int(nodes.min()) < 0 or int(nodes.max()) >= len(self.feature):
            raise ValueError("a node of its trees leads outside them")
        if int(self.feature.min()) < 0 or int(self.feature.max()) >= columns:
            raise ValueError(f"a node of its trees is on a column that the {columns} do not have")

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n o"]:
        node = self.roots.expand(x.shape[0], -1)
        for _ in range(self.depth):
            is_right = x.gather(1, self.feature[node]) > self.threshold[node]
            node = torch.where(is_right, self.right[node], self.left[node])
        return self.value[node].mean(1)


def _below(thresholds: Any) -> Any:
    """Return the largest float32 that are not above thresholds in float64: they divide float32 numbers alike."""
    rounded = thresholds.astype(np.float32)
    return np.where(rounded > thresholds, np.nextafter(rounded, np.float32(-np.inf)), rounded)
