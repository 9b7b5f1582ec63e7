"""Regression: an encoder with a head, and the schemes of SupCR and SupReMix that train them."""

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar, get_args

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, gathered, mean_over_all
from ordinate.functional.numerics import weighted_mean
from ordinate.heads.build import build_head
from ordinate.heads.linear import RegressionHead, fit_ridge
from ordinate.methods.balance import Balance
from ordinate.methods.seen_embeddings import SeenEmbeddings
from ordinate.options import BinSize, Scheme
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Logs, Stage, StagedMethod, Weights


class Regression(StagedMethod):
    """An encoder and a head that predicts targets from its embeddings.

    Args:
        encoder: Network from a batch to embeddings (n, d).
        head: Head on the embeddings.
        stages, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        balance: Part that makes up for rare targets: it weighs samples, changes the embeddings that the head is trained
            on, and adds to the loss. None for nothing.
    """

    shared_state: ClassVar[tuple[str, ...]] = ("best_errors",)
    trains_head = True

    def __init__(
        self,
        encoder: nn.Module,
        head: RegressionHead,
        stages: tuple[Stage, ...],
        chunk_size: int | None,
        balance: Balance | None = None,
    ) -> None:
        super().__init__(stages, chunk_size)
        self.encoder = encoder
        self.head = head
        self.balance = balance
        self.errors: Tensor | None = None
        self.best_errors: Tensor | None = None

    def begin_stage(self) -> None:
        self.best_errors = None

    def as_labels(self, y: Tensor) -> Float[Tensor, "n p"]:
        return self.head.as_targets(y, len(y))

    def predict(self, x: Tensor) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        return self.head(self(x))

    def weights(self, y: Shaped[Tensor, "n *p"], sample_weights: Weights = None) -> Float[Tensor, " n"] | None:
        """Return the weights of samples times, in training, those of the balance; None if all are the same."""
        balanced = None
        if self.balance is not None and self.training:
            balanced = self.balance.weights(y)
        if balanced is None:
            return sample_weights
        return balanced if sample_weights is None else balanced * sample_weights

    def with_extra_loss(
        self, loss: Float[Tensor, ""], embeddings: Float[Tensor, "n d"], y: Shaped[Tensor, "n *p"]
    ) -> Float[Tensor, ""]:
        """Return the loss of a batch that trains the encoder, with what the balance adds."""
        return loss if self.balance is None else loss + self.balance.extra_loss(embeddings, y)

    def end_epoch(self) -> Logs:
        if self.balance is not None:
            self.balance.end_epoch()
        return super().end_epoch()

    def head_loss(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        """The head's loss of a training batch."""
        if self.balance is not None:
            embeddings = self.balance.calibrated(embeddings, y)
        return mean_over_all(self.head.loss(embeddings, y, self.weights(y, weights)), len(y), all_processes())

    def validate_head(self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None) -> Logs:
        """The head's loss of the validation set, and its error in units of the targets."""
        return {
            "val_loss": weighted_mean(self.head.sample_losses(embeddings, y), weights),
            "val_mae": self.error(self.head(embeddings), y, weights),
        }

    def error(
        self, predicted: Float[Tensor, "n p"], y: Float[Tensor, "n p"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        """Return the mean absolute error of the validation set, and keep those of its samples for ``patience``."""
        errors = (predicted - y).abs().mean(1).detach()
        if weights is not None:
            errors = errors * weights / weights.mean()
        self.errors = errors
        return errors.mean()

    @property
    def monitor(self) -> str:
        return "val_mae"

    def is_best(self, value: float, best: float, no_difference: float = 0.5) -> bool:
        """Return whether no epoch of the stage had errors smaller by more than half a standard error.

        Of epochs that few validation samples cannot tell apart the last has the smallest learning rate.
        """
        if value < best or self.errors is None or self.best_errors is None:
            self.best_errors = self.errors
            return value < best
        excess = self.errors - self.best_errors
        return bool(excess.mean() < no_difference * excess.std(correction=0) / len(excess) ** 0.5)


class TwoStageRegression(Regression):
    """An encoder that a loss of its own trains, and a head on it, by one of three schemes.

    ``"linear_probe"`` trains the encoder, freezes it and trains the head; ``"fine_tune"`` trains encoder and head
    together in the second stage; ``"regularise"`` has one stage, in which the encoder's loss also trains the head. A
    head alone, on embeddings that stay, trains all its epochs.

    Args:
        encoder: Network from a batch to embeddings (n, d).
        head: Head on these embeddings.
        scheme: One of the three schemes.
        epochs: Epochs of the encoder and of the head; 0 of the head of ``"linear_probe"`` leaves it untrained, for
            others on the frozen encoder.
        optimization, head_optimization: Options of the two stages.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        balance: See :class:`~ordinate.methods.regression.Regression`.
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
        chunk_size: int | None = None,
        balance: Balance | None = None,
    ) -> None:
        check_choice(scheme, get_args(Scheme), "scheme")
        stages: tuple[Stage, ...] = (Stage("encoder", epochs[0], optimization, patience),)
        if scheme == "regularise":
            stages = (Stage("encoder and head", epochs[0], optimization, patience),)
        elif scheme == "fine_tune":
            stages = (*stages, Stage("fine-tuning", epochs[1], head_optimization, patience))
        elif epochs[1]:
            stages = (*stages, Stage("head", epochs[1], head_optimization))
        super().__init__(encoder, head, stages, chunk_size, balance)
        self.scheme = scheme
        self.trains_head = scheme != "linear_probe" or epochs[1] > 0

    @abstractmethod
    def encoder_loss(self, x: Tensor, y: Float[Tensor, "n p"], weights: Weights = None) -> Float[Tensor, ""]:
        """The loss of a batch in the first stage."""

    @property
    def trains_head_only(self) -> bool:
        return self.scheme == "linear_probe" and self.stage_index == 1

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        encoder, head = list(self.encoder.parameters()), list(self.head.parameters())
        if self.scheme == "regularise":
            return [*encoder, *self.loss_parameters(), *head]
        if index == 0:
            return [*encoder, *self.loss_parameters()]
        return head if self.scheme == "linear_probe" else [*encoder, *head]

    def loss_parameters(self) -> list[nn.Parameter]:
        """Parameters of the first stage that belong neither to the encoder nor to the head."""
        return []

    def see_samples(self, batches: Iterable[Tensor]) -> None:
        if self.trains_head_only:
            embeddings = torch.cat([self.frozen_embeddings(x) for x in batches])
            self.head.standardise_embeddings(gathered(embeddings, all_processes())[0])

    def frozen_embeddings(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return the embeddings of a batch from an encoder that is not trained."""
        self.encoder.eval()
        with torch.no_grad():
            return self.embed(x)

    def batch_loss(self, x: Tensor, y: Float[Tensor, "n p"], weights: Weights = None) -> Float[Tensor, ""]:
        if self.stage_index == 0:
            return self.encoder_loss(x, y, weights)
        if self.trains_head_only:
            return self.head_loss(self.frozen_embeddings(x), y, weights)
        embeddings = self.embed(x)
        return self.with_extra_loss(self.head_loss(embeddings, y, weights), embeddings, y)

    def begin_stage(self) -> None:
        super().begin_stage()
        self.encoder.train(not self.trains_head_only)

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None) -> Logs:
        if self.stage_index == 0 and self.scheme != "regularise":  # The head is not trained yet.
            return {}
        return self.validate_head(x, y, weights)


class ContrastiveRegression(TwoStageRegression, SeenEmbeddings):
    """An encoder trained by a contrastive loss, and a head on it, by one of three schemes.

    In ``"regularise"`` the loss is the head's plus ``contrast_weight`` times the contrastive one. With ``patience`` the
    first of two stages is validated by the error of ridge regression on the embeddings of its epoch's last 1000
    training samples: the contrastive loss rises long before its embeddings predict worse.

    Args:
        encoder, head, options: Arguments of :class:`TwoStageRegression`.
        contrast_weight: Weight of the contrastive loss in ``"regularise"``.
    """

    shared_state = (*TwoStageRegression.shared_state, *SeenEmbeddings.shared_state)
    most_seen = 1000  # Newest training samples that ridge regression is fitted to.

    def __init__(
        self, encoder: nn.Module, head: RegressionHead, *, contrast_weight: float = 1.0, **options: Any
    ) -> None:
        super().__init__(encoder, head, **options)
        self.contrast_weight = contrast_weight

    @abstractmethod
    def contrast(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None
    ) -> Float[Tensor, ""]:
        """The contrastive loss of a batch of embeddings."""

    def teaches(self, y: Float[Tensor, "n p"]) -> bool:
        """Return whether the contrastive loss has a value for a batch of such labels; others are passed over."""
        return True

    @property
    def probes(self) -> bool:
        """Whether the encoder's embeddings are validated by ridge regression."""
        return self.stage_index == 0 and self.scheme != "regularise" and self.stage.patience is not None

    def views(self, x: Tensor, y: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the batch as the contrastive loss sees it."""
        return x, y, weights

    def encoder_loss(self, x: Tensor, y: Float[Tensor, "n p"], weights: Weights = None) -> Float[Tensor, ""]:
        x, y, weights = self.views(x, y, weights)
        embeddings = self.embed(x)
        if self.probes:
            self.see(embeddings, y)
        loss = 0.0 * embeddings.sum()
        if self.teaches(y):
            loss = self.contrast(embeddings, y, weights)
        if self.scheme == "regularise":
            loss = self.head_loss(embeddings, y, weights) + self.contrast_weight * loss
        return self.with_extra_loss(loss, embeddings, y)

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None) -> Logs:
        logs = {}
        if self.stage_index == 0:
            with suppress(OrdinateError):  # A small validation set may have no anchor with a positive.
                logs["val_contrast"] = self.contrast(x, y, weights)
        of_head = super().validate_embeddings(x, y, weights)
        if of_head:
            logs |= of_head
        elif "val_contrast" in logs:
            logs["val_loss"] = logs["val_contrast"]
        return logs | self.validate_by_ridge(x, y, weights)

    def validate_by_ridge(self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None) -> Logs:
        """The error of ridge regression on the epoch's training embeddings, where patience monitors it."""
        if not self.seen:
            return {}
        seen, targets = self.all_seen(torch.device("cpu"))  # The CPU has float64.
        predicted = fit_ridge(seen.double(), targets.double())(x.cpu().double())
        return {"val_mae": self.error(predicted.to(x), y, weights)}


class EndToEnd(Regression):
    """Encoder and head trained together, from the start, by the head's loss alone.

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        target_dim: Dimension p of the targets (n, p).
        head_loss, bin_size: See :func:`~ordinate.heads.build_head`.
        epochs: 400 in the paper.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        balance: See :class:`~ordinate.methods.regression.Regression`.
        optimization: SGD with cosine annealing in the paper.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        target_dim: int = 1,
        *,
        head_loss: str = "l1",
        bin_size: BinSize = None,
        epochs: int = 400,
        patience: int | None = None,
        chunk_size: int | None = None,
        balance: Balance | None = None,
        optimization: Optimization = Optimization("sgd", 0.05, 1e-4, warmup=0.0),
    ) -> None:
        head = build_head(head_loss, embedding_dim, target_dim, bin_size=bin_size)
        stages = (Stage("encoder and head", epochs, optimization, patience),)
        super().__init__(encoder, head, stages, chunk_size, balance)

    def batch_loss(self, x: Tensor, y: Float[Tensor, "n p"], weights: Weights = None) -> Float[Tensor, ""]:
        embeddings = self.embed(x)
        return self.with_extra_loss(self.head_loss(embeddings, y, weights), embeddings, y)

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Weights = None) -> Logs:
        return self.validate_head(x, y, weights)
