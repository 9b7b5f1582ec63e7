"""The steps of ``fit``: read samples, hold some out, build the module, train it, fit the predictor."""

import hashlib
import time
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.memory import require_memory
from ordinate.data.modality import Reader
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, random_part, take
from ordinate.data.samplers import PooledBatches, ShuffledBatches
from ordinate.data.streamed import Streamed, StreamedPixels, blocks_of
from ordinate.data.tables.parquet_table import streams
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.blocks import network_parameters
from ordinate.encoders.given import is_named
from ordinate.encoders.network import feature_width
from ordinate.encoders.pixels import FrozenImageEncoder
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.frozen_features import frozen_features
from ordinate.estimators.holdout import check_groups, hold_out
from ordinate.estimators.inference import Inference, device_of
from ordinate.estimators.method import Batches, Facts, Fitted, Method
from ordinate.estimators.sample_weights import CheckedSamples, check_sample_weight, relative_weights
from ordinate.estimators.seed import draw_seed
from ordinate.randomness import own_random_numbers
from ordinate.training.machine import check_machine, optimized
from ordinate.training.options import Training
from ordinate.training.step_cost import measure_step, training_memory

if TYPE_CHECKING:
    from ordinate.training.stages import Stage, StagedMethod

FEW_SAMPLES = 20  # Fewer are not divided into training and validation samples.


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
    """

    reader: Reader
    options: Any
    training: Batches
    validation: ArrayBatches | None
    batches: ShuffledBatches
    seed: int
    by_share: bool
    all_weights: Tensor | None

    @property
    def notes(self) -> list[str]:
        """What samples that stream have to tell."""
        read = [data.x for data in (self.training, self.validation) if data is not None]
        return [x.note for x in read if isinstance(x, Streamed) and x.note is not None]


@dataclass
class Given:
    """What ``fit`` is given."""

    X: Any
    y: Any
    sample_weight: Any = None
    validation: tuple[Any, ...] | None = None
    groups: Any = None


def prepare(estimator: Any, method: Method, given: Given) -> FitData:
    """Return the samples to train and to validate on, and the batches, in orders of the fit's seed."""
    training: Training = estimator.training
    check_machine(training, estimator.random_state)
    samples = checked_samples(estimator, method, given.X, given.y, given.sample_weight, given.groups, reset=True)
    seed = draw_seed(estimator.random_state, training.folder)
    held_out = None
    if given.validation is not None:
        held_out = checked_samples(estimator, method, *given.validation, reset=False)
    elif len(samples) >= FEW_SAMPLES:
        share = method.validation_share(samples)
        if share > 0:
            samples, held_out = divide(samples, share, seed, stratify=estimator.labels_.stratified)
    return read_data(estimator, method, samples, held_out, seed, by_share=given.validation is None)


def checked_samples(
    estimator: Any, method: Method, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool
) -> CheckedSamples:
    """Return samples and their training targets, which must be as many; those of weight 0 are left out."""
    X, y = inputs.unpack(X, y, estimator.data)
    if y is None:
        name = type(estimator).__name__
        raise OrdinateError("y", problem=f"{name} requires y to be passed, but the target y is None")
    X = inputs.check_input(estimator, X, reset=reset)
    if sample_weight is None:
        samples = CheckedSamples(X, estimator.targets(y, reset=reset), groups=groups)
    else:
        samples = weighted_samples(estimator, method, X, y, sample_weight, groups, reset=reset)
    if len(samples.targets) != len(samples.X):
        raise _other_number(samples.targets, samples.X)
    return samples


def weighted_samples(
    estimator: Any, method: Method, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool
) -> CheckedSamples:
    """Return the samples whose weight is above 0."""
    if method.unweighted is not None:
        raise OrdinateError("sample_weight", "weights", "None", f"{type(estimator).__name__}: {method.unweighted}")
    weights = check_sample_weight(sample_weight, len(X))
    counted = np.flatnonzero(weights)
    if len(counted) == len(X):
        return CheckedSamples(X, estimator.targets(y, reset=reset), weights, groups)
    if len(y) != len(X):
        raise _other_number(y, X)
    groups = None if groups is None else check_groups(groups, len(X))
    targets = estimator.targets(take(y, counted), reset=reset)
    if reset:
        estimator.labels_.check_left_out(take(y, np.flatnonzero(weights == 0)))
    return CheckedSamples(take(X, counted, renumber=True), targets, weights[counted], column_of(groups, counted))


