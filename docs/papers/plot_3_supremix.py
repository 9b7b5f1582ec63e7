r"""
SupReMix: what a mixture is
===========================

*Wu, Dong et al., Mixup Your Own Pairs.*

Contrastive learning benefits from hard cases: negatives that are similar to the anchor, and positives that are not.
Real batches contain few of either. SupReMix creates them by mixing embeddings of the batch:

- **Mix-neg**: the anchor mixed with a sample of another label. It is nearer to the anchor than that sample, so it is a
  harder negative.
- **Mix-pos**: a sample with a lower label mixed with one with a higher label, in the proportion that gives the mixture
  the *anchor's* label. No sample of that label is part of it, so it is a hard positive. Only samples within a *window*
  around the anchor's label are mixed, because embeddings are linear in the label only locally.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import supremix

# %%
# The figure shows samples with labels from 0 to 8 along an arc. The anchor has the label 4, and the window is 2.

labels = np.arange(9.0)
angles = np.deg2rad(180 - 20 * labels)
samples = np.column_stack([np.cos(angles), np.sin(angles)])
anchor, window = 4, 2.0


def unit(points):
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
arc = np.linspace(0, np.pi, 181)
axes.plot(np.cos(arc), np.sin(arc), color="0.85", zorder=0)
marks = axes.scatter(*samples.T, c=labels, s=110, zorder=3)
for label, (x, y) in zip(labels, samples, strict=True):
    axes.annotate(f"{label:.0f}", (1.1 * x, 1.1 * y), ha="center", va="center")
within = [i for i in range(9) if i != anchor and abs(labels[i] - labels[anchor]) <= window]
for below in (i for i in within if i < anchor):
    for above in (i for i in within if i > anchor):
        share = (labels[above] - labels[anchor]) / (labels[above] - labels[below])  # Share of the lower sample.
        mixture = share * samples[below] + (1 - share) * samples[above]
        axes.plot(*samples[[below, above]].T, color="tab:green", linewidth=0.8)
        axes.plot(*mixture, "P", color="tab:green", markersize=9)
for other in (1, 7):
    mixture = 0.2 * samples[anchor] + 0.8 * samples[other]  # lambda_1 = 0.2, the mean of Beta(2, 8), of the anchor
    axes.plot(*samples[[other, anchor]].T, color="tab:red", linewidth=0.8, linestyle=":")
    axes.plot(*mixture, "X", color="tab:red", markersize=9)
axes.plot([], [], "P", color="tab:green", label="Mix-pos: label 4 from others")
axes.plot([], [], "X", color="tab:red", label="Mix-neg: the anchor and another")
axes.set(title="Mixtures for the anchor with label 4", xticks=[], yticks=[], aspect="equal", ylim=(-0.1, 1.25))
axes.legend(loc="lower center")
figure.colorbar(marks, label="label", shrink=0.7)

# %%
# The loss normalises mixtures to unit length, so they return to the arc. A third component, *distance magnifying*,
# weights every contrast by its label distance, so that distant samples are pushed farther away.
#
# The window determines how many mixtures are positives of an anchor: one for each pair of a sample below and a sample
# above it.

torch.manual_seed(0)
embeddings = torch.tensor(samples + 0.05 * np.random.default_rng(0).normal(size=samples.shape), dtype=torch.float64)
windows = [1, 2, 3, 4]
counts = [int(sum(labels[anchor] - w <= label < labels[anchor] for label in labels)) ** 2 for w in windows]
generator = torch.Generator()
for w, count in zip(windows, counts, strict=True):
    value = supremix(
        embeddings,
        torch.tensor(labels),
        temperature=0.5,
        window=float(w),
        generator=generator.manual_seed(0),
        reduction="mean",
    )
    print(f"window {w}: {count:2} Mix-pos of the anchor, mean loss {value.item():.3f}")

# %%
# The implementation never builds a mixture. Its similarity to the anchor and its length are linear in the Gram matrix
# of the batch, so the loss computes both from that matrix.
#
# In the library: :func:`ordinate.functional.supremix`, :class:`ordinate.losses.SupReMixLoss`,
# :class:`ordinate.methods.SupReMix`, :class:`ordinate.SupReMixRegressor`.
