"""A table with its results: as text, CSV and Markdown."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordinate.report.text import table as aligned
from ordinate_papers.tables.results import Result
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import Cell, Plan, Table

WIDTH = 150  # characters of a line of text
LEAST_DECIMALS, MOST_DECIMALS = 3, 6  # of columns without figures of a paper
ARROWS = {"lower": "↓", "higher": "↑", "": ""}
CSV_HEADER = (
    "table", "row", "column", "dataset", "model", "protocol", "metric", "paper", "paper_deviation", "ours", "deviation",
    "seeds", "difference", "better", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class Filled:
    """A cell with what came of its runs: a value per seed that is done, and why others are missing."""

    cell: Cell
    values: tuple[float, ...] = ()
    reason: str = ""

    @property
    def ours(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Of ours over the seeds, where there are several."""
        return float(np.std(self.values)) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        paper = self.cell.paper
        return self.ours - paper if self.ours is not None and isinstance(paper, int | float) else None


@dataclass(frozen=True)
class FilledTable:
    """A table, the plan of its cells and the results of its runs."""

    table: Table
    plan: Plan
    results: Mapping[Run, Result]

    @cached_property
    def cells(self) -> list[list[Filled]]:
        return [
            [self._fill(cell, (row, column)) for column, cell in enumerate(cells)]
            for row, cells in enumerate(self.table.cells)
        ]

    def _fill(self, cell: Cell, place: tuple[int, int]) -> Filled:
        if place in self.plan.reasons:
            return Filled(cell, reason=self.plan.reasons[place])
        results = [self.results[run] for run in self.plan.runs[place]]
        done = [cell.value(result.metrics) for result in results if result.state == "done"]
        values = tuple(value for value in done if value is not None)
        failed = [result for result in results if result.state == "failed"]
        waiting = len(results) - len(done) - len(failed)
        if failed:
            reason = f"{len(failed)} of {len(results)} runs failed: {failed[0].summary}"
        elif waiting:
            reason = f"{waiting} of {len(results)} runs are still to be done"
        else:
            reason = "" if values else f"{cell.choice.model} on {cell.choice.dataset} has no {cell.choice.metric}"
        return Filled(cell, values, reason)

    def has_paper(self, column: int) -> bool:
        """Whether the paper has a figure in a column."""
        return any(cells[column].paper is not None for cells in self.table.cells)

    @cached_property
    def digits(self) -> list[int]:
        """Decimals of every column: as many as the paper has; what shows three digits of ours where it has none."""
        return [self._digits([cells[column] for cells in self.cells]) for column in range(len(self.table.columns))]

    def _digits(self, column: Sequence[Filled]) -> int:
        given = [len(repr(one.cell.paper).partition(".")[2]) for one in column if isinstance(one.cell.paper, float)]
        if given:
            return max(given)
        least = min((abs(one.ours) for one in column if one.ours), default=1.0)
        return min(max(LEAST_DECIMALS, 2 - math.floor(math.log10(least))), MOST_DECIMALS)

    @cached_property
    def notes(self) -> dict[str, str]:
        """A mark for every reason, in the order in which they come."""
        reasons = [filled.reason for cells in self.cells for filled in cells if filled.reason]
        return {reason: f"[{number}]" for number, reason in enumerate(dict.fromkeys(reasons), start=1)}

    @cached_property
    def texts(self) -> list[list[tuple[str, str, str]]]:
        """Of every cell the paper's figure, ours and the difference, with marks where ours is not there in whole."""
        return [list(map(self._texts, cells, self.digits)) for cells in self.cells]

    def _texts(self, one: Filled, digits: int) -> tuple[str, str, str]:
        cell, mark = one.cell, self.notes.get(one.reason, "")
        paper = "" if cell.paper is None else str(cell.paper)
        if isinstance(cell.paper, float):
            paper = f"{cell.paper:.{digits}f}"
        if cell.deviation is not None:
            paper += f" ± {cell.deviation:.{digits}f}"
        if one.ours is None:
            return paper, mark, ""
        spread = "" if one.deviation is None else f" ± {one.deviation:.{digits}f}"
        ours = f"{one.ours:.{digits}f}{spread} ({len(one.values)}){mark}"
        return paper, ours, "" if one.difference is None else f"{one.difference:+.{digits}f}"

    @property
    def row_names(self) -> list[str]:
        return [f"{row.group}: {row.name}" if row.group else row.name for row in self.table.rows]

    @property
    def source(self) -> str:
        return f"{self.table.source}. {self.table.note}" if self.table.note else self.table.source


def as_text(filled: FilledTable) -> str:
    """Return the paper's figures, ours and the differences, aligned, as wide a block of columns as fits a line."""
    parts = [f"{filled.table.name}: {filled.table.title}", filled.source]
    block: list[int] = []
    for column in range(len(filled.table.columns)):
        wider = _block(filled, [*block, column])
        if block and max(map(len, wider.splitlines())) > WIDTH:
            parts += ["", _block(filled, block)]
            block = []
        block.append(column)
    parts += ["", _block(filled, block)]
    parts += ["", *(f"{mark} {reason}" for reason, mark in filled.notes.items())] if filled.notes else []
    return "\n".join(parts) + "\n"


def _block(filled: FilledTable, columns: Sequence[int]) -> str:
    header, rows = [""], [[name] for name in filled.row_names]
    for column in columns:
        name = f"{filled.table.columns[column].name}{ARROWS[filled.cells[0][column].cell.better]}"
        known = filled.has_paper(column)
        header += [f"{name} paper", "ours", "difference"] if known else [name]
        for row, texts in zip(rows, filled.texts, strict=True):
            row.extend(texts[column] if known else texts[column][1:2])
    return aligned(header, rows)


def as_markdown(filled: FilledTable) -> str:
    """Return the table for a README: in every cell the paper's figure, ours and the difference."""
    header = ["", *(f"{one.cell.column.name} {ARROWS[one.cell.better]}".strip() for one in filled.cells[0])]
    lines = [f"**{filled.table.name}: {filled.table.title}** ({filled.source}; paper / ours / difference)", ""]
    lines += [_markdown_row(header), _markdown_row(["---"] * len(header))]
    known = [filled.has_paper(column) for column in range(len(filled.table.columns))]
    for name, texts in zip(filled.row_names, filled.texts, strict=True):
        cells = [
            " / ".join(part or "-" for part in text) if has_paper else text[1]
            for text, has_paper in zip(texts, known, strict=True)
        ]
        lines.append(_markdown_row([name, *cells]))
    lines += [""] + [f"{mark} {reason}  " for reason, mark in filled.notes.items()] if filled.notes else []
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_csv(filled: FilledTable) -> str:
    """Return one line per cell, with every digit."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for name, cells in zip(filled.row_names, filled.cells, strict=True):
        for one in cells:
            cell, choice = one.cell, one.cell.choice
            writer.writerow([
                filled.table.name, name, cell.column.name, choice.dataset, choice.model, choice.protocol or "plain",
                choice.metric, cell.paper, cell.deviation, one.ours, one.deviation, len(one.values), one.difference,
                cell.better, one.reason,
            ])  # fmt: skip
    return file.getvalue()
