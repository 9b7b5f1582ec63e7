"""The last stage of ``ordinate fit``: the folder of the model, its metrics and report."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ordinate.commands.fit.choose import errors_as_text
from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.fit.train import Trained, Trainer
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import costs_of_rules, note_on_order
from ordinate.commands.leakage import note_on_groups
from ordinate.commands.split_file import SPLIT
from ordinate.commands.workspace import Workspace
from ordinate.counts import counted
from ordinate.data.csv_format import CSV, marks_of
from ordinate.data.file_formats import ends_in
from ordinate.data.numbers import quoted_text
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, random_part, take
from ordinate.decisions import compare_decisions
from ordinate.errors import OrdinateError, are_arguments_typed, argument
from ordinate.model.evaluation import Metrics, measure_targets, metrics_of
from ordinate.model.folder import CARD
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.model.saving import write_model
from ordinate.report.card import model_card, parts_of, versions
from ordinate.report.page.contents import MOST_SAMPLES, LabelledSamples, gather
from ordinate.report.page.measures import score_all
from ordinate.report.page.verdict import Compared

REPORT = "report.html"


@dataclass(frozen=True)
class Written:
    """A model that was written.

    Args:
        metrics: Its metrics.
        compared: The model and what it is compared with; None if that was not measured.
    """

    metrics: Metrics
    compared: Compared | None


def write(
    trained: Trained, trainer: Trainer, command: str, time: RunLimit, workspace: Workspace
) -> tuple[Path, Written]:
    """Write the model, its metrics, report and card to a folder of the workspace; return the folder with them.

    Args:
        trained: The model.
        trainer: What trained it, with the samples.
        command: Command that trains the model again.
        time: Time that is left.
        workspace: Workspace of the command.
    """
    folder = workspace.partial / "model"
    shutil.rmtree(folder, ignore_errors=True)  # A run that was stopped may have left another model.
    folder.mkdir()
    test, groups = trainer.division.test, trainer.samples.groups
    predictions = trainer.predictions(trained.name, trained.model, test)
    if groups is not None:
        predictions = replace(predictions, groups=groups.to_numpy()[test])
    writer = _Writer(trained, trainer, command, predictions, folder)
    metrics = writer.write_model()
    compared = None
    if len(predictions) < 3:
        pass
    elif trainer.plan.options.no_report:
        if trained.name == BLEND and not time.has_time_for(time.for_report):
            print("note: the time limit left no time to compare the model with simple ones")
        elif trained.name == BLEND:
            compared = writer.compare(simple_models=time.has_time_for(time.for_report + 10))
    elif workspace.begin("report") > 1:
        print("note: no report, as an earlier run was killed while writing it")
    elif not time.has_time_for(time.for_report):
        print("note: the time limit left no time for a report; ordinate report writes one of a model")
    else:
        with named_failure():
            compared = writer.write_report(metrics, time)
    writer.write_card(compared)
    return folder, Written(metrics, compared)


@dataclass(frozen=True)
class _Writer:
    """Writes the files of a model; the arguments are those of :func:`write`, with predictions of held-out samples."""

    trained: Trained
    trainer: Trainer
    command: str
    predictions: Predictions
    folder: Path

    @property
    def options(self) -> FitOptions:
        """The options of the command."""
        return self.trainer.plan.options

    def write_model(self) -> Metrics:
        """Write the model, its predictions of held-out samples, metrics and split; return the metrics."""
        trained, options, predictions = self.trained, self.options, self.predictions
        plan, samples, test = self.trainer.plan, self.trainer.samples, self.trainer.division.test
        model = trained.model.fitted.with_novelty(torch.from_numpy(predictions.embeddings))
        write_model(model.of_column(options.target), self.folder)
        held_out = HeldOut.of(predictions)
        held_out.write(self.folder)
        metrics: Metrics = {"method": trained.name, "test_samples": len(test), "training_samples": len(trained.rows)}
        if options.weight is not None:
            metrics["weight"] = options.weight
        if trained.tried:
            metrics["candidates"] = trained.tried
        weights = column_of(samples.weights, test)
        metrics |= metrics_of(predictions, weights)
        if predictions.only_rank is not None:
            held_out_samples = counted(len(test), "held-out sample")
            print(f"note: the model predicts {quoted_text(predictions.only_rank)} for all {held_out_samples}")
        if isinstance(options.target, list):
            metrics["targets"] = measure_targets(predictions, options.target, weights)
        if plan.costs is not None and plan.label.classes is not None:
            metrics["decisions"] = compare_decisions(held_out.labels, held_out.predicted, plan.costs)
        csv_format = marks_of(Path(options.data)) if ends_in(options.data, CSV) else None
        split = {
            "identity": list(getattr(samples.identity, "columns", ())), "data": samples.digest,
            "target": options.target, "csv": csv_format,
            "missing": list(options.missing_values), "keep_missing": options.keep_missing, "group": options.group,
            "train": samples.in_data(trained.rows).tolist(), "test": samples.in_data(test).tolist(),
        }  # fmt: skip
        (self.folder / "metrics.json").write_text(json.dumps({**metrics, "command": self.command}, indent=2) + "\n")
        (self.folder / SPLIT).write_text(json.dumps(split) + "\n")
        return metrics

    def write_report(self, metrics: Metrics, time: RunLimit) -> Compared:
        """Write the report, and return what it compares."""
        from ordinate.report.page import write_report

        trainer, options, predictions = self.trainer, self.options, self.predictions
        test = trainer.division.test
        facts = {"Data": options.data, "Data, sha256": trainer.samples.digest}
        if "candidates" in metrics:
            measure = "MAE" if options.weight is None else "weighted MAE"
            errors = errors_as_text(metrics["candidates"])
            facts["Candidates"] = f"{measure} on validation samples: {errors}"
        if options.weight is not None:
            facts["Weights"] = (
                f"the model was trained with those of {options.weight!r}; here all samples count the same"
            )
        compared: list[Compared] = []
        write_report(
            predictions.model, predictions.X, trainer.plan.label.values[test], self.folder / REPORT,
            predictions=predictions, training=self._seen, target=self._targets, names=self._names,
            projections=time.projections(len(test)), costs=costs_of_rules(metrics.get("decisions")),
            command=self.command + self._out, facts=facts, notes=self._notes,
            simple_models=time.has_time_for(time.for_report + 10),
            importance_seconds=time.for_importance, on_scores=compared.append,
        )  # fmt: skip
        return compared[0]

    def compare(self, *, simple_models: bool) -> Compared:
        """Compare a blend with its parts, which takes next to no time, and with simple models."""
        part = self.predictions.take(random_part(len(self.predictions), MOST_SAMPLES))
        contents = gather(part, self._seen).by_target()
        scored = [score_all(each, simple_models=simple_models) for each in contents]
        return Compared.of(contents, scored, self._targets)

    def write_card(self, compared: Compared | None) -> None:
        """Write the card of the model."""
        samples, measured = self.trainer.samples, len(self.trainer.division.test)
        counts = f"{counted(len(self.trained.rows), 'sample')} of training, {measured:,} held out"
        digest_of = "SHA-256" if samples.modality.holds_arrays else "SHA-256 of samples and labels"
        data = {"Data": self.options.data, digest_of: samples.digest, "Samples": counts}
        parts = parts_of(self.trained.model.fitted)
        facts = {
            "Method": self.trained.name,
            **parts,
            **versions(),
            "Seed": str(self.options.seed),
            "Command": self.command,
        }
        writer = "`ordinate fit`" if are_arguments_typed() else "`ordinate.fit`"
        targets = self._targets
        of_table = self.predictions.model.reader.kind == "table"
        card = model_card(targets, compared, measured, data, self._notes, facts, of_table=of_table, writer=writer)
        (self.folder / CARD).write_text(card, encoding="utf-8")

    @property
    def _out(self) -> str:
        """The folder that the user has given, as the command has it."""
        if self.options.out is None or not are_arguments_typed():
            return ""
        return f" {argument('out', self.options.out)}"

    @property
    def _notes(self) -> list[str]:
        """Notes on the data, which the report and the card hold."""
        samples, plan = self.trainer.samples, self.trainer.plan
        found = note_on_groups(samples, self.trainer.division), note_on_order(plan.label.classes)
        return [*samples.notes, *filter(None, found)]

    @property
    def _targets(self) -> list[str]:
        """The names of the labels, as far as the data have some."""
        name = getattr(self.trainer.samples.y, "name", None)
        return self.options.targets or ["the label" if name in (None, "label") else str(name)]

    @property
    def _seen(self) -> LabelledSamples:
        """Samples of training, with their labels."""
        rows = self.trained.rows
        return take(self.trainer.samples.X, rows), self.trainer.plan.label.values[rows]

    @property
    def _names(self) -> list[str]:
        """The names of the held-out samples: paths of their files, or numbers of their rows."""
        X, samples, test = self.predictions.X, self.trainer.samples, self.trainer.division.test
        if samples.paths is None and len(test) <= MOST_SAMPLES:
            of_test = modality_of(X).paths(X)
            if of_test is not None:
                return of_test.tolist()
        return samples.names(test, samples.paths)


@contextmanager
def named_failure() -> Iterator[None]:
    """Print why a report could not be written, and go on: whatever the reason, the model is there."""
    try:
        yield
    except Exception as error:
        reason = error if isinstance(error, OrdinateError) else f"{type(error).__name__}: {error}"
        print(f"note: the report could not be written: {reason}")
