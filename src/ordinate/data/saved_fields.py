"""The types of fields that a saved model brings as JSON."""

import math
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

JsonObject = dict[str, Any]  # A reader's state, or the configuration of a network, which a saved model holds as JSON.
Instance = TypeVar("Instance")


def checked_fields(instance: Instance) -> Instance:
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


def _is_of(value: object, kind: Any) -> bool:
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return any(_is_of(value, part) for part in parts)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        if parts[-1] is Ellipsis:
            parts = (parts[0],) * len(value)
        return len(value) == len(parts) and all(map(_is_of, value, parts))
    if kind is float:
        kind = int | float
    if kind in (int, int | float):
        return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, kind)
