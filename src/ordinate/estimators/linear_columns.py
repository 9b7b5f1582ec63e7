"""Ridge regression on the columns of a table beside the heads of regressors."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.rows import random_part
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.estimators.shares import choose_shares
from ordinate.heads.linear import LinearHead
from ordinate.heads.linear_path import reachable
from ordinate.heads.ridge import fit_ridge

MOST_MEASURED = 20_000  # samples that simple models see, and on which the members of a blend are validated
MOST_PRODUCTS = 5e9  # of rows, columns and the smaller of both, for which it takes some seconds
ERRORS_TO_GAIN = 2.0  # by which the network must be ahead: the validation samples have chosen its epoch too
LEAST_EXACT = 1e-4  # of a change of predictions, which moved embeddings may miss


def takes_seconds(columns: Float[Tensor, "n f"]) -> bool:
    """Whether ridge regression on columns takes no longer."""
    rows, width = min(len(columns), MOST_MEASURED), columns.shape[1]
    return rows * width * min(rows, width) <= MOST_PRODUCTS


def model_of_columns(data: ArrayBatches | ViewBatches) -> LinearHead:
    """Return ridge regression on the columns of a table, on a random part of very many rows."""
    rows = torch.from_numpy(random_part(len(data.x), MOST_MEASURED))
    weights = None if data.weights is None else data.weights[rows].double()
    return fit_ridge(data.x[rows].double(), data.y[rows].double(), weights)


def blended(
    head: LinearHead, predicted: Float[Tensor, "n p"], model: LinearHead, validation: ArrayBatches
) -> tuple[tuple[float, ...], Float[Tensor, "n p"]]:
    """Return the shares of a model of the columns beside a head, one per target, and what both predict with them."""
    with torch.no_grad():
        by_columns = model(validation.x.double())
    weights = None if validation.weights is None else validation.weights.double().numpy()
    shares = []
    for own, other, y in zip(predicted.T, by_columns.T, validation.y.T.double(), strict=True):
        parts = {"columns": other[:, None].numpy(), "embedding": own[:, None].numpy()}
        losses = partial(_absolute_errors, y=y.numpy())
        chosen = choose_shares(parts, losses, {"columns": 1.0}, weights, {"embedding": ERRORS_TO_GAIN})
        shares.append(chosen.get("columns", 0.0))
    changes = torch.tensor(shares) * (by_columns - predicted)
    made, scale = reachable(head, changes), head.target_scale
    if ((made - changes) / scale).abs().max() > LEAST_EXACT * (changes / scale).abs().max():  # too few directions
        return (0.0,) * len(shares), predicted
    return tuple(shares), predicted + made


def _absolute_errors(predicted: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    errors: NDArray[np.float64] = np.abs(predicted[:, 0] - y)
    return errors
