"""The steps of ``fit``: read samples, hold some out, build the module, train it, fit the predictor."""

import hashlib
import json
import time
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ordinate.data.findings import collected
from ordinate.data.memory import require_memory
from ordinate.data.modality import Reader
from ordinate.data.options import DataOptions
from ordinate.data.other_containers import unpack
from ordinate.data.registry import check_kind, modality_of
from ordinate.data.rows import take
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.streamed import StreamedPixels
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.given import Encoder, is_named
from ordinate.encoders.network import feature_width, network_parameters
from ordinate.encoders.pixels import FrozenImageEncoder
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.frozen_features import frozen_features
from ordinate.estimators.method import Batches, Facts, Fitted, Method
from ordinate.estimators.samples import (
    GivenSamples,
    checked_samples,
    hold_out_samples,
    relative_weights,
    with_units,
)  # fmt: skip
from ordinate.model.embedding import device_of
from ordinate.model.model import Model, Origin
from ordinate.randomness import own_random_numbers
from ordinate.torchrun import is_first_process, joined_processes, shared_number
from ordinate.training.machine import check_accelerator, optimized
from ordinate.training.options import Training

if TYPE_CHECKING:
    from ordinate.estimators.embedding_estimator import EmbeddingEstimator
    from ordinate.training.staged_method import Stage, StagedMethod


