"""Prediction from tables: networks trained as one, a linear model and trees, each by what it has shown."""

import hashlib
import time
import warnings
from abc import abstractmethod
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from ordinate.checks import check_flag, check_share
from ordinate.data.registry import modality_of_reader
from ordinate.data.rows import random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.tables.features import TableFeatures
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.members import BlendEncoder, MemberEncoder, MemberLinear
from ordinate.encoders.trees import BoostedTrees, Trees
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.holdout import check_groups
from ordinate.estimators.linear_columns import MOST_MEASURED
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.sample_weights import CheckedSamples
from ordinate.estimators.shares import assign_folds, blend, choose_shares
from ordinate.estimators.simple_models import (
    FEWEST_TREES,
    FOREST,
    SimpleModels,
    arrays,
    boosting_folds,
    filled_in,
    grow,
    leaves_time,
    unseen_by_fold,
)
from ordinate.functional.inputs import check_whole
from ordinate.heads.blend import BlendHead
from ordinate.heads.cumulative_link import CumulativeLink
from ordinate.torchrun import joined_processes

if TYPE_CHECKING:
    from ordinate.methods.members import Members

SMALLEST_BATCH, LARGEST_BATCH = 64, 1024  # usual ones: more samples allow longer steps
MOST_PERIODIC = 100  # numbers that get a periodic embedding, which takes memory and time for each
LEAST_UNITS = 4  # samples, or groups of them
USUAL_EPOCHS, MOST_BATCHES = 1000, 6000  # of training, the fewer


