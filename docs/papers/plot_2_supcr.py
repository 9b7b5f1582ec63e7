r"""
Rank-N-Contrast: how it orders
==============================

*Zha et al., Supervised Contrastive Regression* (SupCR, published as Rank-N-Contrast).

Ordinary contrastive learning needs to know which samples belong together and which do not. Continuous labels
have no classes: two ages that differ by three years are neither equal nor unrelated. The paper's
answer is to *compare*: for an anchor i, every other sample j is a positive once, and is contrasted with all samples k
that are at least as far from the anchor in label:

.. math::
    -\log \frac{\exp(s_{ij}/\tau)}{\sum_{k:\; d_{ik} \ge d_{ij}} \exp(s_{ik}/\tau)}

j should be more similar to the anchor than whatever is farther. Over all j this is a ranking of the whole batch.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import supcr
from ordinate.metrics import ordered_triples

# %%
# Seven people, and the anchor is the one of age 30. Each row is one term of the loss: its positive (P), and what that
# is contrasted with (dark). The farther the positive, the fewer are farther still.

ages = np.array([18, 25, 30, 33, 41, 52, 60])
anchor = 2
distance = np.abs(ages - ages[anchor])
others = [j for j in np.argsort(distance) if j != anchor]
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
contrasted = np.array([[k != anchor and distance[k] >= distance[j] for k in range(len(ages))] for j in others])
axes.imshow(contrasted, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
for row, j in enumerate(others):
    axes.text(j, row, "P", ha="center", va="center", color="white", weight="bold")
axes.set_xticks(range(len(ages)), [f"{age}" + ("\nanchor" if i == anchor else "") for i, age in enumerate(ages)])
axes.set_yticks(range(len(others)), [f"{ages[j]}, {distance[j]} years" for j in others])
axes.set(title="Terms of one anchor", xlabel="sample, by age", ylabel="positive and its distance")

# %%
# What that does can be seen without any network: here the embeddings themselves, points in the plane, follow the
# gradient of the loss. They start anywhere.

torch.manual_seed(0)
labels = torch.linspace(0, 1, 60)
points = (0.3 * torch.randn(60, 2)).requires_grad_()
optimizer = torch.optim.Adam([points], lr=0.05)
figure, grid = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
for step in range(401):
    if step in (0, 20, 100, 400):
        axes = grid[(0, 20, 100, 400).index(step)]
        drawn = points.detach().numpy()
        marks = axes.scatter(*drawn.T, c=labels, s=14)
        share = ordered_triples(drawn, labels.numpy())
        axes.set(title=f"step {step}\n{share:.0%} of triples in order", xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="datalim")
    value = supcr(points, labels)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
figure.colorbar(marks, ax=grid, label="label", shrink=0.8)

# %%
# A triple is in order when of two samples the one that is nearer to the anchor in label is nearer in the embedding,
# too. The paper shows that a loss close enough to its lower bound means that all are.
#
# Written down as it stands the loss costs n³. Sorting each row by label distance and taking one running sum from the
# far end gives the same number in n² log n, and in n² for labels of one dimension; see
# :ref:`sphx_glr_generated_gallery_plot_15_large_batches.py`.
#
# In the library: :func:`ordinate.functional.supcr`, :class:`ordinate.losses.SupCRLoss`,
# :class:`ordinate.methods.SupCR`, :class:`ordinate.SupCRRegressor`.
