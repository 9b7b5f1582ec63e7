r"""
OTD: why a half circle
======================

*Kamal and Bae, Angular triangle distance for ordinal metric learning.*

Let the distance of two embeddings be their angle, as a share of a half turn, :math:`D_A = \arccos(\cos(a, b)) / \pi`.
It goes from 0 (same direction) to 1 (opposite). Ranks r from 0 to C-1 have a distance, too, as a share of the largest:
:math:`|r_i - r_j| / (C - 1)`. OTD simply asks that the two agree:

.. math::
    \left(D_A(i,j) - \tfrac{|r_i - r_j|}{C-1}\right)^2 + \left(D_A(j,k) - \tfrac{|r_j - r_k|}{C-1}\right)^2

The lowest and the highest rank must then be opposite, a half circle apart, and every rank between them must divide the
half circle in proportion: only on the half circle do the distances of neighbours *add up* to those of ranks farther
apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import angular_triangle
from ordinate.report.figures import rank_colours

# %%
# Five ranks, spread evenly over an arc. The loss over all of the paper's triplets (lowest, any, highest rank; and three
# of the same) against the length of the arc has its only zero at 180 degrees.

ranks = torch.arange(5).repeat(3)
turn = np.linspace(5, 330, 131)


def loss_of(degrees):
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64)) * ranks / 4
    return angular_triangle(torch.stack([angles.cos(), angles.sin()], 1), ranks, num_classes=5).item()


colours = rank_colours(5)
figure = plt.figure(figsize=(9.2, 3.8), layout="constrained")
left, *circles = figure.subplot_mosaic("LLABC", subplot_kw={"aspect": "auto"}).values()
left.plot(turn, [loss_of(degrees) for degrees in turn], color="tab:blue")
left.set(title="Loss by the length of the arc", xlabel="arc of the five ranks, degrees", ylabel="loss", ylim=(0, None))
left.set_xticks([0, 90, 180, 270])
for axes, degrees in zip(circles, (90, 180, 270), strict=True):
    angles = np.deg2rad(degrees) * np.arange(5) / 4
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.85"))
    axes.scatter(np.cos(angles), np.sin(angles), c=colours, s=90, zorder=3)
    for rank, angle in enumerate(angles):
        axes.annotate(str(rank), (1.25 * np.cos(angle), 1.25 * np.sin(angle)), ha="center", va="center")
    axes.set(title=f"{degrees}°, loss {loss_of(float(degrees)):.3f}", xlim=(-1.45, 1.45), ylim=(-1.45, 1.45))
    axes.set(xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set_visible(False)

# %%
# At 270 degrees the ends have come near each other again. An encoder that ends in ReLU, whose outputs are never
# negative, cannot get beyond 90 degrees, and so not to the optimum.
#
# In more than two dimensions nothing changes: what adds up like this lies on a half circle in a plane. A query's rank
# is then found among its nearest neighbours, which is how OTD predicts.
#
# In the library: :func:`ordinate.functional.angular_triangle`, :class:`ordinate.losses.AngularTriangleLoss`,
# :class:`ordinate.methods.OTD`, :class:`ordinate.OTDClassifier`.
