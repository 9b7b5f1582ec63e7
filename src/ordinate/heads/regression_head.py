"""What a head of continuous targets offers, whichever way it predicts them."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.errors import OrdinateError


class RegressionHead(nn.Module):
    """From embeddings to targets in their own units, and the loss that trains it.

    :meth:`standardise` comes first: it takes from the training targets what the head predicts around, their mean and
    deviation or their bins.
    """

    @abstractmethod
    def standardise(self, targets: Float[Tensor, "n p"]) -> None:
        """Fit the scale, or the bins, to the training targets."""

    @abstractmethod
    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        """Return the loss of every sample, the mean over the dimensions of its target."""

    def loss(
        self,
        embeddings: Float[Tensor, "n d"],
        targets: Float[Tensor, "n p"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the mean loss of the samples.

        Args:
            embeddings: (n, d).
            targets: (n, p), in their own units.
            weights: (n,), what each sample's loss is multiplied with before the mean, as they are given: of mean 1
                for a weighted mean.
        """
        losses = self.sample_losses(embeddings, targets)
        if weights is None:
            return losses.mean()
        if weights.shape != losses.shape:
            raise OrdinateError(f"weights: got shape {tuple(weights.shape)}, takes one a sample, ({len(losses)},)")
        return (weights.to(losses.dtype) * losses).mean()
