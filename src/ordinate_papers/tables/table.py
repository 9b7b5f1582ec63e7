"""A paper's table as data: rows, columns, the run behind every cell, and the value that the paper prints there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

from ordinate.errors import OrdinateError
from ordinate.estimators.registry import unavailable
from ordinate.options import head_losses
from ordinate.version import __version__
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.tables import models
from ordinate_papers.tables.budgets import budget
from ordinate_papers.tables.metric_names import METRICS
from ordinate_papers.tables.run import Run, Settings

Value = float | str | None
ChoiceT = TypeVar("ChoiceT", bound="Choice")
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The choices of a table, a column or a row for the runs of its cells.

    A row overrides its column, and a column overrides its table.

    Args:
        dataset: Name of the data set.
        model: Name of the model.
        protocol: Name of the evaluation.
        metric: Name of the run's metric; ``"adjacent_error_rates[1]"`` is an item of a list.
        settings: Settings of the model.
        on_its_data: Settings of the model for this data set only, such as those in units of its labels.
        training: Settings of the paper's training, such as a large encoder; neither for quick runs nor for other data.
        conditions: Settings of the protocol.
        data: Options of the reader of the data set.
        missing: Reason why no run can fill the cell, in any release so far.
    """

    dataset: str | None = None
    model: str | None = None
    protocol: str | None = None
    metric: str | None = None
    settings: Settings = field(default_factory=dict)
    on_its_data: Settings = field(default_factory=dict)
    training: Settings = field(default_factory=dict)
    conditions: Settings = field(default_factory=dict)
    data: Settings = field(default_factory=dict)
    missing: str = ""

    def over(self, other: "Choice") -> "Choice":
        """Return this choice, completed by another one where it leaves something open."""
        values: dict[str, Any] = {}
        for each in fields(Choice):
            ours = getattr(self, each.name)
            theirs = getattr(other, each.name)
            values[each.name] = ours or theirs
            if isinstance(ours, Mapping):
                values[each.name] = {**theirs, **ours}
        return Choice(**values)


@dataclass(frozen=True)
class Column(Choice):
    """A column.

    Args:
        name: Title of the column.
        scale: Factor from the run's metric to the paper's unit, such as 100 for percent.
        better: Direction of better values, if it does not follow from the name of the metric.
        item: Place in the list that the row's metric is.
    """

    name: str
    scale: float = 1.0
    better: Literal["lower", "higher", ""] = ""
    item: int | None = None


@dataclass(frozen=True)
class Row(Choice):
    """A row.

    Args:
        name: Title of the row.
        paper: Values of the paper, one per column.
        deviations: Deviations of these values, if the paper has them.
        group: Title of the group of rows.
    """

    name: str
    paper: Sequence[Value] = ()
    deviations: Sequence[float | None] = ()
    group: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Args:
        row: Row of the cell.
        column: Column of the cell.
        choice: Choices of row, column and table together.
        paper: Value of the paper.
        deviation: Deviation of this value.
        of_paper: Name of the paper.
    """

    row: Row
    column: Column
    choice: Choice
    paper: Value
    deviation: float | None
    of_paper: str

    @property
    def metric_name(self) -> str:
        """The name of the metric, without places in lists."""
        return (self.choice.metric or "").partition("[")[0]

    @property
    def better(self) -> str:
        """The direction of better values, ``"lower"`` or ``"higher"``; empty if there is none."""
        return self.column.better or METRICS.get(self.metric_name, "")

    def value(self, metrics: Settings) -> float | None:
        """Return the cell's value from the metrics of a run, None if it is not there."""
        value = metrics.get(self.metric_name)
        for index in re.findall(r"\[(\d+)\]", self.choice.metric or ""):
            if value is None or int(index) >= len(value):
                return None
            value = value[int(index)]
        return None if value is None else self.column.scale * value

    @property
    def impossible(self) -> str | None:
        """The reason why the cell cannot be computed here, None if it can."""
        from ordinate_papers.datasets import reading  # It imports all that reads data.

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
        return mismatch(choice.model, choice.dataset, choice)

    def run(self, seed: int, *, quick: bool) -> Run:
        """Return the run of a seed."""
        from ordinate_papers.datasets import reading

        choice = self.choice
        assert choice.dataset is not None  # noqa: S101  # Otherwise the cell is impossible.
        assert choice.model is not None  # noqa: S101
        trained_on = choice.conditions.get("source", choice.dataset)
        of_model = {**choice.on_its_data, **choice.settings}
        if not quick:
            of_model = {**choice.training, **of_model}
        settings = {"model": of_model, "data": choice.data, "protocol": choice.conditions}
        settings = {name: part for name, part in settings.items() if part}
        facts = {
            "ordinate": __version__,
            "data": {name: reading.digest(name) for name in sorted({choice.dataset, trained_on})},
            "budget": budget(trained_on, self.of_paper, quick=quick).to_dict(),
        }
        return Run(choice.dataset, choice.model, choice.protocol or "plain", settings, seed, facts)


@dataclass(frozen=True)
class RunPlan:
    """The runs of a table.

    Args:
        runs: Runs of a cell, by its place (row, column).
        reasons: Reasons why the other cells cannot be computed here, by their places.
    """

    runs: Mapping[tuple[int, int], Sequence[Run]]
    reasons: Mapping[tuple[int, int], str]

    @property
    def all_runs(self) -> list[Run]:
        """Every run once, as cells with different metrics share runs."""
        return list(dict.fromkeys(run for runs in self.runs.values() for run in runs))


