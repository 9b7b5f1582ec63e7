"""The losses as pytorch-metric-learning's, for its trainers, miners, memory and distributed wrapper."""

from inspect import signature
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.errors import OrdinateError, warn
from ordinate.functional.global_batch import this_process_alone
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.optional import optional

_losses = optional("pytorch_metric_learning.losses", "adapters", "MetricLearningLoss")
_Loss: Any = _losses.BaseMetricLossFunction
_Memory: Any = _losses.CrossBatchMemory
_tuples = optional("pytorch_metric_learning.utils.loss_and_miner_utils", "adapters", "MetricLearningLoss")

Indices = tuple[Tensor, ...]


class MetricLearningLoss(_Loss):
    """A loss of :mod:`ordinate.losses` as a ``BaseMetricLossFunction``.

    Called with embeddings (n, d), labels (n,), ``indices_tuple``, ``ref_emb`` (m, d) and ``ref_labels`` (m,). The loss
    is that of the samples that it is given, also in several processes: ``DistributedLossWrapper`` joins them.

    What becomes of ``indices_tuple``:

    - All pairs, without or with an anchor's pair with itself, which the memory and the distributed wrapper make where
      there is no miner: the loss of all, in which an anchor is contrasted with every reference that it is paired with.
    - A miner's triplets or pairs, with a loss of triplets (:class:`~ordinate.losses.MMNPLoss`,
      :class:`~ordinate.losses.AngularTriangleLoss`): the loss of these triplets, or of all triplets that the pairs
      make. Without any, the loss is 0, as everywhere in pytorch-metric-learning.
    - A miner's triplets or pairs, with :class:`~ordinate.losses.SupCRLoss` or :class:`~ordinate.losses.SupReMixLoss`,
      whose terms are no triplets: weights of the anchors by how often a sample was chosen, as in
      pytorch-metric-learning's own losses over whole batches, such as ``NCALoss``. With references it is an error.

    Args:
        loss: Loss of :mod:`ordinate.losses`; with ``reduction="none"`` its values, one per anchor, go to the
            ``reducer``.
        reducer: Reducer of these values; None for ``MeanReducer``.
        embedding_regularizer: Regulariser of the embeddings, as in ``BaseMetricLossFunction``.
        embedding_reg_weight: Factor of the regulariser.

    Raises:
        OrdinateError: pytorch-metric-learning is not installed; a reducer for a loss that reduces by itself; pairs that
            the loss cannot be restricted to.

    Example:
        >>> import torch
        >>> from pytorch_metric_learning.miners import MultiSimilarityMiner
        >>> from ordinate.losses import MMNPLoss
        >>> embeddings, ranks = torch.randn(8, 4), torch.arange(8) % 3
        >>> loss = MetricLearningLoss(MMNPLoss(num_classes=3))
        >>> loss(embeddings, ranks, MultiSimilarityMiner(epsilon=2)(embeddings, ranks)).shape
        torch.Size([])
    """

    def __init__(
        self,
        loss: nn.Module,
        *,
        reducer: nn.Module | None = None,
        embedding_regularizer: nn.Module | None = None,
        embedding_reg_weight: float = 1.0,
    ) -> None:
        if not isinstance(loss, FormulaLoss):
            shown = loss.__name__ if isinstance(loss, type) else type(loss).__name__
            raise OrdinateError("loss", shown, "a loss of ordinate.losses, such as SupCRLoss()")
        if reducer is not None and getattr(loss, "reduction", None) != "none":
            raise OrdinateError("reducer", f"{type(reducer).__name__} for {loss}", 'a loss with reduction="none"')
        super().__init__(
            reducer=reducer, embedding_regularizer=embedding_regularizer, embedding_reg_weight=embedding_reg_weight
        )
        self.loss = loss
        self.warned = False
        self.takes_triplets = "triplets" in signature(loss.forward).parameters

    def compute_loss(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, " n"],
        indices_tuple: Indices | None,
        ref_emb: Float[Tensor, "m d"],
        ref_labels: Shaped[Tensor, " m"],
    ) -> dict[str, dict[str, object]]:
        references: dict[str, Tensor] = {}
        if ref_emb is not embeddings or ref_labels is not labels:
            references = {"ref_emb": ref_emb, "ref_labels": ref_labels}
        chosen = self._chosen(indices_tuple, labels, ref_labels, using_references=bool(references))
        if chosen is None:
            return self.zero_losses()
        with this_process_alone():
            values = self.loss(embeddings, labels, **references, **chosen)
        if values.dim() == 0:
            return {"loss": {"losses": values, "indices": None, "reduction_type": "already_reduced"}}
        anchors = torch.arange(len(values), device=values.device)
        return {"loss": {"losses": values, "indices": anchors, "reduction_type": "element"}}

    def _chosen(
        self, indices_tuple: Indices | None, labels: Tensor, ref_labels: Tensor, *, using_references: bool
    ) -> dict[str, Tensor | None] | None:
        """Return the arguments of the loss for the tuple, or None if the tuple is empty."""
        if indices_tuple is None:
            return {}
        if not any(len(indices) for indices in indices_tuple):
            self._warn_of_none(labels)
            return None
        left_out = _left_out(indices_tuple, labels, ref_labels)
        if left_out is not None and using_references:
            return {"self_index": left_out if len(left_out) else None}
        if left_out is not None and torch.equal(left_out, torch.arange(len(labels), device=labels.device)):
            return {}
        if self.takes_triplets:
            anchor, positive, negative = _tuples.convert_to_triplets(indices_tuple, labels, ref_labels)
            return {"triplets": torch.stack([positive, anchor, negative], 1)} if len(anchor) else None
        if using_references:
            raise OrdinateError(
                "indices_tuple",
                f"a miner's choice among references for {type(self.loss).__name__}, which has no triplets",
                "all pairs",
                "leave out the miner, or take MMNPLoss or AngularTriangleLoss",
            )
        return {"weights": _tuples.convert_to_weights(indices_tuple, labels, dtype=torch.float32)}

    def _warn_of_none(self, labels: Tensor) -> None:
        """Warn once where a miner chooses nothing, since no two labels are equal."""
        if not self.warned and len(labels.unique()) == len(labels):
            self.warned = True
            warn(
                "the miner found no pairs or triplets, and the loss is 0: no two labels of the batch are equal, and "
                "miners take only those of equal labels for positives"
            )


