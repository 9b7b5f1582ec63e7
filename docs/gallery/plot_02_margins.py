"""
Margins and what they mean
==========================

CLOC learns one number for every boundary between two adjacent ranks: its *margin*, by how much a sample should be more
similar to samples of its own rank than to those beyond the boundary. Here is what that looks like in an embedding.
"""

import matplotlib.pyplot as plt
import numpy as np
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.report import curves, figures

X, y = load_swd(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)
model = CLOCClassifier(phase_epochs=(30, 60), random_state=0).fit(X, ranks)
names = ["0", "1", "2", "3"]

# %%
# One margin per boundary, in units of the cosine:

figures.margins(model.margins_, names, fixed=[False] * 3)

# %%
# They are learned in the first phase, with the encoder, and held in the second, in which the classifier is trained. A
# margin only ever shrinks, as the loss is smaller with smaller margins; what keeps one large is that the encoder can
# fulfil it. Ranks that the data separate easily keep a wide margin, ranks that overlap do not.

curves.margins_over_training(model.history_, names, fixed=[False] * 3)

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
figure, axes = plt.subplots()
centre = (anchors @ anchors.T).mean()
for rank, total in ((1, 0.0), (2, model.margins_[1]), (3, model.margins_[1:].sum())):
    cosines = (anchors @ embeddings[ranks == rank].T).ravel()
    axes.hist(cosines, bins=60, range=(-1, 1), density=True, alpha=0.75, color=colours[rank], label=f"to rank {rank}")
    if total:
        axes.axvline(centre - total, color=colours[rank], linestyle="--")
        axes.annotate(
            f"margin {total:.2f}", (centre - total, 0.97), xycoords=("data", "axes fraction"), xytext=(-4, 0),
            textcoords="offset points", rotation=90, ha="right", va="top", fontsize=9,
        )
axes.axvline(centre, color="0.3", linestyle=":")
axes.set(title="Similarity of samples of rank 1 to others", xlabel="cosine", ylabel="density", yticks=[])
axes.legend()

# %%
# The dotted line is the mean similarity within rank 1; the dashed ones lie the margins below it. Most negatives are
# beyond their line. Those that are not are the samples whose grade the ten answers do not tell.
