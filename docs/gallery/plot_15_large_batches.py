"""
Large batches and memory
========================

The losses are sums over triplets. A direct implementation takes time proportional to n³, and as much memory. Ordinate
computes the exact value in n² log n time or less, and keeps only a block of anchors in memory.
"""

import time

import matplotlib.pyplot as plt
import torch

from ordinate.adapters import CrossBatchMemory, MetricLearningLoss
from ordinate.functional import supcr
from ordinate.losses import SupCRLoss

# %%
# For comparison, this is SupCR implemented directly from its formula:


def as_written(embeddings, labels, temperature=2.0):
    similarity = -torch.cdist(embeddings, embeddings) / temperature
    distance = (labels[:, None] - labels).abs()
    n, total = len(labels), 0.0
    for j in range(n):  # The positive, for all anchors at once.
        farther = distance >= distance[:, j : j + 1]
        farther.fill_diagonal_(False)
        rest = torch.logsumexp(similarity.masked_fill(~farther, -torch.inf), dim=1)
        terms = rest - similarity[:, j]
        total += terms[torch.arange(n) != j].sum()
    return total / (n * (n - 1))


def seconds(loss, n, repeats=1):
    torch.manual_seed(0)
    embeddings, labels = torch.randn(n, 64, requires_grad=True), torch.randn(n)
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        loss(embeddings, labels).backward()
        taken.append(time.perf_counter() - start)
    return min(taken)


times = {
    "supcr": [(n, seconds(supcr, n, repeats=3)) for n in (128, 256, 512, 1024, 2048)],
    "as its formula is written": [(n, seconds(as_written, n)) for n in (128, 256, 384)],
}
figure, axes = plt.subplots(layout="constrained")
for name, points in times.items():
    axes.loglog(*zip(*points, strict=True), marker="o", label=name)
axes.set(xlabel="samples in the batch, n", ylabel="seconds, forward and backward, one thread")
axes.legend()

# %%
# These are single runs on the machine that built this page; :doc:`/measured/losses` has medians and memory. Both
# implementations give the same value:

embeddings, labels = torch.randn(100, 64, dtype=torch.float64), torch.randn(100, dtype=torch.float64)
print(supcr(embeddings, labels).item(), as_written(embeddings, labels).item())

# %%
# Batches that do not fit
# -----------------------
#
# ``block_size`` limits the memory of the loss. It does not change the value:

print([round(supcr(embeddings, labels, block_size=size).item(), 12) for size in (1, 10, 100)])

# %%
# ``Training`` and the modules of ``ordinate.methods`` have ``chunk_size``: the number of samples that pass through the
# encoder at a time. The gradient is that of the whole batch.
#
# pytorch-metric-learning's memory contrasts each batch with earlier embeddings as well, without passing them through
# the encoder again:

memory = CrossBatchMemory(MetricLearningLoss(SupCRLoss()), embedding_size=64, memory_size=256)
for batch in torch.arange(1024).split(128):
    value = memory(torch.randn(len(batch), 64), torch.randn(len(batch)))
print(value.item())
