"""The rivals that learn a representation, behind scikit-learn's interface."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.reader import SeriesScaler
from ordinate.data.tables.features import TableFeatures
from ordinate.data.text.options import TextOptions
from ordinate.data.view_batches import ViewBatches
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_choice, check_positive, check_whole
from ordinate.functional.similarity import unit
from ordinate.heads.binned import BinSize
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.losses.supcr import SupCRLoss
from ordinate.methods.optimization import Optimization
from ordinate.methods.regression import Regression
from ordinate.methods.staged import StagedMethod
from ordinate.methods.training import ArrayBatches
from ordinate.options import HeadLoss, Scheme
from ordinate.papers.methods.dino import DINO, DINORegression
from ordinate.papers.methods.drawn_views import DrawViews, SeriesViews, TableViews, dropout_views
from ordinate.papers.methods.pairs import PAIR_LOSSES, build_pair_loss
from ordinate.papers.methods.representation import Representation, RepresentationRegression, bins_of, usual_bins
from ordinate.papers.methods.simclr import NTXentLoss

LOSSES = (*PAIR_LOSSES, "supcr", "simclr", "dino")
LOSSES_OF_TARGETS = ("supcon", "simclr", "dino")
OF_VIEWS = ("simclr", "dino")  # compare views of a sample, and know no labels
PROJECTED = ("supcon", "simclr")
SIMCSE, SIMCSE_TEMPERATURE = "simcse", 0.05  # for text alone: its views are two dropouts (Gao et al., 2021)
WITH_TEMPERATURE = ("supcon", "simclr", "supcr", SIMCSE)
HEADS = ("linear", "neighbours")
NAMES = {
    "supcon": "SupCon", "supcr": "RnC", "simclr": "SimCLR", "dino": "DINO", "siamese": "Siamese network",
    "triplet": "Triplet network", "quadruplet": "Quadruplet network", "n_pair": "N-pair network", SIMCSE: "SimCSE",
}  # fmt: skip
DECAY, IMAGE_DECAY = 1.0, 0.05
BATCHES_AT_MOST, EPOCHS = 3000, 300


class RepresentationEstimator(EmbeddingEstimator):
    """What the two estimators share: the loss, its projection head, and the views that it compares."""

    loss: str
    temperature: float | None
    projection_dim: int | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.temperature is not None:
            if self.loss not in WITH_TEMPERATURE:
                raise OrdinateError(
                    f"temperature: got {self.temperature!r} for the loss {self.loss!r}, which has none; takes None"
                )
            check_positive(self.temperature, "temperature")
        if self.projection_dim is not None:
            check_whole(self.projection_dim, "projection_dim")

    @property
    def method_name(self) -> str:
        return NAMES[self.loss]

    def _build_loss(self) -> nn.Module:
        temperature: dict[str, Any] = {} if self.temperature is None else {"temperature": self.temperature}
        if self.loss == "simclr":
            return NTXentLoss(**temperature)
        if self.loss == "supcr":
            return SupCRLoss(**temperature)
        if self.loss == SIMCSE:
            return build_pair_loss("supcon", temperature.get("temperature", SIMCSE_TEMPERATURE))
        return build_pair_loss(self.loss, self.temperature)

    def _projection_dim(self) -> int | None:
        return self.projection_dim if self.loss in PROJECTED else None

    def _draw(self) -> DrawViews | None:
        """Return what draws two views of a sample; images, and series that are cropped, come as views."""
        if self.loss == SIMCSE:
            return dropout_views
        if self.loss not in OF_VIEWS:
            return None
        if isinstance(self.reader_, TableFeatures):
            return TableViews([column.width for column in self.reader_.columns])
        return SeriesViews() if isinstance(self.reader_, SeriesScaler) and self._series.crop is None else None

    @property
    def views_of_images(self) -> int:  # type: ignore[override]  # it follows from the loss here
        """Views of an image in a batch, where its augmentation draws any."""
        return 2 if self.loss in (*PROJECTED, *OF_VIEWS, "supcr") else 1

    @property
    def _images(self) -> ImageOptions:
        options = super()._images
        if self.loss in OF_VIEWS and options.frozen:
            raise OrdinateError(f"frozen: got True, expected False for the loss {self.loss!r}, which needs two views")
        if self.loss in OF_VIEWS and options.augmentation == "auto":
            return replace(options, augmentation="supcr")
        return options

    def _training_data(self, x: Tensor, y: Tensor) -> ArrayBatches | ViewBatches:
        if self.loss == SIMCSE and not inputs.holds_text(self.reader_):
            raise OrdinateError("X: got no text, the loss 'simcse' takes text, whose encoders have dropout")
        if self.loss in OF_VIEWS and inputs.holds_text(self.reader_):
            raise OrdinateError(f"X: got text, of which no views are drawn; the loss {self.loss!r} takes two of each")
        if self.loss in OF_VIEWS and isinstance(self.reader_, VolumeReader):
            raise OrdinateError(f"X: got volumes, of which no views are drawn, the loss {self.loss!r} takes two")
        data = super()._training_data(x, y)
        if (
            self.loss in OF_VIEWS
            and isinstance(data, ViewBatches)
            and (data.views != 2 or not data.augmentation.changes)
        ):
            kind = "series" if isinstance(self.reader_, SeriesScaler) else "images"
            raise OrdinateError(
                f"{kind}: got {data.views} views of augmentation {data.augmentation.name!r}, the loss {self.loss!r} "
                "takes two that differ"
            )
        return data


class RepresentationClassifier(RepresentationEstimator, RankClassifier):
    """Classify ranks from a representation that was learned by another loss than CLOC's or OTD's.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        loss: ``"supcon"``; ``"siamese"``, ``"triplet"``, ``"quadruplet"`` (takes three ranks) or ``"n_pair"``, the
            networks of OTD's Table 4; ``"supcr"``, CLOC's RnC; ``"simclr"`` or ``"dino"``, which see no labels. See
            :mod:`ordinate.papers.methods`.
        head: ``"linear"``, a multinomial logistic regression on the embeddings, or ``"neighbours"``, whose nearest
            training embeddings vote. Both see embeddings of norm 1; those of SupCR, a loss of distances, are read by
            distance.
        n_neighbors: training embeddings that vote.
        embedding_dim: d of the embeddings.
        temperature: of SupCon (0.1), SimCLR (0.5) and SupCR (2.0); None takes these.
        projection_dim: outputs of the projection head of SupCon and SimCLR, which is left out in prediction; None
            contrasts the embeddings themselves, as all other losses do.
        class_order: the classes from lowest to highest, where y does not tell.
        decision: which rank is predicted from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of costs,
            true by predicted rank; see :func:`~ordinate.decisions.predict_ranks`. None takes the paper's, the mode.
        epochs: of training; None takes 300, or as many as 3000 batches make if that is fewer.
        patience: ends training after so many epochs without a lower validation loss (training loss for SimCLR and
            DINO); None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        learning_rate: of AdamW; it falls to 0 along a cosine.
        weight_decay: of AdamW; None takes 0.05 for images and volumes and 1 otherwise.
        validation_fraction: share of the samples held out to watch, at most 10,000 of them; 0 for none; not used
            below 20 samples.
        images: how images are read and augmented; None takes the defaults of :class:`~ordinate.ImageOptions`. Two
            views are drawn of each for SupCon, SupCR, SimCLR and DINO; the last two take the augmentation ``"supcr"``,
            which is SimCLR's without the blur, for ``"auto"``.
        volumes: how volumes are read; None takes the defaults of :class:`~ordinate.VolumeOptions`. SimCLR and DINO
            do not take volumes, of which no views are drawn.
        text: None, or that X is text and how it is read, and by which encoders: :class:`~ordinate.TextOptions`.
        series: how series are cropped in training; None takes the defaults of :class:`~ordinate.SeriesOptions`.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        checkpoint_dir: folder that keeps the state of training; a fit that was killed continues from it.
        verbose: 1 shows a progress bar.
        random_state: seed; the same seed gives the same weights on the same machine.

    Attributes:
        classes_: (C,), sorted; ordered_classes_: from the lowest rank to the highest.
        head_: what predicts from embeddings.
        decision_scores_: accuracy and MAE of mode and median on the validation samples; None without any.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = RepresentationClassifier(loss="triplet", epochs=20, random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    method_: StagedMethod
    head_: nn.Module

    def __init__(
        self,
        encoder: str = "auto",
        *,
        loss: str = "supcon",
        head: str = "linear",
        n_neighbors: int = 3,
        embedding_dim: int = 64,
        temperature: float | None = None,
        projection_dim: int | None = 128,
        class_order: Sequence[Any] | None = None,
        decision: str | ArrayLike | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        batch_size: int | None = None,
        chunk_size: int | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float | None = None,
        validation_fraction: float = 0.0,
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
        self.loss = loss
        self.head = head
        self.n_neighbors = n_neighbors
        self.embedding_dim = embedding_dim
        self.temperature = temperature
        self.projection_dim = projection_dim
        self.class_order = class_order
        self.decision = decision
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.chunk_size = chunk_size
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

    def _check_parameters(self) -> None:
        check_choice(self.loss, LOSSES, "loss")
        check_choice(self.head, HEADS, "head")
        check_whole(self.n_neighbors, "n_neighbors")
        super()._check_parameters()

    def _build_method(self, encoder: nn.Module) -> StagedMethod:
        training: dict[str, Any] = {
            "draw": self._draw(),
            "epochs": self._epochs(self.epochs, EPOCHS, BATCHES_AT_MOST, "epochs"),
            "patience": self.patience,
            "chunk_size": self.chunk_size,
            "optimization": self._optimization(),
        }
        if self.loss == "dino":
            return DINO(encoder, self.embedding_dim, **training)
        loss = self._build_loss()
        return Representation(encoder, self.embedding_dim, loss, projection_dim=self._projection_dim(), **training)

    def _optimization(self) -> Optimization:
        if self.weight_decay is not None:
            return super()._optimization()
        return Optimization("adamw", self.learning_rate, IMAGE_DECAY if inputs.holds_images(self.reader_) else DECAY)

    def _batches(self, targets: NDArray[np.int64], seed: int) -> ShuffledBatches:
        if self.loss not in PAIR_LOSSES:
            return ShuffledBatches(len(targets), self._samples_a_batch, seed)
        needed = 3 if self.loss == "quadruplet" else 2
        held = int((np.bincount(targets) > 1).sum())
        if held < needed:
            raise OrdinateError(
                f"y: got {held} classes of two samples or more, takes at least {needed} for the loss {self.loss!r}"
            )
        return RankBatches(targets, self._samples_a_batch, distinct=needed, seed=seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        embeddings, ranks = self._seen_by_head(self._embed(training.x)), training.y
        if self.head == "linear":
            self.head_ = fit_logistic(embeddings, ranks, len(self.ordered_classes_))
        else:
            self.head_ = self._neighbours(embeddings.float().double(), ranks)  # as a saved model holds them

    def _neighbours(self, embeddings: Tensor, ranks: Tensor) -> nn.Module:
        if self.loss != "supcr":
            return NeighbourVote(embeddings, ranks, len(self.ordered_classes_), self.n_neighbors)
        shares = nn.functional.one_hot(ranks, len(self.ordered_classes_)).double()
        return NeighbourMean(embeddings, shares, self.n_neighbors)

    def _seen_by_head(self, embeddings: Tensor) -> Tensor:
        return embeddings if self.loss == "supcr" else unit(embeddings)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        scores = self.head_(self._seen_by_head(embeddings))
        return scores.softmax(dim=1) if self.head == "linear" else scores

    def _tensors(self) -> dict[str, Tensor]:
        return {f"head.{name}": value for name, value in self.head_.state_dict().items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        if self.head == "linear":
            self.head_ = _linear(tensors["head.weight"], tensors["head.bias"])
            return
        ranks = tensors["head.targets"].argmax(1) if self.loss == "supcr" else tensors["head.ranks"]
        self.head_ = self._neighbours(tensors["head.embeddings"].double(), ranks)


def fit_logistic(embeddings: Tensor, ranks: Tensor, num_classes: int) -> nn.Linear:
    """Return the multinomial logistic regression of ranks on embeddings (n, d) as a layer of one score a rank.

    Its penalty is scikit-learn's (C = 1), on embeddings divided by their deviation over all columns. A rank without a
    sample gets the score minus infinity.
    """
    centre = embeddings.mean(0)
    scale = (embeddings - centre).square().mean().sqrt()
    scale = torch.where(scale > 0, scale, 1)
    model = LogisticRegression(max_iter=1000).fit(((embeddings - centre) / scale).numpy(), ranks.numpy())
    coefficients, intercepts = torch.from_numpy(model.coef_), torch.from_numpy(model.intercept_)
    if len(coefficients) == 1:  # of two ranks, the second's against the first's
        coefficients = torch.cat([torch.zeros_like(coefficients), coefficients])
        intercepts = torch.cat([torch.zeros_like(intercepts), intercepts])
    weight = torch.zeros(num_classes, embeddings.shape[1], dtype=torch.float64)
    bias = torch.full((num_classes,), -torch.inf, dtype=torch.float64)
    weight[model.classes_] = coefficients / scale
    bias[model.classes_] = intercepts - coefficients @ centre / scale
    return _linear(weight.float(), bias.float())  # as a saved model holds them


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], len(weight), dtype=torch.float64).requires_grad_(False)
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    return layer


class RepresentationRegressor(RepresentationEstimator, ContrastiveRegressor):
    """Predict continuous targets from a representation that SupCon, SimCSE, SimCLR or DINO learned.

    SupCon takes targets of one bin as one class (SupCR, Table 7 and Appendix D; SupReMix, Table 16); SimCLR and DINO
    see no targets (SupCR, Table 11). SimCSE (Gao et al., 2021), for text, takes two passes through the dropout of the
    encoder as positives, and with labels those of one bin too. SupReMix (C.1) contrasts single sentences instead, those
    of a pair being positives if its score is above 2; here it is the embeddings of pairs, as in all other losses.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        loss: ``"supcon"``, ``"simcse"`` (for text alone), ``"simclr"`` or ``"dino"``.
        embedding_dim: d of the embeddings.
        temperature: of SupCon (0.1), SimCSE (0.05) and SimCLR (0.5); None takes these.
        projection_dim: outputs of the projection head of SupCon and SimCLR, which is left out in prediction; None
            contrasts the embeddings themselves (both are in SupCR, Table 7).
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after it,
            ``"regularise"`` both from the start (not for DINO, whose encoder is an average).
        head: ``"linear"`` (trained by ``head_loss``), ``"ridge"``, ``"neighbours"``, or ``"auto"``: whichever
            predicts the validation samples best (the linear one if there are none).
        head_loss: as in :class:`~ordinate.SupCRRegressor`.
        bin_size: of the classes of SupCon and SimCSE and of a head on bins, in units of y, one number or one a
            dimension; None takes the smallest difference between two targets, or what makes 128 bins if that is more.
            The classes' are doubled from there until two bins hold two samples each.
        epochs: of the encoder and of the head.
        patience: ends a stage after so many epochs without a lower validation loss; None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        learning_rate, weight_decay: of AdamW; the learning rate falls to 0 along a cosine in each stage.
        validation_fraction: share of the samples held out to choose the head, at most 10,000 of them; 0 for none; not
            used below 20 samples.
        images: how images are read and augmented, as in :class:`RepresentationClassifier`, two views of each.
        volumes: how volumes are read, as there.
        text: None, or that X is text and how it is read, and by which encoders: :class:`~ordinate.TextOptions`.
        series: how series are cropped in training; None takes the defaults of :class:`~ordinate.SeriesOptions`.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        checkpoint_dir: folder that keeps the state of training; a fit that was killed continues from it.
        verbose: 1 shows a progress bar.
        random_state: seed; the same seed gives the same weights on the same machine.

    Attributes:
        head_name_: the head chosen; head_scores_: the validation error of each.
        decision_scores_: accuracy and MAE of mode and median on the validation samples; None without any.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = RepresentationRegressor(bin_size=0.5, epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    def __init__(
        self,
        encoder: str = "auto",
        *,
        loss: str = "supcon",
        embedding_dim: int = 64,
        temperature: float | None = None,
        projection_dim: int | None = 128,
        scheme: Scheme = "linear_probe",
        head: str = "auto",
        head_loss: HeadLoss = "l1",
        bin_size: BinSize = None,
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        batch_size: int | None = None,
        chunk_size: int | None = None,
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
        self.loss = loss
        self.embedding_dim = embedding_dim
        self.temperature = temperature
        self.projection_dim = projection_dim
        self.scheme = scheme
        self.head = head
        self.head_loss = head_loss
        self.bin_size = bin_size
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.chunk_size = chunk_size
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
        check_choice(self.loss, (*LOSSES_OF_TARGETS, SIMCSE), "loss")
        super()._check_parameters()

    def _build_method(self, encoder: nn.Module) -> Regression:
        training: dict[str, Any] = {
            "draw": self._draw(),
            "scheme": self.scheme,
            "head_loss": self.head_loss,
            "bin_size": self.bin_size,
            "epochs": self._two_epochs(self.epochs, "epochs"),
            "patience": self.patience,
            "chunk_size": self.chunk_size,
            "optimization": self._optimization(),
            "head_optimization": self._head_optimization,
        }
        if self.loss == "dino":
            return DINORegression(encoder, self.embedding_dim, self.target_dim_, **training)
        return RepresentationRegression(
            encoder, self.embedding_dim, self._build_loss(), self.target_dim_,
            projection_dim=self._projection_dim(), **training,
        )  # fmt: skip

    def _new_method(self, targets: Tensor) -> Regression:
        method = super()._new_method(targets)
        if isinstance(method, RepresentationRegression):
            method.fit_bins(targets)
        return method

    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        if self.loss != "supcon":
            return super()._batches(targets, seed)
        labels = torch.from_numpy(targets)
        bins = bins_of(labels, *usual_bins(labels, self.bin_size)).numpy()
        sizes = np.bincount(bins)
        held = int((sizes > 1).sum())
        if held == 0 or len(sizes) == 1:
            raise OrdinateError(
                f"bin_size: got {self.bin_size!r}, which makes {len(sizes)} bins, {held} of two samples or more; "
                "SupCon takes two bins and a pair in one of them"
            )
        return RankBatches(bins, self._samples_a_batch, distinct=min(2, held), seed=seed)
