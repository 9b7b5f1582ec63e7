"""Model folders: written whole or not at all, checked when read, and never a source of code."""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.data.new_files import new_folder
from ordinate.data.paths import reading
from ordinate.data.registry import modalities, modality_of_reader, read_state
from ordinate.encoders.given import Encoder, describe_encoder, is_factory
from ordinate.encoders.hugging_face import VisionNetwork
from ordinate.encoders.network import reason
from ordinate.errors import OrdinateError
from ordinate.estimators.labels import restore_labels
from ordinate.estimators.model_folder import CONFIG, require_model
from ordinate.estimators.registry import estimator_named, option_groups
from ordinate.extensions import extensions, load_object
from ordinate.option_group import Settings
from ordinate.optional import optional
from ordinate.randomness import own_random_numbers

if TYPE_CHECKING:
    from ordinate.estimators.embedding_estimator import EmbeddingEstimator


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
    return {key: to_plain(item) for key, item in value.items()}


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


CORE: Mapping[str, str] = {
    "BlendHead": "ordinate.encoders.blend_head:BlendHead",
    "LinearHead": "ordinate.heads.linear:LinearHead",
    "NeighbourMean": "ordinate.heads.neighbours:NeighbourMean",
    "NeighbourVote": "ordinate.heads.neighbours:NeighbourVote",
    "RankLogits": "ordinate.heads.ranks:RankLogits",
    "VoteProbabilities": "ordinate.heads.ranks:VoteProbabilities",
}


@cache
def places() -> dict[str, str]:
    """Return the places of all predictors by the names of their classes."""
    found = dict(CORE)
    for extension in extensions():
        found |= extension.predictors
    return found


def describe_predictor(predictor: Any) -> Settings:
    """Return the name and the configuration of a predictor."""
    return {"class": type(predictor).__name__, **predictor.config()}


def restore_predictor(config: Settings, tensors: dict[str, Tensor]) -> nn.Module:
    """Return a predictor in float64 from its description and tensors.

    Raises:
        OrdinateError: The class is not one of those that are known.
    """
    options = dict(config)
    name = options.pop("class")
    if name not in places():
        problem = f"holds a predictor {name!r}, which this version of Ordinate does not know"
        raise OrdinateError("model", problem=problem)
    wide = dict(tensors)
    for key, value in tensors.items():
        if value.is_floating_point():
            wide[key] = value.double()
    return load_object(places()[name]).restore(options, wide).eval()


GivenEncoder = nn.Module | Callable[[int | None], nn.Module]


def plain_encoder(encoder: Encoder) -> str | dict[str, str]:
    """Return an encoder as JSON can hold it: its name, or of a network of the user's what it was.

    Example:
        >>> plain_encoder("resnet18"), plain_encoder(nn.Linear(3, 2))
        ('resnet18', {'module': 'Linear'})
    """
    if isinstance(encoder, str):
        return encoder
    return {"function" if is_factory(encoder) else "module": describe_encoder(encoder)}


def encoder_of(params: Settings, given: GivenEncoder | None, folder: Path) -> Encoder:
    """Return the encoder of a saved model from its settings and what the user gave.

    Raises:
        OrdinateError: the model needs a network and none was given, or the reverse, or one of the other kind.
    """
    saved: str | dict[str, str] = params.get("encoder", "auto")
    if isinstance(saved, str):
        if given is not None:
            raise OrdinateError("encoder", describe_encoder(given), f"None, as the model brings its own, {saved!r}")
        return saved
    (kind, name), *_ = saved.items()
    if given is None:
        problem = f"the model in {folder} was trained with a {kind} of the user, {name}, whose code is not saved"
        hint = f"ordinate.load({str(folder)!r}, encoder={name}) in Python, with the same {kind}"
        raise OrdinateError("encoder", problem=problem, hint=hint)
    if not callable(given) or is_factory(given) != (kind == "function"):
        raise OrdinateError("encoder", describe_encoder(given), f"a {kind}, as in training: {name}")
    return given


FORMAT = 1
WEIGHTS, HISTORY = "weights.safetensors", "history.json"


