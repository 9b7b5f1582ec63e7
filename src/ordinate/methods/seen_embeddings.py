"""The embeddings of an epoch's latest training batches, by which validation embeddings are measured."""

from typing import ClassVar

import torch
from torch import Tensor

from ordinate.functional.global_batch import all_processes, gathered
from ordinate.training.stages import StagedMethod


class SeenEmbeddings(StagedMethod):
    """A method that keeps the embeddings and labels of an epoch's newest training samples until it has validated."""

    shared_in_epoch: ClassVar[tuple[str, ...]] = (*StagedMethod.shared_in_epoch, "seen")
    most_seen = 20_000

    def _start_over(self) -> None:
        super()._start_over()
        self.seen: list[tuple[Tensor, Tensor]] = []

    def see(self, embeddings: Tensor, labels: Tensor) -> None:
        """Keep a batch, with those of the other processes; the oldest go where there are enough without them."""
        group = all_processes()
        self.seen.append((gathered(embeddings.detach(), group)[0], gathered(labels, group)[0]))
        while sum(len(kept) for _, kept in self.seen[1:]) >= self.most_seen:
            del self.seen[0]

    def all_seen(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the newest embeddings and their labels, on a device."""
        embeddings, labels = (
            torch.cat([each.to(device) for each in part])[-self.most_seen :] for part in zip(*self.seen, strict=True)
        )
        return embeddings, labels

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self.seen.clear()

    def on_train_epoch_end(self) -> None:
        super().on_train_epoch_end()
        self.seen.clear()
