r"""
OTD: why a half circle
======================

*Kamal and Bae, Angular triangle distance for ordinal metric learning.*

The distance of two embeddings is their angle as a fraction of a half turn, :math:`D_A = \arccos(\cos(a, b)) / \pi`. It
ranges from 0 (same direction) to 1 (opposite directions). The distance of two ranks r from 0 to C-1 is their difference
as a fraction of the largest one, :math:`|r_i - r_j| / (C - 1)`. OTD requires that both agree:

.. math::
    \left(D_A(i,j) - \tfrac{|r_i - r_j|}{C-1}\right)^2 + \left(D_A(j,k) - \tfrac{|r_j - r_k|}{C-1}\right)^2

The lowest and the highest rank must therefore be opposite, a half circle apart. All ranks between them must divide the
half circle in proportion, because only on the half circle do the distances between neighbouring ranks *add up* to the
distances between ranks farther apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.functional import angular_triangle
from ordinate_papers.figures.plots import rank_colours

# %%
# Five ranks are spread evenly over an arc. The figure shows the loss over all of the paper's triplets (lowest, any and
# highest rank, and three of the same rank) as a function of the length of the arc. Its only zero is at 180 degrees.

ranks = torch.arange(5).repeat(3)
turn = np.linspace(5, 330, 131)


def loss_of(degrees):
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64)) * ranks / 4
    return angular_triangle(torch.stack([angles.cos(), angles.sin()], 1), ranks, num_classes=5).item()


colours = rank_colours(5)
figure = plt.figure(figsize=(9.2, 3.8), layout="constrained")
left, *circles = figure.subplot_mosaic("LLABC", subplot_kw={"aspect": "auto"}).values()
left.plot(turn, [loss_of(degrees) for degrees in turn], color="tab:blue")
left.set(title="Loss by the length of the arc", xlabel="length of the arc, degrees", ylabel="loss", ylim=(0, None))
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
# At 270 degrees the two ends are close to each other again. An encoder that ends in ReLU has no negative outputs. It
# cannot reach more than 90 degrees, and so not the optimum.
#
# In more than two dimensions the result is the same: embeddings whose distances add up like this lie on a half circle
# in a plane. OTD predicts the rank of a query from its nearest neighbours.
#
# In the library: :func:`ordinate.functional.angular_triangle`, :class:`ordinate.losses.AngularTriangleLoss`,
# :class:`ordinate.methods.OTD`, :class:`ordinate.OTDClassifier`.
