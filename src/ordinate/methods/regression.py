"""Regression: an encoder with a head, and the schemes of SupCR and SupReMix that train them."""

from abc import abstractmethod
from contextlib import suppress
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, gathered, mean_over_all
from ordinate.functional.weighted_mean import weighted_mean
from ordinate.heads.regression_head import RegressionHead
from ordinate.methods.balanced import BalancedMethod
from ordinate.methods.imbalance import Balance
from ordinate.methods.optimization import Optimization
from ordinate.methods.staged import Stage
from ordinate.options import Scheme

SCHEMES = get_args(Scheme)


class Regression(BalancedMethod):
    """An encoder and a head that predicts targets from its embeddings, with or without a balance of rare targets."""

    def __init__(
        self,
        encoder: nn.Module,
        head: RegressionHead,
        stages: tuple[Stage, ...],
        chunk_size: int | None,
        balance: Balance | None = None,
    ) -> None:
        super().__init__(stages, chunk_size, balance)
        self.encoder = encoder
        self.head = head

    def as_labels(self, y: Tensor) -> Float[Tensor, "n p"]:
        return self.head.as_targets(y, len(y))

    def predict(self, x: Tensor) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        return self.head(self(x))

    def head_loss(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        """The head's loss of a training batch."""
        embeddings = self.calibrated(embeddings, y)
        return mean_over_all(self.head.loss(embeddings, y, self.weights(y, weights)), len(y), all_processes())

    def validate_head(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        """The head's loss of the validation set, and its error in units of the targets."""
        return {
            "val_loss": weighted_mean(self.head.sample_losses(embeddings, y), weights),
            "val_mae": weighted_mean((self.head(embeddings) - y).abs(), weights),
        }


class ContrastiveRegression(Regression):
    """An encoder trained by a contrastive loss, and a head on it, by one of three schemes.

    ``"linear_probe"`` trains the encoder, freezes it and trains the head; ``"fine_tune"`` trains encoder and head
    together in the second stage; ``"regularise"`` has one stage, whose loss is the head's plus ``contrast_weight``
    times the contrastive one.

    Args:
        encoder: maps a batch to embeddings (n, d).
        head: on these embeddings.
        scheme: one of the three.
        epochs: of the encoder and of the head.
        contrast_weight: of the contrastive loss in ``"regularise"``.
        optimization, head_optimization: of the two stages.
        patience, chunk_size: of :class:`~ordinate.methods.staged.StagedMethod`.
        balance: of :class:`~ordinate.methods.balanced.BalancedMethod`.
    """

    def __init__(
        self,
        encoder: nn.Module,
        head: RegressionHead,
        *,
        scheme: Scheme,
        epochs: tuple[int, int],
        optimization: Optimization,
        head_optimization: Optimization,
        patience: int | None = None,
        contrast_weight: float = 1.0,
        chunk_size: int | None = None,
        balance: Balance | None = None,
    ) -> None:
        check_choice(scheme, SCHEMES, "scheme")
        if scheme == "regularise":
            stages: tuple[Stage, ...] = (Stage("encoder and head", epochs[0], optimization, patience),)
        else:
            stages = (
                Stage("encoder", epochs[0], optimization, patience),
                Stage("head" if scheme == "linear_probe" else "fine-tuning", epochs[1], head_optimization, patience),
            )
        super().__init__(encoder, head, stages, chunk_size, balance)
        self.scheme = scheme
        self.contrast_weight = contrast_weight

    @abstractmethod
    def contrast(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        """The contrastive loss of a batch of embeddings."""

    def contrast_parameters(self) -> list[nn.Parameter]:
        """Parameters beside the encoder's that the contrastive loss trains."""
        return []

    @property
    def trains_head_only(self) -> bool:
        return self.scheme == "linear_probe" and self.stage_index == 1

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        encoder, head = list(self.encoder.parameters()), list(self.head.parameters())
        if self.scheme == "regularise":
            return [*encoder, *self.contrast_parameters(), *head]
        if index == 0:
            return [*encoder, *self.contrast_parameters()]
        return head if self.scheme == "linear_probe" else [*encoder, *head]

    def views(self, x: Tensor, y: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the batch as the contrastive loss sees it."""
        return x, y, weights

    def on_first_batch(self, x: Tensor, y: Tensor) -> None:
        if self.trains_head_only:
            self.head.standardise_embeddings(gathered(self.frozen_embeddings(x), all_processes())[0])

    def frozen_embeddings(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return the embeddings of a batch from an encoder that is not trained."""
        self.encoder.eval()
        with torch.no_grad():
            return self.embed(x)

    def batch_loss(
        self, x: Tensor, y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        if self.trains_head_only:
            return self.head_loss(self.frozen_embeddings(x), y, weights)
        if self.stage_index == 1:
            embeddings = self.embed(x)
            return self.with_ranks(self.head_loss(embeddings, y, weights), embeddings, y)
        x, y, weights = self.views(x, y, weights)
        embeddings = self.embed(x)
        loss = self.contrast(embeddings, y, weights)
        if self.scheme == "regularise":
            loss = self.head_loss(embeddings, y, weights) + self.contrast_weight * loss
        return self.with_ranks(loss, embeddings, y)

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self.encoder.train(not self.trains_head_only)

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        logs = {}
        if self.stage_index == 0:
            with suppress(OrdinateError):  # a small validation set may have no anchor with a positive
                logs["val_contrast"] = self.contrast(x, y, weights)
        if self.stage_index == 1 or self.scheme == "regularise":
            logs |= self.validate_head(x, y, weights)
        elif "val_contrast" in logs:
            logs["val_loss"] = logs["val_contrast"]
        return logs
