"""Networks of the package transformers: by name or folder, or from a configuration that a saved model holds."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.checks import HUGGING_FACE, check_network_folder
from ordinate.errors import OrdinateError
from ordinate.optional import optional
from ordinate.randomness import own_random_numbers

Config = dict[str, Any]  # A configuration, as in a config.json.

# The library transformers raises them for a source.
UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, ImportError)


class VisionNetwork(nn.Module):
    """A network of transformers for images.

    Args:
        config: Configuration, as in a ``config.json``; without a pooler if its key ``"pooler"`` is false.
        network: Network of this configuration; None makes a new one.
        pretrained_cfg: ``"mean"`` and ``"std"`` of the channels that it was trained with; empty where unknown.
    """

    def __init__(
        self,
        config: Config,
        network: nn.Module | None = None,
        pretrained_cfg: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.pretrained_cfg = pretrained_cfg or {}
        self.network: Any = new_network(config) if network is None else network
        if not config.get("pooler", True):
            self.network.pooler = None

    def forward(self, images: Tensor) -> Any:
        return self.network(images)


def load_vision_network(name: str) -> VisionNetwork:
    """Return a network for images by ``"hf:"`` and its folder, or its name on the Hugging Face hub.

    Raises:
        OrdinateError: transformers is not installed, or there is no such network, or its weights are incomplete, or it
            requires code of its own to run.
    """
    check_network_folder(name)
    transformers = optional("transformers", "text", "encoder")
    source = name.removeprefix(HUGGING_FACE)
    try:
        with quiet_transformers(transformers):
            network, report = transformers.AutoModel.from_pretrained(
                source, dtype=torch.float32, output_loading_info=True, **access(source)
            )
            processing = transformers.models.auto.image_processing_auto.get_image_processor_config(
                source, local_files_only=Path(source).is_dir()
            )
    except UNREADABLE as error:
        raise unreadable_network(
            name, "a folder or a name on the Hugging Face hub of a network for images", error
        ) from error
    missing = sorted(report["missing_keys"])
    if any(not key.startswith("pooler.") for key in missing):  # Many published weights lack this layer.
        raise OrdinateError(
            "encoder", problem=f"{name!r} lacks weights of {type(network).__name__}, such as {missing[0]}"
        )
    config = plain_config(network)
    if missing:
        config["pooler"] = False
    statistics = {key: processing.get(f"image_{key}") for key in ("mean", "std")}
    if not all(statistics.values()):
        statistics = {}
    return VisionNetwork(config, network, statistics)


def access(source: str) -> dict[str, bool]:
    """Return options of transformers' loaders: no code of a model is run, and a folder is all that is read."""
    return {"trust_remote_code": False, "local_files_only": Path(source).is_dir()}


def unreadable_network(name: str, expected: str, error: Exception) -> OrdinateError:
    """Return the error of a network that could not be loaded."""
    reason = str(error).strip().split("\n")[0]
    return OrdinateError("encoder", problem=f"{name!r} cannot be loaded", expected=f"{expected}: {reason}")


def plain_config(network: Any) -> Config:
    """Return the configuration of a network as JSON has it, without its source."""
    sources = ("_name_or_path", "transformers_version")
    config = {key: value for key, value in network.config.to_dict().items() if key not in sources}
    plain: Config = json.loads(json.dumps(config))
    return plain


def new_network(config: Config) -> Any:
    """Return a network of one of transformers' own classes, with new weights.

    The configuration may come from a model that someone else saved: types and keys that the classes do not know, and
    those that could make transformers fetch code or weights, are not followed. Types with the word timm are of another
    library, whose names may lead to a hub.
    """
    transformers = optional("transformers", "text", "encoder")
    name = config["model_type"]
    if name not in transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES or "timm" in name:
        raise OrdinateError("model", f"a network of the type {name!r}", "one of transformers' own")
    usual = transformers.AutoConfig.for_model(name).to_dict()
    for key, value in _named_elsewhere(config):
        if value != usual.get(key):
            raise OrdinateError("model", f"{key}={value!r} of a network", "none, as it may name code elsewhere")
    kept = (usual.keys() - {"model_type"}) & config.keys()
    for key in sorted(kept):
        if not _is_like(config[key], usual[key]):
            raise OrdinateError("model", f"{key}={config[key]!r} of a network", f"a value like {usual[key]!r}")
    known = transformers.AutoConfig.for_model(name, **{key: config[key] for key in kept})
    return transformers.AutoModel.from_config(known, trust_remote_code=False)


def _is_like(value: object, usual: object) -> bool:
    """Return whether a value of a configuration has the type of the usual one, which None leaves open."""
    if value is None or usual is None:
        return True
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(usual, bool) and isinstance(value, bool)
    if isinstance(usual, int | float):
        return isinstance(value, int | float)
    return isinstance(value, type(usual))


def _named_elsewhere(config: Config) -> Iterator[tuple[str, object]]:
    """Yield the keys of a configuration, and of those in it, that may name what transformers would fetch."""
    fetching = re.compile("attn_implementation|experts_implementation|auto_map|quantization_config|kernel|backbone")
    for key, value in config.items():
        is_other_library = key == "model_type" and "timm" in str(value)
        if isinstance(value, str | dict) and (fetching.search(key) or is_other_library):
            yield key, value
        if isinstance(value, dict):
            yield from _named_elsewhere(value)


@contextmanager
def quiet_transformers(transformers: Any) -> Iterator[None]:
    """Silence progress bars and advice on weights that are not read, and leave the random state as it was."""
    log = transformers.utils.logging
    shown = log.is_progress_bar_enabled()
    verbosity = log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        with own_random_numbers():
            yield
    finally:
        log.set_verbosity(verbosity)
        if shown:
            log.enable_progress_bar()
