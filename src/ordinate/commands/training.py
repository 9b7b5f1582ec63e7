"""Training candidates on all the rows that there are to train on, or on parts of them to measure them on the others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.commands.division import Rows, divide
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.plan import Plan
from ordinate.commands.samples import Samples
from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.rank_labels import to_ranks
from ordinate.estimators.shares import assign_folds

VALIDATION_FRACTION = 0.2
FOLDS = 5  # parts on each of which candidates are measured, of a table of few samples to train on, or of few groups
FEW, FEW_GROUPS = 300, 25


@dataclass
class Training:
    """What is trained on, and where its state is kept.

    Args:
        plan, options: of the estimators.
        samples: all of them.
        rows, validation_rows: to train and to validate on; none to validate on unless the data set says which.
        checkpoints: folder of the states of trainings.
    """

    plan: Plan
    options: FitOptions
    samples: Samples
    rows: Rows
    validation_rows: Rows
    checkpoints: Path

    def train(self, name: str, options: FitOptions, rows: Rows, folder: str, **validation: Any) -> EmbeddingEstimator:
        """Return a candidate trained on some rows, or read from where it was trained before."""
        samples = self.samples
        model = self.plan.build(name, options, self.checkpoints / folder)
        model.fit(
            take(samples.X, rows), self.plan.label.values[rows], column_of(samples.weights, rows),
            groups=column_of(samples.groups, rows), **validation,
        )  # fmt: skip
        return model

    def train_on_all(self, name: str, options: FitOptions) -> EmbeddingEstimator:
        """Return a candidate trained on all rows that there are to train on, and validated on the others."""
        rows, validation = self.validation_rows, None
        if len(rows):
            validation = (
                take(self.samples.X, rows), self.plan.label.values[rows], column_of(self.samples.weights, rows)
            )  # fmt: skip
        return self.train(name, options, self.rows, f"{name}-final", validation=validation)

    def predictions(self, model: EmbeddingEstimator, rows: Rows) -> Predictions:
        return Predictions.of(model, take(self.samples.X, rows), self.plan.label.values[rows])

    def parts(self, folds: int | None = None) -> list[tuple[Rows, Rows]]:
        """Return the parts of the rows to train the candidates on, each with those to measure them on.

        Where the data set does not say which, every row is measured on in one of as many folds as are asked for here or
        by the options, by default in one of five of a small table; of a single fold a fifth is.
        """
        label, groups, folds = self.plan.label, self.samples.groups, folds or self.options.folds
        if len(self.validation_rows):
            return [(self.rows, self.validation_rows)]
        units = len(self.rows) if groups is None else groups.iloc[self.rows].nunique()
        if folds is None:
            is_small = len(self.rows) <= FEW or (groups is not None and units < FEW_GROUPS)
            folds = FOLDS if is_small and self.samples.modality.name == "tables" else 1
        if min(folds, units) < 2:
            return [divide(label, groups, self.rows, VALIDATION_FRACTION, self.options.seed)]
        y = label.values[self.rows]
        ordered = y if label.classes is None else to_ranks(y, np.asarray(label.classes))
        fold = assign_folds(ordered, min(folds, units), self.options.seed, column_of(groups, self.rows))
        parts = [(self.rows[fold != number], self.rows[fold == number]) for number in range(fold.max() + 1)]
        parts = [part for part in parts if not label.is_ranks or len(np.unique(label.values[part[0]])) > 1]
        if not parts:
            raise OrdinateError(
                "--group",
                problem="each of the groups but one has a single rank, the same",
                expected="groups that leave two ranks or more to train on when some of them are held out",
            )
        return parts
