"""A paper's table as data: rows, columns, the run behind every cell, and the figure that the paper has there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from ordinate import __version__
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import HEAD_LOSSES, unavailable
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.tables import models
from ordinate_papers.tables.budgets import budget
from ordinate_papers.tables.metric_names import METRICS
from ordinate_papers.tables.run import Run

Figure = float | str | None
ChoiceT = TypeVar("ChoiceT", bound="Choice")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a table, a column or a row says of the runs of its cells; a row overrides a column, a column the table.

    Args:
        dataset: its name.
        model: its name.
        protocol: the evaluation.
        metric: of the run's metrics; an item of a list as ``"adjacent_error_rates[1]"``.
        settings: of the model.
        on_its_data: settings of the model for this data set alone, such as what is in units of its labels.
        training: settings of the paper's training, such as a large encoder; not for a quick run, nor on other data.
        conditions: settings of the protocol.
        data: options of the data set's reader.
        missing: why no run can fill the cell, in any release so far.
    """

    dataset: str | None = None
    model: str | None = None
    protocol: str | None = None
    metric: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    on_its_data: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""

    def over(self, other: "Choice") -> "Choice":
        """Return this choice, with what it leaves open from another."""
        values: dict[str, Any] = {}
        for name in (f.name for f in fields(Choice)):
            ours, theirs = getattr(self, name), getattr(other, name)
            values[name] = {**theirs, **ours} if isinstance(ours, Mapping) else ours or theirs
        return Choice(**values)


@dataclass(frozen=True)
class Column(Choice):
    """A column.

    Args:
        scale: brings the run's metric to the paper's unit, such as 100 for percent.
        better: which figures are, where the metric's name does not say it.
        item: of the list that the row's metric is.
    """

    name: str
    scale: float = 1.0
    better: Literal["lower", "higher", ""] = ""
    item: int | None = None


@dataclass(frozen=True)
class Row(Choice):
    """A row: the paper's figures, one per column, and their deviations where it gives them."""

    name: str
    paper: Sequence[Figure] = ()
    deviations: Sequence[float | None] = ()
    group: str = ""


@dataclass(frozen=True)
class Cell:
    """A row in a column, and the run that fills it; ``of_paper`` is the name of the paper."""

    row: Row
    column: Column
    choice: Choice
    paper: Figure
    deviation: float | None
    of_paper: str

    @property
    def metric_name(self) -> str:
        return (self.choice.metric or "").partition("[")[0]

    @property
    def better(self) -> str:
        """Which figures are better, ``"lower"`` or ``"higher"``; empty where neither is."""
        return self.column.better or METRICS.get(self.metric_name, "")

    def value(self, metrics: Mapping[str, Any]) -> float | None:
        """Return the cell's figure among the metrics of a run, None where it is not there."""
        value: Any = metrics.get(self.metric_name)
        for index in re.findall(r"\[(\d+)\]", self.choice.metric or ""):
            if value is None or int(index) >= len(value):
                return None
            value = value[int(index)]
        return None if value is None else self.column.scale * value

    @property
    def impossible(self) -> str | None:
        """Why the cell cannot be computed here, None where it can."""
        from ordinate_papers.datasets import reading  # imports all that reads data

        choice = self.choice
        if choice.missing:
            return choice.missing
        if choice.dataset is None or choice.model is None:
            return "the paper's own figure; nothing to run"
        for name in (choice.dataset, choice.conditions.get("source")):
            if name is not None and (reason := reading.unavailable(name)):
                return reason
        for name in (choice.model, *choice.conditions.get("beside", ())):
            if reason := unavailable(name):
                return reason
        return _mismatch(choice.model, choice.dataset, choice)

    def run(self, seed: int, *, quick: bool) -> Run:
        """Return the run of a seed."""
        from ordinate_papers.datasets import reading

        choice = self.choice
        assert choice.dataset is not None  # noqa: S101  # `impossible` said why where it is
        assert choice.model is not None  # noqa: S101
        trained_on = choice.conditions.get("source", choice.dataset)
        settings = {
            "model": {**({} if quick else choice.training), **choice.on_its_data, **choice.settings},
            "data": choice.data,
            "protocol": choice.conditions,
        }
        settings = {name: part for name, part in settings.items() if part}
        facts = {
            "ordinate": __version__,
            "data": {name: reading.digest(name) for name in sorted({choice.dataset, trained_on})},
            "budget": budget(trained_on, self.of_paper, quick=quick).to_dict(),
        }
        return Run(choice.dataset, choice.model, choice.protocol or "plain", settings, seed, facts)


@dataclass(frozen=True)
class Plan:
    """What there is to run for a table, by the place (row, column) of a cell, and why the others cannot be run."""

    runs: Mapping[tuple[int, int], Sequence[Run]]
    reasons: Mapping[tuple[int, int], str]

    @property
    def all_runs(self) -> list[Run]:
        """Every run once: cells of several metrics share theirs."""
        return list(dict.fromkeys(run for runs in self.runs.values() for run in runs))


@dataclass(frozen=True)
class Curve:
    """How a table is drawn: one line per row over the ``places`` of the columns, one panel per group."""

    along: str
    measure: str
    places: Sequence[float]


