"""Saved models as the estimators that they were trained by."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from ordinate.data.paths import reading
from ordinate.data.registry import modality_of_reader
from ordinate.encoders.given import Encoder, describe_encoder, is_factory
from ordinate.encoders.network import reason
from ordinate.errors import OrdinateError
from ordinate.estimators.params import from_plain
from ordinate.estimators.registry import estimator_named
from ordinate.model.embedding import device_of
from ordinate.model.folder import CARD, CONFIG, require_model
from ordinate.model.held_out import ARRAYS, RECORD
from ordinate.model.model import Model
from ordinate.model.saving import HISTORY, WEIGHTS, Saved, read_model, restore_predictor
from ordinate.option_group import Settings
from ordinate.optional import optional
from ordinate.randomness import own_random_numbers

FETCHED = (CONFIG, WEIGHTS, HISTORY, RECORD, ARRAYS, CARD)
GivenEncoder = nn.Module | Callable[[int | None], nn.Module]


def load(folder: str | Path, *, encoder: GivenEncoder | None = None) -> Any:
    """Return the estimator of a saved model as :func:`ordinate.load` does, but without the data of its fit."""
    if not isinstance(folder, str | Path):
        raise OrdinateError("folder", repr(folder), "the folder of a model")
    folder = Path(folder) if not str(folder).startswith("hf://") else _downloaded(str(folder))
    require_model(folder)
    with reading("model", f"{folder} is damaged or incomplete"):
        try:
            estimator = _rebuild(folder, read_model(folder), encoder)
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
        return Path(hub.snapshot_download(name, revision=revision or None, allow_patterns=[*FETCHED]))
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        problem = f"{repository} cannot be loaded: {type(error).__name__}: {reason}"
        raise OrdinateError("model", problem=problem) from error


def _rebuild(folder: Path, saved: Saved, encoder: GivenEncoder | None) -> Any:
    """Return the estimator of a saved model."""
    kind = estimator_named(saved.origin.estimator)
    if kind is None:
        name = saved.origin.estimator
        raise OrdinateError("model", problem=f"holds a {name!r}, which this version of Ordinate does not know")
    params = from_plain(saved.origin.params)
    if "encoder" in params:
        params["encoder"] = encoder_of(params, encoder, folder)
    estimator = kind(**params)
    reader = saved.reader()
    with own_random_numbers():  # New modules draw weights before they get the saved ones.
        network = _restore_encoder(estimator, reader, saved)
        predictor = restore_predictor(saved.predictor, saved.tensors_of("predictor"))
    estimator.model_ = Model(
        name=saved.name,
        origin=saved.origin,
        n_features_in=saved.n_features_in,
        feature_names_in=saved.feature_names_in,
        data=estimator.data,
        reader=reader,
        encoder=network,
        predictor=predictor,
        labels=saved.labels,
        embedding_dim=saved.embedding_dim,
        similarity=saved.similarity,
        device=device_of(estimator.training.accelerator),
        facts=saved.facts,
        history=saved.history,
        notes=saved.notes,
    )
    estimator.model_.check_outputs()
    estimator.n_features_in_ = saved.n_features_in
    if saved.feature_names_in:
        estimator.feature_names_in_ = estimator.model_.feature_names_in_
    return estimator


def _restore_encoder(estimator: Any, reader: Any, saved: Saved) -> nn.Module:
    """Return a new encoder with the saved weights."""
    method = estimator.new_method()
    options = method.data_options(modality_of_reader(reader))
    encoder: Any = method.encoder(reader, options, saved.encoder)
    try:
        encoder.load_state_dict(saved.tensors_of("encoder"))
    except RuntimeError as error:
        if not callable(estimator.encoder):
            raise
        raise OrdinateError("encoder", problem=f"does not fit the saved weights: {reason(error)}") from error
    encoder = encoder.double().eval()
    if reader.in_float32:
        encoder.float()
    if hasattr(encoder, "check_restored"):
        encoder.check_restored(reader.sample_shape[0])
    return encoder


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
        given_as = f"{name}(...)" if kind == "module" else name
        hint = f"ordinate.load({str(folder)!r}, encoder={given_as}) in Python, with the same {kind}"
        raise OrdinateError("encoder", problem=problem, hint=hint)
    if not callable(given) or is_factory(given) != (kind == "function"):
        raise OrdinateError("encoder", describe_encoder(given), f"a {kind}, as in training: {name}")
    return given
