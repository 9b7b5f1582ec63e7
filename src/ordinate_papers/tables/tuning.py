"""Learning rates and weight decay of every model of a table, chosen on validation data before its runs."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ordinate.estimators.registry import HEAD_LOSSES, model
from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.search import Space, search
from ordinate_papers.tables.table import Plan

SPACE: Space = {"learning_rate": (1e-4, 1e-2), "weight_decay": (1e-5, 10.0)}
RATES = [0.01, 0.05, 0.1, 0.2, 0.5, 1.0]
GRID: Space = {"learning_rate": RATES, "weight_decay": [1e-6, 1e-5, 1e-4, 1e-3]}  # of SGD (SupCR, Appendix D)
GRID_WITH_HEAD: Space = {**GRID, "head_learning_rate": RATES}
METRIC = "validation_mae"
EXECUTE = "ordinate_papers.tables.execute:execute"


def tuned(plan: Plan, trials: int, database: ResultsDatabase, folder: str | Path, **options: Any) -> Plan:
    """Return a plan whose models have the learning rate and the weight decay that validated best.

    Every model that is trained gets ``trials`` of a Bayesian search for every data set and seed, whose split they keep,
    and is evaluated by its mean absolute error on validation samples, whatever the table measures on test samples.
    ``options`` are those of :func:`~ordinate_papers.tables.workers.complete`.
    """
    found: dict[Run, dict[str, Any]] = {}
    for run in plan.all_runs:
        trial = _validated(run)
        if trial not in found and model(run.model).embeds:
            found[trial] = search(
                partial(_with, trial), space_of(trial), trials,
                metric=METRIC, execute=EXECUTE, database=database, folder=folder, **options,
            ).best.settings  # fmt: skip
    runs = {
        place: [_with(run, found.get(_validated(run), {})) for run in several] for place, several in plan.runs.items()
    }
    return Plan(runs, plan.reasons)


def space_of(run: Run) -> Space:
    """Return the values to choose from for the model of a run: SupCR's grid where its paper trains by SGD."""
    if dict(run.facts).get("budget", {}).get("optimizer") != "sgd":
        return SPACE
    return GRID if run.model in HEAD_LOSSES else GRID_WITH_HEAD


def _validated(run: Run) -> Run:
    """The run that evaluates a run's settings, on the validation samples of its split."""
    settings = {name: value for name, value in dict(run.settings).items() if name != "protocol"}
    return replace(run, protocol="validation", settings=settings)


def _with(run: Run, values: Mapping[str, Any]) -> Run:
    """A run whose model has other settings, where its table gives it none."""
    settings = dict(run.settings)
    chosen = {**values, **dict(settings.get("model", {}))}
    return replace(run, settings={**settings, "model": chosen} if chosen else settings)
