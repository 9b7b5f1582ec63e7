"""
Margins and what they mean
==========================

CLOC has one number for every boundary between two adjacent ranks: its *margin*, by how much a sample should be more
similar to samples of its own rank than to those beyond the boundary. Here is what that looks like in an embedding.
"""

import matplotlib.pyplot as plt
import numpy as np
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.report import figures

X, y = load_swd(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)
model = CLOCClassifier(epochs=(40, 30), random_state=0).fit(X, ranks)
names = ["0", "1", "2", "3"]

# %%
# One margin per boundary, in units of the cosine:

figures.margins(model.margins_, names, fixed=[False] * 3)

# %%
# What a margin asks for
# ----------------------
#
# Take samples of rank 1 as anchors. The cosine to another sample of rank 1 (a positive) should exceed the cosine to a
# sample of rank 2 (a negative) by the margin of the boundary ``1 | 2``, and that to a sample of rank 3 by the *sum* of
# the margins of ``1 | 2`` and ``2 | 3``: margins add up, which is what puts the ranks in order.

embeddings = model.transform(X)
embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
anchors = embeddings[ranks == 1]

colours = figures.rank_colours(4)
figure, grid = plt.subplots(3, 1, sharex=True, figsize=(6.4, 5.2), layout="constrained")
positive = np.median(anchors @ anchors.T)
for axes, rank, margin in zip(grid, (1, 2, 3), (0.0, model.margins_[1], model.margins_[1:].sum()), strict=True):
    cosines = (anchors @ embeddings[ranks == rank].T).ravel()
    axes.hist(cosines, bins=60, range=(-1, 1), density=True, color=colours[rank])
    axes.axvline(positive, color="0.5", linestyle=":")
    if margin:
        axes.axvline(positive - margin, color="tab:red", linestyle="--")
        middle = axes.get_ylim()[1] / 2
        axes.annotate("", (positive - margin, middle), (positive, middle), arrowprops={"arrowstyle": "<->"})
        axes.text(positive - margin / 2, middle * 1.08, f"{margin:.2f}", ha="center")
    axes.set(ylabel=f"to rank {rank}", yticks=[])
grid[0].set_title("Cosines from samples of rank 1; dotted: their median within the rank")
grid[-1].set_xlabel("cosine")

# %%
# Samples of other ranks should lie to the left of the dashed line, which is the margin below the dotted one. A margin
# is what is asked for, not what is reached: ten answers do not tell grades 1 and 2 apart in every case, so many
# samples stay where the loss would not have them.
#
# How a margin is learned
# -----------------------
#
# Margins start at values that are drawn between 0.5 and 1, and learning only shrinks them, as a smaller margin is a
# smaller loss. They are learned in the first phase, beside the encoder, and held in the second, so that they end where
# the encoder was able to fulfil them or where the phase ended.

figures.margins_over_training(model.history_, names, fixed=[False] * 3)

# %%
# Adam shrinks all at nearly the same rate, whatever the size of their gradients, so that a learned margin says more
# about where it started than about the data: it does not tell a boundary that is hard (:doc:`measured </measured>`).
# Errors and cosines of its two ranks do. Another seed, other margins:

other = CLOCClassifier(epochs=(40, 1), random_state=1).fit(X, ranks)
print("seed 0:", model.margins_.round(2), " seed 1:", other.margins_.round(2))
