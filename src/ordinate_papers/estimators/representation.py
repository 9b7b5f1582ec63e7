"""The baselines that learn a representation, behind scikit-learn's interface."""

from dataclasses import field, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Modality
from ordinate.data.registry import modality_of_reader
from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_choice, check_positive, check_whole
from ordinate.functional.similarity import unit
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.losses.supcr import SupCRLoss
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.regression import Regression
from ordinate.methods.staged import StagedMethod
from ordinate_papers.estimators.logistic import fit_logistic, linear
from ordinate_papers.methods.dino import DINO, DINORegression
from ordinate_papers.methods.drawn_views import DrawViews, dropout_views
from ordinate_papers.methods.pairs import OF_ANCHORS, PAIR_LOSSES, build_pair_loss
from ordinate_papers.methods.representation import Representation, RepresentationRegression, bins_of, usual_bins
from ordinate_papers.methods.simclr import NTXentLoss
from ordinate_papers.methods.simcse import SentencePairLoss

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


@estimator_dataclass
class RepresentationEstimator(EmbeddingEstimator):
    """What the two estimators share: the loss, its projection head, and the views that it compares.

    Args:
        temperature: of SupCon (0.1), SimCSE (0.05, for regressors), SimCLR (0.5) and SupCR (2.0, for classifiers), by
            default these.
        projection_dim: outputs of the projection head of SupCon and SimCLR, which is left out in prediction; None
            contrasts the embeddings themselves, as all other losses do (both are in SupCR, Table 7).
        patience: end a stage of training after this many epochs without a lower validation loss (training loss for
            SimCLR and DINO); None trains all epochs.
        images: how images are read and augmented; None for the defaults of :class:`~ordinate.ImageOptions`. Two views
            are drawn of each for SupCon, SupCR, SimCLR and DINO; for the last two the augmentation ``"auto"`` is
            ``"supcr"``, which is SimCLR's without the blur.
        volumes: how volumes are read; None for the defaults of :class:`~ordinate.VolumeOptions`. SimCLR and DINO
            do not support volumes, of which no views are drawn.
    """

    loss: str = "supcon"
    temperature: float | None = None
    projection_dim: int | None = 128

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.temperature is not None:
            if self.loss not in WITH_TEMPERATURE:
                raise OrdinateError(
                    "temperature", f"{self.temperature!r} for the loss {self.loss!r}, which has none", "None"
                )
            check_positive(self.temperature, "temperature")
        if self.projection_dim is not None:
            check_whole(self.projection_dim, "projection_dim")

    @property
    def method_name(self) -> str:
        return NAMES[self.loss]

    @property
    def unweighted(self) -> str | None:
        """Why samples cannot be weighted; None where the loss is a mean over anchors."""
        if self.loss in (*OF_ANCHORS, "supcr", SIMCSE):
            return None
        if self.loss in OF_VIEWS:
            return f"the loss {self.loss!r} compares views and knows no labelled samples"
        return f"the loss {self.loss!r} is of pairs of samples, none of which is the anchor"

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
        come_as_views = self.reader_.views(self._data_options, 2) is not None
        return self.reader_.pair_of_views() if self.loss in OF_VIEWS and not come_as_views else None

    @property
    def views_of_images(self) -> int:
        """Views of an image in a batch, where its augmentation draws any."""
        return 2 if self.loss in (*PROJECTED, *OF_VIEWS, "supcr") else 1

    def _options_of(self, modality: Modality) -> Any:
        options = super()._options_of(modality)
        if not isinstance(options, ImageOptions):
            return options
        if self.loss in OF_VIEWS and options.frozen:
            raise OrdinateError("frozen", "True", f"False for the loss {self.loss!r}, which needs two views")
        if self.loss in OF_VIEWS and self.train_encoder == "none":
            expected = f"'all' or a number of blocks for the loss {self.loss!r}, which needs two views"
            raise OrdinateError("train_encoder", "'none'", expected)
        if self.loss in OF_VIEWS and options.augmentation == "auto":
            return replace(options, augmentation="supcr")
        return options

    def _training_data(self, x: Tensor, y: Tensor) -> ArrayBatches | ViewBatches:
        if self.loss == SIMCSE and not self.reader_.has_dropout:
            raise OrdinateError("X", "no text", "text for the loss 'simcse', as its encoders have dropout")
        name = modality_of_reader(self.reader_).name
        drawn = self.reader_.pair_of_views() or self.reader_.views(self._data_options, 2)
        if self.loss in OF_VIEWS and drawn is None:
            raise OrdinateError("X", f"{name}, of which no views are drawn", f"other data for the loss {self.loss!r}")
        data = super()._training_data(x, y)
        if (
            self.loss in OF_VIEWS
            and isinstance(data, ViewBatches)
            and (data.views != 2 or not data.augmentation.changes)
        ):
            raise OrdinateError(
                name,
                f"{data.views} views of augmentation {data.augmentation.name!r}",
                f"two that differ for the loss {self.loss!r}",
            )
        return data


