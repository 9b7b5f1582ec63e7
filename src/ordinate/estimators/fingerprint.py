"""A digest of any value of a setting: the same for equal settings in every process, different for different ones."""

import functools
import pickle
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import joblib
import numpy as np
import torch

from ordinate.errors import OrdinateError


def describe(value: Any, name: str) -> str:
    """Return a digest of a setting.

    Functions count with their code, defaults and enclosed variables, objects with their attributes, dataclasses with
    their compared fields, networks with their layers, weights and buffers.

    Args:
        value: Value of the setting.
        name: Name of the setting, for the error.

    Raises:
        OrdinateError: An object whose content cannot be read.

    Example:
        >>> describe({"b": 1, "a": [0.5]}, "setting") == describe({"a": [0.5], "b": np.int64(1)}, "setting")
        True
        >>> describe(lambda x: x + 1, "setting") == describe(lambda x: x + 2, "setting")
        False
    """
    try:
        return str(joblib.hash(_plain(value)))
    except (pickle.PicklingError, TypeError, RecursionError) as error:
        raise OrdinateError(
            name,
            f"{value!r}, whose content cannot be read",
            "a value, a function or an object with attributes where checkpoint_dir is given",
        ) from error


def _plain(value: Any) -> Any:
    """Return what a value consists of, as numbers, text, arrays and containers, which joblib can hash."""
    value = _parts(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    return value.item() if isinstance(value, np.generic) else value


def _parts(value: Any) -> Any:
    """Return the parts of functions and objects, other values as they are."""
    parts = value
    if isinstance(value, type):  # It counts with its name.
        return parts
    if isinstance(value, torch.nn.Module):
        tensors = [*value.named_parameters(), *value.named_buffers()]
        parts = repr(value), [(name, tensor.requires_grad, tensor) for name, tensor in tensors]
    elif isinstance(value, functools.partial):
        parts = value.func, value.args, value.keywords
    elif isinstance(value, types.MethodType):
        parts = value.__func__, value.__self__
    elif isinstance(value, types.FunctionType):
        enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, enclosed
    elif isinstance(value, types.CodeType):
        parts = value.co_code, value.co_names, value.co_varnames, value.co_consts
    elif is_dataclass(value):
        compared = {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
        parts = type(value).__qualname__, compared
    elif hasattr(value, "__dict__") and not hasattr(value, "to_numpy"):  # pandas pickles its own.
        parts = type(value).__qualname__, vars(value)
    return parts
