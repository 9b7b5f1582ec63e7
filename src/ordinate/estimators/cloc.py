"""CLOC behind scikit-learn's interface."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.samplers import RankBatches
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.view_batches import ViewBatches
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.methods.cloc import CLOC
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.optimization import Optimization
from ordinate.methods.training import ArrayBatches

DECAY = 3.0


class CLOCClassifier(RankClassifier):
    """Classify ranks by CLOC: a margin for every boundary between adjacent ranks, learned or yours.

    Args:
        encoder: ``"auto"`` takes the network that fits X, ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``.
        embedding_dim: d of the embeddings.
        critical_margins: ``{(1, 2): 0.8}`` fixes the margin of the boundary between the labels 1 and 2, which must be
            adjacent, and learns the others (CLOC, Section 4.4); labels that are text as ``{("mild", "severe"): 0.8}``.
            Inside ensembles of scikit-learn, which recode labels, give class_order too.
        margin_floor: value that learned margins stay above.
        shared_margins: learn one margin for all boundaries.
        class_order: the classes from lowest to highest, where y does not tell.
        decision: which rank is predicted from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of costs,
            true by predicted rank; see :func:`~ordinate.decisions.predict_ranks`. None takes the paper's, the mode.
        phase_epochs: most epochs of the two phases; None takes 100 and 200, or as many as 1000 and 2000 batches make
            if that is fewer.
        target_accuracy: of the training data, ends phase one.
        patience: ends phase two after so many epochs without a lower validation loss; None trains all.
        batch_size: samples a batch, at least 4; None takes 256, and 64 for images and volumes.
        chunk_size: samples that pass the encoder at a time in training, so that a large batch fits in memory; None
            passes the whole batch.
        imbalance: what to do about rare ranks: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or RankSim;
            None does nothing. Of few ranks, kernel_size=1 weighs each by its own number of samples.
        learning_rate: of AdamW; it falls to 0 along a cosine in each phase.
        weight_decay: of AdamW; None takes 3, and 0.05 for images and volumes.
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
        margins_: (C-1,), learned and fixed margins, from the lowest boundary to the highest.
        decision_scores_: accuracy and MAE of mode and median on the validation samples; None without any.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = CLOCClassifier(phase_epochs=(30, 30), random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist(), model.margins_.shape
        ([0, 2], (2,))
    """

    method_: CLOC

    def __init__(
        self,
        encoder: str = "auto",
        *,
        embedding_dim: int = 64,
        critical_margins: Mapping[tuple[Any, Any], float] | None = None,
        margin_floor: float = 0.0,
        shared_margins: bool = False,
        class_order: Sequence[Any] | None = None,
        decision: str | ArrayLike | None = None,
        phase_epochs: tuple[int, int] | None = None,
        target_accuracy: float = 0.95,
        patience: int | None = None,
        batch_size: int | None = None,
        chunk_size: int | None = None,
        imbalance: Imbalance | None = None,
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
        self.critical_margins = critical_margins
        self.margin_floor = margin_floor
        self.shared_margins = shared_margins
        self.class_order = class_order
        self.decision = decision
        self.phase_epochs = phase_epochs
        self.target_accuracy = target_accuracy
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

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.method_.classifier(embeddings).softmax(dim=1)

    @property
    def margins_(self) -> NDArray[np.float64]:
        """(C-1,), the margin of every boundary."""
        check_is_fitted(self)
        return self.method_.mmnp.margins.detach().numpy()

    def _build_method(self, encoder: nn.Module) -> CLOC:
        if self.phase_epochs is None:
            phases = (self._epochs(None, 100, 1000, "phase_epochs"), self._epochs(None, 200, 2000, "phase_epochs"))
        else:
            phases = self._two_epochs(self.phase_epochs, "phase_epochs")
            for epochs in phases:
                check_whole(epochs, "phase_epochs")
        with _as_named_here():
            return CLOC(
                encoder,
                self.embedding_dim,
                len(self.ordered_classes_),
                margins=self._margins_by_rank(),
                floor=self.margin_floor,
                shared=self.shared_margins,
                phase_epochs=phases,
                target_accuracy=self.target_accuracy,
                patience=self.patience,
                chunk_size=self.chunk_size,
                balance=self._balance(),
                optimization=self._optimization(),
            )

    def _margins_by_rank(self) -> dict[tuple[int, int], float] | None:
        """Return the critical margins by the ranks of their labels."""
        if self.critical_margins is None:
            return None
        if not isinstance(self.critical_margins, Mapping):
            raise OrdinateError(
                f"critical_margins: got {self.critical_margins!r}, expected labels and margins, as {{(1, 2): 0.8}}"
            )
        floor = check_positive(self.margin_floor, "margin_floor", or_zero=True)
        # an ensemble of scikit-learn may have put codes in the place of the labels that class_order names
        labels = self.ordered_classes_.tolist() if self.class_order is None else list(self.class_order)
        boundaries = {pair: rank for rank, pair in enumerate(pairwise(labels))}
        margins = {}
        for boundary, margin in self.critical_margins.items():
            rank = boundaries.get(boundary) if isinstance(boundary, tuple) else None
            if rank is None:
                raise OrdinateError(
                    f"critical_margins: got boundary {boundary!r}, expected two adjacent labels, lower first, of "
                    f"{' < '.join(map(repr, labels))}"
                )
            if check_positive(margin, f"critical_margins[{boundary!r}]") < floor:
                raise OrdinateError(
                    f"critical_margins[{boundary!r}]: got {margin}, expected at least margin_floor, {self.margin_floor}"
                )
            margins[rank, rank + 1] = margin
        return margins

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.int64]:
        ranks = super()._targets(y, reset=reset)
        if reset:
            self._margins_by_rank()  # an error in them comes before any work
        return ranks

    def _optimization(self) -> Optimization:
        if self.weight_decay is not None:
            return super()._optimization()
        return Optimization("adamw", self.learning_rate, self.reader_.weight_decay or DECAY)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        if self.method_.collapsed_boundaries:
            names = self.ordered_classes_
            boundaries = ", ".join(f"{names[low]} | {names[high]}" for low, high in self.method_.collapsed_boundaries)
            warnings.warn(
                f"the margins at the boundaries {boundaries} have collapsed to almost 0 (CLOC, Appendix B); "
                "end phase one earlier, or set margin_floor or critical_margins",
                UserWarning,
                stacklevel=4,
            )

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        return RankBatches(targets, self._samples_a_batch, distinct=2, seed=seed)


@contextmanager
def _as_named_here() -> Iterator[None]:
    """Errors of margins under the names that they have in this class."""
    try:
        yield
    except OrdinateError as error:
        names = {"margins": "critical_margins", "floor": "margin_floor"}
        name = str(error).split(":")[0].split("[")[0]
        raise OrdinateError(str(error).replace(name, names.get(name, name), 1)) from error
