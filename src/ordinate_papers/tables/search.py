"""Learning rate and weight decay, chosen on validation data by a grid or by Optuna; every trial is a run that is kept.

SupCR chose both on a grid (Appendix D). The trials of a search follow from its seed and the results before them, so
one that was killed is asked for the same trials again, and finds those that are done in the database.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from ordinate.errors import OrdinateError
from ordinate_papers.tables.outcomes import Execute
from ordinate_papers.tables.results import Result, ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

Space = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Trial:
    """A run and its settings; its value is None if it failed."""

    settings: dict[str, Any]
    run: Run
    value: float | None


@dataclass(frozen=True)
class Found:
    """The best trial of a search, the first of equals, and all of them in order."""

    best: Trial
    trials: list[Trial]


def search(
    make_run: Callable[[dict[str, Any]], Run],
    space: Space,
    trials: int | None = None,
    grid: bool = False,
    *,
    metric: str,
    execute: str | Execute,
    database: ResultsDatabase,
    folder: str | Path,
    maximize: bool = False,
    together: int = 2,
    seed: int = 0,
    **options: Any,
) -> Found:
    """Return the settings with the best validation metric.

    A failed trial, one that diverged say, is left out.

    Args:
        make_run: the run of a trial, from its settings.
        space: by name of the setting, a list of values, or a tuple (lowest, highest), both above 0, searched on a
            logarithmic scale: ``{"learning_rate": (0.01, 1.0), "weight_decay": [1e-4, 1e-5]}``.
        trials: how many, or None for the whole grid.
        grid: all combinations of lists in their order, instead of a Bayesian search by the tree-structured Parzen
            estimator of Optuna (Bergstra et al. 2011), which needs ``pip install "ordinate[tune]"``.
        metric: the one to choose by; its name starts with "validation", for what is chosen on test data is no result.
        execute: a trial, as in :func:`~ordinate_papers.tables.workers.complete`.
        database: of the results.
        folder: of the state folders.
        maximize: whether more is better.
        together: trials of a Bayesian search that are executed at the same time, without knowing of each other.
        seed: of the Bayesian search.
        **options: others of :func:`~ordinate_papers.tables.workers.complete`.
    """
    _check(space, trials, grid, metric, together)

    def results_of(settings: list[dict[str, Any]]) -> list[Trial]:
        runs = [make_run(values) for values in settings]
        results = complete(runs, execute, database, folder, **options)
        return [Trial(values, run, _value(results[run], metric)) for values, run in zip(settings, runs, strict=True)]

    if grid:
        tried = results_of([dict(zip(space, values, strict=True)) for values in product(*space.values())])
    else:
        tried = _bayesian(results_of, space, trials or 0, maximize, together, seed)
    values = [trial.value for trial in tried if trial.value is not None]
    if not values:
        error = database.results([tried[-1].run])[tried[-1].run].error
        raise OrdinateError("space", problem=f"every trial failed, the last one with: {error}")
    best = max(values) if maximize else min(values)
    return Found(next(trial for trial in tried if trial.value == best), tried)


def _check(space: Space, trials: int | None, grid: bool, metric: str, together: int) -> None:
    if not metric.startswith("validation"):
        raise OrdinateError("metric", repr(metric), "one of the validation data, 'validation_...'")
    for name, values in space.items():
        if isinstance(values, tuple) and not grid:
            if not (len(values) == 2 and 0 < values[0] < values[1]):
                raise OrdinateError("space", f"{values} for {name}", "(lowest, highest), both above 0")
        elif not isinstance(values, list) or not values:
            raise OrdinateError("space", f"{values!r} for {name}", "a list of values")
    if grid and trials not in (None, prod(map(len, space.values()))):
        raise OrdinateError("trials", f"{trials} for a grid", "None: all its combinations")
    for argument, number in (("trials", trials), ("together", together)):
        if not (grid and argument == "trials") and (type(number) is not int or number < 1):
            raise OrdinateError(argument, repr(number), "a whole number of at least 1")


def _value(result: Result, metric: str) -> float | None:
    if result.state == "failed":
        return None
    if metric not in result.metrics:
        raise OrdinateError("metric", f"{metric!r}, the runs have {sorted(result.metrics)}")
    return result.metrics[metric]


def _bayesian(
    results_of: Callable[[list[dict[str, Any]]], list[Trial]],
    space: Space,
    count: int,
    maximize: bool,
    together: int,
    seed: int,
) -> list[Trial]:
    try:
        import optuna
    except ImportError as error:
        raise OrdinateError("search", problem='needs Optuna: pip install "ordinate[tune]"') from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if maximize else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed),
    )
    distributions: dict[str, Any] = {
        name: optuna.distributions.FloatDistribution(values[0], values[1], log=True)
        if isinstance(values, tuple)
        else optuna.distributions.CategoricalDistribution(values)
        for name, values in space.items()
    }
    tried: list[Trial] = []
    while len(tried) < count:
        asked = [study.ask(distributions) for _ in range(min(together, count - len(tried)))]
        for trial, known in zip(asked, results_of([trial.params for trial in asked]), strict=True):
            study.tell(trial, known.value, optuna.trial.TrialState.FAIL if known.value is None else None)
            tried.append(known)
    return tried
