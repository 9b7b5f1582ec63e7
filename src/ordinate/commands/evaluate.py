"""``ordinate evaluate``: the metrics of saved models on labelled samples, compared with those of simple models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.commands.report import ReportSamples, read_report_samples, samples_of_training
from ordinate.commands.split_file import read_split, trained_on
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.estimators.loading import load
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.report.page.comparison import scores_of
from ordinate.report.page.contents import Contents, LabelledSamples, gather
from ordinate.report.page.measures import gain, score_all
from ordinate.report.page.verdict import Compared
from ordinate.report.text import METRICS, table, verdict_lines


def evaluate(
    models: Sequence[str], data: str, target: str | None, out: str | None, *, skip_unreadable: bool = False
) -> None:
    """Print the metrics of models, or write them to ``out`` too; the arguments are the options of the command line."""
    names = names_of(models)
    fitted = {name: load(model).fitted for name, model in zip(names, models, strict=True)}
    splits = {name: read_split(model) for name, model in zip(names, models, strict=True)}
    wanted = target or splits[names[0]]["target"] or fitted[names[0]].target
    say = cache(print)  # A note that concerns several models is printed once.
    samples = {
        name: read_report_samples(fitted[name], splits[name], data, wanted, say=say, skip_unreadable=skip_unreadable)
        for name in names
    }
    first = samples[names[0]]
    rows = reduce(np.intersect1d, [each.measured for each in samples.values()])
    is_unseen = len(rows) > 0 and all(each.trained is not None for each in samples.values())
    if len(rows) == 0:  # Every row was used to train some model.
        rows = np.arange(len(first.y))
    predictions = {name: samples[name].predictions(fitted[name], rows) for name in names}
    _require_one_label(predictions)
    known = {
        name: samples_of_training(fitted[name], model, splits[name], wanted, samples[name])
        for name, model in zip(names, models, strict=True)
    }
    targets = wanted if isinstance(wanted, list) else ["the label"]
    contents = {name: gather(each, _training(known[name])).by_target() for name, each in predictions.items()}
    compared = {name: _compared(name, each, targets) for name, each in contents.items()}
    found = scores_of(compared)
    seen = "on which no model was trained" if is_unseen else "some of which the models may have been trained on"
    if not is_unseen and data != trained_on(models[0]):
        seen = "all of the file"
    group, is_grouped = splits[names[0]]["group"], any(each.are_grouped for each in contents[names[0]])
    print(f"{counted(len(rows), 'sample')}, {seen}; 95% intervals{f' by {group!r}' if is_grouped else ''}\n")
    print(_shown(found))
    for name, model in zip(names, models, strict=True):
        gone = trained_on(model)
        if known[name] is None and gone is not None:
            say(f"\nnote: {gone} is gone or has changed: no comparison with models trained on it")
        larger = HeldOut.read(model).note_on_errors(predictions[name]) if HeldOut.is_in(model) else None
        if larger is not None:
            say(f"\nnote: {larger if len(names) == 1 else f'{name}: {larger}'}")
        of_groups = samples[name].note_on_groups(splits[name]["group"], rows, known[name])
        if of_groups is not None:
            say(f"\nnote: {of_groups}")
    for line in verdict_lines(_verdicts_of(compared)):
        print(f"\n{line}")
    for line in _differences(contents, targets):
        print(f"\n{line}")
    if out is not None:
        write_table([found], out)


def _training(known: ReportSamples | None) -> LabelledSamples | None:
    return None if known is None else known.training


def names_of(folders: Sequence[str]) -> list[str]:
    """Return the shortest ends of different paths that tell them apart.

    Example:
        >>> names_of(["a/model", "b/model"]), names_of(["out/cloc", "out/otd"])
        (['a/model', 'b/model'], ['cloc', 'otd'])
    """
    parts = [Path(folder).resolve().parts for folder in folders]
    depth = 1
    while len({part[-depth:] for part in parts}) < len(parts):
        depth += 1
    return ["/".join(part[-depth:]) for part in parts]


def _require_one_label(predictions: dict[str, Predictions]) -> None:
    """Raise an error if models predict different ranks, or ranks and numbers."""
    (first, known), *others = ((name, each.classes) for name, each in predictions.items())
    for name, classes in others:
        if classes != known:
            shown = [" < ".join(map(str, each)) if each else "a number" for each in (classes, known)]
            problem = f"{name} predicts {shown[0]}, and {first} {shown[1]}"
            raise OrdinateError("models", problem=problem, expected="models of one label")


def _compared(name: str, contents: Sequence[Contents], targets: Sequence[str]) -> Compared:
    """Return a model, by its name, and what it is compared with."""
    scored = []
    for each in contents:
        own, *simple = score_all(each)
        scored.append([replace(own, name=name), *simple])
    return Compared.of(contents, scored, targets)


def _differences(contents: Mapping[str, Sequence[Contents]], targets: Sequence[str]) -> Iterator[str]:
    """Yield by how much the mean error of each further model differs from that of the first, on the same samples."""
    (first, usual), *others = contents.items()
    for name, each in others:
        for target, own, known in zip(targets, each, usual, strict=True):
            lead = gain(own, known.predicted)
            said = "no clear difference"
            if lead.low > 0 or lead.high < 0:
                said = f"{name if lead.low > 0 else first} is better"
            of = f" of {target}" if len(targets) > 1 else ""
            yield f"MAE{of}, {name} minus {first}: {-lead.value:z.3f} [{-lead.high:z.3f}, {-lead.low:z.3f}]; {said}"


def _verdicts_of(compared: Mapping[str, Compared]) -> dict[str, object]:
    """Return the verdicts on all models, by model, target or both, whichever tell them apart."""
    found: dict[str, object] = {}
    for name, each in compared.items():
        for target, verdict in each.verdicts.items():
            parts = []
            if len(compared) > 1:
                parts.append(name)
            if len(each.verdicts) > 1:
                parts.append(target)
            found[", ".join(parts)] = verdict
    return found


def _shown(found: pd.DataFrame) -> str:
    """Return the metrics as a table with a row of each model."""
    intervals = found["low"].map(" [{:z.3f}, ".format) + found["high"].map("{:z.3f}]".format)
    cells = found.assign(cell=found["value"].map("{:z.3f}".format) + intervals)
    wide = cells.pivot(index="model", columns="metric", values="cell")
    wide = wide.loc[found["model"].unique(), found["metric"].unique()]
    header = ["model", *(METRICS[name] for name in wide.columns)]
    return table(header, [[name, *row] for name, row in zip(wide.index, wide.to_numpy(), strict=True)])
