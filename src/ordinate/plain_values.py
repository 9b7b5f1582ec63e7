"""Values as JSON can hold them."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from ordinate.errors import OrdinateError


def to_plain(value: Any) -> Any:
    """Return a parameter, or a mapping of parameters, as JSON can hold it.

    Boundaries become ``[low, high, margin]``, labels with weights ``[label, weight]``.
    """
    if isinstance(value, Mapping):
        return _mapping(value)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # A DataFrame, without an import of pandas.
        return _mapping(value.to_dict("split"))
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):  # An array, a tensor or a number of NumPy.
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [to_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain(asdict(value))
    if isinstance(value, Path):
        return str(value)
    if type(value).__name__ == "RandomState":
        return None  # The state of a generator of NumPy is not a setting.
    if callable(value):
        raise OrdinateError("save", f"{value!r}, which is code", "settings that JSON can hold")
    return value


def _mapping(value: Mapping[Any, Any]) -> Any:
    if any(isinstance(key, tuple) for key in value):
        return [[*to_plain(key), to_plain(margin)] for key, margin in value.items()]
    if not all(isinstance(key, str) for key in value):
        return [[to_plain(key), to_plain(item)] for key, item in value.items()]
    return {key: to_plain(item) for key, item in value.items()}
