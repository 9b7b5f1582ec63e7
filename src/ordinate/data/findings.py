"""Counts of rows that lie outside what training had seen, added over batches and reported in one warning."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

FALSE_ALARMS = 1e-4  # A finding is wrong about this often, of which a table with many columns has many.
MAX_NAMED = 5  # A warning names this many values of a column, and this many findings.


@dataclass(frozen=True)
class Finding:
    """How many of the rows compared with training lie outside of it in one respect.

    Args:
        text: The respect, such as ``"column 'age': values outside the range of training, 18 to 90"``.
        outside: Number of rows outside.
        rows: Number of rows compared.
        is_notable: Function that returns whether so many rows outside of so many are worth a warning.
        values: Values that training had not seen; they replace ``{}`` in ``text``.

    Example:
        >>> str(Finding("column 'colour': {} not seen in training", 2, 40, any_row, frozenset(["red", "green"])))
        "column 'colour': green, red not seen in training (2 of 40 rows)"
    """

    text: str
    outside: int
    rows: int
    is_notable: Callable[[int, int], bool]
    values: frozenset[str] = frozenset()

    def __str__(self) -> str:
        text = self.text
        if self.values:
            text = text.replace("{}", ", ".join(sorted(self.values)[:MAX_NAMED]))
        return f"{text} ({self.outside} of {self.rows} rows)"


def any_row(outside: int, _: int) -> bool:
    """Return whether any row lies outside."""
    return outside > 0


def every_row(outside: int, rows: int, least: int = 10) -> bool:
    """Return whether all rows lie outside, and there are not few."""
    return outside == rows >= least


@dataclass(frozen=True)
class MoreThan:
    """Whether more rows lie outside than is usual for rows drawn as those of training were.

    The share of such rows then has a beta distribution: ``Beta(2, m - 1)`` beyond the lowest and the highest of m
    training values, whatever their distribution (Wilks, 1941), and ``Beta(1, m)`` of values that differ from m equal
    ones.

    Args:
        usual_outside: First parameter of that distribution, > 0.
        usual_inside: Second parameter of that distribution, > 0.

    Example:
        >>> is_notable = MoreThan(2, 99)
        >>> is_notable(8, 200), is_notable(30, 200)
        (False, True)
    """

    usual_outside: float
    usual_inside: float

    def __call__(self, outside: int, rows: int) -> bool:
        from scipy.stats import betabinom  # Its import takes two seconds.

        return outside > 0 and bool(
            betabinom.sf(outside - 1, rows, self.usual_outside, self.usual_inside) < FALSE_ALARMS
        )


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


def report(findings: Iterable[Finding]) -> None:
    """Warn of the notable ones among findings, or add them to those that are being collected."""
    collecting = _collected.get()
    if collecting is not None:
        collecting += findings
        return
    notable = [finding for finding in _added(findings) if finding.is_notable(finding.outside, finding.rows)]
    if not notable:
        return
    notable.sort(key=lambda finding: -finding.outside / finding.rows)
    text = "; ".join(map(str, notable[:MAX_NAMED]))
    if len(notable) > MAX_NAMED:
        text += f"; and {len(notable) - MAX_NAMED} more"
    warnings.warn(f"rows outside what training had seen: {text}", UserWarning, stacklevel=3)


def _added(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding per respect, with the rows of all batches."""
    added: dict[str, Finding] = {}
    for finding in findings:
        before = added.get(finding.text, replace(finding, outside=0, rows=0, values=frozenset()))
        added[finding.text] = replace(
            finding,
            outside=before.outside + finding.outside,
            rows=before.rows + finding.rows,
            values=before.values | finding.values,
        )
    return list(added.values())
