"""Regression end to end behind scikit-learn's interface."""

from pathlib import Path
from typing import Any

from sklearn.utils import Tags
from torch import nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.functional.inputs import check_whole
from ordinate.heads.binned import BinSize
from ordinate.methods.end_to_end import EndToEnd
from ordinate.methods.imbalance import Imbalance
from ordinate.options import HeadLoss

NAMES = {
    "l1": "L1", "mse": "MSE", "huber": "Huber", "dex": "DEX", "dldl_v2": "DLDL-v2", "or": "OR", "corn": "CORN"
}  # fmt: skip


class EndToEndRegressor(ContrastiveRegressor):
    """Predict continuous targets by an encoder and a head trained together, without a contrastive loss.

    What SupCR and SupReMix are compared with, by the losses of SupCR's Tables 1 to 4.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        embedding_dim: d of the embeddings.
        head_loss: ``"l1"``, ``"mse"`` or ``"huber"``, or on bins of the targets ``"dex"``, ``"dldl_v2"``, ``"or"`` or
            ``"corn"``.
        bin_size: of the heads on bins, in units of y, one number or one a dimension; None takes the smallest
            difference between two targets, or what makes 128 bins if that makes more.
        epochs: as many as :class:`~ordinate.SupCRRegressor` has for its encoder and its head together.
        patience: ends training after so many epochs without a lower validation loss; None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        imbalance: what to do about rare targets: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or
            RankSim; None does nothing.
        learning_rate, weight_decay: of AdamW; the learning rate falls to 0 along a cosine.
        validation_fraction: share of the samples held out to watch, at most 10,000 of them; 0 for none; not used
            below 20 samples.
        images: how images are read and augmented; None takes the defaults of :class:`~ordinate.ImageOptions`.
        volumes: how volumes are read; None takes the defaults of :class:`~ordinate.VolumeOptions`.
        text: None, or that X is text and how it is read, and by which encoders: :class:`~ordinate.TextOptions`.
        series: how series are cropped in training; None takes the defaults of :class:`~ordinate.SeriesOptions`.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        checkpoint_dir: folder that keeps the state of training; a fit that was killed continues from it.
        verbose: 1 shows a progress bar.
        random_state: seed; the same seed gives the same weights on the same machine.

    Attributes:
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = EndToEndRegressor(head_loss="dldl_v2", epochs=20, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    method_: EndToEnd
    head = "linear"  # the one that was trained

    def __init__(
        self,
        encoder: str = "auto",
        *,
        embedding_dim: int = 64,
        head_loss: HeadLoss = "l1",
        bin_size: BinSize = None,
        epochs: int = 500,
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
        self.head_loss = head_loss
        self.bin_size = bin_size
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

    @property
    def method_name(self) -> str:
        return f"{NAMES[self.head_loss]} end to end"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _build_method(self, encoder: nn.Module) -> EndToEnd:
        return EndToEnd(
            encoder,
            self.embedding_dim,
            self.target_dim_,
            head_loss=self.head_loss,
            bin_size=self.bin_size,
            epochs=check_whole(self.epochs, "epochs"),
            patience=self.patience,
            chunk_size=self.chunk_size,
            balance=self._balance(),
            optimization=self._optimization(),
        )