@estimator_dataclass
class Blend(EmbeddingEstimator):
    """Members, a linear model and trees on a table, blended.

    Args:
        encoder: ``"auto"``, the members.
        embedding_dim: d of the embedding of each member.
        members: networks that are trained as one.
        folds: parts of the samples; each member trains without one of them, and validates on it.
        linear: blend a linear model with the members.
        trees: blend a forest of random trees with them, and boosted trees, where either gains by more than two standard
            errors (of targets one).
        batch_size: samples per batch; by default 64, and more where there are more than 4,096, up to 1,024.
        epochs: most of them; by default 1000, or as many as 6000 batches make if that is fewer.
        patience: end training after this many epochs without a lower validation loss, and go back to the best.
        refit: share of the epochs up to the best one for which all members then train on all samples, while the
            learning rate falls to 0; 0 for none.
        weight_decay: by default 0.1.
        validation_fraction: samples held out to measure on; members validate on their folds in any case.

    Attributes:
        shares_: of ``"members"``, ``"linear"``, ``"trees"`` and ``"boosting"`` in the mean of their predictions.
        unseen_losses_: of each of them, and of the blend, on samples that it has not seen: minus the mean logarithm
            of the true rank's probability, or the mean squared error.
        unseen_errors_: absolute errors (n,) of each of them and of the blend on training samples that it has not seen,
            in ranks or in the target's units; NaN for those beyond 20,000. The members' epochs and the shares were
            chosen by these samples, so that the blend's are a little low: by 5 to 9% with 40 to 60 samples. A saved
            model does not keep them.
    """

    train_encoder: None = field(default=None, init=False)
    encoder_learning_rate: None = field(default=None, init=False)
    images: None = field(default=None, init=False)
    volumes: None = field(default=None, init=False)
    text: None = field(default=None, init=False)
    series: None = field(default=None, init=False)
    embedding_dim: int = 16
    members: int = 16
    folds: int = 8
    linear: bool = True
    trees: bool = True
    epochs: int | None = None
    patience: int | Literal["auto"] | None = 40
    refit: float = 0.2
    validation_fraction: float = 0.0
    method_: "Members" = field(init=False)

    loss_name = "loss"
    # the parts in the order in which their shares are chosen, and the standard errors by which each must gain; trees of
    # ranks often do by chance
    errors_to_gain: ClassVar[dict[str, float]] = {"members": 1.0, "linear": 1.0, "trees": 2.0, "boosting": 2.0}

    @property
    def _num_classes(self) -> int | None:
        """C of ranks, None of targets."""
        return None

    @abstractmethod
    def _losses(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the loss (n,) of each sample, of probabilities or of standardised targets."""

    @abstractmethod
    def _fit_linear(self, x: Tensor, y: Tensor, weights: Tensor | None) -> nn.Sequential:
        """Return a linear layer to one column, and what the head makes of that."""

    @abstractmethod
    def _forest(self, **options: Any) -> Any:
        """Return a forest of scikit-learn to fit."""

    def _bags(self, samples: int) -> bool:
        """Whether each tree of a forest sees a bag of the samples, and is measured on the others."""
        return True

    @abstractmethod
    def _boosting(self) -> Any:
        """Return boosted trees of scikit-learn to fit."""

    @abstractmethod
    def _out_of_bag(self, forest: Any) -> NDArray[np.float64]:
        """Return what the trees of a fitted forest predict of samples that are not in their bags."""

    @abstractmethod
    def _absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the absolute error (n,) of what the model predicts by these, in ranks or in the target's units."""

    def _note_unseen(self, predictions: NDArray[np.float64], y: NDArray[Any], weights: Any) -> None:
        """Measure the blend on samples that its parts have not seen."""

    @property
    def method_name(self) -> str:
        return "Blend"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.encoder != "auto":
            raise OrdinateError("encoder", repr(self.encoder), "'auto', the members", "OrdinalClassifier trains others")
        check_whole(self.embedding_dim, "embedding_dim")
        check_whole(self.members, "members", least=2)
        if check_whole(self.folds, "folds", least=2) > self.members:
            raise OrdinateError("folds", self.folds, f"at most the members, {self.members}")
        if self.epochs is not None:
            check_whole(self.epochs, "epochs")
        check_share(self.refit, "refit", or_one=True)
        for name in ("linear", "trees"):
            check_flag(getattr(self, name), name)
        if self.devices not in (None, 1) or self.cluster is not None or joined_processes() > 1:
            raise OrdinateError("devices", "several", "one: a table's members train in seconds")

    def _read_data(
        self, samples: CheckedSamples, held_out: CheckedSamples | None, folder: Any
    ) -> tuple[ArrayBatches | ViewBatches, ArrayBatches | None]:
        data = super()._read_data(samples, held_out, folder)
        if (name := modality_of_reader(self.reader_).name) != "tables":
            raise OrdinateError("X", name, "a table", "CLOCClassifier and SupCRRegressor support others")
        self._groups = None if samples.groups is None else check_groups(samples.groups, len(samples))
        return data

    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        units = len(targets) if self._groups is None else len(np.unique(self._groups))
        if units < LEAST_UNITS:
            raise OrdinateError("y", f"{units} samples or groups", f"at least {LEAST_UNITS}, some of them held out")
        folds = min(self.folds, units // 2)
        self._fold = assign_folds(targets.reshape(len(targets), -1)[:, 0], folds, seed, self._groups)
        usual = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(targets) // SMALLEST_BATCH))
        return ShuffledBatches(len(targets), self.batch_size or usual, seed)

    def _train(
        self,
        training: ArrayBatches | ViewBatches,
        batches: ShuffledBatches,
        validation: ArrayBatches | None,
        **options: Any,
    ) -> None:
        options["run"] += hashlib.sha256(self._fold.tobytes()).hexdigest()
        self._simple = self._fit_simple(training)  # first, so that a training with an end has the time that is left
        seen, unseen = (self._member_weights(training.weights, seen=seen) for seen in (True, False))
        rows = self._simple.rows
        measured = ArrayBatches(training.x[rows], training.y[rows], unseen[rows])
        super()._train(ArrayBatches(training.x, training.y, seen), batches, measured, **options)

    def _member_weights(self, weights: Tensor | None, *, seen: bool) -> Tensor:
        """Return (n, members): what each sample counts in the members that see it, or in those that do not."""
        is_seen = self._fold[:, None] != np.arange(self.members)[None] % (self._fold.max() + 1)
        chosen = torch.from_numpy(is_seen if seen else ~is_seen).float()
        return chosen if weights is None else chosen * weights[:, None].float()

    def _fit_simple(self, training: ArrayBatches | ViewBatches) -> SimpleModels:
        """Fit the simple models, on a part of very many samples, and predict what they have not seen of it."""
        rows = torch.from_numpy(random_part(len(training.x), MOST_MEASURED))
        x, y = training.x[rows], self.method_.standardised_labels(training.y[rows])
        weights = None if training.weights is None else training.weights[rows].double()
        simple = SimpleModels(rows, y.numpy(), None if weights is None else weights.numpy())
        fold, outputs = self._fold[rows], self._num_classes or 1
        if self.linear:
            simple.linear = self._fit_linear(x.double(), y, weights)
            simple.unseen["linear"] = unseen_by_fold(self._fit_linear, x.double(), y, weights, fold, outputs)
        if self.trees:
            start, is_bagged = time.perf_counter(), self._groups is None and self._bags(len(x))
            forest = self._grow(x, y, weights, oob_score=is_bagged)
            in_time = leaves_time((fold.max() + 1) * (time.perf_counter() - start))
            simple.trees = Trees.of_forest(forest, self._num_classes)
            # bags are drawn by the weights: the heaviest samples are in all of them
            if is_bagged and (weights is None or not in_time):
                simple.unseen["trees"] = filled_in(self._out_of_bag(forest), forest)
            else:
                fit = partial(self._fit_trees, count=len(forest.estimators_) if in_time else FEWEST_TREES)
                simple.unseen["trees"] = unseen_by_fold(fit, x, y, weights, fold, outputs)
            self._fit_boosted(simple, x, y, weights, fold)
        return simple

    def _fit_boosted(
        self, simple: SimpleModels, x: Tensor, y: Tensor, weights: Tensor | None, fold: NDArray[np.int64]
    ) -> None:
        """Fit boosted trees, unless there is no time to measure them too, or a part would see a single rank."""
        folds = boosting_folds(fold, x.shape[1])
        if folds is None or (
            self._num_classes is not None and any(len(y[folds != f].unique()) < 2 for f in set(folds))
        ):
            return
        start = time.perf_counter()
        fitted = self._fit_boosting(x, y, weights)
        if leaves_time((folds.max() + 1) * (time.perf_counter() - start)):
            simple.boosting = fitted
            simple.unseen["boosting"] = unseen_by_fold(
                self._fit_boosting, x, y, weights, folds, self._num_classes or 1
            )  # fmt: skip

    def _fit_boosting(self, x: Tensor, y: Tensor, weights: Tensor | None) -> BoostedTrees:
        with threadpool_limits(1):  # even on 20,000 rows threads wait for each other longer than they work
            model = self._boosting().fit(*arrays(x, y, weights))
        return BoostedTrees.of_boosting(model, self._num_classes)

    def _grow(
        self, x: Tensor, y: Tensor, weights: Tensor | None, *, oob_score: bool = False, count: int | None = None
    ) -> Any:
        forest = self._forest(bootstrap=self._bags(len(x)), oob_score=oob_score, **FOREST)
        with warnings.catch_warnings():  # of samples that all trees saw, which are filled in
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores", UserWarning)
            return grow(forest, x, y, weights, count)

    def _fit_trees(self, x: Tensor, y: Tensor, weights: Tensor | None, *, count: int) -> Trees:
        return Trees.of_forest(self._grow(x, y, weights, count=count), self._num_classes)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        """Choose the shares by what each part predicts of samples that it has not seen."""
        simple = self._simple
        predictions = {"members": self.method_.unseen.double().numpy(), **simple.unseen}
        predictions = {name: predictions[name] for name in self.errors_to_gain if name in predictions}
        losses = partial(self._losses, y=simple.y)
        start = [name for name in ("members", "linear") if name in predictions]
        self.shares_ = choose_shares(
            predictions, losses, dict.fromkeys(start, 1 / len(start)), simple.weights, self.errors_to_gain
        )  # fmt: skip
        blended = blend(predictions, self.shares_)
        self.unseen_losses_ = {
            name: float(np.average(losses(predicted), weights=simple.weights))
            for name, predicted in {**predictions, "blend": blended}.items()
        }
        self.reader_.notes = [*self.reader_.notes, self._note_on_parts()]
        self._take_in(simple)
        self._note_unseen(blended, simple.y, simple.weights)
        self.unseen_errors_ = {}
        for name, predicted in {**predictions, "blend": blended}.items():
            self.unseen_errors_[name] = errors = np.full(len(training.x), np.nan)
            errors[simple.rows.numpy()] = self._absolute_errors(predicted, simple.y)
        del self._fold, self._groups, self._simple

    def _refit(self, *arguments: Any, **options: Any) -> None:
        """Do nothing: the networks have a stage in which they see all samples."""

    def _note_on_parts(self) -> str:
        """Return the loss of each part alone, a simple model among them, and its share."""
        losses = ", ".join(f"{name} {loss:.3f}" for name, loss in self.unseen_losses_.items())
        shares = ", ".join(f"{name} {share:.0%}" for name, share in self.shares_.items())
        return f"{self.loss_name} on samples that were not seen: {losses}; shares in the blend: {shares}"

    def _take_in(self, simple: SimpleModels) -> None:
        """Add the simple models that have a share to the encoder and the head, rounded as a saved model holds them."""
        method = self.method_
        head = BlendHead(self._last_layers(), self._num_classes, self.shares_).double()
        head.load_state_dict(method.head.state_dict(), strict=False)
        if simple.linear is not None and "linear" in self.shares_:
            method.encoder.linear = cast(nn.Linear, simple.linear[0])
            if head.link is not None:
                head.link = cast(CumulativeLink, simple.linear[1])
        method.encoder.trees = simple.trees if "trees" in self.shares_ else None
        method.encoder.boosting = simple.boosting if "boosting" in self.shares_ else None
        method.head = head
        method.float().double().eval()
        self._count_columns()

    def _count_columns(self) -> None:
        self.embedding_dim_ = self.method_.encoder.out_features

    def _new_encoder(self, *, for_saved_weights: bool = False) -> BlendEncoder:
        (width,) = self.reader_.sample_shape
        encoder = BlendEncoder(MemberEncoder(width, int(self.embedding_dim), self.members, numeric=self._numbers))
        if for_saved_weights and "linear" in self.shares_:
            encoder.linear = nn.Linear(width, 1, bias=self._num_classes is None)
        if for_saved_weights and "trees" in self.shares_:
            encoder.trees = Trees(**self._tree_shapes["trees"])
        if for_saved_weights and "boosting" in self.shares_:
            encoder.boosting = BoostedTrees(**self._tree_shapes["boosting"])
        return encoder

    @property
    def _numbers(self) -> list[int]:
        """Positions of the columns that are numbers as they are, not their normal scores; none of very many."""
        reader = cast(TableFeatures, self.reader_)
        found = sorted(set(reader.numeric_positions) & set(reader.plain_positions))
        return found if len(found) <= MOST_PERIODIC else []

    def _method_around(self, encoder: nn.Module) -> "Members":
        self.method_ = method = cast("Members", self._build_method(encoder))
        self._count_columns()
        return method

    def _new_head(self, encoder: BlendEncoder) -> BlendHead:
        is_whole = len(encoder.parts) > 1  # of a saved model
        shares = self.shares_ if is_whole else None
        return BlendHead(self._last_layers(), self._num_classes, shares)

    def _last_layers(self) -> MemberLinear:
        return MemberLinear(self.members, int(self.embedding_dim), self._num_classes or 1)

    def _restore_method(self, weights: dict[str, Tensor]) -> None:
        for part, shape in self._tree_shapes.items():
            (count,), (nodes, outputs) = (weights[f"encoder.{part}.{name}"].shape for name in ("roots", "value"))
            shape |= {"trees": count, "nodes": nodes, "outputs": outputs}
        super()._restore_method(weights)
        for part in self._tree_shapes:
            getattr(self.method_.encoder, part).check(self.reader_.sample_shape[0])

    def _state(self) -> dict[str, Any]:
        encoder = self.method_.encoder
        return {
            **super()._state(),
            "shares": self.shares_,
            "unseen_losses": self.unseen_losses_,
            "forest_depth": None if encoder.trees is None else encoder.trees.depth,
            "boosting_depth": None if encoder.boosting is None else encoder.boosting.depth,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.shares_, self.unseen_losses_ = state["shares"], state["unseen_losses"]
        depths = {"trees": state["forest_depth"], "boosting": state.get("boosting_depth")}
        self._tree_shapes = {part: {"depth": depths[part]} for part in depths if part in self.shares_}

    def _training_options(self) -> dict[str, Any]:
        return {**super()._training_options(), "epochs": self._epochs(), "refit": float(self.refit)}

    def _epochs(self) -> int:
        if self.epochs is not None:
            return int(self.epochs)
        return max(1, min(USUAL_EPOCHS, MOST_BATCHES // getattr(self, "n_batches_", 1)))

    def _weight_decay(self) -> float:
        return 0.1 if self.weight_decay is None else self.weight_decay
