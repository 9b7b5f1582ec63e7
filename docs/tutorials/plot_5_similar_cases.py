"""
Finding similar cases
=====================

**Question.** A pump vibrates. How worn is its bearing, what happened to the most similar pumps in the past, and should
the bearing be replaced now?

After this tutorial you can train an embedding of vibration curves in which pumps with similar wear are neighbours,
search for the most similar earlier cases, and compare this search with a search on the raw curves.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from ordinate import SupCRRegressor
from ordinate.metrics import mean_average_precision, ndcg
from ordinate.model.neighbour_index import NeighbourIndex
from ordinate_papers.figures import plots

# %%
# The data
# --------
#
# The curves are generated. Wear, from 0 to 100, adds impacts to the vibration. The rotation speed, the phase and the
# amplitude also differ, but are irrelevant. For past pumps we know how many days the bearing lasted after the
# measurement.

rng = np.random.default_rng(0)
n, length = 400, 80
time = np.linspace(0, 1, length)
wear = rng.uniform(0, 100, n)
days_left = (3 * (100 - wear) * rng.uniform(0.7, 1.3, n)).round()


def measure(value):
    """Return the vibration of a bearing with a wear between 0 and 100."""
    rotation = np.sin(2 * np.pi * (rng.uniform(4, 8) * time + rng.uniform()))
    impacts = np.zeros(length)
    impacts[rng.integers(0, length, int(2 + value / 8))] = rng.choice([-1, 1])
    ringing = np.convolve(
        impacts, np.exp(-np.arange(8) / 2) * np.cos(np.arange(8) * 2.2), mode="same"
    )
    return rng.uniform(0.8, 1.2) * (
        rotation + (0.3 + value / 80) * ringing + rng.normal(scale=0.2, size=length)
    )


curves = np.stack([measure(value) for value in wear])[:, None]
figure, grid = plt.subplots(
    1, 3, figsize=(9, 2.2), sharey=True, layout="constrained"
)
for axes, i in zip(grid, np.argsort(wear)[[20, 200, 380]], strict=True):
    axes.plot(time, curves[i, 0], linewidth=1)
    axes.set(title=f"wear {wear[i]:.0f}", xlabel="seconds")

# %%
# Train an embedding
# ------------------
#
# SupCR (Rank-N-Contrast) compares the curves of each batch with one another. It pulls curves with similar wear together
# in the embedding and pushes curves with different wear apart, so that the embedding follows the order of the wear. The
# figure shows how well this works on new curves. The encoder is a small convolutional network. The default encoder is a
# larger residual network.

torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv1d(1, 32, 9, padding=4), nn.ReLU(),
    nn.Conv1d(32, 64, 5, stride=2, padding=2), nn.ReLU(),
    nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 32),
)  # fmt: skip
past, new = slice(0, 300), slice(300, None)
model = SupCRRegressor(encoder=network, epochs=(40, 20), random_state=0).fit(
    curves[past], wear[past]
)
embeddings = model.transform(curves)
plots.embedding(embeddings[new], wear[new])

# %%
# Search
# ------
#
# ``NeighbourIndex`` holds the embeddings of the past pumps. The figure shows a new, worn pump and the five most similar
# past pumps:

index = NeighbourIndex.build(model.fitted, curves[past], wear[past])
query = 300 + np.abs(wear[new] - 75).argmin()
found = index.search(curves[query : query + 1], k=5)
figure, grid = plt.subplots(
    2, 3, figsize=(9, 3.6), sharey=True, layout="constrained"
)
grid[0, 0].plot(time, curves[query, 0], color="black", linewidth=1)
grid[0, 0].set_title(f"new pump (true wear {wear[query]:.0f})")
for axes, row in zip(grid.flat[1:], found.rows[0], strict=True):
    axes.plot(time, curves[row, 0], linewidth=1)
    axes.set_title(f"wear {wear[row]:.0f}, lasted {days_left[row]:.0f} days")
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])

# %%
# The curves of the neighbours look different, because rotation speed and phase differ. Their wear is similar.
#
# Is the search reliable?
# -----------------------
#
# We use two metrics on new pumps. Average precision counts a neighbour as relevant if its wear differs by at most 10.
# The gain (NDCG) rises as the wear of the five nearest neighbours approaches that of the new pump. The raw curves are
# the baseline.

representations = {"raw curves": curves[:, 0], "embedding": embeddings}
for name, values in representations.items():
    reference = {"ref_emb": values[past], "ref_labels": wear[past]}
    precision = mean_average_precision(
        values[new], wear[new], within=10.0, **reference
    )
    gain = ndcg(values[new], wear[new], k=5, **reference)
    print(f"{name:12} average precision {precision:.2f}, gain {gain:.2f}")

# %%
# How long will the bearing last?
# -------------------------------
#
# The shortest remaining life of the five most similar cases is a cautious estimate. We check it on all new pumps.

neighbours = index.search(curves[new], k=5).rows
shortest = days_left[past][neighbours].min(1)
replaced_in_time = (shortest <= days_left[new]).mean()
print(f"replaced in time: {replaced_in_time:.0%} of the bearings")

figure, axes = plt.subplots(figsize=(5.4, 4), layout="constrained")
axes.scatter(shortest, days_left[new], c=wear[new], s=14)
axes.plot([0, 350], [0, 350], color="0.6", linestyle="--")
axes.set(
    xlabel="shortest life of the five most similar pumps, days",
    ylabel="true life, days",
)

# %%
# **Decision.** Plan the replacement for the shortest life of the five most similar cases, and show the technician these
# cases. For a more cautious plan, use more neighbours.
#
# On the command line, the data are npz files:
#
# .. code-block:: python
#
#     np.savez("past.npz", X=curves[past], wear=wear[past])
#     np.savez("new.npz", X=curves[new])
#
# .. code-block:: none
#
#     ordinate fit past.npz --target wear --method supcr --out pumps-model
#     ordinate search pumps-model new.npz --among past.npz --target wear --k 5
