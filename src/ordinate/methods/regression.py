"""Regression on a contrastive representation: the schemes of SupCR and SupReMix."""

from abc import abstractmethod
from contextlib import suppress

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, mean_over_all
from ordinate.heads.linear import LinearHead
from ordinate.methods.optimization import Optimization
from ordinate.methods.staged import Stage, StagedMethod

SCHEMES = ("linear_probe", "fine_tune", "regularise")


class ContrastiveRegression(StagedMethod):
    """An encoder trained by a contrastive loss, and a head on it, by one of three schemes.

    ``"linear_probe"`` trains the encoder, freezes it and trains the head; ``"fine_tune"`` trains encoder and head
    together in the second stage; ``"regularise"`` has one stage, whose loss is the head's plus ``contrast_weight``
    times the contrastive one.
    """

    def __init__(
        self,
        encoder: nn.Module,
        head: LinearHead,
        scheme: str,
        epochs: tuple[int, int],
        patience: int | None,
        contrast_weight: float,
        chunk_size: int | None,
        optimization: Optimization,
        head_optimization: Optimization,
    ) -> None:
        if scheme not in SCHEMES:
            raise OrdinateError(f"scheme: got {scheme!r}, takes one of {', '.join(map(repr, SCHEMES))}")
        if scheme == "regularise":
            stages: tuple[Stage, ...] = (Stage("encoder and head", epochs[0], optimization, patience),)
        else:
            stages = (
                Stage("encoder", epochs[0], optimization, patience),
                Stage("head" if scheme == "linear_probe" else "fine-tuning", epochs[1], head_optimization, patience),
            )
        super().__init__(stages, chunk_size)
        self.encoder = encoder
        self.head = head
        self.scheme = scheme
        self.contrast_weight = contrast_weight

    @abstractmethod
    def contrast(self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"]) -> Float[Tensor, ""]:
        """The contrastive loss of a batch of embeddings."""

    def contrast_parameters(self) -> list[nn.Parameter]:
        """Parameters beside the encoder's that the contrastive loss trains."""
        return []

    @property
    def trains_head_only(self) -> bool:
        return self.scheme == "linear_probe" and self.stage_index == 1

    def predict(self, x: Tensor) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        return self.head(self(x))

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        encoder, head = list(self.encoder.parameters()), list(self.head.parameters())
        if self.scheme == "regularise":
            return [*encoder, *self.contrast_parameters(), *head]
        if index == 0:
            return [*encoder, *self.contrast_parameters()]
        return head if self.scheme == "linear_probe" else [*encoder, *head]

    def views(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the batch as the contrastive loss sees it."""
        return x, y

    def batch_loss(self, x: Tensor, y: Float[Tensor, "n p"]) -> Float[Tensor, ""]:
        if self.trains_head_only:
            self.encoder.eval()
            with torch.no_grad():
                embeddings = self.embed(x)
            return self.head_loss(embeddings, y)
        if self.stage_index == 1:
            return self.head_loss(self.embed(x), y)
        x, y = self.views(x, y)
        embeddings = self.embed(x)
        loss = self.contrast(embeddings, y)
        if self.scheme == "regularise":
            loss = self.head_loss(embeddings, y) + self.contrast_weight * loss
        return loss

    def head_loss(self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"]) -> Float[Tensor, ""]:
        """The head's loss of a training batch."""
        return mean_over_all(self.head.loss(embeddings, y), len(y), all_processes())

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self.encoder.train(not self.trains_head_only)

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"]) -> dict[str, Tensor]:
        logs = {}
        if self.stage_index == 0:
            with suppress(OrdinateError):  # a small validation set may have no anchor with a positive
                logs["val_contrast"] = self.contrast(x, y)
        if self.stage_index == 1 or self.scheme == "regularise":
            logs["val_loss"] = self.head.loss(x, y)
            logs["val_mae"] = (self.head(x) - y).abs().mean()
        elif "val_contrast" in logs:
            logs["val_loss"] = logs["val_contrast"]
        return logs
