"""Baselines that learn a representation, with scikit-learn's interface."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.checks import check_choice, check_positive, check_whole
from ordinate.counts import counted
from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of_reader
from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.data.training_batches import ViewBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Batches, Facts, Fitted, Method
from ordinate.estimators.plain import RankBaseline
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.target_regressor import ContrastiveMethod, ContrastiveParameters, TargetRegressor
from ordinate.functional.similarity import unit
from ordinate.heads.linear import HeadConfig
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.losses.supcr import SupCRLoss
from ordinate.model.labels import TargetLabels
from ordinate_papers.estimators.logistic import fit_logistic, linear
from ordinate_papers.methods.dino import DINO, DINORegression
from ordinate_papers.methods.drawn_views import DrawViews, dropout_views
from ordinate_papers.methods.pair_views import pair_of_views
from ordinate_papers.methods.pairs import PAIR_LOSSES, build_pair_loss
from ordinate_papers.methods.representation import Representation, RepresentationRegression, bins_of, usual_bins
from ordinate_papers.methods.simclr import NTXentLoss
from ordinate_papers.methods.simcse import SentencePairLoss


@dataclass(frozen=True, kw_only=True)
class LossTraits:
    """What a loss of representations needs and knows.

    Args:
        title: Name of the method.
        of_ranks: Whether it is a loss for classifiers.
        of_targets: Whether it is a loss for regressors.
        of_views: Whether it compares views of a sample, and knows no labels.
        of_anchors: Whether its terms have an anchor each, whose weight they can take.
        views: Views of an image in a batch.
        projected: Whether it may be a loss of projections of the embeddings.
        temperature: Temperature of its paper; None for a loss without one.
    """

    title: str
    of_ranks: bool = True
    of_targets: bool = False
    of_views: bool = False
    of_anchors: bool = False
    views: int = 1
    projected: bool = False
    temperature: float | None = None


LOSSES: Mapping[str, LossTraits] = {
    "supcon": LossTraits(title="SupCon", of_targets=True, of_anchors=True, views=2, projected=True, temperature=0.1),
    "siamese": LossTraits(title="Siamese network"),
    "triplet": LossTraits(title="Triplet network", of_anchors=True),
    "quadruplet": LossTraits(title="Quadruplet network"),
    "n_pair": LossTraits(title="N-pair network", of_anchors=True),
    "supcr": LossTraits(title="RnC", of_anchors=True, views=2, temperature=2.0),
    "simclr": LossTraits(title="SimCLR", of_targets=True, of_views=True, views=2, projected=True, temperature=0.5),
    "dino": LossTraits(title="DINO", of_targets=True, of_views=True, views=2),
    # SimCSE is for text only, because its views are two dropouts (Gao et al., 2021).
    "simcse": LossTraits(title="SimCSE", of_ranks=False, of_targets=True, of_anchors=True, temperature=0.05),
}


@estimator_dataclass
class RepresentationParameters:
    """Parameters of the estimators that learn a representation by another loss.

    Args:
        temperature: Temperature of SupCon (0.1), SimCSE (0.05, for regressors), SimCLR (0.5) and SupCR (2.0, for
            classifiers), > 0; None for these.
        projection_dim: Outputs of the projection head of SupCon and SimCLR, which is left out in prediction; None
            contrasts the embeddings themselves, as all other losses do (both are in SupCR, Table 7).
    """

    loss: str = "supcon"
    temperature: float | None = None
    projection_dim: int | None = 128


@estimator_dataclass
class RepresentationClassifier(RepresentationParameters, RankClassifier):
    """Classify ranks from a representation that was learned by another loss than CLOC's or OTD's.

    Args:
        loss: ``"supcon"``; ``"siamese"``, ``"triplet"``, ``"quadruplet"`` (needs three ranks) or ``"n_pair"``, the
            networks of OTD's Table 4; ``"supcr"``, CLOC's RnC; ``"simclr"`` or ``"dino"``, which see no labels. See
            :mod:`ordinate_papers.methods`.
        head: ``"linear"``, a multinomial logistic regression on the embeddings, or ``"neighbours"``, whose nearest
            training embeddings vote. Both see embeddings of norm 1; those of SupCR, a loss of distances, are read by
            distance.
        n_neighbors: Number of training embeddings that vote.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

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
    epochs: int | None = None

    def new_method(self) -> "RankRepresentation":
        return RankRepresentation(self)


