"""Heads of continuous targets: what all of them offer, the linear one, and ridge regression, its closed form."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import huber_loss, l1_loss, mse_loss

from ordinate.checks import check_choice
from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_targets
from ordinate.options import LinearLoss

HeadConfig = dict[str, Any]  # What a saved head needs in addition to its tensors, as JSON has it.


class RegressionHead(nn.Module):
    """A module that maps embeddings to targets in their own units, and the loss that trains it.

    :meth:`standardise` must be called first. It learns the mean and deviation of the training targets, or their bins.
    If the encoder is frozen, :meth:`standardise_embeddings` may follow, which standardises every coordinate of the
    embeddings. The head can express the same functions, but trains much faster, because embeddings that are ordered by
    a target lie close to one line and far from the origin.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).

    Example:
        >>> from ordinate.heads import LinearHead
        >>> head = LinearHead(embedding_dim=8)
        >>> head.standardise(torch.tensor([[10.0], [30.0]]))
        >>> head(torch.zeros(5, 8)).shape, head.loss(torch.randn(5, 8), torch.rand(5)).shape
        (torch.Size([5, 1]), torch.Size([]))
    """

    embedding_mean: Tensor
    embedding_scale: Tensor

    def __init__(self, embedding_dim: int, target_dim: int = 1) -> None:
        super().__init__()
        self.target_dim = target_dim
        self.register_buffer("embedding_mean", torch.zeros(embedding_dim))
        self.register_buffer("embedding_scale", torch.ones(embedding_dim))

    def config(self) -> dict[str, int]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"embedding_dim": len(self.embedding_mean), "target_dim": self.target_dim}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "RegressionHead":
        """Return the head of a saved model."""
        head = cls(config["embedding_dim"], config["target_dim"]).double()
        head.load_state_dict(tensors)
        return head

    def standardise_embeddings(self, embeddings: Float[Tensor, "n d"]) -> None:
        """Standardise every coordinate by its mean and deviation over these embeddings.

        A deviation below a thousandth of the largest counts as that.
        """
        scale = embeddings.std(0, correction=0)
        scale = scale.clamp(min=1e-3 * float(scale.max()))
        self.embedding_mean.copy_(embeddings.mean(0))
        self.embedding_scale.copy_(torch.where(scale > 0, scale, 1))

    def standardised(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return embeddings as the layers of the head see them."""
        return (embeddings - self.embedding_mean) / self.embedding_scale

    def as_targets(self, labels: Tensor, n: int) -> Float[Tensor, "n p"]:
        """Return the labels of n samples as floating-point targets (n, p), where p is 1 also from (n,).

        Raises:
            OrdinateError: labels of another shape, which would broadcast against the predictions.
        """
        targets = check_targets(labels, n)
        if targets.shape[1] != self.target_dim:
            expected = f"({n}, {self.target_dim}) for a head of {self.target_dim} target dimension(s)"
            hint = f"give the method target_dim={targets.shape[1]}"
            raise OrdinateError("labels", f"shape {tuple(labels.shape)}", expected, hint)
        return targets

    @abstractmethod
    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Fit the scale, or the bins, to the training targets."""

    @abstractmethod
    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        """Return the loss of every sample, the mean over the dimensions of its target."""

    def loss(
        self,
        embeddings: Float[Tensor, "n d"],
        targets: Shaped[Tensor, "n *p"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the mean loss of the samples.

        Args:
            embeddings: (n, d).
            targets: (n, p), in their own units; (n,) stands for (n, 1).
            weights: (n,), what each sample's loss is multiplied with before the mean, as they are given: of mean 1
                for a weighted mean.
        """
        losses = self.sample_losses(embeddings, self.as_targets(targets, len(embeddings)))
        if weights is None:
            return losses.mean()
        if weights.shape != losses.shape:
            raise OrdinateError("weights", f"shape {tuple(weights.shape)}", f"one per sample, ({len(losses)},)")
        return (weights.to(losses.dtype) * losses).mean()


REGRESSION_LOSSES: dict[str, Callable[..., Tensor]] = {"l1": l1_loss, "mse": mse_loss, "huber": huber_loss}


class LinearHead(RegressionHead):
    """One linear layer that predicts standardised targets, and the loss that trains it.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).
        loss: ``"l1"``, ``"mse"`` or ``"huber"`` (threshold 1), in units of the targets' standard deviation.

    Example:
        >>> LinearHead(4, target_dim=2)(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
    """

    target_mean: Tensor
    target_scale: Tensor

    def __init__(self, embedding_dim: int, target_dim: int = 1, loss: LinearLoss = "l1") -> None:
        super().__init__(embedding_dim, target_dim)
        check_choice(loss, [*REGRESSION_LOSSES], "head_loss")
        self.criterion = REGRESSION_LOSSES[loss]
        self.linear = nn.Linear(embedding_dim, target_dim)
        self.register_buffer("target_mean", torch.zeros(target_dim))
        self.register_buffer("target_scale", torch.ones(target_dim))

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Store the mean and deviation of the training targets, in which predictions are expressed."""
        targets = self.as_targets(targets, len(targets))
        self.target_mean.copy_(targets.mean(0))
        scale = targets.std(0, correction=0)
        self.target_scale.copy_(torch.where(scale > 0, scale, 1))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        return self.linear(self.standardised(embeddings)) * self.target_scale + self.target_mean

    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        wanted = (targets - self.target_mean) / self.target_scale
        predicted = self.linear(self.standardised(embeddings))
        return self.criterion(predicted, wanted.to(embeddings.dtype), reduction="none").mean(1)


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
    from sklearn.linear_model import RidgeCV  # A saved head does not need it.

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
