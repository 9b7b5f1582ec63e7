"""SupCR (Rank-N-Contrast): the encoder stage and its three schemes."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.functional.global_batch import all_processes, gathered
from ordinate.heads.build import build_head
from ordinate.losses.supcr import SupCRLoss
from ordinate.methods.balance import Balance
from ordinate.methods.regression import ContrastiveRegression
from ordinate.options import BinSize, LabelDistance, Scheme, Similarity, SupCROptions
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Weights


class SupCR(ContrastiveRegression):
    """Encoder under the SupCR loss, no projection head, then a head (SupCR, Sections 3 and 4).

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim), not normalised.
        embedding_dim: Dimension d of the embeddings.
        target_dim: Dimension p of the targets (n, p).
        scheme: ``"linear_probe"``, ``"fine_tune"`` or ``"regularise"`` (Table 8).
        head_loss, bin_size: See :func:`~ordinate.heads.build_head`.
        epochs: Epochs of the encoder and of the head; 400 and 100 in the paper.
        temperature, similarity, label_distance, num_positives, tie_tolerance: Options of the loss.
        augment: Function that draws a view of a batch; two views are contrasted. None contrasts the batch itself, once.
        contrast_weight: Weight of the SupCR loss in ``"regularise"``.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        balance: See :class:`~ordinate.methods.regression.Regression`.
        optimization, head_optimization: SGD with cosine annealing and a learning rate of 0.5 for the encoder and
            0.05 for the head in the paper's AgeDB recipe.

    Example:
        >>> method = SupCR(nn.Linear(3, 8), embedding_dim=8, epochs=(20, 10))
        >>> x, y = torch.randn(16, 3), torch.rand(16, 1)
        >>> method(x).shape, bool(method.batch_loss(x, y) > 0), [stage.name for stage in method.stages]
        (torch.Size([16, 8]), True, ['encoder', 'head'])
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        target_dim: int = 1,
        *,
        scheme: Scheme = "linear_probe",
        head_loss: str = "l1",
        bin_size: BinSize = None,
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        temperature: float = SupCROptions.temperature,
        similarity: Similarity = SupCROptions.similarity,
        label_distance: LabelDistance = SupCROptions.label_distance,
        num_positives: int | None = SupCROptions.num_positives,
        tie_tolerance: float = SupCROptions.tie_tolerance,
        augment: Callable[[Tensor], Tensor] | None = None,
        contrast_weight: float = 1.0,
        chunk_size: int | None = None,
        balance: Balance | None = None,
        optimization: Optimization = Optimization("sgd", 0.5, 1e-4, warmup=0.0),
        head_optimization: Optimization = Optimization("sgd", 0.05, 0.0, warmup=0.0),
    ) -> None:
        head = build_head(head_loss, embedding_dim, target_dim, bin_size=bin_size)
        super().__init__(
            encoder, head, scheme=scheme, epochs=epochs, optimization=optimization, head_optimization=head_optimization,
            patience=patience, contrast_weight=contrast_weight, chunk_size=chunk_size, balance=balance,
        )  # fmt: skip
        self.supcr = SupCRLoss(
            temperature=temperature, similarity=similarity, label_distance=label_distance,
            num_positives=num_positives, tie_tolerance=tie_tolerance,
        )  # fmt: skip
        self.augment = augment

    def contrast(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        return self.supcr(embeddings, y, weights=self.weights(y, weights))

    def teaches(self, y: Float[Tensor, "n p"]) -> bool:
        everyone = gathered(y, all_processes())[0]
        return bool((everyone != everyone[0]).any())

    def views(self, x: Tensor, y: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        if self.augment is None:
            return x, y, weights
        if weights is not None:
            weights = torch.cat([weights, weights])
        return torch.cat([self.augment(x), self.augment(x)]), torch.cat([y, y]), weights
