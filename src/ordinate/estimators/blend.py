"""The blend behind scikit-learn's interface, of ranks and of a continuous target."""

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from torch import Tensor, nn

from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.decisions import compare_rules
from ordinate.encoders.members import BlendEncoder
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.simple_models import MOST_PER_TREE
from ordinate.estimators.table_blend import Blend
from ordinate.heads.cumulative_link import fit_cumulative_link
from ordinate.heads.ridge import fit_ridge
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.time_budget import training_end
from ordinate.options import HeadLoss, Scheme

if TYPE_CHECKING:
    from ordinate.methods.members import RankMembers, TargetMembers

LEAST_PROBABILITY = 1e-6  # whose logarithm a loss takes
BOOSTED_TARGETS = {
    "learning_rate": 0.05, "max_iter": 400, "max_leaf_nodes": 63, "min_samples_leaf": 2, "l2_regularization": 1.0,
    "max_features": 0.4,
}  # fmt: skip
MOST_TRIED = 50  # columns tried for a split of a regression tree


@estimator_dataclass
class BlendClassifier(Blend, RankClassifier):
    """Classify ranks of a table by what predicts them best: networks, a cumulative link model and trees, blended.

    Networks are trained as one by cross-entropy, each without a fold of the samples, on which it is validated: early
    stopping, the shares of the parts and ``decision_scores_`` go by predictions of samples that were not seen, and none
    is lost to validation. The embedding holds those of the networks side by side, then a column of the linear model's
    score and the trees' probabilities, where they have a share.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = BlendClassifier(members=4, folds=4, epochs=30, random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist(), round(sum(model.shares_.values()), 6)
        ([0, 2], 1.0)
    """

    method_: "RankMembers" = field(init=False)

    loss_name = "logarithmic loss"

    @property
    def _num_classes(self) -> int:
        return len(self.ordered_classes_)

    def _build_method(self, encoder: nn.Module) -> "RankMembers":
        from ordinate.methods.members import RankMembers

        encoder = cast(BlendEncoder, encoder)
        return RankMembers(encoder, self._new_head(encoder), **self._training_options())

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        probabilities: Tensor = self.method_.head(embeddings)
        return probabilities

    def _losses(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        return -np.log(np.maximum(predictions[np.arange(len(y)), y], LEAST_PROBABILITY))

    def _fit_linear(self, x: Tensor, y: Tensor, weights: Tensor | None) -> nn.Sequential:
        return nn.Sequential(*fit_cumulative_link(x, y, self._num_classes, weights))

    def _forest(self, **options: Any) -> RandomForestClassifier:
        return RandomForestClassifier(min_samples_leaf=2, **options)

    def _boosting(self) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(random_state=0)

    def _out_of_bag(self, forest: RandomForestClassifier) -> NDArray[np.float64]:
        shares = np.zeros((len(forest.oob_decision_function_), self._num_classes))
        shares[:, forest.classes_] = forest.oob_decision_function_
        return shares

    def _absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        return np.abs(self.decide(predictions) - y).astype(np.float64)

    def _note_unseen(self, predictions: NDArray[np.float64], y: NDArray[Any], weights: Any) -> None:
        self.decision_scores_ = compare_rules(y, predictions, weights)


@estimator_dataclass
class BlendRegressor(Blend, ContrastiveRegressor):
    """Predict a continuous target from a table by what predicts it best: networks, ridge regression and trees, blended.

    Networks are trained as one by the squared error, each without a fold of the samples, on which it is validated:
    early stopping and the shares of the parts go by predictions of samples that were not seen, and none is lost to
    validation. The embedding holds those of the networks side by side, then what ridge regression and the trees
    predict, in deviations of the target, where they have a share.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = BlendRegressor(members=4, folds=4, epochs=30, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape[1] == model.embedding_dim_
        ((1,), True)
    """

    scheme: Scheme = field(default="regularise", init=False)
    head: str = field(default="linear", init=False)
    head_loss: HeadLoss = field(default="mse", init=False)
    bin_size: None = field(default=None, init=False)
    imbalance: Imbalance | None = field(default=None, init=False)
    epochs: int | None = None
    validation_fraction: float = 0.0
    method_: "TargetMembers" = field(init=False)

    multi_output = False
    loss_name = "squared error, in variances of the target,"
    errors_to_gain: ClassVar[dict[str, float]] = {"members": 1.0, "linear": 1.0, "boosting": 1.0, "trees": 1.0}

    def _build_method(self, encoder: nn.Module) -> "TargetMembers":
        from ordinate.methods.members import TargetMembers

        encoder = cast(BlendEncoder, encoder)
        return TargetMembers(encoder, self._new_head(encoder), **self._training_options())

    def _training_options(self) -> dict[str, Any]:
        options = super()._training_options()
        return {name: value for name, value in options.items() if name not in ("head_loss", "bin_size")}

    def _losses(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        squared: NDArray[np.float64] = np.square(predictions - y)[:, 0]
        return squared

    def _absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        errors: NDArray[np.float64] = np.abs(predictions - y)[:, 0] * float(self.method_.head.target_scale)
        return errors

    def _fit_linear(self, x: Tensor, y: Tensor, weights: Tensor | None) -> nn.Sequential:
        ridge = fit_ridge(x, y, weights)
        layer = nn.Linear(x.shape[1], 1).double()
        with torch.no_grad():
            layer.weight.copy_(ridge.linear.weight * ridge.target_scale)
            layer.bias.copy_(ridge.linear.bias * ridge.target_scale + ridge.target_mean)
        return nn.Sequential(layer.requires_grad_(False), nn.Identity())

    def _forest(self, **options: Any) -> ExtraTreesRegressor:
        return ExtraTreesRegressor(max_features=min(MOST_TRIED, self.reader_.sample_shape[0]), **options)

    def _bags(self, samples: int) -> bool:
        return samples > MOST_PER_TREE or training_end() is not None

    def _boosting(self) -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(**BOOSTED_TARGETS, random_state=0)

    def _out_of_bag(self, forest: ExtraTreesRegressor) -> NDArray[np.float64]:
        predicted: NDArray[np.float64] = forest.oob_prediction_[:, None]
        return predicted

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        super()._finish(training, validation)
        self.head_name_, self.head_, self.head_scores_ = "linear", self.method_.head, {}
