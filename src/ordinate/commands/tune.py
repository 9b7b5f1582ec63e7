"""``ordinate tune``: hyperparameters chosen by cross-validation with Optuna, and a model that is trained with them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from ordinate.data.findings import collected
from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError
from ordinate.estimators.unseen_errors import UnseenErrors
from ordinate.model.predictions import Predictions

DEFAULTS, BEST, CHOSEN = "defaults", "best", "chosen"
MOST_OUT_OF_FOLD = 20_000  # The blend knows its errors on so many samples.
# A tuple holds the lowest and the highest value, on a logarithmic scale; a list holds all values.
Choices = tuple[float, float] | list[int]


def tune(options: FitOptions, trials: int | None = None) -> None:
    """Try hyperparameters until the time is over, then train a model with those that validate best.

    Args:
        options: Options of the command, of which ``time_limit`` is that of the trials.
        trials: Number of trials after which to stop; None for as many as the time allows.
    """
    seconds = 60 * (options.time_limit or 10.0)
    options = replace(options, time_limit=None)
    check(options)
    tuning = Tuning.of(options)
    study = tuning.open_study()
    if CHOSEN not in study.user_attrs:  # Otherwise the command was stopped in its last training.
        tuning.run(study, seconds, trials)
        study.set_user_attr(CHOSEN, tuning.choose(study))
    chosen: list[str] = study.user_attrs[CHOSEN]
    print(f"training {tuning.options.method} with {', '.join(chosen) or DEFAULTS}")
    fit(replace(tuning.options, set=[*options.set, *chosen]))


@dataclass(frozen=True)
class Tuning:
    """What is tuned.

    Args:
        trainer: Samples, rows and parts, which are the same for all trials, and the options of ``fit`` with the method.
    """

    trainer: Trainer

    @property
    def options(self) -> FitOptions:
        """The options of ``fit``, with the method."""
        return self.trainer.plan.options

    @classmethod
    def of(cls, options: FitOptions) -> "Tuning":
        """Read the data, choose the method if it was left open, and divide the rows as ``fit`` does."""
        samples = read(options)
        if samples.modality.plans_training:
            problem = "is not for images, whose network, size and epochs `fit` plans"
            raise OrdinateError("tune", problem=problem, expected="a table, series, text or volumes")
        plan = make_plan(options, samples)
        if options.method == "auto":  # The blend on a table, as in `fit`.
            plan = make_plan(replace(options, method=plan.candidates[0]), samples)
        share = options.test_share(len(plan.label.values))
        division = divide_rows(plan.label, samples, share, options.seed)
        checkpoints = partial_folder(options.path)  # Trials keep no state there.
        return cls(Trainer(plan, samples, division, checkpoints))

    def open_study(self) -> optuna.Study:
        """Return the trials, kept in a file next to the model, from which a command that was stopped continues."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        file = f"{self.options.path}-tuning.log"
        name = f"{self.trainer.samples.digest} {self.options.determining}"
        storage = optuna.storages.JournalStorage(JournalFileBackend(file))
        study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True)
        # A study that continues draws other values than those that it has tried.
        study.sampler = optuna.samplers.TPESampler(seed=self.options.seed + len(study.trials), n_startup_trials=8)
        print(f"tuning {self.options.method}: {', '.join(self.space)}; trials are kept in {file}")
        return study

    @property
    def space(self) -> Mapping[str, Choices]:
        """The settings to choose from, without those that were given."""
        of_method: dict[str, tuple[str, Choices]] = {
            BLEND: ("batch_size", [32, 64, 128, 256]),
            "cloc": ("mmnp_weight", (0.03, 10.0)),
            "otd": ("n_neighbors", [3, 9, 27]),
            "supcr": ("temperature", (0.5, 8.0)),
            "supremix": ("temperature", (0.1, 1.0)),
        }
        space: list[tuple[str, Choices]] = [
            ("training.learning_rate", (3e-4, 1e-2)),
            ("training.weight_decay", (0.01, 10.0)),
            ("embedding_dim", [16, 64, 256]),
            of_method[self.options.method],
        ]
        left = {name: values for name, values in space if name not in self.options.settings.texts}
        if not left:
            raise OrdinateError("--set", problem="gives every setting that could be tuned", hint="leave one out")
        return left

    def run(self, study: optuna.Study, seconds: float, trials: int | None) -> None:
        """Run trials until there are so many, or no time is left for another one and for two last measurements."""
        end = time.monotonic() + seconds

        def report(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
            if trial.value is not None:
                lowest = f"lowest {study.best_value:z.4f}"
                print(f"trial {trial.number + 1}: MAE {trial.value:z.4f}, {lowest}")
            ended = [each.duration.total_seconds() for each in study.trials if each.duration is not None]
            if len(ended) == 1:
                more = max(0, int((end - time.monotonic()) / ended[0]) - 2)
                print(f"a trial takes about {as_text(ended[0])}: the limit allows {counted(more, 'more trial')}")
            if time.monotonic() + 3 * max(ended) > end:
                study.stop()

        left = None
        if trials is not None:  # Those of a command that was killed have no end.
            left = max(0, trials - sum(each.state.is_finished() for each in study.trials))
        study.optimize(self.objective, left, catch=OrdinateError, callbacks=[report])

    @collected()  # Samples of other folds are not new.
    def objective(self, trial: optuna.Trial) -> float:
        """Return the mean error with settings that a trial draws."""
        settings = [f"{name}={_drawn(trial, name, values)}" for name, values in self.space.items()]
        trial.set_user_attr("settings", settings)
        try:
            return self.compared({BEST: settings}).mean(BEST)[0]
        except OrdinateError as error:
            print(f"trial {trial.number + 1}: failed, {error}")
            raise

    def choose(self, study: optuna.Study) -> list[str]:
        """Return the settings of the best trial; none unless they are clearly better than the defaults.

        The lowest of many errors is low by chance too. The best trial is therefore measured again, with another seed,
        which divides the samples into other folds and starts from other weights.
        """
        if not study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)):
            print("the defaults are kept: every trial failed")
            return []
        settings: list[str] = study.best_trial.user_attrs["settings"]
        print("measuring the best trial and the defaults on other folds")
        options = replace(self.options, seed=self.options.seed + 1)
        trainer = replace(self.trainer, plan=replace(self.trainer.plan, options=options))
        found = Tuning(trainer).compared({DEFAULTS: (), BEST: settings})
        difference, error = found.mean(DEFAULTS, BEST)
        facts = f"has an MAE lower by {difference:z.4f} ± {error:.4f} on other folds"
        if found.behind(DEFAULTS, BEST, 1.0):
            print(f"the best trial {facts}")
            return settings
        print(f"the defaults are kept: the best trial {facts}, not more than a standard error")
        return []

    def compared(self, candidates: Mapping[str, Sequence[str]]) -> UnseenErrors:
        """Return the errors of models with some settings on validation rows."""
        rows = self.trainer.division.rows
        if not self._is_out_of_fold:
            rows = np.concatenate([unseen for _, unseen in self.trainer.parts()])
        found = UnseenErrors(column_of(self.trainer.samples.weights, rows), self.trainer.units_of(rows))
        found.of = {name: self.errors(settings) for name, settings in candidates.items()}
        return found

    @property
    def _is_out_of_fold(self) -> bool:
        """Whether a single run predicts every training sample without having seen it, as that of a blend does."""
        division = self.trainer.division
        return self.options.method == BLEND and not division.is_validated and len(division.rows) <= MOST_OUT_OF_FOLD

    def errors(self, settings: Sequence[str]) -> NDArray[np.float64]:
        """Return the absolute errors on validation rows of models with these settings."""
        options = replace(self.options, set=[*self.options.set, "training.calibration=false", *settings], quiet=True)
        samples = self.trainer.samples
        plan = make_plan(options, samples)
        label = plan.label

        def trained(rows: NDArray[np.int64]) -> Any:
            weights, groups = column_of(samples.weights, rows), column_of(samples.groups, rows)
            model = plan.estimator(options.method)
            return model.fit(take(samples.X, rows), label.values[rows], weights, groups=groups)

        if self._is_out_of_fold:
            errors: NDArray[np.float64] = trained(self.trainer.division.rows).unseen_errors_[BLEND]
            return errors
        found = []
        for rows, unseen in self.trainer.parts():
            model = trained(rows).fitted
            found.append(Predictions.of(model, take(samples.X, unseen), label.values[unseen]).absolute_errors)
        return np.concatenate(found)


def _drawn(trial: optuna.Trial, name: str, values: Choices) -> str:
    if isinstance(values, tuple):
        return f"{trial.suggest_float(name, *values, log=True):.3g}"
    return str(trial.suggest_categorical(name, values))
