"""
The losses in a plain PyTorch loop
==================================

Every loss is called as ``loss(embeddings, labels)`` and returns a scalar with a gradient. A training loop needs nothing
else.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import make_swiss_roll
from torch import nn

from ordinate.losses import SupCRLoss
from ordinate.metrics import distance_rank_correlation

# %%
# The data are a rolled-up sheet in three dimensions. The target is the position along the roll, so samples that are
# close in space can have very different targets.

X, target = make_swiss_roll(600, noise=0.4, random_state=0)
X, y = torch.tensor(X / 10, dtype=torch.float32), torch.tensor(target, dtype=torch.float32)

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(3, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
loss = SupCRLoss(temperature=2.0)

seen = {}
for step in range(601):
    batch = torch.randperm(len(X))[:128]
    if step in (0, 60, 600):
        seen[step] = encoder(X).detach()
    value = loss(encoder(X[batch]), y[batch])
    optimizer.zero_grad()
    value.backward()
    optimizer.step()

# %%
# The embedding has two dimensions, so it can be drawn directly. Training unrolls the sheet: distances in the embedding
# follow differences of the target.

figure, grid = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
grid[0].scatter(X[:, 0], X[:, 2], c=y, s=6)
grid[0].set_title("data, seen from the side")
for axes, (step, embeddings) in zip(grid[1:], seen.items(), strict=True):
    marks = axes.scatter(*embeddings.T, c=y, s=6)
    order = distance_rank_correlation(embeddings.numpy(), y.numpy())
    axes.set_title(f"after {step} steps\ncorrelation of distances {order:.2f}")
for axes in grid:
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
figure.colorbar(marks, ax=grid, label="target", shrink=0.8)

# %%
# ``weights`` has one value per anchor. ``reduction="none"`` returns one loss per anchor. ``ref_emb`` and ``ref_labels``
# contrast the anchors with another set instead of the batch:

values = SupCRLoss(reduction="none")(encoder(X[:4]), y[:4], ref_emb=encoder(X[4:]), ref_labels=y[4:])
values.shape
