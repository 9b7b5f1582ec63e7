"""The fourth stage of ``ordinate fit``: training runs on all training rows, or on parts of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ordinate.commands.division import Division, split_label_rows
from ordinate.commands.fit.plan import FitPlan, epochs_of_cut
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.options import in_options
from ordinate.commands.samples import LabelledData
from ordinate.counts import counted
from ordinate.data.rows import Rows, column_of, take
from ordinate.data.splits import COPIES, Units, assign_folds
from ordinate.decisions import better_rule, compare_rules
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.calibration import calibrate_temperature
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.model.labels import to_ranks
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions
from ordinate.training.time_budget import training_until

SHARES = "weights in the blend"  # A note on them is for few; it stays among the notes of the model.


@dataclass(frozen=True)
class Trainer:
    """Trains candidates on the rows of samples.

    Args:
        plan: Plan of the estimators.
        samples: All samples.
        division: Rows to train, to validate and to measure on.
        checkpoints: Folder of the checkpoints of training runs.
    """

    plan: FitPlan
    samples: LabelledData
    division: Division
    checkpoints: Path

    @property
    def folds(self) -> int | None:
        """The number of parts on which candidates are measured; None for the default."""
        return self.plan.options.folds

    @property
    def units(self) -> Units | None:
        """What stays together; None for nothing, or with a single group to train on, of which parts are taken."""
        units = self.division.units
        if units is None or units.take(self.division.rows).count() == 1:
            return None
        return units

    def units_of(self, rows: Rows) -> NDArray[np.int64] | None:
        """Return the numbers of the units of some rows; None where every row stands for itself."""
        return None if self.units is None else self.units.codes[rows]

    def train(
        self,
        name: str,
        rows: Rows,
        folder: str,
        validation: tuple[object, ...] | None = None,
    ) -> EmbeddingEstimator:
        """Return a candidate trained on some rows, or read from the folder in which it was trained before."""
        samples = self.samples
        model = self.plan.build(name, self.checkpoints / folder)
        return model.fit(
            take(self.samples.X, rows), self.plan.label.values[rows], column_of(samples.weights, rows),
            groups=column_of(samples.groups, rows), validation=validation,
        )  # fmt: skip

    def trial(self, name: str, rows: Rows, folder: str) -> EmbeddingEstimator:
        """Return a candidate to measure on the other rows; on validation rows, it is the one trained on all rows."""
        if self.division.is_validated:
            return self.train_on_all(name)
        return self.train(name, rows, folder)

    def train_on_all(self, name: str) -> EmbeddingEstimator:
        """Return a candidate trained on all rows that there are to train on, and validated on the others."""
        rows, validation = self.division.validation, None
        if len(rows):
            weights = column_of(self.samples.weights, rows)
            validation = (take(self.samples.X, rows), self.plan.label.values[rows], weights)
        return self.train(name, self.division.rows, f"{name}-final", validation)

    def predictions(self, name: str, model: EmbeddingEstimator, rows: Rows) -> Predictions:
        """Return the predictions of a candidate's model for some rows."""
        return Predictions.of(model.fitted, take(self.samples.X, rows), self.plan.label.values[rows])

    def parts(
        self, folds: int | None = None, *, few_samples: int = 300, few_groups: int = 25
    ) -> list[tuple[Rows, Rows]]:
        """Return the parts of the rows to train the candidates on, each with the rows to measure them on.

        Unless the data set says which, every row is measured on in one of the folds; of a single fold a fifth is.

        Args:
            folds: Number of folds; None for the number that was asked for, and otherwise five if a fit takes little
                time and samples or groups are few, and one if not.
            few_samples: Number of samples up to which they are few.
            few_groups: Number of groups, or of samples without their copies, below which they are few.
        """
        label, rows, seed = self.plan.label, self.division.rows, self.plan.options.seed
        if self.division.is_validated:
            return [(rows, self.division.validation)]
        units = self.units_of(rows)
        count = len(rows) if units is None else len(np.unique(units))
        folds = folds or self.folds
        if folds is None:
            is_small = len(rows) <= few_samples or (units is not None and count < few_groups)
            folds = 5 if is_small and defaults_of(self.samples.modality).folds_are_cheap else 1
        if min(folds, count) < 2:
            return [split_label_rows(label, self.units, rows, 0.2, seed)]
        y = label.values[rows]
        if label.classes is not None:
            y = to_ranks(y, np.asarray(label.classes))
        fold = assign_folds(y, min(folds, count), seed, units)
        parts = [(rows[fold != number], rows[fold == number]) for number in range(fold.max() + 1)]
        if label.is_ranks:
            parts = [part for part in parts if len(np.unique(label.values[part[0]])) > 1]
        if not parts:
            raise OrdinateError(
                "--group",
                problem="all groups except one have the same single rank",
                expected="groups that leave two ranks or more to train on when some of them are held out",
            )
        return parts


