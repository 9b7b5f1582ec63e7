"""CLOC: contrastive learning for ordinal classification, in two phases (Section 3.3)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, mean_over_all, summed
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.heads.ranks import Classifier
from ordinate.losses.mmnp import Boundaries, MMNPLoss
from ordinate.options import PairReduction
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Logs, Stage, StagedMethod, Weights

COLLAPSED = 0.05  # A smaller learned margin separates its ranks by less than 3 degrees of cosine.


class CLOC(StagedMethod):
    """Encoder, classifier and margins under cross-entropy plus MMNP loss (CLOC, eq. 1).

    Phase one learns the margins with the rest and ends when the training accuracy reaches ``target_accuracy``.
    Phase two freezes them and ends after ``patience`` epochs without a lower validation loss (training loss
    where there is no validation data), going back to its best weights. Batches come from
    :class:`~ordinate.data.samplers.RankBatches` with ``distinct=2`` (the batch rule of Section 3.3).

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        num_classes: C.
        margins, floor, shared: See :class:`~ordinate.losses.MMNPLoss`.
        mmnp_weight: Weight of the MMNP loss relative to the cross-entropy; 1 in the paper.
        reduction: Reduction of the MMNP loss.
        phase_epochs: Largest numbers of epochs of the two phases; 500 each in the paper.
        target_accuracy: Accuracy on the training batches that ends phase one; 0.95 in the paper.
        patience: Epochs without improvement after which phase two ends; 10 in the paper, None trains all its epochs.
        chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        optimization: Optimization of both phases; the paper's is Adam with a constant 1e-3.

    Example:
        >>> method = CLOC(nn.Linear(3, 8), embedding_dim=8, num_classes=4, margins={(1, 2): 0.8}, phase_epochs=(20, 10))
        >>> x, y = torch.randn(16, 3), torch.arange(16) % 4
        >>> method(x).shape, bool(method.batch_loss(x, y) > 0), [stage.name for stage in method.stages]
        (torch.Size([16, 8]), True, ['phase one', 'phase two'])
    """

    shared_state = ("hits",)

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        num_classes: int,
        *,
        margins: Boundaries | None = None,
        floor: float = 0.0,
        shared: bool = False,
        mmnp_weight: float = 1.0,
        reduction: PairReduction = "pair_mean",
        phase_epochs: tuple[int, int] = (500, 500),
        target_accuracy: float = 0.95,
        patience: int | None = 10,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", weight_decay=0.0, schedule="constant", warmup=0.0),
    ) -> None:
        if not 0 < target_accuracy <= 1:
            raise OrdinateError("target_accuracy", target_accuracy, "a share above 0, up to 1")
        first, second = phase_epochs
        stages = (Stage("phase one", first, optimization), Stage("phase two", second, optimization, patience))
        super().__init__(stages, chunk_size)
        self.encoder = encoder
        self.classifier = Classifier(embedding_dim, num_classes)
        self.mmnp = MMNPLoss(num_classes, margins, floor=floor, shared=shared, reduction=reduction)
        self.mmnp_weight = mmnp_weight
        self.target_accuracy = target_accuracy
        self.hits = torch.zeros(2)

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), self.mmnp.num_classes)

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        parameters = [*self.encoder.parameters(), *self.classifier.parameters()]
        if index == 0:
            parameters.append(self.mmnp.raw)
        return parameters

    def begin_stage(self) -> None:
        if self.stage_index == 0:
            self.mmnp.unfreeze()
        else:
            self.mmnp.freeze()

    def batch_loss(self, x: Tensor, y: Int[Tensor, " n"], weights: Weights = None) -> Float[Tensor, ""]:
        embeddings = self.embed(x)
        scores = self.classifier(embeddings)
        group = all_processes()
        errors = cross_entropy(scores, y, reduction="none")
        counted = torch.ones_like(y)
        if weights is not None:
            counted = weights
            errors = weights.to(errors.dtype) * errors
        hits = torch.stack([(counted * (scores.argmax(1) == y)).sum(), counted.sum(), counted.new_tensor(len(y))])
        hits = summed(hits, group).cpu()
        self.hits += hits[:2]
        classification = mean_over_all(errors.mean(), len(y), group)
        contrast = self.mmnp(embeddings, y, weights=weights)
        self.log_mean("train_cross_entropy", classification, int(hits[2]))
        self.log_mean("train_mmnp", contrast, int(hits[2]))
        return classification + self.mmnp_weight * contrast

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Weights = None) -> Logs:
        scores = self.classifier(x)
        loss = cross_entropy(scores, y)
        if weights is not None:
            loss = weighted_mean(cross_entropy(scores, y, reduction="none"), weights)
        predicted = scores.argmax(1)
        if _has_pairs(y):
            loss = loss + self.mmnp_weight * self.mmnp(x, y, weights=weights)
        return {
            "val_loss": loss,
            "val_accuracy": weighted_mean(to_accumulation_dtype(predicted == y), weights),
            "val_mae": weighted_mean(to_accumulation_dtype((predicted - y).abs()), weights),
        }

    def stage_is_complete(self) -> bool:
        return self.stage_index == 0 and float(self.hits[0] / self.hits[1]) >= self.target_accuracy

    def begin_epoch(self) -> None:
        self.hits = torch.zeros(2)

    def end_epoch(self) -> Logs:
        logs = {f"margin_{h}|{h + 1}": margin for h, margin in enumerate(self.mmnp.margins.detach())}
        return {**logs, "train_accuracy": self.hits[0] / self.hits[1]}

    @property
    def collapsed_boundaries(self) -> list[tuple[int, int]]:
        """Boundaries whose learned margin has shrunk to next to nothing (the collapse of Appendix B)."""
        margins = self.mmnp.margins.detach()
        near_zero = (margins - self.mmnp.floor < COLLAPSED) & ~self.mmnp.fixed
        return [(h, h + 1) for h in near_zero.nonzero()[:, 0].tolist()]


def _has_pairs(ranks: Tensor) -> bool:
    """Whether some anchor has both a positive and a negative."""
    counts = torch.bincount(ranks)
    return int((counts > 0).sum()) > 1 and int(counts.max()) > 1
