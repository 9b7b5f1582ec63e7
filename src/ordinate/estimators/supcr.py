"""SupCR behind scikit-learn's interface."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from torch import nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.functional.inputs import check_choice, check_positive, check_whole
from ordinate.functional.label_distance import LABEL_DISTANCES, LabelDistance
from ordinate.functional.similarity import SIMILARITIES
from ordinate.heads.binned import BinSize
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.supcr import SupCR
from ordinate.options import HeadLoss, Scheme, Similarity


class SupCRRegressor(ContrastiveRegressor):
    """Predict continuous targets by SupCR (Rank-N-Contrast): embeddings ordered by their targets, and a head on them.

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
        bin_size: of the heads on bins, in units of y, one number or one a dimension; None takes the smallest
            difference between two targets, or what makes 128 bins if that makes more.
        temperature: of the loss.
        similarity: between embeddings: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"``, ``"l2"``, ``"angular"`` for y of (pitch, yaw) in radians, or a callable that maps
            labels (n, p) and (m, p) to distances (n, m).
        num_positives: contrast only so many samples of the closest labels as positives (SupCR, Table 13); None
            contrasts all.
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
        head_name_: the head chosen; head_scores_: the validation error of each.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupCRRegressor(epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    views_of_images = 2

    def __init__(
        self,
        encoder: str = "auto",
        *,
        embedding_dim: int = 64,
        scheme: Scheme = "linear_probe",
        head: str = "auto",
        head_loss: HeadLoss = "l1",
        bin_size: BinSize = None,
        temperature: float = 2.0,
        similarity: Similarity = "neg_l2",
        label_distance: LabelDistance = "l1",
        num_positives: int | None = None,
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
        self.similarity = similarity
        self.label_distance = label_distance
        self.num_positives = num_positives
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.temperature, "temperature")
        check_choice(self.similarity, SIMILARITIES, "similarity")
        if not callable(self.label_distance):
            check_choice(self.label_distance, LABEL_DISTANCES, "label_distance")
        if self.num_positives is not None:
            check_whole(self.num_positives, "num_positives")

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.float32]:
        targets = super()._targets(y, reset=reset)
        if self.label_distance == "angular" and targets.shape[1] != 2:
            raise OrdinateError(
                f"y: got {targets.shape[1]} target(s) per sample, expected (pitch, yaw) in radians for label_distance "
                "'angular'; give 'l1' for other targets"
            )
        return targets

    def _build_method(self, encoder: nn.Module) -> SupCR:
        return SupCR(
            encoder,
            self.embedding_dim,
            self.target_dim_,
            scheme=self.scheme,
            head_loss=self.head_loss,
            bin_size=self.bin_size,
            epochs=self._two_epochs(self.epochs, "epochs"),
            patience=self.patience,
            chunk_size=self.chunk_size,
            balance=self._balance(),
            temperature=self.temperature,
            similarity=self.similarity,
            label_distance=self.label_distance,
            num_positives=None if self.num_positives is None else int(self.num_positives),
            optimization=self._optimization(),
            head_optimization=self._head_optimization,
        )