@estimator_dataclass
class RepresentationRegressor(RepresentationParameters, ContrastiveParameters, TargetRegressor):
    """Predict continuous targets from a representation that SupCon, SimCSE, SimCLR or DINO learned.

    For SupCon, targets of one bin are one class (SupCR, Table 7 and Appendix D; SupReMix, Table 16); SimCLR and DINO
    see no targets (SupCR, Table 11). SimCSE (Gao et al., 2021), for text, makes two passes through the dropout of the
    encoder as positives, and with labels those of one bin too; with ``positives_above`` it contrasts the single texts
    of pairs instead (SupReMix, C.1).

    Args:
        loss: ``"supcon"``, ``"simcse"`` (for text alone), ``"simclr"`` or ``"dino"``.
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after it,
            ``"regularise"`` both from the start (not for DINO, whose encoder is an average).
        head: Head that predicts from embeddings, see :class:`~ordinate.Head`; a string is its ``kind``. Its bin size is
            also that of the classes of SupCon and SimCSE, doubled from the default until two bins hold two samples
            each.
        positives_above: Target above which the texts of a pair are positives for SimCSE with ``embedding_dim=None``, 2
            in SupReMix; None contrasts the embeddings of pairs, in bins.

    Example:
        >>> import numpy as np
        >>> from ordinate import Head
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = RepresentationRegressor(head=Head(bin_size=0.5), epochs=(20, 20), random_state=0)
        >>> model.fit(X, 10 * X[:, 0]).predict([[0.5]]).shape
        (1,)
    """

    positives_above: float | None = None

    def new_method(self) -> "TargetRepresentation":
        return TargetRepresentation(self)