def _other_number(y: Any, X: Any) -> OrdinateError:
    return OrdinateError("y", f"{len(y)} labels for {len(X)} samples", "one per sample")


def divide(
    samples: CheckedSamples,
    share: float,
    seed: int,
    *,
    stratify: bool,
    most: int = 10_000,
    drawn_from: int = 100_000,
) -> tuple[CheckedSamples, CheckedSamples | None]:
    """Return the samples to train on, and those to validate on.

    Args:
        samples: All samples.
        share: Share of the samples to validate on, above 0.
        seed: Seed of the division.
        stratify: Whether samples are held out rank by rank.
        most: Largest number of validation samples, as a loss of all their pairs is computed in every epoch.
        drawn_from: Number of samples of a table that streams among which they are drawn.
    """
    share = min(share, most / len(samples))
    if streams(samples.X) and samples.groups is None and len(samples) > drawn_from:
        some = random_part(len(samples), drawn_from, seed)
        of_some = share * len(samples) / len(some)
        _, held_out = hold_out(samples.targets[some], None, of_some, seed, stratify=stratify)
        return samples.without(some[held_out]), samples.take(some[held_out])
    rows, held_out = hold_out(samples.targets, samples.groups, share, seed, stratify=stratify)
    if len(rows) < 4:
        raise OrdinateError("validation_fraction", f"{share:g}, which leaves {len(rows)} of {len(samples)} samples")
    return samples.take(rows), samples.take(held_out) if len(held_out) else None


def read_data(
    estimator: Any,
    method: Method,
    samples: CheckedSamples,
    held_out: CheckedSamples | None,
    seed: int,
    *,
    by_share: bool,
) -> FitData:
    """Learn how to read samples from those to train on; return them and the held-out ones as batches."""
    method.groups = samples.groups
    folder = estimator.training.folder
    progress = bool(estimator.verbose)
    options = method.data_options(modality_of(samples.X))
    reader, X = inputs.fit_reader(samples.X, options, estimator.encoder, progress=progress)
    reader.on_gpu = device_of(estimator.training).type == "cuda"
    x = _replacing(inputs.read(reader, X, folder), samples, options)
    y = torch.from_numpy(samples.targets)
    views = reader.views(options, method.views)
    training: Batches = ArrayBatches(x, y) if views is None else ViewBatches(x, y, *views)
    training.weights = relative_weights(estimator.labels_.weights_in_training(samples))
    method.check_samples(reader, training)
    validation = all_weights = None
    if held_out is not None:
        x = _replacing(inputs.read(reader, held_out.X, folder), held_out, options)
        validation = ArrayBatches(x, torch.from_numpy(held_out.targets), relative_weights(held_out.weights))
        if samples.weights is not None and held_out.weights is not None:
            all_weights = relative_weights(np.concatenate([samples.weights, held_out.weights]))
    batches = batches_of(method, training, samples.targets, method.batch_size(reader, len(samples)), seed)
    return FitData(reader, options, training, validation, batches, seed, by_share, all_weights)


def batches_of(method: Method, training: Batches, targets: NDArray[Any], batch_size: int, seed: int) -> ShuffledBatches:
    """Return which samples make a batch; of samples that are read in blocks, those of few blocks."""
    batches = method.batches(targets, batch_size, seed)
    blocks = blocks_of(training.x)
    return batches if blocks is None else PooledBatches(batches, blocks)


def part_of(method: Method, data: FitData, rows: NDArray[np.int64], seed: int) -> FitData:
    """Return some of the training samples of a fit, without validation samples, in batches of another seed."""
    training = copy(data.training)
    index = torch.from_numpy(rows)
    training.x = training.x.part(rows) if isinstance(training.x, Streamed) else training.x[index]
    training.y = training.y[index]
    if training.weights is not None:
        training.weights = relative_weights(training.weights[index].double().numpy())
    batches = batches_of(method, training, training.y.numpy(), data.batches.batch_size, seed)
    return replace(data, training=training, validation=None, all_weights=None, batches=batches, seed=seed)


