"""
What CLOC's margins mean
========================

CLOC has one *margin* for every boundary between two adjacent ranks. A sample should be more similar to samples of its
own rank than to samples beyond the boundary, by at least this margin. This example shows margins in a trained
embedding.
"""

import matplotlib.pyplot as plt
import numpy as np
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate_papers.figures import plots

X, y = load_swd(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)
model = CLOCClassifier(epochs=(40, 30), random_state=0).fit(X, ranks)
names = ["0", "1", "2", "3"]

# %%
# One margin per boundary, as a difference of cosine similarities:

plots.margins(model.margins_, names, fixed=[False] * 3)

# %%
# What a margin requires
# ----------------------
#
# Take samples of rank 1 as anchors. Their cosine similarity to other samples of rank 1 (positives) should exceed that
# to samples of rank 2 (negatives) by the margin of the boundary ``1 | 2``. It should exceed the similarity to samples
# of rank 3 by the *sum* of the margins of ``1 | 2`` and ``2 | 3``. Because margins add up, the ranks get an order.

embeddings = model.transform(X)
embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
anchors = embeddings[ranks == 1]

colours = plots.rank_colours(4)
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
# Samples of other ranks should lie to the left of the dashed line, which is below the dotted line by the margins in
# between. Many do not. The margin is what the loss asks for, and ten answers do not separate ranks 1 and 2 in every
# case.
#
# How a margin is learned
# -----------------------
#
# Margins start at random values between 0.5 and 1. Learning only shrinks them, because a smaller margin gives a smaller
# loss. They are learned together with the encoder in the first phase and fixed in the second.

plots.margins_over_training(model.history_, names, fixed=[False] * 3)

# %%
# Adam shrinks all margins at nearly the same rate, whatever the size of their gradients. A learned margin therefore
# depends more on its initial value than on the data. It does not show which boundary is difficult (:doc:`measured
# </measured/embeddings>`); the errors and cosines of the two ranks do. Another seed gives other margins:

other = CLOCClassifier(epochs=(40, 1), random_state=1).fit(X, ranks)
print("seed 0:", model.margins_.round(2), " seed 1:", other.margins_.round(2))
