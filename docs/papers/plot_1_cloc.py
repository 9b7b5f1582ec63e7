r"""
CLOC: what a margin is
======================

*Pitawela et al., CLOC: Contrastive Learning for Ordinal Classification with Multi-Margin N-pair Loss.*

Ranks are ordered, but mistakes between some neighbouring ranks are worse than between others, and some neighbouring
ranks are harder to distinguish. CLOC gives every *boundary* between two adjacent ranks its own margin. For each anchor,
the similarity (cosine) to a sample of its own rank should exceed the similarity to a sample of another rank by the sum
of the margins of *all* boundaries between the two ranks:

.. math::
    \max(0,\; m_{y_i y_k} + \psi_{ik} - \psi_{ij}), \qquad m_{13} = m_{1|2} + m_{2|3}

Because the margins are added, samples that are farther apart in rank must be farther apart in angle.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import mmnp
from ordinate_papers.figures.plots import rank_colours

# %%
# The figure shows one anchor and one positive of rank 0 at angle 0, and one negative that moves around the circle. The
# hinge loss is zero as soon as the negative is far enough away, and the required distance depends on its rank. The
# margins are 0.4, 0.6 and 0.4.

margins = torch.tensor([0.4, 0.6, 0.4])
angles = np.linspace(0, np.pi, 181)
colours = rank_colours(4)


def loss_of(rank, angle):
    """Return eq. 2 for one anchor, one positive and one negative at an angle."""
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    return mmnp(embeddings, torch.tensor([0, 0, rank]), margins, reduction="none")[0].item()


curves = {rank: np.array([loss_of(rank, angle) for angle in angles.tolist()]) for rank in (1, 2, 3)}

figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
for rank, values in curves.items():
    left.plot(np.rad2deg(angles), values, color=colours[rank], label=f"negative of rank {rank}")
left.set(
    title="Loss of one negative", xlabel="angle from the anchor, degrees", ylabel="hinge loss", xticks=range(0, 181, 45)
)
left.legend()
right.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.8"))
right.plot(1, 0, "o", color=colours[0], markersize=11)
right.annotate("anchor and positive,\nrank 0", (1, 0), xytext=(-8, 12), textcoords="offset points", ha="right")
for rank, values in curves.items():
    allowed = angles[values == 0]
    radius = 1 + 0.12 * rank
    right.plot(radius * np.cos(allowed), radius * np.sin(allowed), color=colours[rank], linewidth=5)
    right.annotate(f"rank {rank}", (radius * np.cos(allowed[0]), radius * np.sin(allowed[0])), xytext=(4, 4),
                   textcoords="offset points")  # fmt: skip
right.set(
    title="Angles at which a negative has no loss",
    aspect="equal",
    xlim=(-1.6, 1.6),
    ylim=(-0.25, 1.65),
    xticks=[],
    yticks=[],
)
for spine in right.spines.values():
    spine.set_visible(False)

# %%
# In the first training phase the margins are learned together with the encoder. Smaller margins always give a smaller
# loss, so the paper prevents their collapse with several precautions and an early end of the phase. In the second phase
# the margins stay as they are, and encoder and classifier are trained on. A margin that you set yourself
# (``critical_margins``) is not learned. Set it for a boundary that matters to you.
#
# In the library: :func:`ordinate.functional.mmnp`, :class:`ordinate.losses.MMNPLoss`, :class:`ordinate.methods.CLOC`,
# :class:`ordinate.CLOCClassifier`.
