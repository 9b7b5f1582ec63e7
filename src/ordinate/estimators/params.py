"""Parameters of estimators as JSON and TOML hold them, and back."""

from collections.abc import Mapping
from typing import Any

from ordinate.data.modality import Reader
from ordinate.data.registry import modalities, modality_of_reader
from ordinate.encoders.given import Encoder, describe_encoder, is_factory
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.registry import option_groups
from ordinate.extensions import load_object
from ordinate.model.model import Origin
from ordinate.option_group import Settings
from ordinate.plain_values import to_plain


def from_plain(settings: Mapping[str, Any]) -> Settings:
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
    for name, place in option_groups().items():
        if isinstance(settings.get(name), Mapping):
            settings[name] = load_object(place)(**settings[name])
    if isinstance(margins := settings.get("critical_margins"), list):
        settings["critical_margins"] = {(low, high): margin for low, high, margin in margins}
    if isinstance(weights := settings.get("class_weight"), list):
        settings["class_weight"] = dict(weights)
    if isinstance(costs := settings.get("decision"), Mapping):
        import pandas as pd

        settings["decision"] = pd.DataFrame(**costs)
    for name in ("beta", "bin_size", "epochs"):
        if isinstance(settings.get(name), list):
            settings[name] = tuple(settings[name])
    return settings


def plain_encoder(encoder: Encoder) -> str | dict[str, str]:
    """Return an encoder as JSON can hold it: its name, or of a network of the user's what it was.

    Example:
        >>> from torch import nn
        >>> plain_encoder("resnet18"), plain_encoder(nn.Linear(3, 2))
        ('resnet18', {'module': 'Linear'})
    """
    if isinstance(encoder, str):
        return encoder
    return {"function" if is_factory(encoder) else "module": describe_encoder(encoder)}


def origin_of(estimator: Any, reader: Reader) -> Origin:
    """Return an estimator's class and its parameters: no code, and nothing that only runs the training."""
    params = estimator.get_params(deep=False)
    training = params["training"].get_params() | {"callbacks": None}
    if callable(training["optimizer"]):
        training["optimizer"] = None
    params["training"] = training
    if "encoder" in params:
        params["encoder"] = plain_encoder(params["encoder"])
    plain: Settings = {}
    problem = None
    for name, value in params.items():
        try:
            plain[name] = to_plain(value)
        except OrdinateError as error:
            plain[name], problem = str(value), error
    if params.get("data") is not None:
        plain["data"] = {modality_of_reader(reader).parameter: plain["data"]}
    return Origin(type(estimator).__name__, plain, problem)


def warn_of_code(estimator: Any) -> None:
    """Warn if the optimizer is code, which a saved model does not keep."""
    optimizer = estimator.training.optimizer
    if callable(optimizer):
        warn(
            f"optimizer: {optimizer!r} is code, which is not saved: set it again before another fit of the loaded model"
        )