class RepresentationMethod(Method):
    """What the methods of both estimators share: the loss, its projection head, and the views that it compares."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator)
        loss = estimator.loss
        self.traits = LOSSES.get(loss, LossTraits(title=str(loss)))
        self.name, self.views = self.traits.title, self.traits.views
        if self.traits.of_views:
            self.unweighted = f"the loss {loss!r} compares views and knows no labelled samples"
        elif not self.traits.of_anchors:
            self.unweighted = f"the loss {loss!r} is of pairs of samples, none of which is the anchor"

    def check_representation(self) -> None:
        """Raise an error if a parameter of the representation cannot be used."""
        settings = self.settings
        if settings.temperature is not None:
            if self.traits.temperature is None:
                got = f"{settings.temperature!r} for the loss {settings.loss!r}, which has none"
                raise OrdinateError("temperature", got, "None")
            check_positive(settings.temperature, "temperature")
        if settings.projection_dim is not None:
            check_whole(settings.projection_dim, "projection_dim")

    def build_loss(self) -> nn.Module:
        """Return the loss of embeddings and labels."""
        loss, temperature = self.settings.loss, self.loss_temperature()
        if temperature is None:
            return build_pair_loss(loss)
        if loss == "simclr":
            return NTXentLoss(temperature)
        if loss == "supcr":
            return SupCRLoss(temperature=temperature)
        return build_pair_loss("supcon", temperature)

    def loss_temperature(self) -> float | None:
        """Return the temperature of the loss; None for a loss without one."""
        if self.settings.temperature is None:
            return self.traits.temperature
        return self.settings.temperature

    def projection_dim(self) -> int | None:
        """Return the outputs of the projection head; None for none."""
        return self.settings.projection_dim if self.traits.projected else None

    def draw(self, reader: Reader) -> DrawViews | None:
        """Return a function that draws two views of a sample; None if samples come as views."""
        if self.settings.loss == "simcse":
            return dropout_views
        if not self.traits.of_views or reader.views(self.data_options(modality_of_reader(reader)), 2) is not None:
            return None
        return pair_of_views(reader)

    def data_options(self, modality: Modality) -> Any:
        options, loss = super().data_options(modality), self.settings.loss
        if not self.traits.of_views or not isinstance(options, ImageOptions):
            return options
        if options.frozen:
            raise OrdinateError("frozen", "True", f"False for the loss {loss!r}, which needs two views")
        if self.training.train_encoder == "none":
            expected = f"'all' or a number of blocks for the loss {loss!r}, which needs two views"
            raise OrdinateError("train_encoder", "'none'", expected)
        if options.augmentation == "auto":
            return replace(options, augmentation="supcr")
        return options

    def check_samples(self, reader: Reader, training: Batches) -> None:
        self.check_reader(reader)
        if not self.traits.of_views or not isinstance(training, ViewBatches):
            return
        if training.views != 2 or not training.augmentation.changes:
            got = f"{counted(training.views, 'view')} of augmentation {training.augmentation.name!r}"
            raise OrdinateError("data", got, f"two that differ for the loss {self.settings.loss!r}")

    def check_reader(self, reader: Reader) -> None:
        """Raise an error if the loss cannot compare views of such samples."""
        loss = self.settings.loss
        if loss == "simcse" and not reader.has_dropout:
            raise OrdinateError("X", "no text", "text for the loss 'simcse', as its encoders have dropout")
        if self.traits.of_views and not (
            pair_of_views(reader) or reader.views(self.data_options(modality_of_reader(reader)), 2)
        ):
            name = modality_of_reader(reader).name
            raise OrdinateError("X", f"{name}, of which no views are drawn", f"other data for the loss {loss!r}")


class RankRepresentation(RepresentationMethod, RankBaseline):
    """How a representation is learned for ranks."""

    usual_decay = 1.0
    settings: RepresentationClassifier

    def check(self) -> None:
        settings = self.settings
        check_choice(settings.loss, [name for name, traits in LOSSES.items() if traits.of_ranks], "loss")
        check_choice(settings.head, ("linear", "neighbours"), "head")
        check_whole(settings.n_neighbors, "n_neighbors")
        super().check()
        self.check_representation()

    def module(self, encoder: nn.Module, facts: Facts) -> Any:
        training = {"draw": self.draw(facts.reader), "epochs": self.epochs(facts), **self.stage_options(facts)}
        if self.settings.loss == "dino":
            return DINO(encoder, facts.embedding_dim, **training)
        loss = self.build_loss()
        return Representation(encoder, facts.embedding_dim, loss, projection_dim=self.projection_dim(), **training)

    def batches(self, targets: NDArray[Any], batch_size: int, seed: int) -> ShuffledBatches:
        loss = self.settings.loss
        if loss not in PAIR_LOSSES:
            return super().batches(targets, batch_size, seed)
        needed = 3 if loss == "quadruplet" else 2
        held = int((np.bincount(targets) > 1).sum())
        if held < needed:
            expected = f"at least {needed} for the loss {loss!r}"
            raise OrdinateError("y", f"{counted(held, 'class', 'classes')} of two samples or more", expected)
        return RankBatches(targets, batch_size, distinct=needed, seed=seed)

    def predictor(self, fitted: Fitted) -> nn.Module:
        by_distance = self.settings.loss == "supcr"
        embeddings, ranks = fitted.embed(fitted.training.x), fitted.training.y.long()
        if not by_distance:
            embeddings = unit(embeddings)
        weights = fitted.training.weights
        if weights is not None:
            weights = weights.double()
        outputs = self.labels.outputs
        if self.settings.head == "linear":
            head: nn.Module = fit_logistic(embeddings, ranks, outputs, weights)
            return RepresentationHead(head, by_distance=by_distance)
        embeddings = embeddings.float().double()  # Saved models use float32.
        if by_distance:
            shares = nn.functional.one_hot(ranks, outputs).double()
            head = NeighbourMean(embeddings, shares, self.settings.n_neighbors, weights)
        else:
            head = NeighbourVote(embeddings, ranks, outputs, self.settings.n_neighbors, weights)
        return RepresentationHead(head, by_distance=by_distance)


class RepresentationHead(nn.Module):
    """Probabilities of ranks from embeddings of norm 1, or by distance from embeddings as they are.

    Args:
        head: Linear layer to a score per rank, or neighbours that vote.
        by_distance: Whether embeddings stay as they are.
    """

    def __init__(self, head: nn.Module, *, by_distance: bool) -> None:
        super().__init__()
        self.head = head
        self.by_distance = by_distance

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        if not self.by_distance:
            embeddings = unit(embeddings)
        scores: Tensor = self.head(embeddings)
        if isinstance(self.head, nn.Linear):
            return scores.softmax(dim=1)
        return scores

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the tensors."""
        config: HeadConfig = {"head": type(self.head).__name__, "by_distance": self.by_distance}
        if isinstance(self.head, NeighbourMean | NeighbourVote):
            config |= self.head.config()
        return config

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "RepresentationHead":
        """Return the predictor of a saved model."""
        tensors = {name.removeprefix("head."): each for name, each in tensors.items()}
        kind = check_choice(config["head"], ("Linear", "NeighbourMean", "NeighbourVote"), "head")
        if kind == "Linear":
            head: nn.Module = linear(tensors["weight"], tensors["bias"])
        elif kind == "NeighbourMean":
            head = NeighbourMean.restore(config, tensors)
        else:
            head = NeighbourVote.restore(config, tensors)
        return cls(head, by_distance=config["by_distance"])