def draw_seed(random_state: int | np.random.RandomState | None, folder: Path | None) -> int:
    """Return the seed that follows from ``random_state``.

    A whole number always gives the same one, and so does a ``RandomState`` that a script makes anew. None gives another
    one every time, so it is kept in the folder before training, and the one kept there is returned if there is one.
    Under torchrun all processes draw the same.
    """
    source = random_state
    if random_state is None and joined_processes() > 1:
        source = shared_number() % 2**32
    seed = int(check_random_state(source).randint(np.iinfo(np.int32).max))
    if folder is None or random_state is not None:
        return seed
    path = folder / "seed.json"
    if path.exists():
        try:
            return int(json.loads(path.read_text())["seed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            problem = f"{path} is damaged"
            raise OrdinateError("checkpoint_dir", problem=problem, hint="remove its folder to start again") from error
    if not is_first_process():
        return seed
    folder.mkdir(parents=True, exist_ok=True)
    pending = path.with_suffix(".partial")
    pending.write_text(json.dumps({"seed": seed}))
    pending.replace(path)
    return seed


@dataclass
class FitData:
    """Samples of a fit, as batches.

    Args:
        reader: How samples are read.
        options: Options of the kind of data.
        training: Samples to train on.
        validation: Samples to validate on; None without any.
        batches: Which samples make a batch.
        seed: Seed of the fit.
        by_share: Whether the validation samples are a share of the given ones.
        all_weights: Weights of training and validation samples together; None for equal ones.
        note: Note on exact copies among the given samples; None without any.
    """

    reader: Reader
    options: DataOptions | None
    training: Batches
    validation: ArrayBatches | None
    batches: ShuffledBatches
    seed: int
    by_share: bool
    all_weights: Tensor | None
    note: str | None

    @property
    def notes(self) -> list[str]:
        """What there is to tell of copies."""
        return [] if self.note is None else [self.note]


def learn_labels_and_reader(
    estimator: "EmbeddingEstimator",
    method: Method,
    X: object,
    y: object,
    sample_weight: ArrayLike | None = None,
    validation: GivenSamples | None = None,
    groups: ArrayLike | None = None,
    few: int = 20,
) -> FitData:
    """Learn the labels of a fit, and from the samples to train on how samples are read; return them as batches.

    Fewer than ``few`` samples are not divided into training and validation samples.
    """
    check_accelerator(estimator.training.accelerator)
    folder = estimator.training.folder
    samples = checked_samples(estimator, method, X, y, sample_weight, groups, reset=True)
    labels = method.labels
    samples, note = with_units(samples, labels.outputs if labels.stratified else None)
    seed = draw_seed(estimator.random_state, folder)
    held_out = None
    if validation is not None:
        held_out = checked_samples(estimator, method, *_validation_samples(validation), reset=False)
    elif len(samples) >= few:
        share = method.validation_share(samples)
        if share > 0:
            samples, held_out = hold_out_samples(samples, share, seed, stratify=labels.stratified)
    method.units = samples.units
    modality = modality_of(samples.X)
    options = method.data_options(modality)
    reader, decoded = modality.fit(samples.X, options, encoder=estimator.encoder, progress=bool(estimator.verbose))
    method.reader = reader
    reader.on_gpu = device_of(estimator.training.accelerator).type == "cuda"
    x = reader.read(decoded, folder)
    y = torch.from_numpy(samples.targets)
    views = reader.views(options, method.views)
    training = ArrayBatches(x, y) if views is None else ViewBatches(x, y, *views)
    training.weights = relative_weights(estimator.weights_in_training(samples, labels))
    method.check_samples(reader, training)
    held_out_batches = all_weights = None
    if held_out is not None:
        check_kind(reader, modality_of(held_out.X))
        with collected():  # Samples of validation are not new.
            x = reader.read(held_out.X, folder)
        held_out_batches = ArrayBatches(x, torch.from_numpy(held_out.targets), relative_weights(held_out.weights))
        if samples.weights is not None and held_out.weights is not None:
            all_weights = relative_weights(np.concatenate([samples.weights, held_out.weights]))
    if held_out is None and not method.has_unseen_folds and isinstance(estimator.training.patience, int):
        warn("patience counts epochs without a lower training loss, as there are no validation samples")
    batches = method.batches(samples.targets, method.batch_size(reader, len(samples)), seed)
    return FitData(reader, options, training, held_out_batches, batches, seed, validation is None, all_weights, note)


def _validation_samples(given: Any) -> GivenSamples:
    """Return samples to validate on as a tuple; a Dataset or DataLoader may hold them, too."""
    if isinstance(given, tuple | list) and len(given) in (2, 3):
        return tuple(given)
    if isinstance(given, Dataset | DataLoader):
        X, y = unpack(given, None)
        if y is not None:
            return X, y
    expected = "(X, y) or (X, y, sample_weight), or a Dataset or DataLoader with labels"
    raise OrdinateError("validation", type(given).__name__, expected, "validation_fraction is a share of the samples")


def brings_weights(encoder: Encoder, options: DataOptions | None) -> bool:
    """Return whether a network starts from weights that were learned elsewhere."""
    return not is_named(encoder) or (options is not None and options.brings_weights)


def new_module(estimator: "EmbeddingEstimator", method: Method, data: FitData) -> "tuple[StagedMethod, int]":
    """Return the untrained module of a method on these samples, and the dimension of its embeddings."""
    encoder = method.encoder(data.reader, data.options)
    facts = Facts(
        reader=data.reader,
        targets=data.training.y,
        outputs=method.labels.outputs,
        embedding_dim=method.embedding_dim or feature_width(encoder, data.reader.blank(2), "the encoder"),
        n_batches=len(data.batches),
        batch_size=method.batch_size(data.reader, len(data.training)),
        is_validated=data.validation is not None,
        from_scratch=is_named(estimator.encoder) and (data.options is None or data.options.starts_anew),
    )
    module = method.module(encoder, facts)
    rate = estimator.training.encoder_learning_rate
    module.encoder_learning_rate = rate
    if rate is not None and not any(parameter.requires_grad for parameter in network_parameters(encoder)):
        raise OrdinateError("encoder_learning_rate", rate, "None if the network is not trained")
    module.stages = optimized(estimator.training, module.stages)
    if not any(parameter.requires_grad for parameter in module.parameters_of_stage(0)):
        raise OrdinateError(
            "embedding_dim", "None with an encoder that is not trained", "a whole number, or another train_encoder"
        )
    return module, facts.embedding_dim


class Fit:
    """One fit: trains a module on samples and keeps its history.

    Args:
        estimator: The estimator that is fitted.
        method: How it trains.
        data: The samples.
    """

    def __init__(self, estimator: "EmbeddingEstimator", method: Method, data: FitData) -> None:
        self.estimator = estimator
        self.method = method
        self.data = data
        self.options: Training = estimator.training
        self.history: list[dict[str, float]] = []
        self.run_name = ""

    def run(self) -> Fitted:
        """Build and train the module; return it with what its predictor is made from."""
        data, folder = self.data, self.options.folder
        with own_random_numbers(data.seed, gpus=True):
            self.module, self.embedding_dim = new_module(self.estimator, self.method, data)
            self._check_memory()
            if folder is not None:
                self.run_name = fingerprint(self.estimator, self.module, data.training, data.validation, data.seed)
            if isinstance(self.module.encoder, FrozenImageEncoder):
                self._embed_frozen(self.module.encoder)
            fitted = self._fitted()
            seen, validated = self.method.prepare(data.training, data.validation, self.run_name)
            self.run_name += self.method.run_name()
            start = time.perf_counter()
            self.history = self._train(seen, data.batches, validated, folder)
            fitted.seconds = time.perf_counter() - start
            self.predictor = self.method.finish(fitted)
        return fitted

    def take(self, module: "StagedMethod", embedding_dim: int) -> Fitted:
        """Take a module that was trained elsewhere; return it with what its predictor is made from."""
        self.module, self.embedding_dim, self.history = module, embedding_dim, list(module.history)
        self._become_predictive()
        with own_random_numbers(self.data.seed, gpus=True):
            fitted = self._fitted()
            self.predictor = self.method.finish(fitted)
        return fitted

    def model(self, fitted: Fitted) -> Model:
        """Return the fitted model."""
        estimator, reader = self.estimator, self.data.reader
        return Model(
            name=self.method.name,
            origin=Origin(type(estimator).__name__, {}),
            n_features_in=int(estimator.n_features_in_),
            feature_names_in=tuple(map(str, getattr(estimator, "feature_names_in_", ()))),
            data=estimator.data,
            reader=reader,
            encoder=fitted.module.encoder,
            predictor=self.predictor,
            labels=self.method.labels,
            embedding_dim=fitted.embedding_dim,
            similarity=self.method.similarity(fitted),
            device=fitted.device,
            facts=fitted.facts,
            history=self.history,
            notes=[*reader.notes, *fitted.notes, *self.data.notes],
        )

    def _fitted(self) -> Fitted:
        data = self.data
        return Fitted(
            module=self.module,
            reader=data.reader,
            device=device_of(self.options.accelerator),
            embedding_dim=self.embedding_dim,
            training=data.training,
            validation=data.validation,
            train_again=self._train_again,
            fit_part=self._fit_part,
            seed=data.seed,
            held_out_by_share=data.by_share,
            all_weights=data.all_weights,
        )

    def _check_memory(self) -> None:
        """Raise an error if memory does not suffice for training; say what it takes if that is much."""
        trained = [weight for weight in self.module.parameters() if weight.requires_grad]
        size = 3 * sum(weight.numel() * weight.element_size() for weight in trained)  # Gradients and moments too.
        if device_of(self.options.accelerator).type != "cuda":
            require_memory(size, "training", "fewer columns or a smaller encoder take less")
        if self.estimator.verbose and size > 2**30:
            print(f"training takes about {size / 2**30:.2g} GiB of memory in addition to the data and the network")

    def _embed_frozen(self, encoder: FrozenImageEncoder) -> None:
        """Compute the features of a network that is not trained once."""
        data, device, progress = self.data, device_of(self.options.accelerator), bool(self.estimator.verbose)
        data.training = frozen_features(encoder, data.training, data.options, device, progress=progress)
        if data.validation is not None:
            data.validation = frozen_features(encoder, data.validation, data.options, device, progress=progress)

    def _train(
        self, training: Batches, batches: ShuffledBatches, validation: ArrayBatches | None, folder: Path | None
    ) -> list[dict[str, float]]:
        history = self.method.train(
            self.module, training, batches, validation, options=self.options, folder=folder, seed=self.data.seed,
            run=self.run_name, progress=bool(self.estimator.verbose),
        )  # fmt: skip
        self._become_predictive()
        return history

    def _become_predictive(self) -> None:
        self.module.cpu().double().eval()
        if self.data.reader.in_float32:
            self.module.encoder.float()

    def _train_again(self, stages: "tuple[Stage, ...]", data: ArrayBatches, stages_before: int) -> None:
        """Go on training the module in other stages, and append what its epochs log to the history."""
        self.module.stages = stages
        self.module.float().train()
        batches = self.method.batches(data.y.numpy(), self.data.batches.batch_size, self.data.seed)
        for epoch in self._train(data, batches, None, self._folder_of("all samples")):
            number = float(len(self.history))
            self.history.append({**epoch, "epoch": number, "stage": epoch["stage"] + stages_before})

    def _fit_part(self, rows: NDArray[np.int64], number: int, least: int = 4) -> Fitted:
        """Train another module on some of the samples; nothing of this fit changes.

        It has the stages of the fit, and batches smaller by the share of its samples: with as many steps and epochs it
        gets about as confident as the module of the fit. With batches of the same size it would overfit more.

        Args:
            rows: Rows of the training samples.
            number: Number of the part, from 1, which determines its seed.
            least: Least number of samples in a batch.
        """
        seed = (self.data.seed + number) % 2**32
        training = copy(self.data.training)
        training.x = take(training.x, rows)
        training.y = training.y[torch.from_numpy(rows)]
        weights = self.data.training.weights_of(rows)
        if weights is not None:
            training.weights = relative_weights(weights.numpy())
        whole = len(self.data.training.x)
        batch_size = max(least, round(min(self.data.batches.batch_size, whole) * len(rows) / whole))
        batches = self.method.batches(training.y.numpy(), batch_size, seed)
        data = replace(self.data, training=training, validation=None, all_weights=None, batches=batches, seed=seed)
        part = Fit(self.estimator, self.method, data)
        part.options = replace(self.options, callbacks=None)  # They observe the fit itself.
        part.run_name = f"{self.run_name}, part {number}"
        with own_random_numbers(seed, gpus=True):
            part.module, part.embedding_dim = new_module(part.estimator, part.method, part.data)
            part.module.stages = self.module.stages
            part._train(part.data.training, part.data.batches, None, self._folder_of(f"part {number}"))
        return part._fitted()

    def _folder_of(self, name: str) -> Path | None:
        """Return the folder of the checkpoint of a further training."""
        if self.options.folder is None:
            return None
        folder = self.options.folder / name
        folder.mkdir(exist_ok=True)
        return folder


def fingerprint(
    estimator: "EmbeddingEstimator",
    module: "StagedMethod",
    training: Batches,
    validation: ArrayBatches | None,
    seed: int,
) -> str:
    """Return a digest of everything that determines the weights of a fit."""
    settings = estimator.get_params(deep=False) | estimator.training.determining()
    elsewhere = ("decision", "random_state", "verbose", "training")
    settings = {name: value for name, value in settings.items() if name not in elsewhere}
    if not is_named(estimator.encoder):  # The network that training starts from says what it is.
        settings["encoder"] = module.encoder
    described = [f"{name}={describe(value, name)}" for name, value in sorted(settings.items())]
    digest = hashlib.sha256("\n".join([type(estimator).__name__, *described, str(seed)]).encode())
    for data in (training, validation):
        if data is None:
            continue
        for part in (data.x, data.y, data.weights):
            if isinstance(part, StreamedPixels):
                digest.update(part.digest())
            elif part is not None:
                digest.update(np.ascontiguousarray(part.numpy()).data)  # This avoids a copy of all samples.
    return digest.hexdigest()
