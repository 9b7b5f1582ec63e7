"""Model folders: written whole or not at all, checked when read, and never a source of code."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from ordinate.data.modality import Reader
from ordinate.data.new_files import held, new_folder
from ordinate.data.registry import read_state
from ordinate.encoders.hugging_face import VisionNetwork
from ordinate.errors import OrdinateError
from ordinate.extensions import extensions, load_object
from ordinate.model.folder import CONFIG
from ordinate.model.labels import RankLabels, TargetLabels, restore_labels
from ordinate.model.model import Model, Origin
from ordinate.option_group import Settings
from ordinate.options import Similarity
from ordinate.plain_values import to_plain

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


FORMAT = 1
WEIGHTS, HISTORY = "weights.safetensors", "history.json"


def save_model(
    model: Model, folder: Path, write_more: Callable[[Path], None] = lambda _: None, *, overwrite: bool = False
) -> None:
    """Write a model to a folder, which must be empty or not exist; ``write_more`` adds files before it appears.

    To overwrite replaces the folder of a saved model, but nothing else.
    """
    is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if is_used and not (overwrite and (folder / CONFIG).is_file()):
        raise held("folder", folder, "overwrite=True replaces that model")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(folder, "folder") as partial:
        write_model(model, partial)
        write_more(partial)
        if is_used:
            folder.replace(partial / "replaced")
        elif folder.exists():
            folder.rmdir()
        partial.replace(folder)
    shutil.rmtree(folder / "replaced", ignore_errors=True)


def write_model(model: Model, folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    if model.origin.problem is not None:
        raise model.origin.problem
    parts = {
        "encoder": model.encoder.state_dict(),
        "predictor": model.predictor.state_dict(),
        "reader": model.reader.tensors(),
    }
    tensors = {f"{part}.{name}": _storable(value) for part, held in parts.items() for name, value in held.items()}
    (folder / WEIGHTS).write_bytes(save(tensors))  # The function save_file would let only its owner read it.
    (folder / HISTORY).write_text(json.dumps(model.history, indent=1) + "\n")
    config: Settings = {
        "format": FORMAT,
        "method": model.name,
        "estimator": model.origin.estimator,
        "params": model.origin.params,
        "reader": {"kind": model.reader.kind, **model.reader.to_dict()},
        "n_features_in": model.n_features_in,
        "feature_names_in": list(model.feature_names_in),
        "embedding_dim": int(model.embedding_dim),
        "similarity": model.similarity,
        "encoder": _describe_encoder(model.encoder),
        "predictor": describe_predictor(model.predictor),
        "labels": model.labels.state(),
        "fitted": to_plain(model.facts),
        "notes": list(model.notes),
        "sha256": {name: _sha256((folder / name).read_bytes()) for name in (WEIGHTS, HISTORY)},
    }
    config["sha256"][CONFIG] = _digest(config)
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def _describe_encoder(encoder: Any) -> Settings:
    """Return what a new encoder is built from, in addition to the parameters of the estimator.

    A network of transformers for images is built from its configuration.
    """
    networks = [module.config for module in encoder.modules() if isinstance(module, VisionNetwork)]
    described: Settings = {"network": next(iter(networks), None)}
    if hasattr(encoder, "config"):
        described |= encoder.config()
    return described


@dataclass(frozen=True)
class Saved:
    """The content of a model's folder, which is not damaged.

    Args:
        folder: The folder.
        config: Content of ``config.json``.
        tensors: Weights of encoder, predictor and reader.
        history: Values that each epoch logged.
    """

    folder: Path
    config: Settings
    tensors: dict[str, Tensor]
    history: list[dict[str, float]]

    @property
    def name(self) -> str:
        """The name of the method."""
        return str(self.config["method"])

    @property
    def origin(self) -> Origin:
        """What the model was trained by."""
        return Origin(self.config["estimator"], self.config["params"])

    @property
    def n_features_in(self) -> int:
        """Columns of a table, channels, or texts per sample."""
        return self._count("n_features_in")

    @property
    def feature_names_in(self) -> tuple[str, ...]:
        """The names of the columns of the training samples."""
        names = self.config["feature_names_in"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise OrdinateError("model", problem=f"{self.folder / CONFIG} names features that are no text")
        return tuple(names)

    @property
    def embedding_dim(self) -> int:
        """The dimension d of the embeddings."""
        return self._count("embedding_dim")

    @property
    def similarity(self) -> Similarity:
        """The similarity of embeddings by which samples are near each other."""
        similarity: Similarity = self.config["similarity"]
        if similarity not in get_args(Similarity):
            raise OrdinateError("model", problem=f"{self.folder / CONFIG} names a similarity {similarity!r}")
        return similarity

    @property
    def labels(self) -> RankLabels | TargetLabels:
        """What the ranks or targets are."""
        return restore_labels(self.config["labels"])

    @property
    def facts(self) -> Settings:
        """Other results of the fit; lists become arrays."""
        facts = {}
        for name, value in self.config["fitted"].items():
            if not name.endswith("_") or name.startswith("_"):
                raise ValueError(f"it holds a fitted attribute {name!r}")
            facts[name] = np.asarray(value) if isinstance(value, list) else value
        return facts

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the fit."""
        return list(self.config["notes"])

    @property
    def encoder(self) -> Settings:
        """What a new encoder is built from, in addition to the parameters of the estimator."""
        return dict(self.config["encoder"])

    @property
    def predictor(self) -> Settings:
        """What the predictor is built from."""
        return dict(self.config["predictor"])

    def reader(self) -> Reader:
        """Return how samples are read."""
        reader: Reader = read_state(dict(self.config["reader"]))
        reader.restore(self.tensors_of("reader"))
        return reader

    def tensors_of(self, part: str) -> dict[str, Tensor]:
        """Return the weights of the encoder, the predictor or the reader."""
        prefix = f"{part}."
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}

    def _count(self, name: str) -> int:
        count = self.config[name]
        if type(count) is not int:
            raise OrdinateError("model", problem=f"{self.folder / CONFIG} counts {count!r} as {name}")
        return count


def read_model(folder: Path) -> Saved:
    """Return what a folder holds, after a check of its format and its checksums."""
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
    return Saved(folder, config, tensors, json.loads((folder / HISTORY).read_text()))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{CONFIG} holds {name}")


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
