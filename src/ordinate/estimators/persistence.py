"""Model folders: written whole or not at all, checked when read, and never a source of code."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from safetensors.torch import load_file, save

from ordinate.data.modality import Reader
from ordinate.data.new_files import new_folder
from ordinate.data.paths import reading
from ordinate.data.registry import read_state
from ordinate.decisions import read_costs
from ordinate.errors import OrdinateError
from ordinate.estimators.encoder_setting import GivenEncoder, encoder_of, network_config, plain_encoder
from ordinate.estimators.hub_client import SCHEME, download
from ordinate.estimators.model_folder import CONFIG, require_model
from ordinate.estimators.registry import estimator_named
from ordinate.estimators.settings import from_plain, to_plain
from ordinate.randomness import own_random_numbers

if TYPE_CHECKING:
    from ordinate.methods.staged import StagedMethod

FORMAT = 2
WEIGHTS, HISTORY = "weights.safetensors", "history.json"
FILES = (CONFIG, WEIGHTS, HISTORY)
COSTS = "costs.csv"  # beside a classifier of format 1 that was trained with costs


class Fitted(Protocol):
    """A fitted estimator, as far as its model folder is concerned."""

    method_: "StagedMethod"
    reader_: Reader
    history_: list[dict[str, float]]
    n_features_in_: int

    def _saved_params(self) -> dict[str, Any]:
        """Return the settings."""

    def _state(self) -> dict[str, Any]:
        """Return fitted values."""

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Return fitted tensors."""


def save_estimator(estimator: Fitted, folder: Path) -> None:
    """Write an estimator to a folder, which must be empty or not exist."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OrdinateError("folder", problem=f"{folder} already holds something", expected="a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(folder, "folder") as partial:
        write_estimator(estimator, partial)
        if folder.exists():
            folder.rmdir()
        partial.replace(folder)


def write_estimator(estimator: Fitted, folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    tensors = {f"method.{name}": value for name, value in estimator.method_.state_dict().items()}
    tensors |= {f"fitted.{name}": value for name, value in estimator._tensors().items()}
    tensors |= {f"reader.{name}": value for name, value in estimator.reader_.tensors().items()}
    tensors = {name: _storable(value) for name, value in tensors.items()}
    (folder / WEIGHTS).write_bytes(save(tensors))  # save_file would let only its owner read it
    (folder / HISTORY).write_text(json.dumps(estimator.history_, indent=1) + "\n")
    params = estimator._saved_params()
    config: dict[str, Any] = {
        "format": FORMAT,
        "estimator": type(estimator).__name__,
        "params": to_plain({**params, "encoder": plain_encoder(params["encoder"])}),
        "network": network_config(estimator.method_.encoder),
        "reader": {"kind": estimator.reader_.kind, **estimator.reader_.to_dict()},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": list(getattr(estimator, "feature_names_in_", [])),
        "fitted": to_plain(estimator._state()),
        "sha256": {name: _sha256((folder / name).read_bytes()) for name in (WEIGHTS, HISTORY)},
    }
    config["sha256"][CONFIG] = _digest(config)
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def load(folder: str | Path, *, encoder: GivenEncoder | None = None) -> Any:
    """Return the estimator that ``save`` or the command line wrote to ``folder``.

    Only JSON and tensors are read: nothing in the folder is run. Damage is an error.

    Args:
        folder: of the model; ``"hf://user/name@revision"`` is fetched from the Hugging Face hub, see
            :func:`~ordinate.estimators.hub.load_from_hub`.
        encoder: the module of a model that was trained with one, or the function that makes it, of the same structure;
            a copy of it gets the saved weights.

    Raises:
        OrdinateError: no model or a damaged one, or an encoder that is missing, not expected or does not fit.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = CLOCClassifier(phase_epochs=(1, 1), random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
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
            raise ValueError(error) from error  # of a setting that no training could have had


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor], list[dict[str, float]]]:
    """Return the configuration, the tensors and the history in a folder of this format that is not damaged."""
    config = json.loads((folder / CONFIG).read_text(), parse_constant=_refuse_constant)
    if config["format"] not in (1, FORMAT):
        raise OrdinateError(
            "model",
            problem=f"{folder} has format {config['format']}",
            expected=f"at most {FORMAT}",
            hint="update ordinate",
        )
    saved = config["sha256"].pop(CONFIG)
    found = {CONFIG: _digest(config), **{name: _sha256((folder / name).read_bytes()) for name in (WEIGHTS, HISTORY)}}
    for name, digest in {CONFIG: saved, **config["sha256"]}.items():
        if found[name] != digest:
            raise OrdinateError(
                "model", problem=f"{folder / name} is damaged, its checksum is not the one saved with it"
            )
    if config["format"] == 1:
        _upgrade(config, folder)
    tensors = load_file(folder / WEIGHTS)
    for name, values in tensors.items():
        if values.is_floating_point() and not values.isfinite().all():
            raise OrdinateError("model", problem=f"{folder / WEIGHTS} holds NaN or infinity in {name!r}")
    return config, tensors, json.loads((folder / HISTORY).read_text())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{CONFIG} holds {name}")


def _upgrade(config: dict[str, Any], folder: Path) -> None:
    """Bring the configuration of a classifier of format 1 up to date.

    Its margins were named by ranks, its classes stood in the order of the ranks, and costs lay in a file beside it.
    """
    classes = config["fitted"].get("classes")
    if classes is None:
        return
    config["fitted"]["ordered_classes"] = classes
    margins = config["params"].get("critical_margins")
    if margins:
        named = [[classes[low], classes[high], margin] for low, high, margin in margins]
        config["params"]["critical_margins"] = named
    if (folder / COSTS).is_file():
        try:
            config["params"]["decision"] = read_costs(folder / COSTS, classes)
        except OrdinateError as error:
            raise OrdinateError(
                "model", problem=f"{folder / COSTS} is damaged ({error})", hint="remove it to load without"
            ) from error


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
    estimator = kind(**from_plain({**config["params"], "encoder": encoder_of(config["params"], encoder, folder)}))
    estimator.network_config_ = config.get("network")
    estimator.reader_ = read_state(config["reader"])
    estimator.n_features_in_ = config["n_features_in"]
    names = config["feature_names_in"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise OrdinateError("model", problem=f"{folder / CONFIG} names features that are no text")
    if type(estimator.n_features_in_) is not int:
        raise OrdinateError("model", problem=f"{folder / CONFIG} counts {estimator.n_features_in_!r} features")
    if names:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator.history_ = history
    estimator.n_iter_ = len(history)
    estimator._restore(config["fitted"])
    method, fitted, read = (
        {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        for prefix in ("method.", "fitted.", "reader.")
    )
    estimator.reader_.restore(read)
    with own_random_numbers():  # a new method draws its weights, before it gets the saved ones
        estimator._restore_method(method)
    estimator._restore_tensors(fitted)
    return estimator


def _storable(value: torch.Tensor) -> torch.Tensor:
    """Return a float64 inference copy as the float32 it came from."""
    value = value.float() if value.is_floating_point() else value
    return value.clone(memory_format=torch.contiguous_format)  # safetensors refuses weights that share memory


def _digest(config: dict[str, Any]) -> str:
    return _sha256(json.dumps(config, sort_keys=True).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
