"""What all estimators share: parameters, reading X, the encoder, training, embeddings."""

import hashlib
from abc import abstractmethod
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate.data.label_density import LabelBins
from ordinate.data.memory import require_memory
from ordinate.data.rows import random_part
from ordinate.data.samplers import PooledBatches, ShuffledBatches
from ordinate.data.streamed import Streamed, StreamedPixels, blocks_of
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.blocks import network_parameters
from ordinate.encoders.given import is_named
from ordinate.encoders.network import feature_width
from ordinate.encoders.pixels import FrozenImageEncoder
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.encoder_parameters import EncoderParameters
from ordinate.estimators.encoder_setting import check_encoder
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.frozen_features import frozen_features
from ordinate.estimators.inference import Inference
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.sample_weights import CheckedSamples, relative_weights
from ordinate.estimators.saving import Saving
from ordinate.estimators.seed import draw_seed
from ordinate.estimators.training_parameters import RUNTIME, TrainingParameters
from ordinate.estimators.training_samples import TrainingSamples
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.methods.imbalance import Balance, Imbalance
from ordinate.methods.step_cost import measure_step, training_memory
from ordinate.randomness import own_random_numbers

if TYPE_CHECKING:
    from ordinate.data.tables.parquet_table import ParquetTable
    from ordinate.methods.staged import StagedMethod

MOST_LABELS = 2**20  # of samples that stream, from which the scales of a method are learned; a random part of more
MUCH = 2**30  # bytes of memory, which a training announces
MOST_EMBEDDED = 50_000  # training samples that neighbours and ridge regression keep; a random part of more


