"""A text for any value of a setting: the same for equal settings in every process, different for different ones."""

import functools
import hashlib
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from ordinate.errors import OrdinateError


def describe(value: object, name: str) -> str:
    """Return what a setting is, in full and without memory addresses.

    Numbers, text, paths, arrays, tensors, mappings (in any order), sequences and dataclasses are described by their
    content, without fields that take no part in comparison, such as the number of workers that read images. Networks
    are described by their classes, options and weights. Functions
    are described by their module, name, code, defaults and enclosed variables, partial functions and methods by what
    they are made of, and other objects by their class and attributes. Global variables that a function reads are not
    part of its description.

    Args:
        value: Value of the setting.
        name: Name of the setting.

    Raises:
        OrdinateError: a value whose content cannot be read.

    Example:
        >>> describe({"b": 1, "a": [0.5]}, "setting") == describe({"a": (0.5,), "b": np.int64(1)}, "setting")
        True
        >>> describe(lambda x: x + 1, "setting") == describe(lambda x: x + 2, "setting")
        False
    """
    try:
        return _describe(value)
    except (_UnreadableError, RecursionError) as error:
        expected = "a value, a function or an object with attributes where checkpoint_dir is given"
        raise OrdinateError(name, f"{value!r}, whose content cannot be read", expected) from error


class _UnreadableError(Exception):
    pass


@functools.singledispatch
def _describe(value: object) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{f.name}: {_describe(getattr(value, f.name))}" for f in fields(value) if f.compare)
        return _joined(_place(type(value)), parts)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return _joined(_place(type(value)), [_describe(vars(value))])
    if hasattr(value, "__qualname__"):
        return _place(value)
    raise _UnreadableError


@_describe.register(types.NoneType)
@_describe.register(str)
@_describe.register(bytes)
@_describe.register(int)
@_describe.register(float)
def _(value: object) -> str:
    return repr(value)


@_describe.register
def _(value: np.generic) -> str:
    return _describe(value.item())


@_describe.register
def _(value: Path) -> str:
    return _describe(str(value))


@_describe.register(Mapping)
def _(value: Mapping[object, object]) -> str:
    return _joined("mapping", sorted(f"{_describe(key)}: {_describe(item)}" for key, item in value.items()))


@_describe.register(list)
@_describe.register(tuple)
@_describe.register(pd.Series)
@_describe.register(pd.Index)
@_describe.register(pd.Categorical)
def _(value: Iterable[object]) -> str:
    return _joined("sequence", map(_describe, value))


@_describe.register(set)
@_describe.register(frozenset)
def _(value: Iterable[object]) -> str:
    return _joined("set", sorted(map(_describe, value)))


@_describe.register
def _(value: np.ndarray) -> str:
    return _describe(value.tolist())


@_describe.register
def _(value: torch.Tensor) -> str:
    content = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return _joined("tensor", [str(value.dtype), str(tuple(value.shape)), hashlib.sha256(content).hexdigest()])


@_describe.register
def _(value: torch.nn.Module) -> str:
    """Classes, options, weights and buffers of a network and its parts, and which of its weights are trained."""
    parts = [f"{name}: {_place(type(part))} {_options_of(part)}" for name, part in value.named_modules()]
    for name, tensor in [*value.named_parameters(), *value.named_buffers()]:
        parts.append(f"{name}: {tensor.requires_grad} {_describe(tensor)}")
    return _joined("module", parts)


def _options_of(module: torch.nn.Module) -> str:
    """Describe the attributes of a module, those that cannot be read by their class."""
    options = {}
    for name, value in vars(module).items():
        if not name.startswith("_") and name != "training":
            try:
                options[name] = _describe(value)
            except (_UnreadableError, RecursionError):
                options[name] = _place(type(value))
    return _describe(options)


@_describe.register(functools.partial)
def _(value: functools.partial[Any]) -> str:
    return _joined("partial", map(_describe, (value.func, value.args, value.keywords)))


@_describe.register
def _(value: types.MethodType) -> str:
    return _joined("method", map(_describe, (value.__func__, value.__self__)))


@_describe.register
def _(value: types.FunctionType) -> str:
    enclosed = tuple(cell.cell_contents for cell in value.__closure__ or ())
    return _joined(_place(value), map(_describe, (value.__code__, value.__defaults__, value.__kwdefaults__, enclosed)))


@_describe.register
def _(value: types.CodeType) -> str:
    return _joined("code", map(_describe, (value.co_code, value.co_names, value.co_varnames, value.co_consts)))


@_describe.register
def _(value: types.ModuleType) -> str:
    return value.__name__


def _place(value: Any) -> str:
    return f"{getattr(value, '__module__', None)}.{value.__qualname__}"


def _joined(kind: str, parts: Iterable[str]) -> str:
    return f"{kind}({', '.join(parts)})"
