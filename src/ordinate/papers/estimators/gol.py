"""GOL behind scikit-learn's interface."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.samplers import RankBatches
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.view_batches import ViewBatches
from ordinate.data.volumes.options import VolumeOptions
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.functional.similarity import unit
from ordinate.heads.neighbours import NeighbourVote
from ordinate.methods.optimization import Optimization
from ordinate.methods.training import ArrayBatches
from ordinate.papers.methods.gol import GOL
from ordinate.papers.methods.rank_probabilities import probabilities_around

DECAY = 3.0


class GOLClassifier(RankClassifier):
    """Classify ranks by GOL: embeddings are ordered by direction and distance, and nearest neighbours tell the rank.

    What is the paper's of the training and what is not is said in :class:`~ordinate.papers.methods.gol.GOL`. Prediction
    is the paper's: the mean rank of the nearest neighbours, rounded, a half towards the nearer ones. Its probabilities
    are chosen here, :func:`~ordinate.papers.methods.rank_probabilities.probabilities_around` that mean with the
    variance of the neighbours' ranks.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        embedding_dim: d of the embeddings.
        n_neighbors: training embeddings, nearest on the unit sphere, whose ranks count.
        margin: of the metric loss.
        class_order: the classes from lowest to highest, where y does not tell.
        decision: which rank is predicted from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of costs,
            true by predicted rank; see :func:`~ordinate.decisions.predict_ranks`. None takes the paper's, the mode.
        epochs: of training; None takes 300, or as many as 3000 batches make if that is fewer.
        patience: ends training after so many epochs without a lower validation loss; None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        learning_rate: of AdamW; it falls to 0 along a cosine.
        weight_decay: of AdamW; None takes 3 for tables and series, and 0.05 for images and volumes.
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
        classes_: (C,), sorted; ordered_classes_: from the lowest rank to the highest.
        neighbours_: the training embeddings that count.
        decision_scores_: accuracy and MAE of mode and median on the validation samples; None without any.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> GOLClassifier(epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    method_: GOL

    def __init__(
        self,
        encoder: str = "auto",
        *,
        embedding_dim: int = 64,
        n_neighbors: int = 10,
        margin: float = 0.25,
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
        self.embedding_dim = embedding_dim
        self.n_neighbors = n_neighbors
        self.margin = margin
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
        super()._check_parameters()
        check_whole(self.n_neighbors, "n_neighbors")
        check_positive(self.margin, "margin", or_zero=True)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        shares, ranks = self.neighbours_(embeddings), torch.arange(len(self.ordered_classes_), dtype=torch.float64)
        mean = shares @ ranks
        variance = (shares * (ranks - mean[:, None]).square()).sum(1)
        return probabilities_around(mean, variance, len(self.ordered_classes_))

    def _build_method(self, encoder: nn.Module) -> GOL:
        return GOL(
            encoder,
            self.embedding_dim,
            len(self.ordered_classes_),
            margin=self.margin,
            epochs=self._epochs(self.epochs, 300, 3000, "epochs"),
            patience=self.patience,
            chunk_size=self.chunk_size,
            optimization=self._optimization(),
        )

    def _optimization(self) -> Optimization:
        if self.weight_decay is not None:
            return super()._optimization()
        return Optimization("adamw", self.learning_rate, self.reader_.weight_decay or DECAY)

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        # two ranks, so that there is a pair to order
        required = {int(targets.min()): 1, int(targets.max()): 1}
        return RankBatches(targets, self._samples_a_batch, required=required, seed=seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        embeddings = unit(self._embed(training.x)).float().double()  # as a saved model holds them
        self.neighbours_ = NeighbourVote(embeddings, training.y, len(self.ordered_classes_), self.n_neighbors)

    def _tensors(self) -> dict[str, Tensor]:
        return {
            "neighbours.embeddings": self.neighbours_.embeddings.float(),
            "neighbours.ranks": self.neighbours_.ranks,
        }

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        embeddings, ranks = tensors["neighbours.embeddings"].double(), tensors["neighbours.ranks"]
        self.neighbours_ = NeighbourVote(embeddings, ranks, len(self.ordered_classes_), self.n_neighbors)
