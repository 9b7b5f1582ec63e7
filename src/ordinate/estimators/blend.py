"""The blend with scikit-learn's interface: networks, a linear model and trees, for ranks and for targets."""

from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ordinate.blend.task import RankTask, TargetTask
from ordinate.decisions import compare_rules, predict_ranks
from ordinate.estimators.blend_method import Blend
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.rank_classifier import RankClassifier, check_rank_options
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.model.labels import RankLabels


@estimator_dataclass
class BlendParameters:
    """Parameters of the blend of networks, a linear model and trees, on a table or on features of images.

    Images pass a pretrained network once, in the size of ``data=ImageOptions(pretrained=True, size=...)``. The parts
    are trained on the 16, 32 or 64 principal components of its standardised features with the largest variance, each
    scaled to variance 1: as many as a linear model predicts samples best from that it has not seen. A further part are
    copies of the network that are fine-tuned on smaller images.

    Args:
        encoder: Name of the pretrained network for images; ``"auto"`` for ``"efficientnet_lite0"``. ``"auto"`` for a
            table.
        embedding_dim: Dimension d of the embedding of each member.
        members: Number of networks, which are trained as one, at least 2.
        folds: Number of parts of the samples, at most ``members``; each member trains without one of them, and
            validates on it.
        linear: Whether a linear model is blended with the members.
        trees: Whether a forest of random trees and boosted trees are blended with them.
        fine_tuned: Number of copies of the network that are fine-tuned on images, at most 5: each without a fifth of
            them, by which the weight of their mean is chosen. Tables have none.
        fine_tuned_side: Longer side, in pixels, of the images that they see; smaller images stay as they are.
        batch_size: Samples per batch; None for 128, and more if there are more than 8,192 samples, up to 1,024.
        epochs: Largest number of epochs; None for 1000, or as many as 6000 batches make if that is fewer.

    Attributes:
        shares_: Weights of ``"members"``, ``"linear"``, ``"trees"``, ``"boosting"`` and ``"fine_tuned"`` in the mean of
            their predictions: those of the smallest loss on samples that the parts have not seen.
        unseen_losses_: Loss of each part, and of the blend, on samples that it has not seen: the ranked probability
            score, or the mean squared error in variances of the target.
        unseen_errors_: Absolute errors (n,) of each part and of the blend on training samples that it has not seen, in
            ranks or in the target's units; NaN for those beyond 20,000, and for images that all fine-tuned networks
            have seen. The members' epochs and the weights of the parts were chosen by these samples, so that the
            blend's are a little low: by 5 to 9% with 40 to 60 samples. A saved model does not keep them.
    """

    embedding_dim: int | None = 16
    members: int = 8
    folds: int = 8
    linear: bool = True
    trees: bool = True
    fine_tuned: int = 1
    fine_tuned_side: int = 128
    epochs: int | None = None

    @property
    def shares_(self) -> dict[str, float]:
        shares: dict[str, float] = cast(EmbeddingEstimator, self).fact("shares_")
        return shares

    @property
    def unseen_losses_(self) -> dict[str, float]:
        losses: dict[str, float] = cast(EmbeddingEstimator, self).fact("unseen_losses_")
        return losses

    @property
    def unseen_errors_(self) -> dict[str, NDArray[np.float64]]:
        method = vars(self).get("method_")
        if method is None:
            raise AttributeError("unseen_errors_: a saved model does not keep them, and one before its fit has none")
        errors: dict[str, NDArray[np.float64]] = method.unseen_errors
        return errors


@estimator_dataclass
class BlendClassifier(BlendParameters, RankClassifier):
    """Classify ranks of tables and images by a blend of networks, a cumulative link model and trees.

    Networks are trained as one by cross-entropy, each without a fold of the samples, on which it is validated: early
    stopping, the weights of the parts and ``decision_scores_`` depend on predictions of samples that were not seen, and
    none is lost to validation. The embedding holds those of the networks side by side, then a column of the linear
    model's score and the trees' probabilities, if they have a weight.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = BlendClassifier(members=4, folds=4, epochs=30, random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist(), round(sum(model.shares_.values()), 6)
        ([0, 2], 1.0)
    """

    def new_method(self) -> "RankBlend":
        return RankBlend(self)

    @property
    def usual_decision(self) -> str:
        """The decision rule of the blend, on images as on tables."""
        return "median"


@estimator_dataclass
class BlendRegressor(BlendParameters, TargetRegressor):
    """Predict a continuous target from tables and images by a blend of networks, ridge regression and trees.

    Networks are trained as one by the squared error, each without a fold of the samples, on which it is validated:
    early stopping and the weights of the parts depend on predictions of samples that were not seen, and none is lost to
    validation. The embedding holds those of the networks side by side, then the predictions of ridge regression and the
    trees, in standard deviations of the target, if they have a weight.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = BlendRegressor(members=4, folds=4, epochs=30, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape[1] == model.embedding_dim_
        ((1,), True)
    """

    one_dimension: ClassVar[bool] = True

    def new_method(self) -> "TargetBlend":
        return TargetBlend(self)


class RankBlend(Blend):
    """A blend for ranks."""

    settings: BlendClassifier
    learning_rate = 0.012

    @property
    def task(self) -> RankTask:
        return RankTask(self.labels.outputs)

    def check(self) -> None:
        check_rank_options(self)
        super().check()

    def members_class(self) -> Any:
        from ordinate.methods.members import RankMembers

        return RankMembers

    def absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any], module: Any) -> NDArray[np.float64]:
        return np.abs(self.decide(predictions) - y).astype(np.float64)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the ranks (n,) that the model predicts from probabilities (n, C)."""
        return predict_ranks(probabilities, self.settings.rule_for(self.reader, cast(RankLabels, self.labels)))

    def note_unseen(
        self, predictions: NDArray[np.float64], y: NDArray[Any], weights: NDArray[np.float64] | None, fitted: Fitted
    ) -> None:
        fitted.facts["decision_scores_"] = compare_rules(y, predictions, weights)


class TargetBlend(Blend):
    """A blend for a continuous target."""

    settings: BlendRegressor
    learning_rate = 0.006
    task = TargetTask()

    def members_class(self) -> Any:
        from ordinate.methods.members import TargetMembers

        return TargetMembers

    def module(self, encoder: nn.Module, facts: Facts) -> Any:
        module = super().module(encoder, facts)
        module.head.standardise(facts.targets)
        return module

    def absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any], module: Any) -> NDArray[np.float64]:
        errors: NDArray[np.float64] = np.abs(predictions - y)[:, 0] * float(module.head.target_scale)
        return errors

    def finish(self, fitted: Fitted) -> nn.Module:
        fitted.facts |= {"head_name_": "linear", "head_scores_": {}}
        return super().finish(fitted)
