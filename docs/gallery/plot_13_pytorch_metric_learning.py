"""
Losses in pytorch-metric-learning
=================================

``MetricLearningLoss`` turns a loss of Ordinate into a loss of pytorch-metric-learning, for use with its miners,
reducers, memory and trainers. In this example a miner selects the triplets, once for the library's triplet margin loss
and once for MMNP.
"""

import matplotlib.pyplot as plt
import torch
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.miners import TripletMarginMiner
from sklearn.datasets import load_digits
from torch import nn

from ordinate.adapters import MetricLearningLoss
from ordinate.losses import MMNPLoss
from ordinate.metrics import rank_cosine_matrix

X, y = load_digits(return_X_y=True)
x, ranks = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y // 2)  # Five ranks: 0 and 1, 2 and 3, ...
train, test = torch.arange(1200), torch.arange(1200, len(x))


def embed_with(loss, miner):
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
    optimizer = torch.optim.Adam([*encoder.parameters(), *loss.parameters()], lr=1e-3)
    for _ in range(300):
        batch = train[torch.randperm(len(train))[:64]]
        embeddings = encoder(x[batch])
        value = loss(embeddings, ranks[batch], miner(embeddings, ranks[batch]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return encoder(x[test]).detach().numpy()


embeddings = {
    "TripletMarginLoss": embed_with(TripletMarginLoss(margin=0.3), TripletMarginMiner(margin=0.3)),
    "MMNPLoss": embed_with(
        MetricLearningLoss(MMNPLoss(5, margins={(h, h + 1): 0.45 for h in range(4)})), TripletMarginMiner(margin=2.0)
    ),
}

# %%
# Nothing in the shapes of the digits places the digits 0 and 1 close to 2 and 3. The triplet loss separates the ranks
# without an order. In MMNP, CLOC's loss, the margins of all boundaries between two ranks are added, so the similarity
# decreases with the distance of the ranks:

figure, grid = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
for axes, (name, embedded) in zip(grid, embeddings.items(), strict=True):
    cosines = rank_cosine_matrix(embedded, ranks[test].numpy(), num_classes=5)
    image = axes.imshow(cosines, vmin=-1, vmax=1, cmap="viridis")
    for (row, column), cosine in [((i, j), cosines[i, j]) for i in range(5) for j in range(5)]:
        axes.text(column, row, f"{cosine:.2f}", ha="center", va="center", color="black" if cosine > 0.3 else "white")
    axes.set(title=name, xlabel="rank", ylabel="rank")
figure.colorbar(image, ax=grid, label="mean cosine between test samples of two ranks", shrink=0.85)

# %%
# The effect of the miner depends on the loss. MMNP and OTD are computed on the selected triplets. SupCR and SupReMix
# have no triplets and weight their anchors by how often the miner selected them. See
# :class:`ordinate.adapters.MetricLearningLoss`.