class TargetRepresentation(RepresentationMethod, ContrastiveMethod):
    """How a representation is learned for continuous targets."""

    settings: RepresentationRegressor

    def check(self) -> None:
        settings = self.settings
        check_choice(settings.loss, [name for name, traits in LOSSES.items() if traits.of_targets], "loss")
        super().check()
        self.check_representation()
        if settings.imbalance is not None:
            raise OrdinateError(
                "imbalance", repr(settings.imbalance), "None, as these losses know no weights of labels"
            )
        if settings.positives_above is None:
            return
        if settings.loss != "simcse":
            got = f"{settings.positives_above!r} for the loss {settings.loss!r}"
            raise OrdinateError("positives_above", got, "None")
        if settings.embedding_dim is not None:
            expected = "None with positives_above, for the features of the pairs' texts themselves"
            raise OrdinateError("embedding_dim", settings.embedding_dim, expected)

    def cut(self) -> float:
        """Return ``positives_above`` among the targets that the method sees."""
        return float(self.settings.positives_above - cast(TargetLabels, self.labels).offset[0])

    def draw(self, reader: Reader) -> DrawViews | None:
        if self.settings.positives_above is not None:
            return None
        return super().draw(reader)

    def build_loss(self) -> nn.Module:
        temperature = self.loss_temperature()
        if self.settings.positives_above is None or temperature is None:
            return super().build_loss()
        return SentencePairLoss(temperature)

    def module(self, encoder: nn.Module, facts: Facts) -> Any:
        settings = self.settings
        training = {"draw": self.draw(facts.reader), **self.scheme_options(facts)}
        if settings.positives_above is not None:
            if facts.reader.sample_shape[0] != 2:
                expected = "None for samples that are no pairs of texts"
                raise OrdinateError("positives_above", settings.positives_above, expected)
            training["positives_above"] = self.cut()
        if settings.loss == "dino":
            module: Any = DINORegression(encoder, facts.embedding_dim, facts.outputs, **training)
        else:
            module = RepresentationRegression(
                encoder,
                facts.embedding_dim,
                self.build_loss(),
                facts.outputs,
                projection_dim=self.projection_dim(),
                **training,
            )
        module.head.standardise(facts.targets)
        if isinstance(module, RepresentationRegression):
            module.fit_bins(facts.targets)
        return module

    def batches(self, targets: NDArray[Any], batch_size: int, seed: int) -> ShuffledBatches:
        settings = self.settings
        if settings.positives_above is not None:
            above = (targets[:, 0] > self.cut()).astype(np.int64)
            if not above.any():
                raise OrdinateError("positives_above", f"{settings.positives_above!r}, which no target lies above")
            return RankBatches(above, batch_size, required={1: 1}, seed=seed)
        if settings.loss != "supcon":
            return super().batches(targets, batch_size, seed)
        labels = torch.from_numpy(targets)
        bin_size = self.head.bin_size
        bins = bins_of(labels, *usual_bins(labels, bin_size)).numpy()
        sizes = np.bincount(bins)
        held = int((sizes > 1).sum())
        if held == 0 or len(sizes) == 1:
            got = f"{bin_size!r}, which makes {counted(len(sizes), 'bin')}, {held} of two samples or more"
            raise OrdinateError("bin_size", got, "two bins and a pair in one of them for SupCon")
        return RankBatches(bins, batch_size, distinct=min(2, held), seed=seed)
