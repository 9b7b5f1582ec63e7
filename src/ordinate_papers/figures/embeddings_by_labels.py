"""A picture of embeddings under genuine and under permuted labels."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ordinate_papers.figures.plots import COLOURS, styled


@styled
def embeddings_by_labels(
    pictures: Mapping[str, Mapping[str, Mapping[str, ArrayLike]]], title: str = "{} labels"
) -> Figure:
    """Test embeddings of every method, trained on genuine labels and on permuted ones (SupReMix, Fig. 2).

    Each method, a row of the figure, has the ``pictures`` of
    :func:`~ordinate_papers.protocols.label_permutation.label_permutation`, or others by the words for ``title``.

    Example:
        >>> picture = {"places": [[0.0, 1.0], [1.0, 0.0]], "labels": [0.0, 1.0]}
        >>> figure = embeddings_by_labels({"SupReMix": {"genuine": picture, "permuted": picture}})
        >>> [axes.get_title("left") for axes in figure.axes[:2]]
        ['genuine labels', 'permuted labels']
    """
    kinds = list(next(iter(pictures.values())))
    figure, grid = plt.subplots(
        len(pictures), len(kinds), squeeze=False, figsize=(3.4 * len(kinds) + 0.8, 3.0 * len(pictures) + 0.3)
    )
    for row, (method, by_kind) in zip(grid, pictures.items(), strict=True):
        for axes, picture in zip(row, by_kind.values(), strict=True):
            places = np.asarray(picture["places"])
            points = axes.scatter(*places.T, c=picture["labels"], cmap=COLOURS, s=9)
            axes.set(xticks=[], yticks=[])
        row[0].set_ylabel(method, parse_math=False)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(title.format(kind))
    figure.colorbar(points, ax=grid, label="label in training", fraction=0.05)
    return figure
