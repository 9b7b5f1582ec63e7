"""A table with its results as text, CSV and Markdown."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ordinate.counts import counted
from ordinate.report.text import table as aligned
from ordinate_papers.tables.results import Result
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import Cell, RunPlan, Table


@dataclass(frozen=True)
class Filled:
    """A cell with its results.

    Args:
        cell: Cell of the table.
        values: One value per seed whose run is done.
        reason: Reason why values are missing.
    """

    cell: Cell
    values: tuple[float, ...] = ()
    reason: str = ""

    @property
    def arrow(self) -> str:
        """An arrow in the direction of better values."""
        return {"lower": "↓", "higher": "↑", "": ""}[self.cell.better]

    @property
    def ours(self) -> float | None:
        """The mean of the values."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the seeds, if there are several."""
        return float(np.std(self.values)) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's value."""
        paper = self.cell.paper
        if self.ours is None or not isinstance(paper, int | float):
            return None
        return self.ours - paper


class CellText(NamedTuple):
    """The texts of a cell; ours ends with the mark of the reason why values are missing."""

    paper: str
    ours: str
    difference: str


@dataclass(frozen=True)
class FilledTable:
    """A table, the plan of its cells and the results of its runs."""

    table: Table
    plan: RunPlan
    results: Mapping[Run, Result]

    @cached_property
    def cells(self) -> list[list[Filled]]:
        """The cells with their results, one list per row."""
        filled = []
        for row, cells in enumerate(self.table.cells):
            filled.append([self._fill(cell, (row, column)) for column, cell in enumerate(cells)])
        return filled

    def _fill(self, cell: Cell, place: tuple[int, int]) -> Filled:
        if place in self.plan.reasons:
            return Filled(cell, reason=self.plan.reasons[place])
        results = [self.results[run] for run in self.plan.runs[place]]
        done = [cell.value(result.metrics) for result in results if result.state == "done"]
        values = tuple(value for value in done if value is not None)
        failed = [result for result in results if result.state == "failed"]
        waiting = len(results) - len(done) - len(failed)
        reason = ""
        if failed:
            reason = f"{len(failed):,} of {counted(len(results), 'run')} failed: {failed[0].summary}"
        elif waiting:
            reason = f"{waiting:,} of {counted(len(results), 'run')} are still to be done"
        elif not values:
            reason = f"{cell.choice.model} on {cell.choice.dataset} has no {cell.choice.metric}"
        return Filled(cell, values, reason)

    @property
    def columns(self) -> range:
        """The places of the columns."""
        return range(len(self.table.columns))

    @cached_property
    def has_paper(self) -> list[bool]:
        """Whether the paper has a value, by column."""
        return [any(cells[column].paper is not None for cells in self.table.cells) for column in self.columns]

    @cached_property
    def digits(self) -> list[int]:
        """Decimals of every column: as many as the paper has, else as many as show three digits of each of ours."""
        return [_digits([cells[column] for cells in self.cells]) for column in self.columns]

    @cached_property
    def notes(self) -> dict[str, str]:
        """A mark for every reason, in the order of the cells."""
        reasons = [filled.reason for cells in self.cells for filled in cells if filled.reason]
        return {reason: f"[{number}]" for number, reason in enumerate(dict.fromkeys(reasons), start=1)}

    @cached_property
    def texts(self) -> list[list[CellText]]:
        """The texts of the cells, one list per row."""
        return [list(map(self._text, cells, self.digits)) for cells in self.cells]

    def _text(self, one: Filled, digits: int) -> CellText:
        paper = "" if one.cell.paper is None else str(one.cell.paper)
        if isinstance(one.cell.paper, float):
            paper = f"{one.cell.paper:.{digits}f}"
        if one.cell.deviation is not None:
            paper += f" ± {one.cell.deviation:.{digits}f}"
        mark = self.notes.get(one.reason, "")
        if one.ours is None:
            return CellText(paper, mark, "")
        ours = f"{one.ours:z.{digits}f}"
        if one.deviation is not None:
            ours += f" ± {one.deviation:.{digits}f}"
        difference = "" if one.difference is None else f"{one.difference:+z.{digits}f}"
        return CellText(paper, f"{ours} ({len(one.values)}){mark}", difference)

    @property
    def row_names(self) -> list[str]:
        """The titles of the rows, with their groups."""
        return [f"{row.group}: {row.name}" if row.group else row.name for row in self.table.rows]

    @property
    def source(self) -> str:
        """The source of the table, with the choices that the paper leaves open."""
        return f"{self.table.source}. {self.table.note}" if self.table.note else self.table.source


