"""The options of training, which all estimators share. Imports no PyTorch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ordinate.checks import check_choice, check_positive, check_share, check_train_encoder, check_whole
from ordinate.errors import OrdinateError
from ordinate.option_group import OptionGroup, Settings
from ordinate.options import OptimizationName, OptimizerName, Precision, Schedule, check_optimizer
from ordinate.training.callback import Callback

RUNTIME = ("accelerator", "callbacks", "checkpoint_dir")  # Options that do not change what is trained.


@dataclass(frozen=True, kw_only=True, repr=False)
class Training(OptionGroup):
    """How an estimator is trained: optimizer, early stopping, what of the network is trained, and what runs it.

    Args:
        optimization: ``"usual"`` for AdamW with a warm-up and a cosine schedule, ``"paper"`` for the optimizer of the
            method's paper, without early stopping and calibration. The options below change either.
        optimizer: ``"adamw"``, ``"adam"``, ``"sgd"`` (momentum 0.9), or a function of parameter groups and ``lr`` that
            returns an optimizer, such as ``torch.optim.RAdam``; a function is not saved with the model.
        learning_rate: Highest learning rate of the first stage, > 0; the rates of other stages keep their ratio to it.
            None for 1e-3, and 1e-2 for a network on images that starts from random weights.
        encoder_learning_rate: Highest learning rate of a network that brings weights; None for ``learning_rate``.
        head_learning_rate: Highest learning rate of a regressor's second stage; None for ten times ``learning_rate``,
            a hundred times for heads on bins.
        weight_decay: Weight decay of the encoder's matrices, >= 0; None for the default of method and data.
        schedule: ``"cosine"`` falls to 0 at the end of each stage, ``"constant"`` stays.
        warmup: Share of each stage in which the learning rate rises linearly, 0 to below 1; None for 0.1.
        gradient_clip_val: Largest norm of the gradient; None does not clip.
        accumulate_grad_batches: Batches whose gradients make a step; samples are contrasted within each batch.
        precision: ``"32-true"``, ``"bf16-mixed"`` or ``"16-mixed"`` (GPU).
        chunk_size: Samples that pass through the encoder at a time, so that a large batch fits in memory; None for
            the whole batch.
        train_encoder: Part of a network with weights that is trained: ``"all"``, its last k blocks (residual blocks,
            transformer layers), or ``"none"``, for images on features that are computed once. None follows ``frozen``
            of the options of images or text.
        patience: Epochs without a lower validation error after which a stage ends early: the last one of classifiers,
            the encoder's of regressors (both with ``fine_tune``); None trains all epochs. ``"auto"`` for 50 epochs for
            regressors on tables, for the blend as many as led to the best (within bounds), and None otherwise.
        validation_fraction: Share of the samples held out for validation, at most 10,000 samples; not used below 20
            samples. ``"auto"`` for 0 for classifiers and the blend; for regressors 0.1, and 0.2 of fewer than 500
            samples where ``patience`` depends on them.
        refit: Share of the epochs up to the best one for which a regressor on tables, or a blend, that stopped early
            is then trained on all samples, while the learning rate falls to 0; 0 for none.
        calibration: Whether a classifier trains a second time, on two thirds of the samples, and calibrates its
            probabilities on the other third; ``"auto"`` for tables that fit in memory. Validation samples replace the
            second training.
        accelerator: ``"auto"``, ``"cpu"``, ``"gpu"`` or ``"mps"``. Under ``torchrun`` its processes share each batch.
        callbacks: What training calls on its way: loggers of :mod:`ordinate.training.loggers`, and subclasses of
            :class:`~ordinate.training.callback.Callback`; not saved with the model.
        checkpoint_dir: Folder that keeps the state of training; a fit that was killed continues from it.

    Raises:
        OrdinateError: An option is outside its range, or two contradict each other.

    Example:
        >>> Training(learning_rate=3e-4, patience=10).learning_rate
        0.0003
    """

    optimization: OptimizationName = "usual"
    optimizer: OptimizerName | Callable[..., Any] | None = None
    learning_rate: float | None = None
    encoder_learning_rate: float | None = None
    head_learning_rate: float | None = None
    weight_decay: float | None = None
    schedule: Schedule | None = None
    warmup: float | None = None
    gradient_clip_val: float | None = None
    accumulate_grad_batches: int = 1
    precision: Precision = "32-true"
    chunk_size: int | None = None
    train_encoder: int | str | None = None
    patience: int | Literal["auto"] | None = "auto"
    validation_fraction: float | Literal["auto"] = "auto"
    refit: float = 0.2
    calibration: bool | Literal["auto"] = "auto"
    accelerator: str = "auto"
    callbacks: Sequence[Callback] | None = None
    checkpoint_dir: str | Path | None = None

    def __post_init__(self) -> None:
        check_choice(self.optimization, get_args(OptimizationName), "optimization")
        if self.optimizer is not None:
            check_optimizer(self.optimizer)
        if self.schedule is not None:
            check_choice(self.schedule, get_args(Schedule), "schedule")
        for name in ("learning_rate", "encoder_learning_rate", "head_learning_rate", "gradient_clip_val"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)
        if self.weight_decay is not None:
            check_positive(self.weight_decay, "weight_decay", or_zero=True)
        if self.warmup is not None:
            check_share(self.warmup, "warmup")
        check_whole(self.accumulate_grad_batches, "accumulate_grad_batches")
        check_choice(self.accelerator, ("auto", "cpu", "gpu", "cuda", "mps"), "accelerator")
        check_choice(self.precision, get_args(Precision), "precision")
        check_train_encoder(self.train_encoder)
        for name in ("chunk_size", "patience"):
            if getattr(self, name) not in (None, "auto"):
                check_whole(getattr(self, name), name)
        self._check_validation()
        for callback in self.callbacks or ():
            if not isinstance(callback, Callback):
                expected = "a callback of ordinate.training; those of Lightning are for its Trainer"
                raise OrdinateError("callbacks", type(callback).__name__, expected)

    def _check_validation(self) -> None:
        share = self.validation_fraction
        if share != "auto" and check_positive(share, "validation_fraction", or_zero=True) >= 1:
            raise OrdinateError("validation_fraction", repr(share), "a share from 0 to below 1, or 'auto'")
        check_share(self.refit, "refit", or_one=True)
        if self.calibration not in ("auto", True, False):
            raise OrdinateError("calibration", repr(self.calibration), "True, False or 'auto'")

    @property
    def folder(self) -> Path | None:
        """The folder of the checkpoints."""
        return None if self.checkpoint_dir is None else Path(self.checkpoint_dir)

    @property
    def follows_paper(self) -> bool:
        """Whether a method trains as its paper does."""
        return self.optimization == "paper"

    def determining(self) -> Settings:
        """Return the options that change what is trained, by name."""
        return {name: value for name, value in self.get_params().items() if name not in RUNTIME}
