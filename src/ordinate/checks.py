"""Checks of single options, without a heavy import.

Each returns the option, or raises :class:`~ordinate.errors.OrdinateError` naming it, what it got and what was expected.
"""

from collections.abc import Sequence
from numbers import Integral, Real

from ordinate.errors import OrdinateError


def check_positive(value: float, name: str, *, or_zero: bool = False) -> float:
    """Return a finite number above zero, such as a temperature, or zero where that is allowed."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not (0 < value < float("inf") or (or_zero and value == 0)):
        least = "of at least 0" if or_zero else "above 0"
        raise OrdinateError(name, repr(value), f"a finite number {least}")
    return float(value)


def check_whole(value: int, name: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OrdinateError(name, repr(value), f"a whole number of at least {least}")
    return int(value)


def check_share(value: float, name: str) -> float:
    """Return a share from 0 to below 1, such as a momentum."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value < 1:
        raise OrdinateError(name, repr(value), "a share from 0 to below 1")
    return value


def check_choice(value: str, choices: Sequence[str], name: str) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        raise OrdinateError(name, repr(value), f"one of {', '.join(map(repr, choices))}")
    return value


def check_num_classes(num_classes: int) -> int:
    """Return the number of ranks C, at least 2."""
    return check_whole(num_classes, "num_classes", least=2)
