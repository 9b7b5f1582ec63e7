"""SupReMix behind scikit-learn's interface."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.regression import Regression
from ordinate.methods.supremix import SupReMix
from ordinate.options import HeadLoss, Scheme

NEIGHBOURS_IN_WINDOW = 8  # samples of a batch on each side of an anchor that the automatic window holds


class SupReMixRegressor(ContrastiveRegressor):
    """Predict continuous targets by SupReMix: mixtures as hard negatives and positives, and a head on the encoder.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        embedding_dim: d of the embeddings.
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after it,
            ``"regularise"`` both from the start.
        head: ``"linear"`` (trained by ``head_loss``), ``"ridge"``, ``"neighbours"``, or ``"auto"``: whichever
            predicts the validation samples best (the linear one if there are none). Ridge and neighbours see at most
            50,000 training samples.
        head_loss: ``"l1"``, ``"mse"`` or ``"huber"``, or on bins of the targets ``"dex"``, ``"dldl_v2"``, ``"or"`` or
            ``"corn"``.
        bin_size: of the heads on bins, in units of y; None takes the smallest difference between two targets, or
            what makes 128 bins if that makes more.
        temperature, beta: of the loss.
        window: gamma in units of y, or ``"auto"``: what holds about 8 samples of a batch on each side of an anchor.
        epochs: of the encoder and of the head.
        patience: ends the last stage after so many epochs without a lower validation loss; None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        imbalance: what to do about rare targets: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or
            RankSim; None does nothing. LDS and FDS reach the head ``"linear"`` alone; ``"auto"`` is then that one.
        learning_rate, weight_decay: of AdamW; the learning rate falls to 0 along a cosine in each stage.
        validation_fraction: share of the samples held out to choose the head, at most 10,000 of them; 0 for none; not
            used below 20 samples.
        images: how images are read and augmented; None takes the defaults of :class:`~ordinate.ImageOptions`.
        volumes: how volumes are read; None takes the defaults of :class:`~ordinate.VolumeOptions`.
        text: None, or that X is text and how it is read, and by which encoders: :class:`~ordinate.TextOptions`.
        series: how series are cropped in training; None takes the defaults of :class:`~ordinate.SeriesOptions`.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        checkpoint_dir: folder that keeps the state of training; a fit that was killed continues from it.
        verbose: 1 shows a progress bar.
        random_state: seed; the same seed gives the same weights on the same machine.

    Attributes:
        window_: the window used.
        head_name_: the head chosen; head_scores_: the validation error of each.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupReMixRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupReMixRegressor(epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.window_ > 0
        ((1,), True)
    """

    def __init__(
        self,
        encoder: str = "auto",
        *,
        embedding_dim: int = 64,
        scheme: Scheme = "linear_probe",
        head: str = "auto",
        head_loss: HeadLoss = "l1",
        bin_size: float | None = None,
        temperature: float = 0.2,
        beta: tuple[float, float] = (2.0, 8.0),
        window: float | str = "auto",
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        batch_size: int | None = None,
        chunk_size: int | None = None,
        imbalance: Imbalance | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        validation_fraction: float = 0.1,
        images: ImageOptions | None = None,
        volumes: VolumeOptions | None = None,
        text: TextOptions | None = None,
        series: SeriesOptions | None = None,
        accelerator: str = "auto",
        checkpoint_dir: str | Path | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.encoder = encoder
        self.embedding_dim = embedding_dim
        self.scheme = scheme
        self.head = head
        self.head_loss = head_loss
        self.bin_size = bin_size
        self.temperature = temperature
        self.beta = beta
        self.window = window
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.chunk_size = chunk_size
        self.imbalance = imbalance
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.images = images
        self.volumes = volumes
        self.text = text
        self.series = series
        self.accelerator = accelerator
        self.checkpoint_dir = checkpoint_dir
        self.verbose = verbose
        self.random_state = random_state

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.float32]:
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise OrdinateError(f"y: got {y.shape[1]} targets a sample, takes one; SupCRRegressor takes several")
        return super()._targets(column_or_1d(y, warn=True), reset=reset)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.window != "auto" and (not isinstance(self.window, int | float) or not self.window > 0):
            raise OrdinateError(f"window: got {self.window!r}, takes 'auto' or a label difference above 0")

    def _new_method(self, targets: Tensor) -> Regression:
        self.window_ = self._choose_window(targets[:, 0].numpy())
        return super()._new_method(targets)

    def _choose_window(self, targets: NDArray[np.float32]) -> float:
        if self.window != "auto":
            return float(self.window)
        ordered = np.sort(targets.astype(np.float64))
        batch = min(self._samples_a_batch, len(ordered))
        reach = min(len(ordered) - 1, max(1, round(len(ordered) * NEIGHBOURS_IN_WINDOW / batch)))
        window = float(np.median(ordered[reach:] - ordered[:-reach]))
        return window if window > 0 else float(np.diff(np.unique(ordered)).min())

    def _build_method(self, encoder: nn.Module) -> SupReMix:
        return SupReMix(
            encoder,
            self.embedding_dim,
            window=self.window_,
            scheme=self.scheme,
            head_loss=self.head_loss,
            bin_size=self.bin_size,
            epochs=self._two_epochs(self.epochs, "epochs"),
            patience=self.patience,
            chunk_size=self.chunk_size,
            balance=self._balance(),
            temperature=self.temperature,
            beta=self.beta,
            optimization=self._optimization(),
            head_optimization=self._head_optimization,
        )

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "window": self.window_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.window_ = state["window"]
