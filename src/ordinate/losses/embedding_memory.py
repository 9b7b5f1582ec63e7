"""A memory of past embeddings, which enlarges the set of samples that a batch is contrasted with."""

from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.checks import check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, gathered
from ordinate.functional.inputs import check_embeddings


class EmbeddingMemory(nn.Module):
    """Contrast each batch with itself and with the last ``size`` embeddings before it.

    Past embeddings come from past weights and take no gradient. Those of the batch take one as in the plain loss, and
    no anchor is contrasted with itself. With ``ids``, no anchor is contrasted with remembered embeddings of a sample of
    the batch. In several processes, every process remembers the batches of all. The memory is part of the state that
    checkpoints keep. In ``eval()`` the loss is that of the batch alone, and nothing is remembered. The first batch must
    have a loss without a memory, as nothing is remembered yet.

    Args:
        loss: Loss of :mod:`ordinate.losses`.
        size: Largest number of remembered embeddings; the oldest are forgotten first.

    Example:
        >>> import torch
        >>> from ordinate.losses import SupCRLoss
        >>> loss = EmbeddingMemory(SupCRLoss(), size=100)
        >>> for _ in range(3):
        ...     value = loss(torch.randn(8, 4), torch.arange(8.0))
        >>> len(loss)
        24
    """

    def __init__(self, loss: nn.Module, size: int) -> None:
        super().__init__()
        self.loss = loss
        self.size = check_whole(size, "size")
        self.clear()

    def clear(self) -> None:
        """Empty the memory."""
        self.embeddings: Tensor | None = None
        self.labels: Tensor | None = None
        self.ids: Tensor | None = None
        self.seen = 0

    def __len__(self) -> int:
        """Return how many embeddings are remembered."""
        return min(self.seen, self.size)

    def __bool__(self) -> bool:
        """Be true like other modules, however many embeddings are remembered."""
        return True

    def extra_repr(self) -> str:
        return f"size={self.size}"

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        weights: Shaped[Tensor, " n"] | None = None,
        ids: Int[Tensor, " n"] | None = None,
        **options: Any,
    ) -> Float[Tensor, "*n"]:
        """Return the loss of the batch.

        Args:
            embeddings: Embeddings (n, d).
            labels: Labels (n,) or (n, p), as the loss takes them.
            weights: Weights (n,) of the anchors.
            ids: Whole numbers (n,) that name the samples; given always or never.
            options: Further arguments of the loss.
        """
        if not self.training:
            return self.loss(embeddings, labels, weights=weights, **options)
        embeddings = check_embeddings(embeddings)
        self._check_fits(embeddings, labels, ids)
        group = None
        if getattr(self.loss, "gather_distributed", True):
            group = all_processes()
        (batch, start), (batch_labels, _) = gathered(embeddings, group), gathered(labels, group)
        batch_ids = None if ids is None else gathered(ids, group)[0]
        refs, ref_labels = batch, batch_labels
        if self.embeddings is not None and self.labels is not None:
            held = torch.arange(len(self), device=batch.device)
            if self.ids is not None and batch_ids is not None:
                held = held[~torch.isin(self.ids[: len(self)].to(batch.device), batch_ids)]
            refs = torch.cat([batch, self.embeddings.to(batch)[held]])
            ref_labels = torch.cat([batch_labels, self.labels.to(batch_labels)[held]])
        value = self.loss(
            embeddings,
            labels,
            ref_emb=refs,
            ref_labels=ref_labels,
            self_index=torch.arange(start, start + len(embeddings), device=batch.device),
            weights=weights,
            **options,
        )
        self._remember(batch.detach(), batch_labels, batch_ids)
        return value

    def _check_fits(self, embeddings: Tensor, labels: Tensor, ids: Tensor | None) -> None:
        if self.embeddings is None or self.labels is None:
            return
        if self.embeddings.shape[1] != embeddings.shape[1]:
            raise OrdinateError(
                "embeddings", f"{embeddings.shape[1]} dimensions", f"{self.embeddings.shape[1]} as before"
            )
        if self.labels.shape[1:] != labels.shape[1:]:
            raise OrdinateError("labels", f"shape {tuple(labels.shape)}", f"(n, *{tuple(self.labels.shape[1:])})")
        if (self.ids is None) != (ids is None):
            raise OrdinateError("ids", "them for some batches", "them for all or for none")

    def _remember(self, batch: Tensor, labels: Tensor, ids: Tensor | None) -> None:
        """Overwrite the oldest embeddings with the batch."""
        if self.embeddings is None or self.labels is None:
            self.embeddings = batch.new_zeros(self.size, *batch.shape[1:])
            self.labels = labels.new_zeros(self.size, *labels.shape[1:])
            self.ids = None if ids is None else ids.new_zeros(self.size)
        newest = slice(max(0, len(batch) - self.size), None)
        place = (torch.arange(self.seen, self.seen + len(batch), device=self.embeddings.device) % self.size)[newest]
        self.embeddings[place] = batch[newest].to(self.embeddings)
        self.labels[place] = labels[newest].to(self.labels)
        if self.ids is not None and ids is not None:
            self.ids[place] = ids[newest].to(self.ids)
        self.seen += len(batch)

    def get_extra_state(self) -> dict[str, Any]:
        """Return the memory, for checkpoints."""
        return {"embeddings": self.embeddings, "labels": self.labels, "ids": self.ids, "seen": self.seen}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Restore the memory of a checkpoint."""
        held = state["embeddings"]
        if held is not None and len(held) != self.size:
            raise OrdinateError("size", self.size, f"{len(held)}, that of the memory in the checkpoint")
        self.embeddings, self.labels, self.ids = (
            None if state[name] is None else state[name].clone() for name in ("embeddings", "labels", "ids")
        )  # Copies, as the next batches are written into them.
        self.seen = state["seen"]
