"""Parameters of estimators, from and to the plain values that JSON and TOML hold."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.data.registry import modalities
from ordinate.errors import OrdinateError
from ordinate.estimators.head_options import Head
from ordinate.methods.imbalance import Imbalance
from ordinate.training.options import Training

GROUPS: Mapping[str, type[Any]] = {"training": Training, "head": Head, "imbalance": Imbalance}
TUPLES = ("beta", "bin_size", "epochs")


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
    if isinstance(value, np.random.RandomState):
        return None  # The state of a generator is not a setting.
    if callable(value):
        raise OrdinateError("save", f"{value!r}, which is code", "settings that JSON can hold")
    return value


def _mapping(value: Mapping[Any, Any]) -> Any:
    if any(isinstance(key, tuple) for key in value):
        return [[*to_plain(key), to_plain(margin)] for key, margin in value.items()]
    if not all(isinstance(key, str) for key in value):
        return [[to_plain(key), to_plain(item)] for key, item in value.items()]
    return {str(key): to_plain(item) for key, item in value.items()}


def from_plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as the estimators expect them, from those of :func:`to_plain` or a TOML file.

    Options of a kind of data stand under its name, alone or in ``data``.

    Example:
        >>> from_plain({"epochs": [40, 10], "images": {"size": 32}, "critical_margins": [[1, 2, 0.8]]})["epochs"]
        (40, 10)
    """
    settings = dict(settings)
    if isinstance(settings.get("data"), Mapping):
        settings |= settings.pop("data")
    for modality in modalities():
        if modality.options_class is not None and isinstance(settings.get(modality.parameter), Mapping):
            settings["data"] = modality.options_class(**settings.pop(modality.parameter))
    for name, group in GROUPS.items():
        if isinstance(settings.get(name), Mapping):
            settings[name] = group(**settings[name])
    if isinstance(margins := settings.get("critical_margins"), list):
        settings["critical_margins"] = {(low, high): margin for low, high, margin in margins}
    if isinstance(weights := settings.get("class_weight"), list):
        settings["class_weight"] = dict(weights)
    if isinstance(costs := settings.get("decision"), Mapping):
        import pandas as pd

        settings["decision"] = pd.DataFrame(**costs)
    for name in TUPLES:
        if isinstance(settings.get(name), list):
            settings[name] = tuple(settings[name])
    return settings
