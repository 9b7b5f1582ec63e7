"""OTD, the ordinal triplet network: one network, every triplet of a batch (Algorithm 1)."""

from contextlib import suppress

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, joined_value, processes, summed
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.functional.similarity import unit
from ordinate.heads.neighbours import NeighbourVote
from ordinate.losses.angular_triangle import AngularTriangleLoss
from ordinate.methods.seen_embeddings import SeenEmbeddings
from ordinate.options import Monitored
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Logs, Stage, Weights


class OTD(SeenEmbeddings):
    """Encoder under the angular triangle loss over all triplets that a batch offers (OTD, eq. 5).

    Every sample passes the encoder once. Batches come from :class:`~ordinate.data.samplers.RankBatches` with the
    two extreme ranks ``required``. Validation logs the accuracy of the 3 nearest training embeddings of the epoch, of
    which the newest 20,000 are compared.

    Args:
        encoder: Network that maps a batch to embeddings (n, d); it must not end in ReLU.
        num_classes: C.
        epochs: 50 in the paper.
        by_rank: Whether every rank counts the same (the mean over its anchors, then over ranks) instead of every
            triplet; those within a rank grow with the cube of its size. Weights of a balance replace this; weights
            of samples multiply what an anchor counts.
        monitored: Value by which ``patience`` chooses the best epoch: ``"loss"``, the validation loss, or
            ``"accuracy"``, that of the 3 nearest training embeddings on the validation samples, as in the paper; of
            equal epochs the first.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        optimization: Optimizer and its schedule; Adam with 1e-6 in the paper.

    Example:
        >>> method = OTD(nn.Linear(3, 8), num_classes=4, epochs=20)
        >>> x, y = torch.randn(16, 3), torch.arange(16) % 4
        >>> method(x).shape, bool(method.batch_loss(x, y) > 0)
        (torch.Size([16, 8]), True)
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_classes: int,
        *,
        epochs: int = 50,
        by_rank: bool = False,
        monitored: Monitored = "loss",
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", weight_decay=0.0, schedule="constant", warmup=0.0),
    ) -> None:
        super().__init__((Stage("triplets", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.loss = AngularTriangleLoss(num_classes, reduction="none" if by_rank else "mean")
        self.by_rank = by_rank
        self.monitored = monitored

    @property
    def monitor(self) -> str:
        return "val_loss" if self.monitored == "loss" else "val_error"

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), self.loss.num_classes)

    def batch_loss(self, x: Tensor, y: Int[Tensor, " n"], weights: Weights = None) -> Float[Tensor, ""]:
        embeddings = self.embed(x)
        self.see(unit(embeddings), y)
        return self.triangle(embeddings, y, weights)

    def triangle(
        self, embeddings: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        """Return the loss of a batch, each triplet or each rank counting the same, or each anchor as it weighs."""
        if not self.by_rank:
            loss: Tensor = self.loss(embeddings, y, weights=weights)
            return loss
        group = all_processes()
        shares = 1 / summed(torch.bincount(y, minlength=self.loss.num_classes), group)[y]
        if weights is not None:
            shares = shares * weights
        total = (self.loss(embeddings, y) * shares).sum() * processes(group)
        return joined_value(total / summed(shares.sum(), group), group)

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Weights = None) -> Logs:
        logs = {}
        with suppress(OrdinateError):  # A validation set with few ranks has no triplet.
            logs["val_loss"] = self.triangle(x, y, weights)
        if self.seen:
            bank, ranks = self.all_seen(x.device)
            voted = NeighbourVote(bank, ranks, self.loss.num_classes)(x).argmax(1)
            logs["val_accuracy"] = weighted_mean(to_accumulation_dtype(voted == y), weights)
            if self.monitor == "val_error":
                logs["val_error"] = 1 - logs["val_accuracy"]
        return logs
