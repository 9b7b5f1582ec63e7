"""Learning rates and weight decay of every model of a table, chosen on validation samples before its runs.

Each pair of a model and a split has a study of Optuna (tree-structured Parzen estimator, Bergstra et al. 2011). Its
trials follow from its seed and from the results of earlier trials, so a command that was stopped asks for the same
trials again and finds their results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.estimators.registry import model
from ordinate.optional import optional
from ordinate.options import head_losses
from ordinate_papers.tables.results import Result, ResultsFile
from ordinate_papers.tables.run import Run, Settings
from ordinate_papers.tables.table import RunPlan
from ordinate_papers.tables.workers import Execute, complete

Space = Mapping[str, Sequence[float]]

# A tuple holds the lowest and the highest value, and is searched on a logarithmic scale; a list holds all values.
SPACE: Space = {"learning_rate": (1e-4, 1e-2), "weight_decay": (1e-5, 10.0)}


def tuned(
    plan: RunPlan, trials: int, execute: Execute, results: ResultsFile, *, together: int = 2, **options: Any
) -> RunPlan:
    """Return a plan whose models have the learning rate and the weight decay with the best validation error.

    Every model that is trained gets its trials for every data set and seed. They are evaluated by the mean absolute
    error on validation samples, whatever the table measures on test samples.

    Args:
        plan: Plan with the settings of the paper.
        trials: Number of trials of each study.
        execute: Function that returns the metrics of a run.
        results: File of the results.
        together: Number of trials of a study that are executed at the same time.
        options: Further arguments of :func:`~ordinate_papers.tables.workers.complete`.

    Raises:
        OrdinateError: Optuna is not installed, or every trial of a study failed.
    """
    optuna = optional("optuna", "tune", "tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    validated = dict.fromkeys(_validated(run) for run in plan.all_runs if model(run.model).embeds)
    studies = {run: optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0)) for run in validated}
    results_of: dict[Run, Result] = {}
    for first in range(0, trials, together):
        asked = []
        for run, study in studies.items():
            for _ in range(min(together, trials - first)):
                trial = study.ask(_distributions(optuna, space_of(run)))
                asked.append((study, trial, _with(run, trial.params)))
        results_of = complete([run for _, _, run in asked], execute, results, **options)
        for study, trial, run in asked:
            if results_of[run].state == "done":
                study.tell(trial, results_of[run].metrics["validation_mae"])
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
    best = {run: _best(optuna, run, study, results_of) for run, study in studies.items()}
    runs = {}
    for place, several in plan.runs.items():
        runs[place] = [_with(run, best.get(_validated(run), {})) for run in several]
    return RunPlan(runs, plan.reasons)


def space_of(run: Run) -> Space:
    """Return the values to choose from for a model: SupCR's grid (Appendix D) if its paper trains by SGD."""
    if run.facts.get("budget", {}).get("optimizer") != "sgd":
        return SPACE
    rates = [0.01, 0.05, 0.1, 0.2, 0.5, 1.0]
    grid = {"learning_rate": rates, "weight_decay": [1e-6, 1e-5, 1e-4, 1e-3]}
    if run.model not in head_losses():
        grid["head_learning_rate"] = rates
    return grid


def _distributions(optuna: Any, space: Space) -> dict[str, Any]:
    distributions = {}
    for name, values in space.items():
        if isinstance(values, tuple):
            distributions[name] = optuna.distributions.FloatDistribution(*values, log=True)
        else:
            distributions[name] = optuna.distributions.CategoricalDistribution(values)
    return distributions


def _best(optuna: Any, run: Run, study: Any, results_of: Mapping[Run, Result]) -> Settings:
    if study.get_trials(states=[optuna.trial.TrialState.COMPLETE]):
        return study.best_params
    last = results_of[_with(run, study.trials[-1].params)]
    raise OrdinateError("tune", problem=f"every trial of {run.label} failed, the last one with: {last.summary}")


def _validated(run: Run) -> Run:
    """Return the run that evaluates a run's settings, on the validation samples of its split."""
    settings = {name: value for name, value in run.settings.items() if name != "protocol"}
    return replace(run, protocol="validation", settings=settings)


def _with(run: Run, values: Settings) -> Run:
    """Return the run with values for the settings that its table does not give."""
    chosen = {**values, **run.settings.get("model", {})}
    if not chosen:
        return run
    return replace(run, settings={**run.settings, "model": chosen})