@estimator_dataclass
class EmbeddingEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Saving,
    EncoderParameters,
    TrainingParameters,
    TrainingSamples,
    Inference,
):
    """Fit an encoder by one of the methods and embed samples with it.

    Subclasses turn labels into training targets, build their method and its batches, and predict.

    Args:
        patience: end the last stage of training after this many epochs without a lower validation loss; None trains
            all epochs.
        batch_size: samples per batch, at least 4; by default 256, and 64 for images and volumes.
        chunk_size: samples that pass through the encoder at a time in training, so that a large batch fits in memory;
            by default the whole batch.
        validation_fraction: share of the samples held out for validation, at most 10,000 of them; 0 for none; not used
            below 20 samples.
        checkpoint_dir: folder that keeps the state of training; a fit that was killed continues from it.
        verbose: 1 shows a progress bar.
        random_state: seed; the same seed gives the same weights on the same machine.

    Attributes:
        embedding_dim_: d of the embeddings.
        history_: what each epoch logged.
        n_features_in_, feature_names_in_, n_iter_: as in scikit-learn.
    """

    patience: int | Literal["auto"] | None = None
    batch_size: int | None = None
    chunk_size: int | None = None
    validation_fraction: float | None = 0.0
    checkpoint_dir: str | Path | None = None
    verbose: int = 0
    random_state: Any = None
    imbalance: Imbalance | None = field(default=None, init=False)  # a parameter of those that support it
    method_: "StagedMethod" = field(init=False)
    embedding_dim_: int = field(init=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.non_deterministic = False
        return tags

    # what an estimator defines

    @property
    def views_of_images(self) -> int:
        """Views of an image in a batch, where its augmentation draws any."""
        return 1

    @abstractmethod
    def _build_method(self, encoder: nn.Module) -> "StagedMethod":
        """Return the untrained method around the encoder."""

    @property
    @abstractmethod
    def _label_bins(self) -> LabelBins | None:
        """The bins in which ``imbalance`` counts labels."""

    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        """Return the batches that the method trains on."""
        return ShuffledBatches(len(targets), self._samples_per_batch, seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        """Fit what is fitted on the embeddings once the encoder is trained."""

    def _evaluate(self, validation: ArrayBatches) -> None:
        """Measure the fitted model on its validation samples."""

    def _refit(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches, **options: Any) -> None:
        """Train on the share of the samples that was validated on, too."""

    # fitting

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: "ArrayLike | ParquetTable | None" = None,
        sample_weight: ArrayLike | None = None,
        validation: tuple[Any, ...] | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on samples X and labels y.

        Args:
            X: (n, features) array, sparse matrix, DataFrame (of pandas, polars, pyarrow or datasets) or
                :class:`~ordinate.ParquetTable`, or series (n, channels, length), for
                several lengths as a list of arrays (channels, length) or with NaN after the last point of the shorter
                ones; images (n, channels, height, width), volumes (n, channels, depth, height, width), or paths of
                either.
            y: a ParquetTable of one column, of which more than 128 MiB of numbers are not read into memory, or
                classifiers: (n,), labels of at least two ranks, for CLOC two of them with two samples each. Regressors:
                (n,) real targets, not all equal; SupCR also supports (n, p). A Dataset or DataLoader may bring them; a
                Dataset that streams is read once for them.
            sample_weight: (n,), at least 0, by which a sample counts: as an anchor in contrastive losses, in other
                losses and in the heads, and in what is measured on held-out samples. Only ratios matter. A sample of
                weight 0 is left out. Whole weights are as good as repeated samples on average, not exactly, as
                samples that are repeated meet in batches.
            validation: ``(X, y)`` or ``(X, y, sample_weight)`` to validate on, and to choose a regressor's head, in
                place of a share of the samples.
            groups: (n,), such as the subject of every sample; a group is never on both sides of the share that
                ``validation_fraction`` holds out.
        """
        folder = None if self.checkpoint_dir is None else Path(self.checkpoint_dir)
        training_data, validation_data, batches = self._prepare(X, y, sample_weight, validation, groups, folder)
        seed = batches.seed
        read = [data.x for data in (training_data, validation_data) if data is not None]
        with own_random_numbers(seed, gpus=True):
            self.method_ = self._new_method(labels_to_learn_from(training_data))
            self._require_memory()
            if self.verbose and self.reader_.steps_are_long:
                print(self._step_cost(training_data.x))
            run = "" if folder is None else self._fingerprint(training_data, validation_data, seed)
            if isinstance(frozen := self.method_.encoder, FrozenImageEncoder):
                known = (self._data_options, self._device)
                training_data = frozen_features(frozen, training_data, *known)
                validation_data = None if validation_data is None else frozen_features(frozen, validation_data, *known)
            options: dict[str, Any] = {"folder": folder, "seed": seed, "run": run}
            self._train(training_data, batches, validation_data, **options)
            self._finish(training_data, validation_data)
            if validation_data is not None:
                self._evaluate(validation_data)
                if validation is None:
                    self._refit(training_data, validation_data, **options)
        self.reader_.notes += [x.note for x in read if isinstance(x, Streamed) and x.note is not None]
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        validation: tuple[Any, ...] | None,
        groups: ArrayLike | None,
        folder: Path | None,
    ) -> tuple[ArrayBatches | ViewBatches, ArrayBatches | None, ShuffledBatches]:
        """Return what to train on, what to validate on, and which samples make a batch, in orders of the run's seed."""
        self._check_parameters()
        samples = self._checked(X, y, sample_weight, groups, reset=True)
        seed = draw_seed(self.random_state, folder)
        held_out = None
        if validation is not None:
            held_out = self._checked(*validation, reset=False)
        elif len(samples) >= 20 and self._validation_share(samples) > 0:
            samples, held_out = self._hold_out(samples, seed)
        training_data, validation_data = self._read_data(samples, held_out, folder)
        batches = self._batches(samples.targets, seed)
        blocks = blocks_of(training_data.x)
        if blocks is not None:
            batches = PooledBatches(batches, blocks)
        self.n_batches_ = len(batches)
        return training_data, validation_data, batches

    def _read_data(
        self, samples: CheckedSamples, held_out: CheckedSamples | None, folder: Path | None
    ) -> tuple[ArrayBatches | ViewBatches, ArrayBatches | None]:
        """Learn how to read samples from those to train on; return them and the held-out ones as batches."""
        self.reader_, X = inputs.fit_reader(self, samples.X, progress=bool(self.verbose))
        self.reader_.on_gpu = self._on_gpu
        self.n_features_in_ = self.reader_.n_features_in
        x = self._streaming(inputs.read(self.reader_, X, folder), samples)
        training = self._training_data(x, torch.from_numpy(samples.targets))
        training.weights = relative_weights(self._weights_in_training(samples))
        if held_out is None:
            return training, None
        x = self._streaming(inputs.read(self.reader_, held_out.X, folder), held_out)
        return training, ArrayBatches(x, torch.from_numpy(held_out.targets), relative_weights(held_out.weights))

    def _require_memory(self) -> None:
        """Raise where memory cannot hold what training takes beside data and network, and say where it is much."""
        size = training_memory(self.method_)
        if not self._on_gpu:
            require_memory(size, "training", "fewer columns or a smaller encoder take less")
        if self.verbose and size > MUCH:
            print(f"training takes about {size / 2**30:.2g} GiB of memory beside the data and the network")

    def _streaming(self, x: Any, samples: CheckedSamples) -> Any:
        """Return samples that, where they stream and the options say so, replace those that cannot be read."""
        skips = getattr(self._data_options, "skip_unreadable", False)
        return x.replacing(samples.targets) if skips and isinstance(x, StreamedPixels) else x

    def _train(
        self,
        training: ArrayBatches | ViewBatches,
        batches: ShuffledBatches,
        validation: ArrayBatches | None,
        **options: Any,
    ) -> None:
        from ordinate.methods.training import train  # on first use, as Lightning takes seconds

        progress = bool(self.verbose)
        self.history_ = train(
            self.method_, training, batches, validation, progress=progress, trainer=self._trainer_options(),
            cluster=self.cluster, **options,
        )  # fmt: skip
        self.n_iter_ = len(self.history_)
        self._prepare_inference()

    @property
    def method_name(self) -> str:
        """The name of the training method, as people call it."""
        return type(self).__name__.removesuffix("Classifier").removesuffix("Regressor")

    def _step_cost(self, x: Tensor) -> str:
        """Describe the time and memory of a training step, measured on one."""
        batch = x[: self._samples_per_batch]
        cost = measure_step(self.method_.encoder, batch, chunk_size=self.chunk_size, gpu=self._on_gpu)
        epoch = cost.seconds * self.n_batches_
        return (
            f"a step on {len(batch)} {self.reader_.describe(batch)} takes about {cost.seconds:.3g} s and "
            f"{cost.bytes / 2**30:.3g} GiB; an epoch has {self.n_batches_}, about {epoch:.3g} s"
        )

    def _training_data(self, x: Tensor, y: Tensor) -> ArrayBatches | ViewBatches:
        """Return the samples as training sees them, with views drawn of each where the kind of data has some."""
        views = self.reader_.views(self._data_options, self.views_of_images)
        return ArrayBatches(x, y) if views is None else ViewBatches(x, y, *views)

    @property
    def _samples_per_batch(self) -> int:
        """``batch_size``, or what suits the data."""
        if self.batch_size is not None:
            return self.batch_size
        return self.reader_.batch_size

    def _fingerprint(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None, seed: int) -> str:
        """Return a digest of all that determines the weights."""
        elsewhere = (*RUNTIME, "checkpoint_dir", "decision", "random_state", "verbose")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in elsewhere}
        if not is_named(self.encoder):  # what it is follows from the network that training starts from
            settings["encoder"] = self.method_.encoder
        described = [f"{name}={describe(value, name)}" for name, value in sorted(settings.items())]
        digest = hashlib.sha256("\n".join([type(self).__name__, *described, str(seed)]).encode())
        for data in (training, validation):
            for part in () if data is None else (data.x, data.y, data.weights):
                if isinstance(part, Streamed):
                    digest.update(part.digest())
                elif part is not None:
                    digest.update(np.ascontiguousarray(part.numpy()).data)  # without a copy of all samples
        return digest.hexdigest()

    def _new_method(self, targets: Tensor) -> "StagedMethod":
        """Return the untrained method for these training targets."""
        from ordinate.methods.balanced import BalancedMethod

        method = self._method_around(self._new_encoder())
        method.stages = self._optimized(method.stages)
        if not any(parameter.requires_grad for parameter in method.parameters_of_stage(0)):
            raise OrdinateError(
                "embedding_dim", "None with an encoder that is not trained", "a whole number, or another train_encoder"
            )
        if isinstance(method, BalancedMethod) and method.balance is not None:
            method.balance.fit(targets)
        return method

    def _method_around(self, encoder: nn.Module) -> "StagedMethod":
        """Return the untrained method around an encoder."""
        self.embedding_dim_ = self.embedding_dim or feature_width(encoder, self.reader_.blank(2), "the encoder")
        method = self._build_method(encoder)
        method.encoder_learning_rate = rate = self.encoder_learning_rate
        if rate is not None and not any(parameter.requires_grad for parameter in network_parameters(encoder)):
            raise OrdinateError("encoder_learning_rate", rate, "None where the network is not trained")
        return method

    def _balance(self) -> Balance | None:
        """Return what makes up for rare labels, not yet fitted to the training targets."""
        if self.imbalance is None or self._label_bins is None:
            return None
        return Balance(self.imbalance, self._label_bins, self.embedding_dim_)

    def _check_parameters(self) -> None:
        for name, least in (("batch_size", 4), ("chunk_size", 1), ("patience", 1)):
            if getattr(self, name) not in (None, getattr(type(self), name)):
                check_whole(getattr(self, name), name, least)
        inputs.check_options(self)
        check_encoder(self)
        if not isinstance(self.imbalance, Imbalance | None):
            raise OrdinateError("imbalance", repr(self.imbalance), "Imbalance(...) or None")
        share = self.validation_fraction
        is_usual = share is None and type(self).validation_fraction is None
        if not is_usual and check_positive(cast(float, share), "validation_fraction", or_zero=True) >= 1:
            raise OrdinateError("validation_fraction", repr(share), "a share from 0 to below 1")
        self._check_training()
        if self.cluster is not None and self.checkpoint_dir is None:
            raise OrdinateError("checkpoint_dir", "None", "a folder that all machines of the cluster share")
        if self._starts_scripts and self.random_state is None:
            raise OrdinateError(
                "random_state", f"None with the strategy {self.strategy!r}", "a number, for all processes"
            )

    def _two_epochs(self, epochs: Any, name: str, least: int = 0) -> tuple[int, int]:
        """Return the epochs of the two stages."""
        if not isinstance(epochs, tuple | list | np.ndarray) or len(epochs) != 2:
            raise OrdinateError(name, repr(epochs), "two whole numbers, one per stage")
        first, second = (check_whole(value, name, least=least) for value in epochs)
        return first, second

    def _training_options(self) -> dict[str, Any]:
        """Return the options that the training methods share, by name."""
        return {
            "patience": self._patience(),
            "chunk_size": self.chunk_size,
        } | ({} if self.optimization == "paper" else {"optimization": self._usual_optimization(self._weight_decay())})

    def _patience(self) -> int | None:
        """Return ``patience``, or what suits the data."""
        return cast("int | None", self.patience)

    @abstractmethod
    def _weight_decay(self) -> float:
        """Return ``weight_decay``, or what suits the data."""

    # embedding

    def transform(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return the embeddings (n, ``embedding_dim_``) of samples, in float64 (images, volumes, text: in float32)."""
        check_is_fitted(self)
        return self._embed(self._read(X)).numpy()

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_


def labels_to_learn_from(training: ArrayBatches | ViewBatches) -> Tensor:
    """Return the training labels from which a method learns their scale: a random part of very many that stream."""
    y = training.y
    if blocks_of(training.x) is None or len(y) <= MOST_LABELS:
        return y
    return y[torch.from_numpy(random_part(len(y), MOST_LABELS))]
