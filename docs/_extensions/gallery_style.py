"""How the pictures of the gallery look, and the same seed at the start of every example."""

import matplotlib
import torch

STYLE = {
    "figure.figsize": (6.4, 4.0),
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "legend.frameon": False,
    "font.size": 10,
}


def reset(gallery_conf, name):
    """Set the style and the seed, before each example."""
    matplotlib.rcParams.update(STYLE)
    torch.manual_seed(0)
