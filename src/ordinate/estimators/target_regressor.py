"""The base of all regressors: continuous targets, and the choice of the head."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from torch import Tensor, nn

from ordinate.checks import check_choice, check_whole
from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of
from ordinate.data.rows import Labels
from ordinate.data.training_batches import ArrayBatches
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.defaults import LEARNING_RATE, defaults_of
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.head_options import Head, HeadKind
from ordinate.estimators.method import Facts, Fitted, Method, embedded_part
from ordinate.estimators.questions import NewSamples
from ordinate.estimators.samples import CheckedSamples
from ordinate.functional.numerics import weighted_mean
from ordinate.heads.linear import REGRESSION_LOSSES, fit_ridge
from ordinate.heads.neighbours import NeighbourMean
from ordinate.methods.balance import Balance, BalanceOptions
from ordinate.model.labels import TargetLabels
from ordinate.model.model import Model
from ordinate.option_group import Settings
from ordinate.options import Scheme
from ordinate.training.optimization import Optimization
from ordinate.training.time_budget import training_end

if TYPE_CHECKING:
    from ordinate.methods.regression import Regression

MOST_EMBEDDED = 50_000  # Training samples that neighbours and ridge regression keep.


@estimator_dataclass
class TargetRegressor(RegressorMixin, EmbeddingEstimator):
    """Predict continuous targets from embeddings."""

    one_dimension: ClassVar[bool] = False  # Whether the method supports a single target alone.

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self.one_dimension
        return tags

    @property
    def shifts(self) -> bool:
        """Whether targets may be shifted by their mean without a change of the distances between them."""
        return getattr(self, "label_distance", "l1") in ("l1", "l2")

    def learn_labels(self, y: Labels) -> TargetLabels:
        """Return the labels of training samples, which training sees without their offset."""
        return TargetLabels.learn(y, shifts=self.shifts, one_dimension=self.one_dimension)

    @property
    def head_name_(self) -> str:
        return str(self.fact("head_name_"))

    @property
    def head_scores_(self) -> dict[str, float]:
        scores: dict[str, float] = self.fact("head_scores_")
        return scores

    def predict(self, X: NewSamples) -> NDArray[np.float64]:
        """Return (n,) or (n, p), predicted targets in the units of y."""
        return self._of_file(Model.predict, X)


@estimator_dataclass
class ContrastiveParameters:
    """Parameters of regressors that train an encoder by a contrastive loss, and a head on it.

    Args:
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after the
            encoder, ``"regularise"`` both from the start.
        head: Head that predicts from embeddings, see :class:`~ordinate.Head`; a string is its ``kind``.
        epochs: Epochs of the encoder and of the head, if the head is trained; one number for those of the encoder, and
            a quarter for the head.
        imbalance: Correction for rare targets, such as ``Imbalance`` of :mod:`ordinate_papers.estimators` with LDS, FDS
            or RankSim; None for none. LDS and FDS act on the head ``"linear"`` alone; ``"auto"`` is then that one.
    """

    scheme: Scheme = "linear_probe"
    head: Head | str = Head()
    epochs: int | tuple[int, int] = (400, 100)
    imbalance: BalanceOptions | None = None


class TargetMethod(Method):
    """What methods of continuous targets have in common."""

    def check(self) -> None:
        if not isinstance(self.imbalance, BalanceOptions | None):
            raise OrdinateError("imbalance", repr(self.imbalance), "Imbalance(...) or None")

    @property
    def imbalance(self) -> BalanceOptions | None:
        """The correction for rare targets; None for none."""
        return getattr(self.settings, "imbalance", None)

    @property
    def head(self) -> Head:
        """The options of the head."""
        given = self.settings.head
        if isinstance(given, Head):
            return given
        return Head(given)

    def weight_decay(self, reader: Reader) -> float:
        return 1e-4

    def usual_patience(self, reader: Modality | Reader) -> int | None:
        """Return the default number of epochs of early stopping."""
        return None if self.training.follows_paper else defaults_of(reader).patience

    def patience(self, facts: Facts) -> int | None:
        if self.training.patience != "auto":
            return self.training.patience
        return self.usual_patience(facts.reader) if facts.is_validated else None

    def validation_share(self, samples: CheckedSamples, few: int = 500) -> float:
        share = self.training.validation_fraction
        if share != "auto":
            return share
        if self.training.follows_paper:
            return 0.0
        stops = self.training.patience is not None
        if self.training.patience == "auto":
            stops = self.usual_patience(modality_of(samples.X, self.settings.data)) is not None
        return 0.2 if stops and len(samples) < few else 0.1

    def balance(self, facts: Facts) -> Balance | None:
        """Return the part that makes up for rare targets; None without one."""
        if self.imbalance is None:
            return None
        return self.imbalance.build(facts.targets, facts.embedding_dim)

    def is_table(self, fitted: Fitted) -> bool:
        """Return whether samples are a table in memory, and are not trained on as in a paper."""
        return isinstance(fitted.training.x, Tensor) and self.usual_patience(fitted.reader) is not None

    def finish(self, fitted: Fitted) -> nn.Module:
        name, head = self._choose(fitted)
        fitted.facts["head_name_"] = name
        return self._refit(fitted, name, head)

    def _choose(self, fitted: Fitted) -> tuple[str, nn.Module]:
        """Choose the head by the absolute errors of the validation samples."""
        validation = fitted.validation
        names = self._candidates(fitted)
        fitted.facts["head_scores_"] = {}
        if validation is None:
            return names[0], self._heads(fitted, names[:1])[names[0]]
        heads = self._heads(fitted, names)
        with torch.no_grad():
            seen = fitted.embed(validation.x)
            predicted = {name: head(seen) for name, head in heads.items()}
        errors = {name: (each - validation.y).abs().mean(1) for name, each in predicted.items()}
        for name, each in errors.items():
            fitted.facts["head_scores_"][name] = float(weighted_mean(each, validation.weights))
        chosen = best_head(errors, validation.weights, usual=names[0])
        return chosen, heads[chosen]

    def candidates(self) -> tuple[str, ...]:
        """Return the names of the heads to choose from, the one to take without validation samples first."""
        if self.head.kind != "auto":
            return (self.head.kind,)
        return ("linear", "ridge", "neighbours")

    def _candidates(self, fitted: Fitted) -> tuple[str, ...]:
        """Return the candidates without a linear head whose training has not begun."""
        names = self.candidates()
        if head_is_trained(fitted.module):
            return names
        if names == ("linear",):
            warn(
                "the time was over before the linear head was trained: ridge regression on the embeddings replaces "
                "it; give more time, or head='ridge'"
            )
        return tuple(name for name in names if name != "linear") or ("ridge",)

    def _heads(self, fitted: Fitted, names: Sequence[str]) -> dict[str, nn.Module]:
        """Return heads on the embeddings of training samples, by name."""
        embeddings, targets, weights = embedded_part(fitted, MOST_EMBEDDED)
        targets = targets.double()
        heads: dict[str, nn.Module] = {}
        for name in names:
            if name == "linear":
                heads[name] = fitted.module.head
            elif name == "ridge":
                heads[name] = fit_ridge(embeddings, targets, weights).float().double()  # Saved models use float32.
            else:
                heads[name] = NeighbourMean(
                    embeddings, targets, self.head.n_neighbors, weights, self.similarity(fitted)
                )
        return heads

    def _refit(self, fitted: Fitted, name: str, head: nn.Module, least_rate: float = 0.01) -> nn.Module:
        """Train on the validated samples too, if training stopped early by a share of a table; return the head.

        A learning rate below ``least_rate`` of the highest one would change nothing.
        """
        module, validation = fitted.module, fitted.validation
        first, *rest = module.stages
        if validation is None or not fitted.held_out_by_share or not self.training.refit or not module.best_epochs:
            return head
        is_fine_tuned = bool(rest) and getattr(self.settings, "scheme", "") == "fine_tune"
        if first.patience is None or is_fine_tuned or not self.is_table(fitted):
            return head
        training = fitted.training
        x, y = torch.cat([training.x, validation.x]), torch.cat([training.y, validation.y])
        everything = ArrayBatches(x, y, fitted.all_weights)
        best, highest = module.best_epochs[0], first.optimization.learning_rate
        rate = first.optimization.learning_rate_at(best / first.epochs)
        if rate > least_rate * highest and training_end() is None:
            falling = replace(first.optimization, learning_rate=rate, schedule="cosine", warmup=0.0)
            epochs = math.ceil(self.training.refit * best)
            again = replace(first, epochs=epochs, optimization=falling, patience=None)
            if name != "linear":
                rest = []
            fitted.train_again((again, *rest), everything, len(module.stages))
        fitted.training = everything
        return self._heads(fitted, (name,))[name]


class ContrastiveMethod(TargetMethod):
    """What methods have in common that train an encoder by a contrastive loss, and a head on it."""

    def check(self) -> None:
        super().check()
        if not isinstance(self.settings.head, Head):
            check_choice(self.settings.head, get_args(HeadKind), "head")
        _, of_head = two_epochs(self.settings.epochs)
        if of_head == 0 and not self.is_solved:
            raise OrdinateError("epochs", "0 of the head", "at least 1 for a head that is trained")

    @property
    def is_solved(self) -> bool:
        """Whether the head need not be trained: ridge regression and neighbours of a frozen encoder are exact."""
        head = self.head
        if head.kind == "auto":
            needs_training = self.imbalance is not None and self.imbalance.needs_trained_head
            return self.settings.scheme == "linear_probe" and head.loss in REGRESSION_LOSSES and not needs_training
        return head.kind != "linear" and self.settings.scheme == "linear_probe"

    def candidates(self) -> tuple[str, ...]:
        if self.head.kind != "auto":
            return (self.head.kind,)
        if self.is_solved:
            return ("ridge", "neighbours")
        if self.imbalance is not None and self.imbalance.needs_trained_head:
            return ("linear",)
        return ("ridge", "linear", "neighbours")

    def scheme_options(self, facts: Facts) -> Settings:
        """Return the options that all modules of this kind share, by name."""
        settings, head = self.settings, self.head
        of_encoder, of_head = two_epochs(settings.epochs)
        if self.is_solved:
            of_head = 0
        options = {
            **self.stage_options(facts),
            "head_loss": head.loss,
            "bin_size": head.bin_size,
            "scheme": settings.scheme,
            "epochs": (of_encoder, of_head),
        }
        if not self.training.follows_paper:
            # On frozen embeddings, classifiers of many bins need large weights.
            factor = 10
            if settings.scheme == "linear_probe" and head.loss not in REGRESSION_LOSSES:
                factor = 100
            rate = self.training.learning_rate or LEARNING_RATE
            options["head_optimization"] = Optimization("adamw", factor * rate, 0.0)
        return options


def head_is_trained(module: "Regression") -> bool:
    """Return whether the head is trained, and its stage had a whole epoch before the time for it was over."""
    last = len(module.stages) - 1
    if not module.trains_head:
        return False
    return last == 0 or any(epoch["stage"] == last and "passed" not in epoch for epoch in module.history)


def best_head(
    errors: Mapping[str, Float[Tensor, " n"]], weights: Float[Tensor, " n"] | None = None, usual: str = "ridge"
) -> str:
    """Return the name of the head to use, by the absolute errors of validation samples.

    That is the usual one, unless the errors of another are lower by more than a standard error of the difference; of
    several such heads the one with the lowest errors.

    Example:
        >>> ridge, linear = torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([1.2, 0.6, 0.9, 1.2])
        >>> best_head({"linear": linear, "ridge": ridge}), best_head({"linear": linear - 0.3, "ridge": ridge})
        ('ridge', 'linear')
    """
    mean = {name: float(weighted_mean(each, weights)) for name, each in errors.items()}
    better = [usual]
    for name, each in errors.items():
        gains = errors[usual] - each
        deviation = float(weighted_mean((gains - weighted_mean(gains, weights)).square(), weights)) ** 0.5
        if mean[usual] - mean[name] > deviation / len(gains) ** 0.5:
            better.append(name)
    return min(better, key=mean.__getitem__)


def with_head(epochs: int) -> tuple[int, int]:
    """Return the epochs of an encoder, and a quarter of them for its head."""
    return epochs, max(1, epochs // 4)


def two_epochs(
    epochs: object, least: int = 0, *, divide: Callable[[int], tuple[int, int]] = with_head
) -> tuple[int, int]:
    """Return the epochs of two stages, each at least ``least``; one number is divided into two."""
    if isinstance(epochs, int | np.integer):
        return divide(check_whole(epochs, "epochs"))
    if not isinstance(epochs, tuple | list | np.ndarray) or len(epochs) != 2:
        raise OrdinateError("epochs", repr(epochs), "a whole number, or two such as (20, 20), one per stage")
    first, second = epochs
    return check_whole(first, "epochs", least), check_whole(second, "epochs", least)
