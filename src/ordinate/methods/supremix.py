"""SupReMix: encoder and projection head under mixtures, then a head on the encoder."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.heads.build import build_head
from ordinate.losses.supremix import SupReMixLoss
from ordinate.methods.balance import Balance
from ordinate.methods.regression import ContrastiveRegression
from ordinate.options import BinSize, Scheme, SupReMixOptions
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Weights

ADAM = Optimization("adam", 1e-3, 0.0, schedule="constant", warmup=0.0)


class SupReMix(ContrastiveRegression):
    """Encoder under the SupReMix loss of its projected embeddings, then a head (SupReMix, Section 4).

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim), which are the head's input.
        embedding_dim: Dimension d of the embeddings.
        window: Window gamma in label units; Table 13 gives those of the paper.
        scheme: ``"linear_probe"``, ``"fine_tune"`` or ``"regularise"``.
        head_loss, bin_size: See :func:`~ordinate.heads.build_head`.
        epochs: Epochs of the encoder and of the head; 100 for the head in the paper.
        temperature, beta, mix_negatives, mix_positives, distance_magnifying: Options of the loss.
        label_range, renormalize, detach_mixtures: Options of the loss.
        projection_dim: Output dimension of the projection head, a 2-layer perceptron (128 in the paper).
        contrast_weight: Weight of the SupReMix loss in ``"regularise"``.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        balance: See :class:`~ordinate.methods.regression.Regression`.
        optimization, head_optimization: Adam with a constant 1e-3 in the paper.

    Example:
        >>> import torch
        >>> method = SupReMix(nn.Linear(3, 8), embedding_dim=8, window=0.2, epochs=(20, 10))
        >>> x, y = torch.randn(16, 3), torch.rand(16, 1)
        >>> method(x).shape, bool(method.batch_loss(x, y) > 0), [stage.name for stage in method.stages]
        (torch.Size([16, 8]), True, ['encoder', 'head'])
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        *,
        window: float,
        scheme: Scheme = "linear_probe",
        head_loss: str = "l1",
        bin_size: BinSize = None,
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        temperature: float = SupReMixOptions.temperature,
        beta: Sequence[float] = SupReMixOptions.beta,
        mix_negatives: bool = SupReMixOptions.mix_negatives,
        mix_positives: bool = SupReMixOptions.mix_positives,
        distance_magnifying: bool = SupReMixOptions.distance_magnifying,
        label_range: float | None = SupReMixOptions.label_range,
        renormalize: bool = SupReMixOptions.renormalize,
        detach_mixtures: bool = SupReMixOptions.detach_mixtures,
        projection_dim: int = 128,
        contrast_weight: float = 1.0,
        chunk_size: int | None = None,
        balance: Balance | None = None,
        optimization: Optimization = ADAM,
        head_optimization: Optimization = ADAM,
    ) -> None:
        head = build_head(head_loss, embedding_dim, bin_size=bin_size)
        super().__init__(
            encoder, head, scheme=scheme, epochs=epochs, optimization=optimization, head_optimization=head_optimization,
            patience=patience, contrast_weight=contrast_weight, chunk_size=chunk_size, balance=balance,
        )  # fmt: skip
        self.projection = nn.Sequential(
            nn.Linear(embedding_dim, embedding_dim), nn.ReLU(), nn.Linear(embedding_dim, projection_dim)
        )
        self.supremix = SupReMixLoss(
            temperature=temperature, window=window, beta=beta, mix_negatives=mix_negatives,
            mix_positives=mix_positives, distance_magnifying=distance_magnifying, label_range=label_range,
            renormalize=renormalize, detach_mixtures=detach_mixtures, reduction="mean",
        )  # fmt: skip

    def contrast(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n 1"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        return self.supremix(self.projection(embeddings), y, weights=self.weights(y, weights))

    def loss_parameters(self) -> list[nn.Parameter]:
        return list(self.projection.parameters())
