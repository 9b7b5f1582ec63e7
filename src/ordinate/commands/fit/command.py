"""``ordinate fit``: from data with a graded label to a trained, measured, saved model, in five stages."""

import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.commands.config_file import write_config
from ordinate.commands.division import Division, divide_rows
from ordinate.commands.fit.choose import choose
from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.plan import FitPlan, make_plan, planned_images, supports_several
from ordinate.commands.fit.read import open_labelled, read, request_of
from ordinate.commands.fit.result import print_result
from ordinate.commands.fit.time_limit import RunLimit, as_text
from ordinate.commands.fit.train import Trained, Trainer, train
from ordinate.commands.fit.write import REPORT, write
from ordinate.commands.fit_options import NOT_REPEATED, FitOptions
from ordinate.commands.label_methods import METHODS
from ordinate.commands.labels import Label, note_on_order
from ordinate.commands.leakage import AMONG_TRAINING, leakage_notes, note_on_groups
from ordinate.commands.samples import LabelledData, digest_of_columns
from ordinate.commands.workspace import LOGS, Workspace, partial_folder
from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.numbers import plain_text
from ordinate.data.outliers import find_outliers
from ordinate.data.paths import first_named
from ordinate.data.registry import modalities
from ordinate.data.sentinels import sentinel_problem
from ordinate.data.tables.row_columns import DETERMINES
from ordinate.encoders.given import is_named
from ordinate.encoders.image import name_in_timm
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.registry import added_option_groups, models
from ordinate.extensions import load_object
from ordinate.torchrun import is_first_process
from ordinate.training.machine import check_accelerator, keep_freed_memory


def fit(options: FitOptions, started: float | None = None) -> None:
    """Train, measure and save a model, and say where it is.

    Args:
        options: Options of the command.
        started: Time of ``time.monotonic`` from which a time limit counts; None for now.
    """
    again = train_and_save(options, started)
    if again is None:
        return
    print(f"\nmodel and metrics: {options.path}")
    if (options.path / REPORT).exists():
        print(f"report: {options.path / REPORT}")
    if (options.path / LOGS).exists():
        print(f"logs: {options.path / LOGS}")
    if again.options != options:
        same = "the same" if again.is_exact else "nearly the same"
        print(f"{same} model again: {again.options.command} --out again")
    print(f"next: ordinate predict {shlex.quote(str(options.path))} NEW{Path(options.data).suffix or '-DATA'}")


@dataclass(frozen=True)
class Again:
    """The options that train the same model, or nearly the same, again."""

    options: FitOptions
    is_exact: bool


@collected()  # Notes name values that lie far from the others; rows that are held out are not new.
def train_and_save(options: FitOptions, started: float | None = None) -> Again | None:
    """Train, measure and save a model, and print its metrics; see :func:`fit`.

    Returns:
        How to train it again; None in other processes than the first.
    """
    check(options)
    folder = partial_folder(options.path)
    limit = RunLimit.of(options.time_limit, folder, started or time.monotonic())
    opened = open_labelled(options, request_of(options))
    if opened.modality.name == "images" and options.encoder is not None and is_named(options.encoder):
        name_in_timm(options.encoder)  # Reading images takes longer than to find that there is no such network.
    images = planned_images(options, opened, limit.for_plan)
    if images is not None:
        opened = opened.resized(images.size)
        keep_freed_memory()
    samples = read(options, opened)
    plan = make_plan(options, samples, images)
    limit = limit.within(_default_minutes(options, plan), folder)
    costs = None if plan.costs is None else plan.costs.tolist()
    others = digest_of_columns([samples.splits, samples.groups, samples.weights])
    settings = {"data": samples.digest, "columns": others, "options": options.determining, "costs": costs}
    with Workspace(options.path, settings) as workspace:
        if workspace.resumes:
            print("continuing the run that was stopped")
        limit.keep_in(folder)
        share = options.test_share(len(plan.label.values))
        division = divide_rows(plan.label, samples, share, options.seed)
        leaks = _describe(samples, plan.label, division)
        if images is not None:
            limit = replace(limit, after=images.after)
            print(*images.announcement(plan.candidates[0], limit), sep="\n")
        elif limit.budget is not None:
            names = plan.candidates[:1] if plan.candidates[0] == BLEND else plan.candidates
            print(f"plan: {', '.join(names)}, in at most {as_text(limit.budget.seconds)} ({argument('time_limit')})")
            limit = replace(limit, after=limit.start * len(division.test) / 20_000)
        trainer = Trainer(plan, samples, division, workspace.checkpoints)
        trained = train(choose(trainer, limit), trainer, limit)
        if not is_first_process():
            return None
        again = _again(options, plan, trained)
        result, written = write(trained, trainer, again.command, limit, workspace)
        write_config(result / "run.toml", again, NOT_REPEATED)
        if (folder / LOGS).exists():
            (folder / LOGS).replace(result / LOGS)
        workspace.publish(result)
    print_result(options, trained.name, written)
    for leak in leaks:
        print(leak)
    return Again(again, trained.is_exact)


