r"""
Rank-N-Contrast (RnC, SupCR): how it orders
===========================================

*Zha et al., Supervised Contrastive Regression* (SupCR, published as Rank-N-Contrast).

Contrastive learning with classes needs to know which samples are similar and which are not. Continuous labels do not
define this: two people whose ages differ by three years are neither. The paper therefore only *compares* distances. For
an anchor i, every other sample j is the positive once. It is contrasted with all samples k whose labels are at least as
far from the anchor's label:

.. math::
    -\log \frac{\exp(s_{ij}/\tau)}{\sum_{k:\; d_{ik} \ge d_{ij}} \exp(s_{ik}/\tau)}

Sample j should be more similar to the anchor than all samples that are farther away. Over all j, this ranks the whole
batch.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import supcr

# %%
# The example has seven people, and the anchor is the one aged 30. Each row is one term of the loss with its positive
# (P) and the samples it is contrasted with (dark). The farther away the positive, the fewer samples are even farther
# away.

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
# The effect is visible without a network. In the next figure, the embeddings are points in the plane that follow the
# gradient of the loss from random positions.

torch.manual_seed(0)
labels = torch.linspace(0, 1, 60)
apart = torch.cdist(labels[:, None], labels[:, None])
is_triple = apart[:, :, None] < apart[:, None, :]  # An anchor, the sample with the closer label, and another one.
points = (0.3 * torch.randn(60, 2)).requires_grad_()
optimizer = torch.optim.Adam([points], lr=0.05)
figure, grid = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
for step in range(401):
    if step in (0, 20, 100, 400):
        axes = grid[(0, 20, 100, 400).index(step)]
        drawn = points.detach().numpy()
        marks = axes.scatter(*drawn.T, c=labels, s=14)
        far = torch.cdist(points.detach(), points.detach())
        share = (far[:, :, None] < far[:, None, :])[is_triple].float().mean()
        axes.set(title=f"step {step}\n{share:.0%} of triples in order", xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="datalim")
    value = supcr(points, labels)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
figure.colorbar(marks, ax=grid, label="label", shrink=0.8)

# %%
# A triple (anchor and two samples) is in order if the sample with the closer label is also closer in the embedding. The
# paper proves that all triples are in order if the loss is close enough to its lower bound.
#
# A direct implementation of the loss takes n³ time. Sorting each row by label distance and accumulating a running sum
# from the far end gives the same value in n² log n time, or n² for one-dimensional labels; see
# :ref:`sphx_glr_generated_gallery_plot_15_large_batches.py`.
#
# In the library: :func:`ordinate.functional.supcr`, :class:`ordinate.losses.SupCRLoss`,
# :class:`ordinate.methods.SupCR`, :class:`ordinate.SupCRRegressor`.