@dataclass(frozen=True)
class Chosen:
    """A method that was chosen.

    Args:
        name: Name of the method.
        model: The trained model, if there is nothing more to train.
        rows: Rows that it was trained on.
        note: Note on the decision.
        tried: ``mae`` of every candidate on ``samples`` that it has not seen, and ``low`` and ``high`` end of its 95%
            interval, if they are known.
        unseen: Predictions of samples that the candidate, or its trials, have not seen.
        unseen_weights: Weights of these samples; None for equal ones.
    """

    name: str
    model: EmbeddingEstimator | None = None
    rows: Rows | None = None
    unseen: Sequence[Predictions] = ()
    unseen_weights: NDArray[np.float64] | None = None
    note: str | None = None
    tried: dict[str, dict[str, float]] | None = None


@dataclass(frozen=True)
class Trained:
    """A trained model.

    Args:
        name: Name of the method.
        model: The model, which keeps no state of its training.
        rows: Rows that it was trained on.
        epochs: Epochs that train it again, if they are not those of the plan.
        is_exact: Whether the same options train exactly the same model again.
        tried: Errors of all candidates, see :class:`Chosen`; None if one was trained.
    """

    name: str
    model: EmbeddingEstimator
    rows: Rows
    epochs: int | None
    is_exact: bool
    tried: dict[str, dict[str, float]] | None


def train(chosen: Chosen, trainer: Trainer, time: RunLimit) -> Trained:
    """Train the chosen method on all rows, unless it is trained already, and print the notes of the training."""
    model, rows = chosen.model, chosen.rows
    if model is None or rows is None:
        print(f"training {chosen.name}")
        rows = trainer.division.rows
        with training_until(time.share(1)):
            model = trainer.train_on_all(chosen.name)
    is_calibrated = calibrate_temperature(model, chosen.unseen, chosen.unseen_weights)
    is_exact = not (model.method_.hurried or is_calibrated)
    model.set_params(verbose=0, training__checkpoint_dir=None, training__callbacks=None)
    on_decision = decision_note(model.fitted, model.fitted.facts.get("decision_scores_")) or chosen.note
    for note in model.notes_:
        if COPIES not in note and SHARES not in note:  # Copies of all rows are named already.
            print(f"note: {in_options(note)}")
    if on_decision is not None:
        print(f"note: {on_decision}")
    epochs = epochs_of_cut(model)
    if epochs is not None:
        print(f"note: the time limit ended the training after {counted(epochs, 'epoch')}")
    return Trained(chosen.name, model, rows, epochs, is_exact, chosen.tried)


def measured_note(parts: Sequence[Predictions]) -> str | None:
    """Return the note on predictions of validation samples, of each part by a model of the same settings.

    None for targets, or if the decision in use is as good as another.
    """
    probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    if sum(map(len, probabilities)) < 2:
        return None
    true = np.concatenate([part.true for part in parts])
    return decision_note(parts[0].model, compare_rules(true, np.concatenate(probabilities)))


def decision_note(model: Model, scores: dict[str, dict[str, float]] | None) -> str | None:
    """Return a note if another decision is clearly better on validation samples, given the scores of both."""
    if model.rule is None or scores is None:
        return None
    better = better_rule(scores, model.rule)
    if better is None:
        return None
    measure, name = "mae", "an MAE"
    if better == "mode":
        measure, name = "accuracy", "an accuracy"
    values = {rule: scores[rule][measure] for rule in scores}
    return (
        f"on validation samples the {better} of the probabilities has {name} of {values.pop(better):z.3f}, "
        f"the {model.rule} {values.popitem()[1]:z.3f}: {argument('decision', better)} predicts by it"
    )
