"""Model folders: written whole or not at all, checked when read, and never a source of code."""

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save

from ordinate.data.new_files import new_folder
from ordinate.data.paths import reading
from ordinate.data.registry import modality_of_reader, read_state
from ordinate.encoders.network import reason
from ordinate.errors import OrdinateError
from ordinate.estimators.encoder_setting import GivenEncoder, encoder_of, network_config, plain_encoder
from ordinate.estimators.hub_client import SCHEME, download
from ordinate.estimators.labels import restore_labels
from ordinate.estimators.model_folder import CONFIG, require_model
from ordinate.estimators.predictors import describe_predictor, restore_predictor
from ordinate.estimators.registry import estimator_named
from ordinate.estimators.settings import from_plain, to_plain
from ordinate.extensions import load_object
from ordinate.randomness import own_random_numbers

FORMAT = 1
WEIGHTS, HISTORY = "weights.safetensors", "history.json"
FILES = (CONFIG, WEIGHTS, HISTORY)
PARTS = ("encoder", "predictor", "reader")  # Prefixes of the tensors in a model folder.


def save_estimator(estimator: Any, folder: Path) -> None:
    """Write an estimator to a folder, which must be empty or not exist."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OrdinateError("folder", problem=f"{folder} already holds something", expected="a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(folder, "folder") as partial:
        write_estimator(estimator, partial)
        if folder.exists():
            folder.rmdir()
        partial.replace(folder)


def write_estimator(estimator: Any, folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    of_parts = {
        "encoder": estimator.encoder_.state_dict(),
        "predictor": estimator.predictor_.state_dict(),
        "reader": estimator.reader_.tensors(),
    }
    tensors = {}
    for part in PARTS:
        for name, value in of_parts[part].items():
            tensors[f"{part}.{name}"] = _storable(value)
    (folder / WEIGHTS).write_bytes(save(tensors))  # save_file would let only its owner read it.
    (folder / HISTORY).write_text(json.dumps(estimator.history_, indent=1) + "\n")
    config: dict[str, Any] = {
        "format": FORMAT,
        "estimator": type(estimator).__name__,
        "params": _plain_params(estimator),
        "reader": {"kind": estimator.reader_.kind, **estimator.reader_.to_dict()},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])),
        "embedding_dim": int(estimator.embedding_dim_),
        "encoder": _describe_encoder(estimator.encoder_),
        "predictor": describe_predictor(estimator.predictor_),
        "labels": estimator.labels_.state(),
        "fitted": to_plain(estimator.fitted_values_),
        "notes": list(estimator.notes_),
        "sha256": {name: _sha256((folder / name).read_bytes()) for name in (WEIGHTS, HISTORY)},
    }
    config["sha256"][CONFIG] = _digest(config)
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def _plain_params(estimator: Any) -> dict[str, Any]:
    """Return the parameters that a saved model keeps: no code, and nothing that only runs the training."""
    params = estimator.get_params(deep=False)
    training = params["training"].get_params() | {"logger": None, "callbacks": None, "cluster": None}
    if not isinstance(training["strategy"], str):
        training["strategy"] = None
    if callable(training["optimizer"]):
        warnings.warn(
            f"optimizer: {training['optimizer']!r} is code, which is not saved: set it again before another fit of the "
            "loaded model",
            UserWarning,
            stacklevel=5,
        )
        training["optimizer"] = None
    if "encoder" in params:
        params["encoder"] = plain_encoder(params["encoder"])
    plain: dict[str, Any] = to_plain(params | {"training": training})
    if params.get("data") is not None:
        kind = modality_of_reader(estimator.reader_)
        plain["data"] = {kind.parameter: plain["data"]}
    return plain


def _describe_encoder(encoder: Any) -> dict[str, Any]:
    """Return what a new encoder is built from, in addition to the parameters of the estimator."""
    described: dict[str, Any] = {"network": network_config(encoder)}
    if hasattr(encoder, "config"):
        described |= encoder.config()
    return described


def load(folder: str | Path, *, encoder: GivenEncoder | None = None) -> Any:
    """Return the estimator that ``save`` or the command line wrote to ``folder``.

    Only JSON and tensors are read: nothing in the folder is run. Damage is an error.

    Args:
        folder: Folder of the model; ``"hf://user/name@revision"`` is fetched from the Hugging Face hub, see
            :func:`~ordinate.estimators.hub.load_from_hub`.
        encoder: Module of a model that was trained with one, or the function that makes it, of the same structure; a
            copy of it gets the saved weights.

    Raises:
        OrdinateError: There is no model or a damaged one, or an encoder is missing, not expected or does not fit.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = CLOCClassifier(epochs=(1, 1), random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     again = load(f"{folder}/model")
        >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
        True
    """
    folder = download(str(folder), FILES) if str(folder).startswith(SCHEME) else Path(folder)
    require_model(folder)
    with reading("model", f"{folder} is damaged or incomplete"):
        try:
            return _rebuild(folder, *_read(folder), encoder)
        except OrdinateError as error:
            if error.argument in ("model", "encoder"):
                raise
            raise ValueError(error) from error  # A setting that no training could have had.


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor], list[dict[str, float]]]:
    """Return the configuration, the tensors and the history in a folder that is not damaged."""
    config = json.loads((folder / CONFIG).read_text(), parse_constant=_refuse_constant)
    if config["format"] != FORMAT:
        problem = f"{folder} has format {config['format']}"
        raise OrdinateError("model", problem=problem, expected=str(FORMAT), hint="update ordinate")
    saved = config["sha256"].pop(CONFIG)
    found = {CONFIG: _digest(config), **{name: _sha256((folder / name).read_bytes()) for name in (WEIGHTS, HISTORY)}}
    for name, digest in {CONFIG: saved, **config["sha256"]}.items():
        if found[name] != digest:
            problem = f"{folder / name} is damaged, its checksum is not the one saved with it"
            raise OrdinateError("model", problem=problem)
    tensors = load_file(folder / WEIGHTS)
    for name, values in tensors.items():
        if values.is_floating_point() and not values.isfinite().all():
            raise OrdinateError("model", problem=f"{folder / WEIGHTS} holds NaN or infinity in {name!r}")
    return config, tensors, json.loads((folder / HISTORY).read_text())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{CONFIG} holds {name}")


def _rebuild(
    folder: Path,
    config: dict[str, Any],
    tensors: dict[str, torch.Tensor],
    history: list[dict[str, float]],
    encoder: GivenEncoder | None,
) -> Any:
    name = config["estimator"]
    kind = estimator_named(name)
    if kind is None:
        raise OrdinateError("model", problem=f"holds a {name!r}, which this version of Ordinate does not know")
    params = from_plain(config["params"])
    if "encoder" in params:
        params["encoder"] = encoder_of(params, encoder, folder)
    estimator = kind(**params)
    names = config["feature_names_in"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise OrdinateError("model", problem=f"{folder / CONFIG} names features that are no text")
    for count in ("n_features_in", "embedding_dim"):
        if type(config[count]) is not int:
            raise OrdinateError("model", problem=f"{folder / CONFIG} counts {config[count]!r} as {count}")
    estimator.n_features_in_ = config["n_features_in"]
    estimator.embedding_dim_ = config["embedding_dim"]
    if names:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator.history_ = history
    estimator.n_iter_ = len(history)
    estimator.notes_ = config["notes"]
    estimator.reader_ = read_state(config["reader"])
    estimator.labels_ = restore_labels(config["labels"], estimator)
    estimator.fitted_values_ = config["fitted"]
    for attribute, value in config["fitted"].items():
        if not attribute.endswith("_") or attribute.startswith("_"):
            raise ValueError(f"it holds a fitted attribute {attribute!r}")
        setattr(estimator, attribute, np.asarray(value) if isinstance(value, list) else value)
    encoder_weights, predictor_weights, of_reader = (_tensors_of(part, tensors) for part in PARTS)
    estimator.reader_.restore(of_reader)
    with own_random_numbers():  # New modules draw weights before they get the saved ones.
        estimator.encoder_ = _restore_encoder(estimator, config["encoder"], encoder_weights)
        estimator.predictor_ = restore_predictor(config["predictor"], predictor_weights)
    _check_outputs(estimator)
    return estimator


def _check_outputs(estimator: Any) -> None:
    """Raise an error if the predictor does not predict as many values as there are ranks or targets."""
    with torch.no_grad():
        predicted = estimator.predictor_(torch.zeros(1, estimator.embedding_dim_, dtype=torch.float64))
    if predicted.shape[1] != estimator.labels_.outputs:
        raise ValueError(f"it predicts {predicted.shape[1]} values for {estimator.labels_.outputs} ranks or targets")


def _tensors_of(part: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    prefix = f"{part}."
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_encoder(estimator: Any, saved: dict[str, Any], weights: dict[str, torch.Tensor]) -> Any:
    """Return a new encoder with the saved weights."""
    method = load_object(estimator.method)(estimator)
    options = method.data_options(modality_of_reader(estimator.reader_))
    encoder = method.encoder(estimator.reader_, options, saved)
    try:
        encoder.load_state_dict(weights)
    except RuntimeError as error:
        if not callable(estimator.encoder):
            raise
        raise OrdinateError("encoder", problem=f"does not fit the saved weights: {reason(error)}") from error
    encoder = encoder.double().eval()
    if estimator.reader_.in_float32:
        encoder.float()
    if hasattr(encoder, "check_restored"):
        encoder.check_restored(estimator.reader_.sample_shape[0])
    return encoder


def _storable(value: torch.Tensor) -> torch.Tensor:
    """Return a float64 inference copy as the float32 it came from."""
    value = value.float() if value.is_floating_point() else value
    return value.clone(memory_format=torch.contiguous_format)  # safetensors refuses weights that share memory.


def _digest(config: dict[str, Any]) -> str:
    return _sha256(json.dumps(config, sort_keys=True).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