def check(options: FitOptions) -> None:
    """Raise an error for options that no data can make possible, where PyTorch or the estimators have to tell."""
    check_accelerator(options.training.accelerator)
    method = options.trained_method
    if len(options.targets) > 1:
        _check_targets(options, method)
    names = [method]
    if method == "auto":
        names = [BLEND, *(name for of_task in METHODS.values() for name in of_task)]
    estimators = [models()[name].estimator(task) for name in names for task in models()[name].estimators]
    kinds = [kind.options_class for kind in modalities() if kind.options_class is not None]
    options.settings.check({"": estimators, "data": kinds})
    for group, place in added_option_groups().items():
        options.settings.build(load_object(place), group)


def _check_targets(options: FitOptions, method: str) -> None:
    """Raise an error for several targets that are ranks, or a method that supports one alone."""
    got = counted(len(options.targets), "column")
    if options.task == "ranks" or options.order is not None:
        raise OrdinateError("--target", f"{got} of ranks", "one; several are for continuous targets")
    if method != "auto" and not supports_several(method):
        expected = f"one, or {argument('method', 'supcr')}"
        raise OrdinateError("--target", f"{got} for {method}, which supports one target", expected)


def _default_minutes(options: FitOptions, plan: FitPlan) -> float | None:
    """Return the time limit of a training whose method, epochs and limit were left open; None for any other."""
    has_epochs = options.epochs is not None or "epochs" in options.settings.names()
    is_given = options.time_limit is not None or options.method != "auto" or has_epochs
    is_alone = len(plan.candidates) == 1 and plan.candidates[0] != BLEND
    if is_given or is_alone or plan.images is not None:
        return None
    if plan.candidates[0] != BLEND:
        return 10.0
    return 2.0 if len(plan.label.values) <= 20_000 else 5.0


def _describe(samples: LabelledData, label: Label, division: Division) -> list[str]:
    """Check that held-out samples can be read as those to train on, and print how many there are of which kind.

    Returns:
        Notes on why held-out samples may be predicted better than new ones.
    """
    modality = samples.modality
    unseen = np.concatenate([division.validation, division.test])
    modality.check_unseen(samples.X, division.rows, unseen)
    if label.values.ndim == 2:
        kind = counted(label.values.shape[1], "continuous target")
    elif label.classes is None:
        kind = f"a continuous target from {np.min(label.values):g} to {np.max(label.values):g}"
    else:
        kind = f"{counted(len(label.classes), 'rank')}, {' < '.join(map(plain_text, label.classes))}"
    training = len(division.rows) + len(division.validation)
    print(
        f"{counted(len(label.values), 'sample')} of {modality.describe(samples.X)}, {kind}; {training} to train, "
        f"{len(division.test)} held out"
    )
    of_groups = note_on_groups(samples, division)
    if of_groups is not None:
        print(of_groups)
    if samples.unused and samples.groups is None:
        unused = f"{first_named(map(repr, samples.unused))} {'is' if len(samples.unused) == 1 else 'are'} not used"
        print(
            f"note: {unused}; if several samples are of one patient, {argument('group')} names the column of patients"
        )
    for note in (*_notes_on_labels(samples, label), note_on_order(label.classes)):
        if note is not None:
            print(f"note: {note}")
    if absent := label.without(division.rows):
        print(
            f"note: no training sample has the rank {', '.join(absent)}, so that the model cannot learn to predict it"
        )
    notes = [f"note: {note}" for note in leakage_notes(samples, division)]
    for note in notes:
        print(note)
    return [note for note in (*samples.notes, *notes) if DETERMINES in note or AMONG_TRAINING in note]


def _notes_on_labels(samples: LabelledData, label: Label) -> Iterator[str]:
    """Yield what may be wrong with labels: values that stand for none, or lie far from others, and contradictions."""
    for values in label.values.reshape(len(label.values), -1).T:
        problem = sentinel_problem(pd.Series(values))
        if problem is not None:
            yield f"the label {problem}; if these are missing labels, {argument('missing')} names them"
        elif outliers := find_outliers(pd.Series(values)):
            yield f"the label {samples.describe_outliers(outliers)}; correct it if it is an error"
    if not hasattr(samples.X, "columns") and label.values.ndim == 1 and samples.exact_copies is not None:
        others = pd.Series(label.values).groupby(samples.exact_copies).transform("nunique")
        if (others > 1).any():
            places = np.flatnonzero(others > 1)
            first = places[np.argsort(samples.exact_copies[places], kind="stable")][:6]
            named = first_named(samples.names(first, samples.known_paths), 6)
            yield (
                f"{counted(len(places), 'sample')} equal another that has another label, such as {named}; no "
                "model can be right on all of them"
            )


def _again(options: FitOptions, plan: FitPlan, trained: Trained) -> FitOptions:
    """Return the options that train the same model again, without a plan or a limit."""
    again = plan.options
    if trained.epochs is not None:
        others = [text for text in again.set if text.partition("=")[0] != "epochs"]
        again = replace(again, epochs=trained.epochs, set=others)
    if again == options and options.time_limit is None:
        return options
    return replace(again, method=trained.name, time_limit=None, folds=None)