def _digits(column: Sequence[Filled], fewest: int = 3, most: int = 6) -> int:
    of_paper = [len(repr(one.cell.paper).partition(".")[2]) for one in column if isinstance(one.cell.paper, float)]
    if of_paper:
        return max(of_paper)
    smallest = min((abs(one.ours) for one in column if one.ours), default=1.0)
    return min(max(fewest, 2 - math.floor(math.log10(smallest))), most)


def as_text(filled: FilledTable, width: int = 150) -> str:
    """Return the paper's values, ours and the differences, aligned, in blocks of columns that fit the width."""
    parts = [f"{filled.table.name}: {filled.table.title}", filled.source]
    block: list[int] = []
    for column in filled.columns:
        wider = _block(filled, [*block, column])
        if block and max(map(len, wider.splitlines())) > width:
            parts += ["", _block(filled, block)]
            block = []
        block.append(column)
    parts += ["", _block(filled, block)]
    if filled.notes:
        parts += ["", *(f"{mark} {reason}" for reason, mark in filled.notes.items())]
    return "\n".join(parts) + "\n"


def _block(filled: FilledTable, columns: Iterable[int]) -> str:
    header = [""]
    rows = [[name] for name in filled.row_names]
    for column in columns:
        name = f"{filled.table.columns[column].name}{filled.cells[0][column].arrow}"
        known = filled.has_paper[column]
        header += [f"{name} paper", "ours", "difference"] if known else [name]
        for row, texts in zip(rows, filled.texts, strict=True):
            row.extend(texts[column] if known else [texts[column].ours])
    return aligned(header, rows)


def as_markdown(filled: FilledTable) -> str:
    """Return the table for a page: in every cell the paper's value, ours and the difference."""
    header = ["", *(f"{one.cell.column.name} {one.arrow}".strip() for one in filled.cells[0])]
    lines = [f"**{filled.table.name}: {filled.table.title}** ({filled.source}; paper / ours / difference)", ""]
    lines += [_markdown_row(header), _markdown_row(["---"] * len(header))]
    for name, texts in zip(filled.row_names, filled.texts, strict=True):
        cells = [name]
        for text, known in zip(texts, filled.has_paper, strict=True):
            if known:
                cells.append(" / ".join(part or "-" for part in text))
            else:
                cells.append(text.ours)
        lines.append(_markdown_row(cells))
    if filled.notes:
        lines += ["", *(f"{mark} {reason}  " for reason, mark in filled.notes.items())]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_csv(filled: FilledTable) -> str:
    """Return one line per cell, with every digit."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([
        "table", "row", "column", "dataset", "model", "protocol", "metric", "paper", "paper_deviation", "ours",
        "deviation", "seeds", "difference", "better", "reason",
    ])  # fmt: skip
    for name, cells in zip(filled.row_names, filled.cells, strict=True):
        for one in cells:
            cell, choice = one.cell, one.cell.choice
            writer.writerow([
                filled.table.name, name, cell.column.name, choice.dataset, choice.model, choice.protocol or "plain",
                choice.metric, cell.paper, cell.deviation, one.ours, one.deviation, len(one.values), one.difference,
                cell.better, one.reason,
            ])  # fmt: skip
    return file.getvalue()