def save_estimator(estimator: "EmbeddingEstimator", folder: Path) -> None:
    """Write an estimator to a folder, which must be empty or not exist."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OrdinateError("folder", problem=f"{folder} already holds something", expected="a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(folder, "folder") as partial:
        write_estimator(estimator, partial)
        if folder.exists():
            folder.rmdir()
        partial.replace(folder)


def write_estimator(estimator: "EmbeddingEstimator", folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    tensors = {f"encoder.{name}": _storable(value) for name, value in estimator.encoder_.state_dict().items()}
    tensors |= {f"predictor.{name}": _storable(value) for name, value in estimator.predictor_.state_dict().items()}
    tensors |= {f"reader.{name}": _storable(value) for name, value in estimator.reader_.tensors().items()}
    (folder / WEIGHTS).write_bytes(save(tensors))  # The function save_file would let only its owner read it.
    (folder / HISTORY).write_text(json.dumps(estimator.history_, indent=1) + "\n")
    config: Settings = {
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


def _plain_params(estimator: "EmbeddingEstimator") -> Settings:
    """Return the parameters that a saved model keeps: no code, and nothing that only runs the training."""
    params = estimator.get_params(deep=False)
    training = params["training"].get_params() | {"callbacks": None}
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
    plain: Settings = to_plain(params | {"training": training})
    if params.get("data") is not None:
        kind = modality_of_reader(estimator.reader_)
        plain["data"] = {kind.parameter: plain["data"]}
    return plain


def _describe_encoder(encoder: Any) -> Settings:
    """Return what a new encoder is built from, in addition to the parameters of the estimator.

    A network of transformers for images is built from its configuration.
    """
    networks = [module.config for module in encoder.modules() if isinstance(module, VisionNetwork)]
    described: Settings = {"network": next(iter(networks), None)}
    if hasattr(encoder, "config"):
        described |= encoder.config()
    return described


def load(folder: str | Path, *, encoder: GivenEncoder | None = None) -> Any:
    """Return the estimator that ``save`` or the command line wrote to ``folder``.

    Only JSON and tensors are read: nothing in the folder is run. Damage is an error.

    Args:
        folder: Folder of the model; ``"hf://user/name@revision"`` is fetched from the Hugging Face hub.
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
    folder = Path(folder) if not str(folder).startswith("hf://") else _downloaded(str(folder))
    require_model(folder)
    with reading("model", f"{folder} is damaged or incomplete"):
        try:
            estimator = _rebuild(folder, *_read(folder), encoder)
        except OrdinateError as error:
            if error.argument in ("model", "encoder"):
                raise
            raise ValueError(error) from error  # A setting that no training could have had.
    estimator.folder_ = folder
    return estimator


def _downloaded(repository: str) -> Path:
    """Return the folder of a repository of the Hugging Face hub, fetched unless it is in the cache."""
    hub, errors = (optional(module, "hub", "model") for module in ("huggingface_hub", "huggingface_hub.errors"))
    name, _, revision = repository.removeprefix("hf://").partition("@")
    try:
        return Path(hub.snapshot_download(name, revision=revision or None, allow_patterns=[CONFIG, WEIGHTS, HISTORY]))
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        problem = f"{repository} cannot be loaded: {type(error).__name__}: {reason}"
        raise OrdinateError("model", problem=problem) from error


def _read(folder: Path) -> tuple[Settings, dict[str, Tensor], list[dict[str, float]]]:
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
    config: Settings,
    tensors: dict[str, Tensor],
    history: list[dict[str, float]],
    encoder: GivenEncoder | None,
) -> "EmbeddingEstimator":
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
    estimator.reader_.restore(_tensors_of("reader", tensors))
    with own_random_numbers():  # New modules draw weights before they get the saved ones.
        estimator.encoder_ = _restore_encoder(estimator, config["encoder"], _tensors_of("encoder", tensors))
        estimator.predictor_ = restore_predictor(config["predictor"], _tensors_of("predictor", tensors))
    _check_outputs(estimator)
    return estimator


def _check_outputs(estimator: "EmbeddingEstimator") -> None:
    """Raise an error if the predictor does not predict as many values as there are ranks or targets."""
    with torch.no_grad():
        predicted = estimator.predictor_(torch.zeros(1, estimator.embedding_dim_, dtype=torch.float64))
    if predicted.shape[1] != estimator.labels_.outputs:
        outputs = counted(estimator.labels_.outputs, "rank or target", "ranks or targets")
        raise ValueError(f"it predicts {predicted.shape[1]} for {outputs}")


def _tensors_of(part: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    prefix = f"{part}."
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_encoder(estimator: "EmbeddingEstimator", saved: Settings, weights: dict[str, Tensor]) -> nn.Module:
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


def _storable(value: Tensor) -> Tensor:
    """Return a float64 inference copy as the float32 it came from."""
    if value.is_floating_point():
        value = value.float()
    # The format safetensors refuses weights that share memory.
    return value.clone(memory_format=torch.contiguous_format)


def _digest(config: Settings) -> str:
    return _sha256(json.dumps(config, sort_keys=True).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
