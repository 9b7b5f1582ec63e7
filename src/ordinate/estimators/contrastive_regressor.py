"""What the regressors share: targets, the choice of the head, prediction."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d
from torch import Tensor, nn

from ordinate.checks import check_flag, check_share
from ordinate.data.label_density import LabelBins
from ordinate.data.large_labels import are_in_file, computed, in_parts
from ordinate.data.modality import Reader
from ordinate.data.registry import modality_of
from ordinate.data.rows import random_part
from ordinate.data.times import are_times
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.given import is_named
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import MOST_EMBEDDED, EmbeddingEstimator
from ordinate.estimators.linear_columns import ERRORS_TO_GAIN, blended, model_of_columns, takes_seconds
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.sample_weights import CheckedSamples, relative_weights
from ordinate.functional.inputs import check_choice, check_positive, check_whole
from ordinate.functional.weighted_mean import weighted_mean
from ordinate.heads.binned import BinSize
from ordinate.heads.linear import REGRESSION_LOSSES, LinearHead
from ordinate.heads.linear_path import LinearPath
from ordinate.heads.neighbours import NeighbourMean
from ordinate.heads.ridge import fit_ridge
from ordinate.methods.imbalance import Imbalance
from ordinate.methods.time_budget import training_end
from ordinate.options import HeadLoss, Scheme

if TYPE_CHECKING:
    from ordinate.methods.members import TargetMembers
    from ordinate.methods.regression import Regression
    from ordinate.methods.staged import Stage

FEW_SAMPLES = 500
LEAST_RATE = 0.01  # of the highest one, below which nothing more is learned
USUAL_HEAD = "ridge"  # exact, so that others have to predict validation samples better than by chance
MIN_DEVIATION, MAX_DEVIATION = 1e-36, 1e36  # of targets, within what float32 holds
HEADS = ("linear", "ridge", "neighbours")


def best_head(
    errors: Mapping[str, Float[Tensor, " n"]],
    weights: Float[Tensor, " n"] | None = None,
    errors_to_gain: float = 1.0,
) -> str:
    """Return the name of the head to take by the absolute errors of validation samples.

    That is ridge regression, if it is among several, unless another one's errors are lower by more than a standard
    error of the difference, or so many of them, and of those the one with the lowest errors.

    Example:
        >>> ridge, linear = torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([1.2, 0.6, 0.9, 1.2])
        >>> best_head({"linear": linear, "ridge": ridge}), best_head({"linear": linear - 0.3, "ridge": ridge})
        ('ridge', 'linear')
    """
    mean = {name: float(weighted_mean(each, weights)) for name, each in errors.items()}
    usual = USUAL_HEAD if USUAL_HEAD in errors else next(iter(errors))
    better = [usual]
    for name, each in errors.items():
        gains = errors[usual] - each
        deviation = float(weighted_mean((gains - weighted_mean(gains, weights)).square(), weights)) ** 0.5
        if mean[usual] - mean[name] > errors_to_gain * deviation / len(gains) ** 0.5:
            better.append(name)
    return min(better, key=mean.__getitem__)


def _check_deviation(deviation: float) -> None:
    if not MIN_DEVIATION < deviation < MAX_DEVIATION:
        raise OrdinateError(
            "y",
            f"values past the range of float32 or too close for it, with a deviation of {deviation:g}",
            "rescaled targets",
        )


@estimator_dataclass
class ContrastiveRegressor(RegressorMixin, EmbeddingEstimator):
    """Predict continuous targets from embeddings.

    Args:
        scheme: ``"linear_probe"`` trains the head on the frozen encoder, ``"fine_tune"`` trains both after it,
            ``"regularise"`` both from the start.
        head: ``"linear"`` (trained by ``head_loss``), ``"ridge"``, ``"neighbours"``, or ``"auto"``: ridge, unless
            another predicts the validation samples better by more than a standard error, or two where ``linear`` gives
            a share to ridge regression on the columns (the linear one if there are no validation samples). Ridge and
            neighbours see at most 50,000 training samples.
        head_loss: ``"l1"``, ``"mse"`` or ``"huber"``, or on bins of the targets ``"dex"``, ``"dldl_v2"``, ``"or"`` or
            ``"corn"``.
        n_neighbors: training embeddings whose targets the head ``"neighbours"`` averages.
        bin_size: of the heads on bins, in units of y, one number or one per dimension; by default the smallest
            difference between two targets, or what makes 128 bins if that makes more.
        epochs: of the encoder and of the head.
        imbalance: what to do about rare targets: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or
            RankSim; None does nothing. LDS and FDS reach the head ``"linear"`` alone; ``"auto"`` is then that one.
        patience: end the training of an encoder after this many epochs in which the validation samples' errors have
            clearly risen, and go back; those of ridge regression on its embeddings where it has no head yet. None
            trains all epochs. By default 50 for tables, unless ``optimization`` is the paper's, and None for other
            data.
        validation_fraction: share of the samples held out for validation, at most 10,000 of them; 0 for none; not used
            below 20 samples. By default 0.1, and 0.2 of fewer than 500 where ``patience`` goes by them.
        refit: where ``patience`` went by a share of the samples of a table, train on all of them for this share of the
            epochs up to the best one, while the learning rate falls to 0; 0 for none. The head stays the one that was
            chosen before. Fine-tuning does without; with a time limit only ridge and neighbours see all samples.
        linear: on a table with validation samples, blend linear heads with ridge regression on the columns: the network
            has the share with which those are predicted better by more than two standard errors, and embeddings move
            along the head's direction so that it predicts the blend. A table that streams, a network of your own,
            ``embedding_dim=None``, ``imbalance`` and the paper's ``optimization`` do without, and so do more than some
            hundred columns, as ridge regression on these takes long.
        weight_decay: by default 1e-4.
        head_learning_rate: the highest one of the second stage, of a head or of fine-tuning; by default ten times
            ``learning_rate``, a hundred times for heads on bins.

    Attributes:
        head_name_: the head chosen.
        head_scores_: the validation error of each.
        linear_shares_: of ridge regression on the columns of a table in what is predicted, one per target; empty where
            the head is not blended with it.
    """

    validation_fraction: float | None = None
    patience: int | Literal["auto"] | None = "auto"
    refit: float = 0.2
    linear: bool = True
    scheme: Scheme = "linear_probe"
    head: str = "auto"
    head_loss: HeadLoss = "l1"
    n_neighbors: int = 5
    bin_size: BinSize = None
    epochs: tuple[int, int] | int | None = (400, 100)
    imbalance: Imbalance | None = None
    head_learning_rate: float | None = None
    method_: "Regression | TargetMembers" = field(init=False)
    linear_shares_: tuple[float, ...] = field(default=(), init=False)

    multi_output = True
    _is_validated = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.multi_output
        return tags

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n,) or (n, p), targets in their own units."""
        check_is_fitted(self)
        return self._predictions_of(self._embed(self._read(X)))

    def _predictions_of(self, embeddings: Tensor) -> NDArray[np.float64]:
        with torch.no_grad():
            predicted = self.head_(embeddings).double().numpy() + self.target_offset_
        return predicted[:, 0] if self.target_is_vector_ else predicted

    @abstractmethod
    def _build_method(self, encoder: nn.Module) -> "Regression | TargetMembers":
        """Return the untrained method around the encoder."""

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.float32]:
        if not self.multi_output:
            if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
                raise OrdinateError("y", f"{y.shape[1]} targets per sample", "one", "SupCRRegressor supports several")
            y = column_or_1d(y, warn=True)
        if are_in_file(y):
            return self._large_targets(y, reset=reset)
        if are_times(y):
            raise OrdinateError("y", "dates or times", "numbers", "count days or seconds from one of them")
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if targets.ndim > 2:
            raise OrdinateError("y", f"shape {targets.shape}", "(n,) or (n, p)")
        if reset:
            self.target_is_vector_ = targets.ndim == 1
            self.target_dim_ = 1 if targets.ndim == 1 else targets.shape[1]
            if len(targets) == 1:
                raise OrdinateError("y", "1 sample", "at least two to contrast")
            if (targets == targets[0]).all():
                raise OrdinateError("y", f"the one value {targets.flat[0]:g} for every sample", "targets that differ")
            self._set_offset(targets.reshape(len(targets), -1).mean(axis=0))
        matrix = targets.reshape(len(targets), -1)
        if matrix.shape[1] != len(self.target_offset_):
            raise OrdinateError("y", f"{matrix.shape[1]} targets per sample", len(self.target_offset_))
        centred = matrix - self.target_offset_
        if reset:
            _check_deviation(centred.std())
        return centred.astype(np.float32)

    def _large_targets(self, y: NDArray[Any], *, reset: bool) -> NDArray[np.float32]:
        """Return very many labels (n,) of a file as targets (n, 1) in another."""
        if reset:
            self.target_is_vector_, self.target_dim_ = True, 1
            finite = {"ensure_2d": False, "dtype": np.float64, "input_name": "y", "estimator": self}
            mean = sum(check_array(part, **finite).sum() for _, part in in_parts(y)) / len(y)
            _check_deviation((sum(np.square(part - mean).sum() for _, part in in_parts(y)) / len(y)) ** 0.5)
            self._set_offset(np.array([mean]))
        return computed(y, (len(y), 1), np.float32, lambda part: (part - self.target_offset_)[:, None])

    def _set_offset(self, mean: NDArray[np.float64]) -> None:
        """Count targets from their mean, unless distances between them may change with a shift."""
        shifts = getattr(self, "label_distance", "l1") in ("l1", "l2")
        self.target_offset_ = mean if shifts else np.zeros_like(mean)

    def _new_method(self, targets: Tensor) -> "Regression | TargetMembers":
        self.label_bins_ = None if self.imbalance is None else LabelBins.over(targets, self.imbalance.bin_size)
        method = cast("Regression | TargetMembers", super()._new_method(targets))  # as _build_method returns one
        method.head.standardise(targets)
        return method

    @property
    def _label_bins(self) -> LabelBins | None:
        return self.label_bins_

    def _training_options(self) -> dict[str, Any]:
        return {**super()._training_options(), "head_loss": self.head_loss, "bin_size": self.bin_size}

    def _patience(self) -> int | None:
        if self.patience != "auto":
            return self.patience
        return self._usual_patience(type(self.reader_)) if self._is_validated else None

    def _usual_patience(self, reader: type[Reader]) -> int | None:
        return None if self.optimization == "paper" else reader.patience

    def _validation_share(self, samples: CheckedSamples) -> float:
        if self.validation_fraction is not None:
            return self.validation_fraction
        stops = self.patience is not None
        if self.patience == "auto":
            stops = self._usual_patience(modality_of(samples.X).readers[0]) is not None
        return 0.2 if stops and len(samples) < FEW_SAMPLES else 0.1

    def _read_data(
        self, samples: CheckedSamples, held_out: CheckedSamples | None, folder: Path | None
    ) -> tuple[ArrayBatches | ViewBatches, ArrayBatches | None]:
        self._is_validated = held_out is not None
        parts = [part.weights for part in (samples, held_out) if part is not None and part.weights is not None]
        self._all_weights = relative_weights(np.concatenate(parts)) if len(parts) == 2 else None
        return super()._read_data(samples, held_out, folder)

    def _scheme_options(self) -> dict[str, Any]:
        """Return the options that the methods which train an encoder and then a head share, by name."""
        # on frozen embeddings, classifiers of many bins need large weights
        on_bins = self.scheme == "linear_probe" and self.head_loss not in REGRESSION_LOSSES
        factor = 100 if on_bins else 10
        return {
            **self._training_options(),
            "scheme": self.scheme,
            "epochs": self._two_epochs(self.epochs, "epochs"),
        } | ({} if self.optimization == "paper" else {"head_optimization": self._usual_optimization(0.0, factor)})

    def _optimized(self, stages: "tuple[Stage, ...]") -> "tuple[Stage, ...]":
        first, *rest = super()._optimized(stages)
        rate = self.head_learning_rate
        if rate is not None:
            rest = [replace(stage, optimization=replace(stage.optimization, learning_rate=rate)) for stage in rest]
        return (first, *rest)

    def _weight_decay(self) -> float:
        return 1e-4 if self.weight_decay is None else self.weight_decay

    def _check_parameters(self) -> None:
        check_choice(self.head, ("auto", *HEADS), "head")
        check_whole(self.n_neighbors, "n_neighbors")
        if self.head_learning_rate is not None:
            check_positive(self.head_learning_rate, "head_learning_rate")
        check_share(self.refit, "refit", or_one=True)
        check_flag(self.linear, "linear")
        super()._check_parameters()

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        """Choose the head by the absolute errors of the validation samples."""
        names = self._candidates() if validation is not None else self._candidates()[:1]
        heads = self._heads(training, names)
        self.head_name_, self.head_scores_, self.linear_shares_ = names[0], {}, ()
        self.head_ = heads[self.head_name_]
        if validation is None:
            return
        with torch.no_grad():
            seen = self._embed(validation.x)
            predicted = {name: head(seen) for name, head in heads.items()}
        model = model_of_columns(training) if self._may_blend(training, heads) else None
        shares: dict[str, tuple[float, ...]] = {}
        for name, head in heads.items():
            if model is not None and isinstance(head, LinearHead):
                shares[name], predicted[name] = blended(head, predicted[name], model, validation)
        errors = {name: (each - validation.y).abs().mean(1) for name, each in predicted.items()}
        self.head_scores_ = {name: float(weighted_mean(each, validation.weights)) for name, each in errors.items()}
        is_simple = any(any(of_head) for of_head in shares.values())  # in part the model of the columns
        self.head_name_ = best_head(errors, validation.weights, ERRORS_TO_GAIN if is_simple else 1.0)
        self.head_, self.linear_shares_ = heads[self.head_name_], shares.get(self.head_name_, ())
        if model is not None:
            self._note_on_linear(model, validation)
            self._take_linear_path(model)

    def _may_blend(self, training: ArrayBatches | ViewBatches, heads: Mapping[str, nn.Module]) -> bool:
        """Whether ridge regression on the columns may have a share in what one of the heads predicts."""
        is_ours = is_named(self.encoder) and self.embedding_dim is not None and self.imbalance is None
        if not (self.linear and is_ours and self._is_table(training)):
            return False
        return takes_seconds(training.x) and any(isinstance(head, LinearHead) for head in heads.values())

    def _note_on_linear(self, model: LinearHead, validation: ArrayBatches) -> None:
        """Note what a simple model alone would have given."""
        with torch.no_grad():
            errors = (model(validation.x.double()) - validation.y).abs().mean(1)
        alone, predicted = float(weighted_mean(errors, validation.weights)), self.head_scores_[self.head_name_]
        shares = ", ".join(f"{share:.0%}" for share in self.linear_shares_ or (0.0,))
        note = (
            f"mean absolute error on validation samples: ridge regression on the columns {alone:.4g}, "
            f"what is predicted {predicted:.4g}, of which ridge regression has a share of {shares}"
        )
        self.reader_.notes = [*self.reader_.notes, note]

    def _take_linear_path(self, model: LinearHead) -> None:
        """Let the encoder move embeddings so that the head predicts the blend."""
        if any(self.linear_shares_):
            path = self._path_beside(self.method_.encoder, self.embedding_dim_)
            path.blend(cast(LinearHead, self.head_), model, torch.tensor(self.linear_shares_))
            self.method_.encoder = path.float().double().eval()  # as a saved model holds it

    def _path_beside(self, network: nn.Module, embedding_dim: int) -> LinearPath:
        return LinearPath(network, self.reader_.sample_shape[0], embedding_dim, self.target_dim_)

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        encoder = super()._new_encoder(for_saved_weights=for_saved_weights)
        if not (for_saved_weights and any(self.linear_shares_) and self.embedding_dim):
            return encoder
        return self._path_beside(encoder, self.embedding_dim)

    def _is_table(self, training: ArrayBatches | ViewBatches) -> bool:
        """Whether samples are a table in memory, trained on as estimators do without ``optimization="paper"``."""
        return isinstance(training.x, Tensor) and self._usual_patience(type(self.reader_)) is not None

    def _refit(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches, **options: Any) -> None:
        weights, self._all_weights = self._all_weights, None
        first, *rest = self.method_.stages
        may_refit = self.refit and self._is_table(training) and first.patience is not None
        if not may_refit or (self.scheme == "fine_tune" and rest):
            return
        if isinstance(path := self.method_.encoder, LinearPath):
            self.method_.encoder = path.network
        everything = ArrayBatches(torch.cat([training.x, validation.x]), torch.cat([training.y, validation.y]), weights)
        best, highest = self.method_.best_epochs[0], first.optimization.learning_rate
        rate = first.optimization.learning_rate_at(best / first.epochs)
        if rate > LEAST_RATE * highest and training_end() is None:
            falling = replace(first.optimization, learning_rate=rate, schedule="cosine", warmup=0.0)
            again = replace(first, epochs=math.ceil(self.refit * best), optimization=falling, patience=None)
            self.method_.stages = (again, *(rest if self.head_name_ == "linear" else ()))
            self._train_again(everything, 1 + len(rest), **options)
        self.head_ = self._heads(everything, (self.head_name_,))[self.head_name_]
        if any(self.linear_shares_):
            self._take_linear_path(model_of_columns(everything))

    def _train_again(self, data: ArrayBatches, stages: int, *, folder: Path | None, seed: int, run: str) -> None:
        """Go on training the method after so many stages, and append what its epochs log."""
        if folder is not None:
            folder = folder / "all samples"
            folder.mkdir(exist_ok=True)
        history, batches = self.history_, self._batches(data.y.numpy(), seed)
        self.method_.float().train()
        self._train(data, batches, None, folder=folder, seed=seed, run=run)
        for epoch in self.history_:
            history.append({**epoch, "epoch": float(len(history)), "stage": epoch["stage"] + stages})
        self.history_, self.n_iter_ = history, len(history)

    def _candidates(self) -> tuple[str, ...]:
        """Return the names of the heads to choose from, the one to take without validation samples first."""
        names: tuple[str, ...] = (self.head,)
        if self.head == "auto":
            for_the_trained_head = self.imbalance is not None and (self.imbalance.lds is not None or self.imbalance.fds)
            names = ("linear",) if for_the_trained_head else HEADS
        if self._head_is_trained:
            return names
        if names == ("linear",):
            warnings.warn(
                "the time was over before the linear head was trained: ridge regression on the embeddings is in "
                "its place; give more time, or head='ridge'",
                UserWarning,
                stacklevel=4,
            )
        return tuple(name for name in names if name != "linear") or ("ridge",)

    @property
    def _head_is_trained(self) -> bool:
        """Whether the last stage, which trains the head, had a whole epoch before the time for it was over."""
        last = len(self.method_.stages) - 1
        return last == 0 or any(epoch["stage"] == last and "passed" not in epoch for epoch in self.method_.history)

    def _heads(self, training: ArrayBatches | ViewBatches, names: Sequence[str]) -> dict[str, nn.Module]:
        """Return heads on the embeddings of training samples, by name."""
        rows = random_part(len(training.x), MOST_EMBEDDED)
        embeddings = self._embed_rows(training.x, rows).float().double()  # as a saved model holds them
        weights = None if training.weights is None else training.weights[rows].double()
        return {name: self._fit_head(name, embeddings, training.y[rows].double(), weights) for name in names}

    def _fit_head(self, name: str, embeddings: Tensor, targets: Tensor, weights: Tensor | None) -> nn.Module:
        if name == "linear":
            return self.method_.head
        if name == "ridge":
            return fit_ridge(embeddings, targets, weights).float().double()  # as a saved model holds it
        return NeighbourMean(embeddings, targets, self.n_neighbors, weights)

    def _state(self) -> dict[str, Any]:
        return {
            "head": self.head_name_,
            "head_scores": self.head_scores_,
            "linear_shares": self.linear_shares_,
            "target_dim": self.target_dim_,
            "target_offset": self.target_offset_.tolist(),
            "target_is_vector": self.target_is_vector_,
            "label_bins": None if self.label_bins_ is None else asdict(self.label_bins_),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.head_name_ = state["head"]
        self.head_scores_ = state["head_scores"]
        self.linear_shares_ = tuple(state.get("linear_shares", ()))
        self.target_dim_ = state["target_dim"]
        self.target_offset_ = np.asarray(state["target_offset"], dtype=np.float64)
        if self.target_offset_.shape != (self.target_dim_,):
            raise OrdinateError("target_offset", self.target_offset_.shape, f"({self.target_dim_},)")
        self.target_is_vector_ = state["target_is_vector"]
        bins = state.get("label_bins")
        self.label_bins_ = bins and LabelBins(*(tuple(bins[name]) for name in ("smallest", "size", "counts")))

    def _tensors(self) -> dict[str, Tensor]:
        return {f"head.{name}": value for name, value in self.head_.state_dict().items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        if self.head_name_ == "linear":
            self.head_ = self.method_.head
            return
        if self.head_name_ == "neighbours":
            weights = tensors.get("head.weights")  # where samples were weighted
            self.head_ = NeighbourMean(
                tensors["head.embeddings"].double(),
                tensors["head.targets"].double(),
                self.n_neighbors,
                weights=None if weights is None else weights.double(),
            )
            return
        self.head_ = LinearHead(self.embedding_dim_, len(tensors["head.target_mean"])).double()
        self.head_.load_state_dict({name.removeprefix("head."): value for name, value in tensors.items()})
