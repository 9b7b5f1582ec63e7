"""Ridge regression from an embedding: the linear head in closed form."""

import numpy as np
import torch
from jaxtyping import Float, Shaped
from sklearn.linear_model import RidgeCV
from torch import Tensor

from ordinate.functional.inputs import check_targets
from ordinate.heads.linear import LinearHead


def fit_ridge(
    embeddings: Float[Tensor, "n d"], targets: Shaped[Tensor, "n *p"], weights: Float[Tensor, " n"] | None = None
) -> LinearHead:
    """Return the linear head of least squared error with the penalty that generalised cross-validation chooses.

    Args:
        embeddings: (n, d), standardised inside.
        targets: (n, p).
        weights: (n,), by which the squared errors count, of mean 1; None for equal ones.

    Example:
        >>> embeddings = torch.randn(50, 3)
        >>> head = fit_ridge(embeddings, embeddings.sum(1, keepdim=True))
        >>> bool((head(embeddings) - embeddings.sum(1, keepdim=True)).abs().max() < 1e-3)
        True
    """
    targets = check_targets(targets, len(embeddings), "targets")
    head = LinearHead(embeddings.shape[1], targets.shape[1]).to(embeddings.dtype)
    head.standardise(targets)
    wanted = ((targets - head.target_mean) / head.target_scale).double().numpy()
    x = embeddings.double().numpy()
    counted = None if weights is None else weights.double().numpy()
    centre, scale = x.mean(0), x.std(0)
    if counted is not None:
        centre = np.average(x, axis=0, weights=counted)
        scale = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=counted))
    scale = np.where(scale > 1e-12 * max(1.0, float(scale.max())), scale, 1.0)
    ridge = RidgeCV(alphas=np.logspace(-6, 4, 21)).fit((x - centre) / scale, wanted, counted)
    weight = np.atleast_2d(ridge.coef_) / scale
    with torch.no_grad():
        head.linear.weight.copy_(torch.from_numpy(weight))
        head.linear.bias.copy_(torch.from_numpy(np.atleast_1d(ridge.intercept_) - weight @ centre))
    return head
