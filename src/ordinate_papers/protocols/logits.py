"""Similarities of positive and of negative pairs while a contrastive loss trains (SupReMix, Figs. 3 and 5)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from torch import Tensor

from ordinate.data.rows import Samples, random_part, take
from ordinate.errors import OrdinateError
from ordinate.estimators.pipeline import learn_labels_and_reader
from ordinate.estimators.samples import check_input
from ordinate.metrics.embedding import unit_norm
from ordinate.training.callback import Callback
from ordinate.training.loop import Loop
from ordinate_papers.protocols.parts import Figures
from ordinate_papers.protocols.trial import check_labels


def logits(
    estimator: BaseEstimator, X: Samples, y: ArrayLike, *, shares: Sequence[float], hardest: int = 1000
) -> Figures:
    """Logits of pairs of real training samples over the training of the encoder.

    A logit is the inner product of two embeddings of norm 1, as the loss sees them, behind the projection head where
    there is one. Positive pairs have the same target. SupReMix shows the distributions over all positive pairs and the
    1000 hardest negative ones (Fig. 3), and the mean of all positive less that of all negative ones (Fig. 5). Chosen
    here: the pairs of at most 2000 training samples, without augmentation.

    Args:
        estimator: Regressor with an encoder stage, not fitted.
        X: Training samples.
        y: (n,), their targets, some of which are the same.
        shares: Shares of the encoder's epochs, after which logits are taken.
        hardest: Number of negative pairs whose distribution is taken, those with the largest logits.

    Returns:
        For every share ``positive_logits`` and ``hard_negative_logits``, means; ``logit_gap``; and
        ``positive_counts`` and ``hard_negative_counts``, the pairs in each of 80 equal bins from -1 to 1.

    Raises:
        OrdinateError: targets none of which, or all of which, are the same.

    Example:
        >>> from ordinate import SupReMixRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupReMixRegressor(epochs=(10, 1), random_state=0)
        >>> first, last = logits(model, X, np.round(5 * X[:, 0]), shares=[0.1, 1.0])["logit_gap"]
        >>> last > first
        True
    """
    targets = check_labels(X, y).astype(np.float64)
    rows = random_part(len(targets), 2000)
    low, high = np.triu_indices(len(rows), 1)
    positive = targets[rows][low] == targets[rows][high]
    if positive.all() or not positive.any():
        raise OrdinateError("y", "targets of which no two, or all, are the same", "some that are the same")
    model = clone(estimator)
    reader = learn_labels_and_reader(model, model.checked_method(), X, targets).reader
    record = Record(reader.read(check_input(model, take(X, rows), reset=False)), shares)
    # A fit that continues from a checkpoint would lack the first epochs.
    model.set_params(training__callbacks=[record], training__checkpoint_dir=None).fit(X, targets)
    edges = np.linspace(-1, 1, 81)
    measured = [_measure(embeddings, low, high, positive, edges, hardest) for embeddings in record.embeddings]
    over_shares = {name: [figures[name] for figures in measured] for name in measured[0]}
    return {**over_shares, "logit_edges": edges.tolist()}


def _measure(
    embeddings: NDArray[np.float64],
    low: NDArray[np.intp],
    high: NDArray[np.intp],
    positive: NDArray[np.bool_],
    edges: NDArray[np.float64],
    most: int,
) -> Figures:
    """Return the figures of the pairs ``low``, ``high`` of embeddings; of the negative ones ``most`` are shown."""
    units = unit_norm(embeddings)
    values = np.clip((units @ units.T)[low, high], -1, 1)
    positives, negatives = values[positive], values[~positive]
    hardest = np.sort(negatives)[-most:]
    return {
        "positive_logits": float(positives.mean()),
        "hard_negative_logits": float(hardest.mean()),
        "logit_gap": float(positives.mean() - negatives.mean()),
        "positive_counts": np.histogram(positives, edges)[0].tolist(),
        "hard_negative_counts": np.histogram(hardest, edges)[0].tolist(),
    }


class Record(Callback):
    """Keep the projected embeddings of samples after some epochs of the encoder's stage."""

    def __init__(self, samples: Tensor, shares: Sequence[float]) -> None:
        self.samples, self.shares = samples, shares
        self.embeddings: list[NDArray[np.float64]] = []

    def on_epoch_end(self, loop: Loop) -> None:
        method = loop.method
        last = method.stages[0].epochs
        due = [share for share in self.shares if method.current_epoch == max(1, round(share * last))]
        if method.stage_index == 0 and due:
            self.embeddings += [self._embed(method)] * len(due)

    def _embed(self, method: Any) -> NDArray[np.float64]:
        project = getattr(method, "projection", torch.nn.Identity())
        method.eval()
        with torch.no_grad():
            parts = [project(method(part.to(method.device))).double().cpu() for part in self.samples.split(256)]
        method.train()
        return torch.cat(parts).numpy()
