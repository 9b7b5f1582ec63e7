"""The embeddings of an epoch's latest training batches, by which validation embeddings are measured."""

from typing import ClassVar

import torch
from torch import Tensor

from ordinate.functional.global_batch import all_processes, gathered
from ordinate.training.staged_method import Logs, StagedMethod


class SeenEmbeddings(StagedMethod):
    """A method that keeps the embeddings and labels of an epoch's newest training samples until it has validated."""

    shared_state: ClassVar[tuple[str, ...]] = ("seen",)
    most_seen = 20_000

    def start_over(self) -> None:
        super().start_over()
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

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self.seen.clear()

    def end_epoch(self) -> Logs:
        self.seen.clear()
        return super().end_epoch()