@dataclass(frozen=True)
class Curve:
    """The axes of a drawing with one line per row and one panel per group.

    Args:
        along: Label of the horizontal axis.
        measure: Label of the vertical axis.
        places: Place of each column on the horizontal axis.
    """

    along: str
    measure: str
    places: Sequence[float]


@dataclass(frozen=True)
class Table(Choice):
    """A table or a figure of a paper.

    Args:
        name: Name in the command.
        title: Subject of the table.
        source: Paper, and number in the paper.
        columns: Columns.
        rows: Rows.
        note: Choices that were made here because the paper leaves them open.
        curve: Axes of a drawing with lines.
        picture: Name of another drawing, in :data:`~ordinate_papers.tables.pictures.PICTURES`.
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
    def _choices(self) -> list[Choice]:
        return [cell.choice for cells in self.cells for cell in cells]

    @property
    def datasets(self) -> list[str]:
        """The data sets that its cells need, in their order."""
        names = []
        for choice in self._choices:
            if choice.model:
                names += [choice.dataset, choice.conditions.get("source")]
        return list(dict.fromkeys(name for name in names if name is not None))

    def plan(self, seeds: int, *, quick: bool = False) -> RunPlan:
        """Return the runs of every cell that can be computed here, one per seed from 0."""
        runs = {}
        reasons = {}
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                reason = cell.impossible
                if reason is None:
                    runs[row, column] = [cell.run(seed, quick=quick) for seed in range(seeds)]
                else:
                    reasons[row, column] = reason
        return RunPlan(runs, reasons)

    def on(self, names: Sequence[str]) -> "Table":
        """Return the table's columns of these data sets, or the comparison of its models on others.

        The paper has no values for others.

        Raises:
            OrdinateError: A data set is unknown, or the table does not compare models on one data set.
        """
        names = [dataset(name).name for name in names]
        places = [place for place, column in enumerate(self.columns) if column.dataset in names]
        if {self.columns[place].dataset for place in places} == set(names):
            return self._part(places)
        transfers = any("source" in choice.conditions for choice in self._choices)
        if transfers or not any(choice.model for choice in self._choices):
            raise OrdinateError("dataset", self.name, "a table that compares models on a data set")
        return self._elsewhere(names)

    def _part(self, places: Sequence[int]) -> "Table":
        """Return the table without its other columns."""

        def chosen(values: Sequence[ItemT]) -> Sequence[ItemT]:
            return [values[place] for place in places] if values else ()

        rows = [replace(row, paper=chosen(row.paper), deviations=chosen(row.deviations)) for row in self.rows]
        curve = self.curve and replace(self.curve, places=chosen(self.curve.places))
        return replace(self, columns=chosen(self.columns), rows=rows, curve=curve)

    def _elsewhere(self, names: Sequence[str]) -> "Table":
        """Return the comparison of the models on other data sets, without rows and columns that become equal."""
        most = max(choice.conditions.get("samples", 0) for choice in self._choices)
        rows = {_essence(row): row for row in (_without_data(row, most) for row in self.rows)}
        columns = {_essence(column): column for column in (_without_data(column, most) for column in self.columns)}
        several = len({column.dataset for column in self.columns}) > 1
        moved = []
        for name in names:
            for column in columns.values():
                title = column.name
                if several:
                    title = (column.metric or self.metric or column.name).replace("_", " ")
                moved.append(replace(column, dataset=name, name=f"{name} {title}"))
        return replace(
            _without_data(self, most),
            title=f"{self.title}; here on {', '.join(names)}",
            columns=moved,
            rows=[replace(row, paper=(), deviations=(), group="") for row in rows.values()],
            curve=None,
            note="",
        )


def _without_data(choice: ChoiceT, most: int) -> ChoiceT:
    """Return a choice without the parts for the paper's data; a number of samples becomes a share of the most."""
    conditions = {name: value for name, value in choice.conditions.items() if name not in ("ranges", "drawn")}
    if "samples" in conditions:
        conditions["share"] = conditions.pop("samples") / most
    return replace(choice, dataset=None, on_its_data={}, training={}, data={}, conditions=conditions)


def _essence(choice: Row | Column) -> tuple[object, ...]:
    """Return the parts that distinguish a row or column from others on the same data set."""
    name = choice.name if isinstance(choice, Row) else choice.item
    return name, choice.model, choice.protocol, choice.metric, repr((choice.settings, choice.conditions))


def mismatch(model: str, name: str, choice: Choice) -> str | None:
    """Return the reason why a model cannot be trained on a data set by a choice, None if it can."""
    data = dataset(name)
    if models.task_of(model, data.task) is None:
        return f"{model} is for ranks, {name} has continuous targets"
    if choice.protocol == "corruption_robustness" and data.kind != "images":
        return f"{name} holds no images to corrupt"
    if choice.settings.get("head") == "neighbours" and model in head_losses():
        return f"{model} is trained end to end, with its linear head alone"
    if model == "simcse" and data.kind != "text":
        return f"simcse is for text, {name} holds none"
    return None
