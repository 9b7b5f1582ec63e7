"""The types of fields that a saved model brings as JSON."""

import math
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def checked_fields(instance: T) -> T:
    """Return a dataclass made from JSON, whose fields are known to be of their types, and numbers to be finite.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Column:
        ...     scales: tuple[float, ...]
        >>> checked_fields(Column((1, 2.5))).scales
        (1, 2.5)
        >>> checked_fields(Column(("1",)))
        Traceback (most recent call last):
        ...
        TypeError: scales of Column is ('1',), expected tuple[float, ...]
    """
    for name, kind in get_type_hints(type(instance)).items():
        value = getattr(instance, name)
        if not _is_of(value, kind):
            raise TypeError(f"{name} of {type(instance).__name__} is {str(value)[:40]}, expected {kind}")
    return instance


def _is_of(value: Any, kind: Any) -> bool:
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return any(_is_of(value, part) for part in parts)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = (parts[0],) * len(value) if parts[-1] is Ellipsis else parts
        return len(value) == len(kinds) and all(map(_is_of, value, kinds))
    if kind in (int, float):
        numbers = int if kind is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, kind)