def _left_out(indices_tuple: Indices, labels: Tensor, ref_labels: Tensor) -> Int[Tensor, " k"] | None:
    """Return each anchor's one reference that it has no pair with, none for pairs of all, None for other tuples."""
    if len(indices_tuple) != 4:
        return None
    anchor, positive, other_anchor, negative = indices_tuple
    lacking = torch.ones(len(labels), len(ref_labels), dtype=torch.bool, device=labels.device)
    lacking[anchor, positive] = False
    lacking[other_anchor, negative] = False
    per_anchor = lacking.sum(1)
    if not bool(per_anchor.any()):
        return per_anchor[:0]
    places = lacking.int().argmax(1)
    if not bool(((per_anchor == 1) & (ref_labels[places] == labels)).all()):
        return None
    return places


class CrossBatchMemory(_Memory):
    """pytorch-metric-learning's memory for :class:`MetricLearningLoss`; its own class accepts only its own losses.

    Labels are one number per sample, ranks or targets. The batch stands in the memory with its gradient, so that value
    and gradient are those of the loss with ``torch.cat([embeddings, earlier])`` as references; in the class of
    pytorch-metric-learning only the anchors have one. Samples that an ``enqueue_mask`` keeps, as in MoCo, have none.

    Example:
        >>> import torch
        >>> from ordinate.losses import SupCRLoss
        >>> memory = CrossBatchMemory(MetricLearningLoss(SupCRLoss()), embedding_size=4, memory_size=64)
        >>> for _ in range(2):
        ...     value = memory(torch.randn(8, 4), torch.rand(8))  # the second is contrasted with the first, too
        >>> value.shape
        torch.Size([])
    """

    embedding_memory: Tensor
    label_memory: Tensor

    def __init__(self, loss: nn.Module, *arguments: Any, **options: Any) -> None:
        if isinstance(loss, FormulaLoss):
            raise OrdinateError("loss", type(loss).__name__, f"MetricLearningLoss({type(loss).__name__}(...))")
        super().__init__(loss, *arguments, **options)

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, " n"],
        indices_tuple: Indices | None = None,
        enqueue_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of a batch and the memory, in which the batch is kept.

        Raises:
            OrdinateError: embeddings of another size than the memory's, a batch larger than it, several labels each.
        """
        most, size = self.embedding_memory.shape
        if embeddings.dim() != 2 or embeddings.shape[1] != size:
            raise OrdinateError(
                "embeddings", f"shape {tuple(embeddings.shape)}", f"(n, {size}), as embedding_size says"
            )
        if labels.shape != embeddings.shape[:1]:
            raise OrdinateError("labels", f"shape {tuple(labels.shape)}", f"({len(embeddings)},), a number per sample")
        kept = len(embeddings) if enqueue_mask is None else int(enqueue_mask.sum())
        if kept > most:
            raise OrdinateError("memory_size", f"{most} for a batch of {kept}", "at least the size of a batch")
        value: Tensor
        if enqueue_mask is not None:  # Other samples are the anchors than those that are kept.
            value = super().forward(embeddings, labels, indices_tuple, enqueue_mask)
            return value
        self.reset_stats()
        labels = labels.to(embeddings.device)
        self.embedding_memory = self.embedding_memory.to(embeddings)
        self.label_memory = self.label_memory.to(labels)
        self.add_to_memory(embeddings, labels, len(embeddings))
        held = most if self.has_been_filled else self.queue_idx
        ref_emb = self.embedding_memory[:held].index_copy(0, self.curr_batch_idx, embeddings)
        ref_labels = self.label_memory[:held]
        indices = self.create_indices_tuple(embeddings, labels, ref_emb, ref_labels, indices_tuple, True)
        value = self.loss(embeddings, labels, indices, ref_emb, ref_labels)
        return value

    @staticmethod
    def supported_losses() -> list[str]:
        return [*_Memory.supported_losses(), MetricLearningLoss.__name__]