@dataclass(frozen=True)
class Table(Choice):
    """A table or a curve of a paper; ``note`` says what is chosen here because the paper leaves it open.

    A ``curve`` is drawn as lines, another ``picture`` by the function of that name in
    :data:`~ordinate_papers.tables.pictures.PICTURES`.
    """

    name: str
    title: str
    source: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    curve: Curve | None = None
    picture: str = ""

    @cached_property
    def cells(self) -> list[list[Cell]]:
        """The cells, one list per row."""
        return [[self._cell(row, place) for place in range(len(self.columns))] for row in self.rows]

    def _cell(self, row: Row, place: int) -> Cell:
        column = self.columns[place]
        paper = row.paper[place] if row.paper else None
        deviation = row.deviations[place] if row.deviations else None
        choice = row.over(column).over(self)
        if column.item is not None:
            choice = replace(choice, metric=f"{choice.metric}[{column.item}]")
        return Cell(row, column, choice, paper, deviation, self.name.partition("-")[0])

    @property
    def datasets(self) -> list[str]:
        """The data sets that its cells need, in their order."""
        choices = [cell.choice for cells in self.cells for cell in cells if cell.choice.model]
        names = [name for choice in choices for name in (choice.dataset, choice.conditions.get("source"))]
        return list(dict.fromkeys(name for name in names if name is not None))

    def plan(self, seeds: int, *, quick: bool = False) -> "Plan":
        """Return the runs of every cell that can be computed here, one per seed from 0, and why the others cannot."""
        cells = {(row, column): cell for row, line in enumerate(self.cells) for column, cell in enumerate(line)}
        reasons = {place: reason for place, cell in cells.items() if (reason := cell.impossible) is not None}
        runs = {
            place: [cell.run(seed, quick=quick) for seed in range(seeds)]
            for place, cell in cells.items()
            if place not in reasons
        }
        return Plan(runs, reasons)

    def _part(self, places: Sequence[int]) -> "Table":
        """The table without its other columns."""
        rows = [
            replace(
                row,
                paper=[row.paper[place] for place in places] if row.paper else (),
                deviations=[row.deviations[place] for place in places] if row.deviations else (),
            )
            for row in self.rows
        ]
        curve = self.curve and replace(self.curve, places=[self.curve.places[place] for place in places])
        return replace(self, columns=[self.columns[place] for place in places], rows=rows, curve=curve)

    def on(self, names: Sequence[str]) -> "Table":
        """Return the table's columns of these data sets, or the comparison of its models on others.

        The paper has no figures for others.

        Raises:
            OrdinateError: an unknown data set, or a table that is no comparison of models on one data set.
        """
        names = [dataset(name).name for name in names]
        if {column.dataset for column in self.columns}.issuperset(names):
            return self._part([place for place, column in enumerate(self.columns) if column.dataset in names])
        choices = [cell.choice for cells in self.cells for cell in cells]
        if not any(choice.model for choice in choices) or any("source" in choice.conditions for choice in choices):
            raise OrdinateError("dataset", self.name, "a table that compares models on a data set")
        most = max((choice.conditions.get("samples", 0) for choice in choices), default=0)
        columns = {_essence(column): column for column in (_elsewhere(column, most) for column in self.columns)}
        rows = {_essence(row): row for row in (_elsewhere(row, most) for row in self.rows)}
        several = len({column.dataset for column in self.columns}) > 1
        return replace(
            _elsewhere(self, most),
            title=f"{self.title}; here on {', '.join(names)}",
            columns=[
                replace(column, dataset=name, name=f"{name} {_metric_name(column, self) if several else column.name}")
                for name in names
                for column in columns.values()
            ],
            rows=[replace(row, paper=(), deviations=(), group="") for row in rows.values()],
            curve=None,
            note="",
        )


def _elsewhere(choice: ChoiceT, most: int) -> ChoiceT:
    """A choice without what belongs to the paper's data: of ``most`` samples, a number becomes a share."""
    conditions = {
        name: value for name, value in choice.conditions.items() if name not in ("ranges", "samples", "drawn")
    }
    if "samples" in choice.conditions:
        conditions["share"] = choice.conditions["samples"] / most
    return replace(choice, dataset=None, on_its_data={}, training={}, data={}, conditions=conditions)


def _essence(choice: Row | Column) -> tuple[Any, ...]:
    """What tells one row or column from another on the same data set."""
    name = choice.name if isinstance(choice, Row) else choice.item
    return name, choice.model, choice.protocol, choice.metric, repr((choice.settings, choice.conditions))


def _metric_name(column: Column, table: Table) -> str:
    return (column.metric or table.metric or column.name).replace("_", " ")


def _mismatch(model: str, name: str, choice: Choice) -> str | None:
    """Why a model cannot be trained on a data set as it is asked for, None where it can."""
    data = dataset(name)
    if models.task_of(model, data.task) is None:
        return f"{model} is for ranks, {name} has continuous targets"
    if choice.protocol == "corruption_robustness" and data.kind != "images":
        return f"{name} holds no images to corrupt"
    if choice.settings.get("head") == "neighbours" and model in HEAD_LOSSES:
        return f"{model} is trained end to end, with its linear head alone"
    if model == "simcse" and data.kind != "text":
        return f"simcse is for text, {name} holds none"
    return None
