"""Counts of rows that lie outside what training had seen, added over batches and reported in one warning."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from ordinate.counts import counted
from ordinate.errors import warn


@dataclass(frozen=True)
class Finding:
    """How many of the rows compared with training lie outside of it in one respect.

    Args:
        text: The respect, such as ``"column 'age': values outside the range of training, 18 to 90"``.
        outside: Number of rows outside.
        rows: Number of rows compared.
        is_notable: Function that returns whether so many rows outside of so many are worth a warning.
        values: Values that training had not seen; they replace ``{}`` in ``text``.
        first: The first row outside, where it is worth looking at; None does not name it.

    Example:
        >>> str(Finding("column 'colour': {} not seen in training", 2, 40, any_row, frozenset(["red", "green"])))
        "column 'colour': green, red not seen in training (2 of 40 rows)"
    """

    text: str
    outside: int
    rows: int
    is_notable: Callable[[int, int], bool]
    values: frozenset[str] = frozenset()
    first: int | None = None

    def __str__(self) -> str:
        text = self.text
        if self.values:
            named = [repr(value) if "," in value else value for value in sorted(self.values)[:5]]
            text = text.replace("{}", ", ".join(named))
        found = f"{self.outside:,} of {counted(self.rows, 'row')}"
        if self.first is not None:
            found += f", the first is row {self.first}"
        return f"{text} ({found})"

    def after(self, rows: int) -> "Finding":
        """Return the same finding of a part that comes after so many rows."""
        return self if self.first is None else replace(self, first=self.first + rows)

    def of_rows(self, rows: Any) -> "Finding":
        """Return the same finding of the rows of an index; other names than numbers change nothing."""
        if self.first is None or not isinstance(rows[self.first], Integral):
            return self
        return replace(self, first=int(rows[self.first]))


def any_row(outside: int, _: int) -> bool:
    """Return whether any row lies outside."""
    return outside > 0


def every_row(outside: int, rows: int, least: int = 10) -> bool:
    """Return whether all rows lie outside, and there are not few."""
    return outside == rows >= least


def most_rows(outside: int, rows: int) -> bool:
    """Return whether more rows lie outside than inside."""
    return 2 * outside > rows


@dataclass(frozen=True)
class MoreThan:
    """Whether more rows lie outside than is usual for rows drawn as those of training were.

    The share of such rows then has a beta distribution: ``Beta(2, m - 1)`` beyond the lowest and the highest of m
    training values, whatever their distribution (Wilks, 1941), and ``Beta(1, m)`` of values that differ from m equal
    ones.

    Args:
        usual_outside: First parameter of that distribution, > 0.
        usual_inside: Second parameter of that distribution, > 0.
        false_alarms: How often a finding may be wrong; a table with many columns has many findings.

    Example:
        >>> is_notable = MoreThan(2, 99)
        >>> is_notable(8, 200), is_notable(30, 200)
        (False, True)
    """

    usual_outside: float
    usual_inside: float
    false_alarms: float = 1e-4

    def __call__(self, outside: int, rows: int) -> bool:
        from scipy.stats import betabinom  # Its import takes two seconds.

        if outside == 0:
            return False
        chance = betabinom.sf(outside - 1, rows, self.usual_outside, self.usual_inside)
        return bool(chance < self.false_alarms)


_collected: ContextVar[list[Finding] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[list[Finding]]:
    """Collect the findings of a block instead of reporting them."""
    findings: list[Finding] = []
    token = _collected.set(findings)
    try:
        yield findings
    finally:
        _collected.reset(token)


def report_findings(findings: Iterable[Finding], max_named: int = 5) -> None:
    """Warn of the notable ones among findings, or add them to those that are being collected."""
    collecting = _collected.get()
    if collecting is not None:
        collecting += findings
        return
    notable = [finding for finding in _added(findings) if finding.is_notable(finding.outside, finding.rows)]
    if not notable:
        return
    notable.sort(key=lambda finding: -finding.outside / finding.rows)
    text = "; ".join(map(str, notable[:max_named]))
    if len(notable) > max_named:
        text += f"; and {len(notable) - max_named} more"
    warn(f"rows outside what training had seen: {text}")


def _added(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding per respect, with the rows of all batches."""
    added: dict[str, Finding] = {}
    for finding in findings:
        before = added.get(finding.text, replace(finding, outside=0, rows=0, values=frozenset(), first=None))
        first = min((row for row in (before.first, finding.first) if row is not None), default=None)
        added[finding.text] = replace(
            finding,
            outside=before.outside + finding.outside,
            rows=before.rows + finding.rows,
            values=before.values | finding.values,
            first=first,
        )
    return list(added.values())