@estimator_dataclass
class RepresentationClassifier(RepresentationEstimator, RankClassifier):
    """Classify ranks from a representation that was learned by another loss than CLOC's or OTD's.

    Args:
        loss: ``"supcon"``; ``"siamese"``, ``"triplet"``, ``"quadruplet"`` (needs three ranks) or ``"n_pair"``, the
            networks of OTD's Table 4; ``"supcr"``, CLOC's RnC; ``"simclr"`` or ``"dino"``, which see no labels. See
            :mod:`ordinate_papers.methods`.
        head: ``"linear"``, a multinomial logistic regression on the embeddings, or ``"neighbours"``, whose nearest
            training embeddings vote. Both see embeddings of norm 1; those of SupCR, a loss of distances, are read by
            distance.
        n_neighbors: training embeddings that vote.
        weight_decay: by default 0.05 for images and volumes and 1 otherwise.

    Attributes:
        head_: what predicts from embeddings.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = RepresentationClassifier(loss="triplet", epochs=20, random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    head: str = "linear"
    n_neighbors: int = 3
    head_: nn.Module = field(init=False)

    usual_decay = 1.0

    def _check_parameters(self) -> None:
        check_choice(self.loss, LOSSES, "loss")
        check_choice(self.head, HEADS, "head")
        check_whole(self.n_neighbors, "n_neighbors")
        super()._check_parameters()

    def _build_method(self, encoder: nn.Module) -> StagedMethod:
        training = {"draw": self._draw(), "epochs": self._epochs(), **self._training_options()}
        if self.loss == "dino":
            return DINO(encoder, self.embedding_dim_, **training)
        loss = self._build_loss()
        return Representation(encoder, self.embedding_dim_, loss, projection_dim=self._projection_dim(), **training)

    def _batches(self, targets: NDArray[np.int64], seed: int) -> ShuffledBatches:
        if self.loss not in PAIR_LOSSES:
            return super()._batches(targets, seed)
        needed = 3 if self.loss == "quadruplet" else 2
        held = int((np.bincount(targets) > 1).sum())
        if held < needed:
            raise OrdinateError(
                "y", f"{held} classes of two samples or more", f"at least {needed} for the loss {self.loss!r}"
            )
        return RankBatches(targets, self._samples_per_batch, distinct=needed, seed=seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        embeddings, ranks = self._seen_by_head(self._embed(training.x)), training.y.long()
        weights = None if training.weights is None else training.weights.double()
        if self.head == "linear":
            self.head_ = fit_logistic(embeddings, ranks, len(self.ordered_classes_), weights)
        else:
            self.head_ = self._neighbours(embeddings.float().double(), ranks, weights)  # as a saved model holds them

    def _neighbours(self, embeddings: Tensor, ranks: Tensor, weights: Tensor | None) -> nn.Module:
        if self.loss != "supcr":
            return NeighbourVote(embeddings, ranks, len(self.ordered_classes_), self.n_neighbors, weights)
        shares = nn.functional.one_hot(ranks, len(self.ordered_classes_)).double()
        return NeighbourMean(embeddings, shares, self.n_neighbors, weights)

    def _seen_by_head(self, embeddings: Tensor) -> Tensor:
        return embeddings if self.loss == "supcr" else unit(embeddings)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        scores = self.head_(self._seen_by_head(embeddings))
        return scores.softmax(dim=1) if self.head == "linear" else scores

    def _tensors(self) -> dict[str, Tensor]:
        return {f"head.{name}": value for name, value in self.head_.state_dict().items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        if self.head == "linear":
            self.head_ = linear(tensors["head.weight"], tensors["head.bias"])
            return
        ranks = tensors["head.targets"].argmax(1) if self.loss == "supcr" else tensors["head.ranks"]
        weights = tensors.get("head.weights")  # where samples were weighted
        weights = None if weights is None else weights.double()
        self.head_ = self._neighbours(tensors["head.embeddings"].double(), ranks, weights)


@estimator_dataclass
class RepresentationRegressor(RepresentationEstimator, ContrastiveRegressor):
    """Predict continuous targets from a representation that SupCon, SimCSE, SimCLR or DINO learned.

    For SupCon, targets of one bin are one class (SupCR, Table 7 and Appendix D; SupReMix, Table 16); SimCLR and DINO
    see no targets (SupCR, Table 11). SimCSE (Gao et al., 2021), for text, makes two passes through the dropout of the
    encoder as positives, and with labels those of one bin too; with ``positives_above`` it contrasts the single texts
    of pairs instead (SupReMix, C.1).

    Args:
        loss: ``"supcon"``, ``"simcse"`` (for text alone), ``"simclr"`` or ``"dino"``.
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after it,
            ``"regularise"`` both from the start (not for DINO, whose encoder is an average).
        bin_size: of the classes of SupCon and SimCSE and of a head on bins, in units of y, one number or one per
            dimension; by default the smallest difference between two targets, or what makes 128 bins if that is more.
            The classes' are doubled from there until two bins hold two samples each.
        positives_above: of SimCSE, for pairs of texts with ``embedding_dim=None``: the texts of a pair are positives
            where its target lies above this, 2 in SupReMix; None contrasts the embeddings of pairs, in bins.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = RepresentationRegressor(bin_size=0.5, epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    validation_fraction: float | None = None
    patience: int | Literal["auto"] | None = "auto"
    positives_above: float | None = None
    linear: bool = field(default=False, init=False)  # what is compared is the representation
    imbalance: Imbalance | None = field(default=None, init=False)
    method_: Regression = field(init=False)

    def _check_parameters(self) -> None:
        check_choice(self.loss, (*LOSSES_OF_TARGETS, SIMCSE), "loss")
        super()._check_parameters()
        if self.positives_above is None:
            return
        if self.loss != SIMCSE:
            raise OrdinateError("positives_above", f"{self.positives_above!r} for the loss {self.loss!r}", "None")
        if self.embedding_dim is not None:
            expected = "None beside positives_above, for the features of the pairs' texts themselves"
            raise OrdinateError("embedding_dim", self.embedding_dim, expected)

    @property
    def _cut(self) -> float:
        """``positives_above`` among the targets that the method sees."""
        assert self.positives_above is not None  # noqa: S101  # as callers saw
        return float(self.positives_above - self.target_offset_[0])

    def _draw(self) -> DrawViews | None:
        return None if self.positives_above is not None else super()._draw()

    def _build_loss(self) -> nn.Module:
        if self.positives_above is None:
            return super()._build_loss()
        return SentencePairLoss(SIMCSE_TEMPERATURE if self.temperature is None else self.temperature)

    def _build_method(self, encoder: nn.Module) -> Regression:
        training = {"draw": self._draw(), **self._scheme_options()}
        if self.positives_above is not None:
            if self.reader_.sample_shape[0] != 2:
                raise OrdinateError(
                    "positives_above", self.positives_above, "None for samples that are no pairs of texts"
                )
            training["positives_above"] = self._cut
        if self.loss == "dino":
            return DINORegression(encoder, self.embedding_dim_, self.target_dim_, **training)
        return RepresentationRegression(
            encoder, self.embedding_dim_, self._build_loss(), self.target_dim_,
            projection_dim=self._projection_dim(), **training,
        )  # fmt: skip

    def _new_method(self, targets: Tensor) -> Regression:
        method = super()._new_method(targets)
        if isinstance(method, RepresentationRegression):
            method.fit_bins(targets)
        return cast("Regression", method)

    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        if self.positives_above is not None:
            above = (targets[:, 0] > self._cut).astype(np.int64)
            if not above.any():
                raise OrdinateError("positives_above", f"{self.positives_above!r}, which no target lies above")
            return RankBatches(above, self._samples_per_batch, required={1: 1}, seed=seed)
        if self.loss != "supcon":
            return super()._batches(targets, seed)
        labels = torch.from_numpy(targets)
        bins = bins_of(labels, *usual_bins(labels, self.bin_size)).numpy()
        sizes = np.bincount(bins)
        held = int((sizes > 1).sum())
        if held == 0 or len(sizes) == 1:
            raise OrdinateError(
                "bin_size",
                f"{self.bin_size!r}, which makes {len(sizes)} bins, {held} of two samples or more",
                "two bins and a pair in one of them for SupCon",
            )
        return RankBatches(bins, self._samples_per_batch, distinct=min(2, held), seed=seed)
