"""``ordinate evaluate``: the metrics of saved models on labelled samples, compared with those of simple models."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.commands.report import read_samples, training_samples
from ordinate.commands.split_file import read_split, trained_on
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.estimators.loading import load
from ordinate.model.evaluation import measure_targets
from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import gather
from ordinate.report.page.measures import Predictor, score_all
from ordinate.report.text import table


def evaluate(models: Sequence[str], data: str, target: str | None, out: str | None) -> None:
    """Print the metrics of models, or write them to ``out`` too; the arguments are the options of the command line."""
    names = names_of(models)
    fitted = {name: load(model).fitted for name, model in zip(names, models, strict=True)}
    splits = {name: read_split(model) for name, model in zip(names, models, strict=True)}
    wanted = target or splits[names[0]]["target"] or fitted[names[0]].target
    samples = {name: read_samples(fitted[name], splits[name], data, wanted) for name in names}
    first = samples[names[0]]
    rows = reduce(np.intersect1d, [each.measured for each in samples.values()])
    is_unseen = len(rows) > 0 and all(each.trained is not None for each in samples.values())
    if len(rows) == 0:  # Every row was used to train some model.
        rows = np.arange(len(first.y))
    predictions = {name: Predictions.of(fitted[name], *samples[name].take(rows)) for name in names}
    _require_one_label(predictions)
    if isinstance(wanted, list):
        found = _of_targets(predictions, wanted)
    else:
        training = training_samples(fitted[names[0]], models[0], splits[names[0]], wanted, first)
        scored = {name: score_all(gather(each, training)) for name, each in predictions.items()}
        own = {name: of_model[0] for name, of_model in scored.items()}
        found = _of_scores({**own, **{each.name: each for each in scored[names[0]][1:]}})
    seen = "on which no model was trained" if is_unseen else "some of which the models may have been trained on"
    if not is_unseen and data != trained_on(models[0]):
        seen = "all of the file"
    print(f"{counted(len(rows), 'sample')}, {seen}; 95% intervals\n")
    print(_shown(found))
    if out is not None:
        write_table([found], out)


def names_of(folders: Sequence[str]) -> list[str]:
    """Return the shortest ends of paths that tell them apart.

    Example:
        >>> names_of(["a/model", "b/model"]), names_of(["out/cloc", "out/otd"])
        (['a/model', 'b/model'], ['cloc', 'otd'])
    """
    parts = [Path(folder).resolve().parts for folder in folders]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise OrdinateError("models", f"{folders[0]} twice", "different ones")


def _require_one_label(predictions: dict[str, Predictions]) -> None:
    """Raise an error if models predict different ranks, or ranks and numbers."""
    (first, known), *others = ((name, each.classes) for name, each in predictions.items())
    for name, classes in others:
        if classes != known:
            shown = [" < ".join(map(str, each)) if each else "a number" for each in (classes, known)]
            problem = f"{name} predicts {shown[0]}, and {first} {shown[1]}"
            raise OrdinateError("models", problem=problem, expected="models of one label")


def _of_scores(predictors: dict[str, Predictor]) -> pd.DataFrame:
    """Return a row of each metric of each model."""
    return pd.DataFrame(
        [
            {"model": name, "metric": metric, "value": score.value, "low": score.low, "high": score.high}
            for name, each in predictors.items()
            for metric, score in each.scores.items()
        ]
    )


def _of_targets(predictions: dict[str, Predictions], targets: list[str]) -> pd.DataFrame:
    """Return a row of each metric of each of several targets and models."""
    return pd.DataFrame(
        [
            {"model": f"{name}, {target}", "metric": metric, "value": value, "low": np.nan, "high": np.nan}
            for name, each in predictions.items()
            for target, metrics in measure_targets(each, targets).items()
            for metric, value in metrics.items()
        ]
    )


def _shown(found: pd.DataFrame) -> str:
    """Return the metrics as a table with a row of each model."""
    intervals = found["low"].map(" [{:z.3f}, ".format) + found["high"].map("{:z.3f}]".format)
    cells = found.assign(cell=found["value"].map("{:z.3f}".format) + intervals.where(found["low"].notna(), ""))
    wide = cells.pivot(index="model", columns="metric", values="cell")
    wide = wide.loc[found["model"].unique(), found["metric"].unique()]
    return table(
        ["model", *wide.columns], [[name, *row] for name, row in zip(wide.index, wide.to_numpy(), strict=True)]
    )
