"""Ordinal logistic regression on the columns of a table beside classifiers of ranks."""

import math
import warnings
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.checks import check_flag
from ordinate.data.rows import random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.streamed import Streamed
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.given import is_named
from ordinate.estimators.linear_columns import MOST_MEASURED, takes_seconds
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.shares import choose_shares
from ordinate.heads.beside_columns import BesideColumns
from ordinate.methods.time_budget import training_end, training_until
from ordinate.torchrun import joined_processes

if TYPE_CHECKING:
    from ordinate.methods.staged import StagedMethod

AT_ONCE = 4096  # rows of a table that streams
START = {"columns": 0.5, "network": 0.5}
FEWEST_TO_TRY, MOST_TO_TRY = 200, 20_000  # samples: of more a network learns what a line says
HELD_OUT, TRIED_EPOCHS = 0.2, 0.2  # shares of the samples and epochs of a trial
LEAST_STEPS = 60  # of a stage of a trial, if the stage has them
SHARE_OF_TIME = 1 / 6  # that a trial may take of what is left of a training that has to end
FEWEST_TO_CHOOSE = 20  # validation samples


@estimator_dataclass
class LinearRanks(RankClassifier):
    """Classify ranks, on a table in part by ordinal logistic regression on its columns.

    Args:
        linear: on a table with validation samples, average what the network says of the ranks with ordinal logistic
            regression on the columns: each has half, unless the ranked probability score of the validation samples is
            better with another share by more than a standard error. Where no samples are held out, and there are 200
            to 20,000, a training of a fifth of the epochs holds some out first. Embeddings stay as they are. Not beside
            a network of your own, ``optimization="paper"``, ``imbalance`` and critical margins, nor on very wide
            tables and those that stream.

    Attributes:
        linear_share_: of ordinal logistic regression in the probabilities; 0 where it has none.
    """

    linear: bool = True
    columns_: BesideColumns | None = field(default=None, init=False)
    _given: tuple[Any, ...] | None = field(default=None, init=False, repr=False)  # to fit, until it trains
    _is_trial: bool = field(default=False, init=False, repr=False)
    _note_on_columns: str = field(default="", init=False, repr=False)

    @property
    def linear_share_(self) -> float:
        """The share of ordinal logistic regression on the columns in the probabilities."""
        return 0.0 if self.columns_ is None else round(float(self.columns_.share), 6)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag(self.linear, "linear")

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, validation: Any, groups: ArrayLike | None, folder: Any
    ) -> tuple[ArrayBatches | ViewBatches, ArrayBatches | None, ShuffledBatches]:
        prepared = super()._prepare(X, y, sample_weight, validation, groups, folder)
        self._given = (X, y, sample_weight, groups)
        return prepared

    def _may_use_columns(self, training: ArrayBatches | ViewBatches) -> bool:
        """Whether ordinal logistic regression on the columns may have a share in what is predicted."""
        is_ours = is_named(self.encoder) and self.imbalance is None and self.optimization != "paper"
        is_table = isinstance(training.x, Tensor) and self.reader_.patience is not None
        return self.linear and is_ours and is_table and takes_seconds(training.x)

    def _train(
        self,
        training: ArrayBatches | ViewBatches,
        batches: ShuffledBatches,
        validation: ArrayBatches | None,
        **options: Any,
    ) -> None:
        self.columns_, self._note_on_columns, share = None, "", 0.0
        given, self._given = self._given, None
        if self._may_use_columns(training):
            if (
                validation is None
                and not self._is_trial
                and given is not None
                and FEWEST_TO_TRY <= len(training.x) <= MOST_TO_TRY
            ):
                share = self._share_on_trial(*given, seed=options["seed"])
            if share or validation is not None:
                self.columns_ = self._model_of_columns(training, share)
        super()._train(training, batches, validation, **options)

    def _model_of_columns(self, training: ArrayBatches | ViewBatches, share: float) -> BesideColumns:
        """Return ordinal logistic regression on the columns, on a random part of very many rows."""
        rows = torch.from_numpy(random_part(len(training.x), MOST_MEASURED))
        weights = None if training.weights is None else training.weights[rows].double()
        columns = BesideColumns.fit(
            training.x[rows].double(), training.y[rows].long(), len(self.ordered_classes_), weights
        )
        columns.share.fill_(share)
        return columns.float().double()  # as a saved model holds it

    def _share_on_trial(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None, *, seed: int
    ) -> float:
        """Return the share by samples that a shorter training holds out, as the one that comes trains on all."""
        settings = self.get_params(deep=False) | {"validation_fraction": HELD_OUT, "random_state": seed}
        settings |= dict.fromkeys(("checkpoint_dir", "callbacks", "logger", "cluster")) | {"verbose": 0}
        if joined_processes() == 1:
            settings |= dict.fromkeys(("devices", "num_nodes", "strategy"))
        trial = type(self)(**settings)
        trial._is_trial = True
        end = training_end()
        if end is not None:
            end = replace(end, until=end.now + SHARE_OF_TIME * (end.until - end.now))
        with warnings.catch_warnings(), training_until(end), suppress(ValueError):  # too few to hold some out
            warnings.simplefilter("ignore")
            trial.fit(X, y, sample_weight, groups=groups)
        if trial.columns_ is None or not trial._note_on_columns:
            return 0.0
        self.reader_.notes = [*self.reader_.notes, trial._note_on_columns]
        return trial.linear_share_

    def _new_method(self, targets: Tensor) -> "StagedMethod":
        method = super()._new_method(targets)
        if self._is_trial:
            least = LEAST_STEPS / self.n_batches_
            epochs = [max(TRIED_EPOCHS * stage.epochs, min(stage.epochs, least)) for stage in method.stages]
            method.stages = tuple(
                replace(stage, epochs=math.ceil(few)) for stage, few in zip(method.stages, epochs, strict=True)
            )
        return method

    def _evaluate(self, validation: ArrayBatches) -> None:
        if self.columns_ is not None:
            self._choose_share(self.columns_, validation)
        super()._evaluate(validation)

    def _choose_share(self, columns: BesideColumns, validation: ArrayBatches) -> None:
        """Give ordinal logistic regression the share that the validation samples speak for, and note what they say."""
        own = self._probabilities(self._embed(validation.x)).detach().double().numpy()
        parts = {"columns": _by_columns(columns, validation.x), "network": own}
        weights = None if validation.weights is None else validation.weights.double().numpy()
        passed = validation.y.numpy()[:, None] <= np.arange(own.shape[1] - 1)

        def scores(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
            errors: NDArray[np.float64] = np.square(probabilities[:, :-1].cumsum(1) - passed).sum(1)
            return errors

        shares = START if len(own) < FEWEST_TO_CHOOSE else choose_shares(parts, scores, START, weights)
        share = shares.get("columns", 0.0)
        columns.share.copy_(torch.tensor(share, dtype=torch.float32))
        alone, predicted = (
            float(np.average(scores(each), weights=weights))
            for each in (parts["columns"], share * parts["columns"] + (1 - share) * own)
        )
        self._note_on_columns = (
            f"ranked probability score on validation samples: ordinal logistic regression on the columns {alone:.4g}, "
            f"what is predicted {predicted:.4g}, of which it has a share of {share:.0%}"
        )
        self.reader_.notes = [*self.reader_.notes, self._note_on_columns]

    def _probabilities_of(self, embeddings: Tensor, x: Any) -> NDArray[np.float64]:
        own = super()._probabilities_of(embeddings, x)
        if self.columns_ is None or not len(own):
            return own
        share = self.linear_share_
        blended: NDArray[np.float64] = (1 - share) * own + share * _by_columns(self.columns_, x)
        return blended

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "has_columns": self.columns_ is not None}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        width = self.reader_.sample_shape[0]
        self.columns_ = BesideColumns(width, len(self.ordered_classes_)) if state.get("has_columns") else None

    def _tensors(self) -> dict[str, Tensor]:
        columns = {} if self.columns_ is None else self.columns_.state_dict()
        return {**super()._tensors(), **{f"columns.{name}": value for name, value in columns.items()}}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        super()._restore_tensors(tensors)
        if self.columns_ is not None:
            names = self.columns_.state_dict()
            self.columns_.load_state_dict({name: tensors[f"columns.{name}"] for name in names})


def _by_columns(columns: BesideColumns, x: Tensor | Streamed) -> NDArray[np.float64]:
    """Return what the columns say of samples, of which those that stream are read some at a time."""
    return np.concatenate([columns.by_columns(part).numpy() for part in x.split(AT_ONCE)])