def _replacing(x: Any, samples: CheckedSamples, options: Any) -> Any:
    """Return samples that, if they stream and the options say so, replace those that cannot be read."""
    if isinstance(x, StreamedPixels) and getattr(options, "skip_unreadable", False):
        return x.replacing(samples.targets)
    return x


def new_module(estimator: Any, method: Method, data: FitData) -> "tuple[StagedMethod, int]":
    """Return the untrained module of a method on these samples, and the dimension of its embeddings."""
    training: Training = estimator.training
    encoder = method.encoder(data.reader, data.options)
    facts = Facts(
        reader=data.reader,
        targets=labels_to_learn_from(data.training),
        outputs=estimator.labels_.outputs,
        embedding_dim=method.embedding_dim or feature_width(encoder, data.reader.blank(2), "the encoder"),
        n_batches=len(data.batches),
        batch_size=method.batch_size(data.reader, len(data.training)),
        is_validated=data.validation is not None,
    )
    module = method.module(encoder, facts)
    rate = training.encoder_learning_rate
    module.encoder_learning_rate = rate
    if rate is not None and not any(parameter.requires_grad for parameter in network_parameters(encoder)):
        raise OrdinateError("encoder_learning_rate", rate, "None if the network is not trained")
    module.stages = optimized(training, module.stages)
    if not any(parameter.requires_grad for parameter in module.parameters_of_stage(0)):
        raise OrdinateError(
            "embedding_dim", "None with an encoder that is not trained", "a whole number, or another train_encoder"
        )
    balance = getattr(module, "balance", None)
    if balance is not None:
        balance.fit(facts.targets)
    return module, facts.embedding_dim


def labels_to_learn_from(training: Batches, most: int = 2**20) -> Tensor:
    """Return the labels from which a method learns their scale: a random part of very many that stream."""
    if blocks_of(training.x) is None or len(training.y) <= most:
        return training.y
    return training.y[torch.from_numpy(random_part(len(training.y), most))]


