"""``ordinate tune``: hyperparameters chosen by cross-validation with Optuna, and a model that is trained with them."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.storages.journal import JournalFileBackend

from ordinate.commands.division import divide_rows
from ordinate.commands.fit.command import check, fit
from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.plan import make_plan
from ordinate.commands.fit.read import read
from ordinate.commands.fit.time_limit import as_text
from ordinate.commands.fit.train import Trainer
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.workspace import partial_folder
from ordinate.counts import counted
from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError
from ordinate.estimators.unseen_errors import UnseenErrors
from ordinate.model.predictions import Predictions

DEFAULTS, CHOSEN = "defaults", "chosen"
MOST_OUT_OF_FOLD = 20_000  # The blend knows its errors on so many samples.
# A tuple holds the lowest and the highest value, on a logarithmic scale; a list holds all values.
Values = tuple[float, float] | list[int]


def tune(options: FitOptions, trials: int | None = None) -> None:
    """Try hyperparameters until the time is over, then train a model with those that validate best.

    Args:
        options: Options of the command, of which ``time_limit`` is that of the trials.
        trials: Number of trials after which to stop; None for as many as the time allows.
    """
    minutes = options.time_limit or 10.0
    options = replace(options, time_limit=None)
    check(options)
    tuning = Tuning.of(options)
    study = Study.of(tuning)
    best = study.kept(partial_folder(options.path))
    if best is None:
        study.run(minutes, trials)
        best = study.best()
        study.study.set_user_attr(CHOSEN, best)
    print(f"training {tuning.options.method} with {', '.join(best) or DEFAULTS}")
    fit(replace(tuning.options, set=[*options.set, *best]))


@dataclass(frozen=True)
class Tuning:
    """What is tuned.

    Args:
        options: Options of ``fit``, with the method.
        trainer: Samples, rows and parts, which are the same for all trials.
    """

    options: FitOptions
    trainer: Trainer

    @classmethod
    def of(cls, options: FitOptions) -> "Tuning":
        """Read the data, choose the method if it was left open, and divide the rows as ``fit`` does."""
        samples = read(options)
        if samples.modality.plans_training:
            problem = "is not for images, whose network, size and epochs `fit` plans"
            raise OrdinateError("tune", problem=problem, expected="a table, series, text or volumes")
        plan = make_plan(options, samples)
        if options.method == "auto":  # The blend on a table, as in `fit`.
            options = replace(options, method=plan.candidates[0])
            plan = make_plan(options, samples)
        share = options.test_share(len(plan.label.values))
        division = divide_rows(plan.label, samples, share, options.seed)
        checkpoints = partial_folder(options.path)  # Trials keep no state there.
        return cls(options, Trainer(plan, samples, division, checkpoints))

    @property
    def space(self) -> Mapping[str, Values]:
        """The settings to choose from, without those that were given."""
        of_method: dict[str, tuple[str, Values]] = {
            BLEND: ("batch_size", [32, 64, 128, 256]),
            "cloc": ("mmnp_weight", (0.03, 10.0)),
            "otd": ("n_neighbors", [3, 9, 27]),
            "supcr": ("temperature", (0.5, 8.0)),
            "supremix": ("temperature", (0.1, 1.0)),
        }
        space: list[tuple[str, Values]] = [
            ("training.learning_rate", (3e-4, 1e-2)),
            ("training.weight_decay", (0.01, 10.0)),
            ("embedding_dim", [16, 64, 256]),
            of_method[self.options.method],
        ]
        left = {name: values for name, values in space if name not in self.options.settings.texts}
        if not left:
            raise OrdinateError("--set", problem="gives every setting that could be tuned", hint="leave one out")
        return left

    @property
    def is_out_of_fold(self) -> bool:
        """Whether a single run predicts every training sample without having seen it, as that of a blend does."""
        division = self.trainer.division
        return self.options.method == BLEND and not division.is_validated and len(division.rows) <= MOST_OUT_OF_FOLD

    @property
    def on_other_folds(self) -> "Tuning":
        """The same with another seed, which divides the samples into other folds and starts from other weights."""
        options = replace(self.options, seed=self.options.seed + 1)
        return Tuning(options, replace(self.trainer, plan=replace(self.trainer.plan, options=options)))

    @property
    def measured(self) -> NDArray[np.int64]:
        """The rows that every trial is measured on, in the order of the parts."""
        if self.is_out_of_fold:
            return self.trainer.division.rows
        return np.concatenate([unseen for _, unseen in self.trainer.parts()])

    def mean(self, errors: NDArray[np.float64]) -> float:
        """Return the mean of errors of the first measured rows, by the weights of the samples."""
        weights = column_of(self.trainer.samples.weights, self.measured[: len(errors)])
        return float(np.average(errors, weights=weights))

    def errors(self, settings: Sequence[str], trial: optuna.Trial | None = None) -> NDArray[np.float64]:
        """Return the absolute errors on validation rows of models with these settings; prune a trial that is behind."""
        options = replace(self.options, set=[*self.options.set, "training.calibration=false", *settings], quiet=True)
        samples = self.trainer.samples
        plan = make_plan(options, samples)
        label = plan.label

        def trained(rows: NDArray[np.int64]) -> Any:
            weights, groups = column_of(samples.weights, rows), column_of(samples.groups, rows)
            model = plan.estimator(options.method)
            return model.fit(take(samples.X, rows), label.values[rows], weights, groups=groups)

        if self.is_out_of_fold:
            errors: NDArray[np.float64] = trained(self.trainer.division.rows).unseen_errors_[BLEND]
            return errors
        found: list[NDArray[np.float64]] = []
        for number, (rows, unseen) in enumerate(self.trainer.parts()):
            if trial is not None and number > 0:
                trial.report(self.mean(np.concatenate(found)), number)
                if trial.should_prune():
                    raise optuna.TrialPruned
            model = trained(rows).fitted
            found.append(Predictions.of(model, take(samples.X, unseen), label.values[unseen]).absolute_errors)
        return np.concatenate(found)


@dataclass(frozen=True)
class Study:
    """The trials of a tuning, kept in a file from which a command that was stopped continues."""

    tuning: Tuning
    study: optuna.Study

    @classmethod
    def of(cls, tuning: Tuning, starts: int = 8) -> "Study":
        """Open the file of the trials next to the folder of the model.

        Args:
            tuning: What is tuned.
            starts: Number of trials that are drawn at random before the sampler learns from them.
        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        options = tuning.options
        file = f"{options.path}-tuning.log"
        name = f"{tuning.trainer.samples.digest} {options.determining}"
        study = optuna.create_study(
            storage=optuna.storages.JournalStorage(JournalFileBackend(file)), study_name=name, load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=starts),
        )  # fmt: skip
        # A study that continues draws other values than those that it has tried.
        study.sampler = optuna.samplers.TPESampler(seed=options.seed + len(study.trials), n_startup_trials=starts)
        print(f"tuning {options.method}: {', '.join(tuning.space)}; trials are kept in {file}")
        return cls(tuning, study)

    @property
    def finished(self) -> list[optuna.trial.FrozenTrial]:
        """The trials that were measured on all validation rows; the first is that of the defaults."""
        return self.study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))

    @property
    def ended(self) -> int:
        """The number of trials that ended, in whatever way; those of a command that was killed did not."""
        return sum(trial.state.is_finished() for trial in self.study.get_trials(deepcopy=False))

    def run(self, minutes: float, trials: int | None, *, fewest: int = 2) -> None:
        """Run trials until the number is reached, or no time is left for another and for the last measurements.

        A few trials are run in any case; a choice among fewer is none.
        """
        end = time.monotonic() + 60 * minutes
        longest = 0.0
        while trials is None or self.ended <= trials:
            started = time.monotonic()
            # The best is measured again in the end, and so are the defaults.
            if self.ended > fewest and started + 3 * longest > end:
                break
            is_first = not self.finished
            self._try(end)
            longest = max(longest, time.monotonic() - started)
            if is_first:
                _announce(longest, end, trials, fewest)

    def _try(self, end: float) -> None:
        if not self.finished:
            value = self.tuning.mean(self.tuning.errors(()))
            self.study.add_trial(optuna.trial.create_trial(value=value, user_attrs={"settings": []}))
            print(f"{DEFAULTS}: mean absolute error {value:z.4f}")
            return
        trial = self.study.ask()
        settings = [f"{name}={_drawn(trial, name, values)}" for name, values in self.tuning.space.items()]
        try:
            value = self.tuning.mean(self.tuning.errors(settings, trial))
        except optuna.TrialPruned:
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            result = "behind the others, stopped early"
        except OrdinateError as error:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            result = f"failed, {error}"
        else:
            trial.set_user_attr("settings", settings)
            self.study.tell(trial, value)
            result = f"mean absolute error {value:z.4f}"
        left = as_text(max(0.0, end - time.monotonic()))
        print(f"trial {trial.number}: {result}, lowest {self.study.best_value:z.4f}; at most {left} left")

    def kept(self, partial: Path) -> list[str] | None:
        """Return the settings with which a command was stopped in its last training, whose state a folder keeps."""
        return self.study.user_attrs.get(CHOSEN) if partial.exists() else None

    def best(self) -> list[str]:
        """Return the settings of the best trial; none if it is not better than the defaults on other folds as well.

        The lowest of many errors is low by chance too. The best trial and the defaults are therefore measured again.
        """
        if not self.finished:
            raise OrdinateError("--time-limit", problem="no trial ended within it", expected="more time")
        count = len(self.finished)
        settings: list[str] = self.study.best_trial.user_attrs["settings"]
        if not settings:
            print(f"the defaults are kept: they are the best of {counted(count, 'trial')}")
            return []
        print("measuring the best trial and the defaults again, on other folds")
        again = self.tuning.on_other_folds
        trainer, measured = again.trainer, again.measured
        found = UnseenErrors(column_of(trainer.samples.weights, measured), trainer.units_of(measured))
        found.of = {DEFAULTS: again.errors(()), "best": again.errors(settings)}
        difference, error = found.mean(DEFAULTS, "best")
        facts = f"has a mean absolute error lower by {difference:z.4f} ± {error:.4f} on other folds"
        if not found.behind(DEFAULTS, "best", 1.0):
            print(
                f"the defaults are kept: the best of {counted(count, 'trial')} {facts}, not more than a standard error"
            )
            return []
        print(f"the best of {counted(count, 'trial')} {facts}")
        return settings


def _announce(seconds: float, end: float, trials: int | None, fewest: int) -> None:
    """Print how many trials of so many seconds there is time for."""
    allowed = max(0, int((end - time.monotonic()) / seconds) - 2)
    if trials is not None:
        allowed = min(allowed, trials)
    print(f"a trial takes about {as_text(seconds)}: the limit allows {counted(allowed, 'trial')}")
    if allowed < fewest and trials is None:
        needed = math.ceil((fewest + 3) * seconds / 60)
        print(f"note: {fewest} are run in any case; --time-limit {10 * needed} would allow many")


def _drawn(trial: optuna.Trial, name: str, values: Values) -> str:
    if isinstance(values, tuple):
        return f"{trial.suggest_float(name, *values, log=True):.3g}"
    return str(trial.suggest_categorical(name, values))