class Fit:
    """One fit: trains a module on samples and keeps its history.

    Args:
        estimator: The estimator that is fitted.
        method: How it trains.
        data: The samples.
    """

    def __init__(self, estimator: Any, method: Method, data: FitData) -> None:
        self.estimator = estimator
        self.method = method
        self.data = data
        self.options: Training = estimator.training
        self.history: list[dict[str, float]] = []

    def run(self) -> Fitted:
        """Build and train the module; return it with what its predictor is made from."""
        data, training = self.data, self.estimator.training
        with own_random_numbers(data.seed, gpus=True):
            self.module, self.embedding_dim = new_module(self.estimator, self.method, data)
            self._announce()
            self.run_name = ""
            if training.folder is not None:
                samples = (data.training, data.validation, data.seed)
                self.run_name = fingerprint(self.estimator, self.module, *samples)
            self._embed_frozen()
            fitted = self._fitted()
            seen, validated = self.method.prepare(data.training, data.validation)
            self.run_name += self.method.run_name()
            start = time.perf_counter()
            self.history = self._train(seen, data.batches, validated, training.folder)
            fitted.seconds = time.perf_counter() - start
            self.predictor = self.method.finish(fitted)
        return fitted

    def _fitted(self) -> Fitted:
        reader, data = self.data.reader, self.data
        inference = Inference(self.module.encoder, reader, self.estimator.training)
        return Fitted(
            module=self.module,
            reader=reader,
            embedding_dim=self.embedding_dim,
            training=data.training,
            validation=data.validation,
            embed=inference.embed,
            embed_rows=inference.embed_rows,
            train_again=self._train_again,
            fit_part=self._fit_part,
            seed=data.seed,
            held_out_by_share=data.by_share,
            all_weights=data.all_weights,
        )

    def _announce(self) -> None:
        """Raise an error if memory does not suffice for training; say what it takes if that is much."""
        size = training_memory(self.module)
        on_gpu = device_of(self.estimator.training).type == "cuda"
        if not on_gpu:
            require_memory(size, "training", "fewer columns or a smaller encoder take less")
        if not self.estimator.verbose:
            return
        if size > 2**30:
            print(f"training takes about {size / 2**30:.2g} GiB of memory in addition to the data and the network")
        if self.data.reader.steps_are_long:
            print(self._step_cost(on_gpu))

    def _step_cost(self, on_gpu: bool) -> str:
        """Describe the time and memory of a training step, measured on one."""
        batch = self.data.training.x[: self.data.batches.batch_size]
        chunk_size = self.estimator.training.chunk_size
        cost = measure_step(self.module.encoder, batch, chunk_size=chunk_size, gpu=on_gpu)
        count = len(self.data.batches)
        return (
            f"a step on {len(batch)} {self.data.reader.describe(batch)} takes about {cost.seconds:.3g} s and "
            f"{cost.bytes / 2**30:.3g} GiB; an epoch has {count}, about {cost.seconds * count:.3g} s"
        )

    def _embed_frozen(self) -> None:
        """Compute the features of a network that is not trained once."""
        data, encoder = self.data, self.module.encoder
        if not isinstance(encoder, FrozenImageEncoder):
            return
        known = (data.options, device_of(self.estimator.training))
        data.training = frozen_features(encoder, data.training, *known)
        if data.validation is not None:
            data.validation = frozen_features(encoder, data.validation, *known)

    def _train(
        self, training: Batches, batches: ShuffledBatches, validation: ArrayBatches | None, folder: Path | None
    ) -> list[dict[str, float]]:
        history = self.method.train(
            self.module, training, batches, validation, options=self.options, folder=folder, seed=self.data.seed,
            run=self.run_name, progress=bool(self.estimator.verbose),
        )  # fmt: skip
        release(self.module, self.data.reader)
        return history

    def _train_again(self, stages: "tuple[Stage, ...]", data: ArrayBatches, stages_before: int) -> None:
        """Go on training the module in other stages, and append what its epochs log to the history."""
        folder = self.estimator.training.folder
        if folder is not None:
            folder = folder / "all samples"
            folder.mkdir(exist_ok=True)
        self.module.stages = stages
        self.module.float().train()
        batches = self.method.batches(data.y.numpy(), self.data.batches.batch_size, self.data.seed)
        for epoch in self._train(data, batches, None, folder):
            number = float(len(self.history))
            self.history.append({**epoch, "epoch": number, "stage": epoch["stage"] + stages_before})

    def _fit_part(self, rows: NDArray[np.int64], number: int) -> Fitted:
        """Train another module on some of the samples; nothing of this fit changes.

        Args:
            rows: Rows of the training samples.
            number: Number of the part, from 1, which determines its seed.
        """
        seed = (self.data.seed + number) % 2**32
        part = Fit(self.estimator, self.method, part_of(self.method, self.data, rows, seed))
        part.options = replace(self.options, logger=None, callbacks=None)  # They observe the fit itself.
        part.run_name = f"{self.run_name}, part {number}"
        folder = self.options.folder
        if folder is not None:
            folder = folder / f"part {number}"
            folder.mkdir(exist_ok=True)
        with own_random_numbers(seed, gpus=True):
            part.module, part.embedding_dim = new_module(part.estimator, part.method, part.data)
            part._train(part.data.training, part.data.batches, None, folder)
        return part._fitted()


def fingerprint(
    estimator: Any, module: "StagedMethod", training: Batches, validation: ArrayBatches | None, seed: int
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
        if data is not None:
            for part in (data.x, data.y, data.weights):
                _update(digest, part)
    return digest.hexdigest()


def _update(digest: Any, part: Any) -> None:
    """Add an array of samples to a digest."""
    if isinstance(part, Streamed):
        digest.update(part.digest())
    elif part is not None:
        digest.update(np.ascontiguousarray(part.numpy()).data)  # Without a copy of all samples.


def release(module: "StagedMethod", reader: Reader) -> None:
    """Set the precision of prediction."""
    module.cpu().double().eval()
    if reader.in_float32:
        module.encoder.float()
