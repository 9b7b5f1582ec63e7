"""What the four estimators share: reading X, the encoder, training, embeddings, saving."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of_reader
from ordinate.data.rows import take
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.view_batches import ViewBatches
from ordinate.data.volumes.options import VolumeOptions
from ordinate.encoders.image import FrozenImageEncoder
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.holdout import hold_out
from ordinate.estimators.seed import draw_seed
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.methods.optimization import Optimization
from ordinate.methods.staged import StagedMethod
from ordinate.methods.step_cost import measure_step
from ordinate.methods.training import ArrayBatches, check_accelerator, train

READ_AT_ONCE, FEATURES_AT_ONCE = 4096, 64  # samples
CACHED_FEATURES = 100_000  # images whose features by frozen networks are kept for the next training
_features_of: dict[bytes, Tensor] = {}
MOST_EMBEDDED = 50_000  # training samples that neighbours and ridge regression keep; a random part of more
MOST_VALIDATION = 10_000  # samples held out by themselves: a loss of all their pairs is taken every epoch


class EmbeddingEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fit an encoder by one of the methods and embed samples with it.

    Subclasses turn labels into training targets, build their method and its batches, and predict.
    """

    encoder: str
    embedding_dim: int
    batch_size: int | None
    chunk_size: int | None
    learning_rate: float
    weight_decay: float | None
    validation_fraction: float
    patience: int | None
    images: ImageOptions | None
    series: SeriesOptions | None
    volumes: VolumeOptions | None
    text: TextOptions | None
    accelerator: str
    checkpoint_dir: str | Path | None
    verbose: int
    random_state: Any
    method_: StagedMethod
    reader_: Reader
    views_of_images = 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.non_deterministic = False
        return tags

    # what an estimator defines

    @abstractmethod
    def _targets(self, y: Any, *, reset: bool) -> NDArray[Any]:
        """Check labels and return what the method trains on: ranks (n,) or targets (n, p)."""

    @abstractmethod
    def _build_method(self, encoder: nn.Module) -> StagedMethod:
        """Return the untrained method around the encoder."""

    @abstractmethod
    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        """Return the batches that the method trains on."""

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        """Fit what is fitted on the embeddings once the encoder is trained."""

    def _evaluate(self, validation: ArrayBatches) -> None:
        """Measure the fitted model on its validation samples."""

    # fitting

    def _fit(
        self, X: Any, y: Any, validation: tuple[Any, Any] | None, groups: ArrayLike | None, *, stratify: bool
    ) -> Self:
        self._check_parameters()
        X, y = inputs.unpack(X, y)
        if y is None:
            raise OrdinateError(f"y: {type(self).__name__} requires y to be passed, but the target y is None")
        checked = inputs.check_input(self, X, reset=True)
        targets = self._targets(y, reset=True)
        if len(targets) != len(checked):
            raise OrdinateError(f"y: got {len(targets)} labels for {len(checked)} samples, takes one a sample")
        folder = None if self.checkpoint_dir is None else Path(self.checkpoint_dir)
        seed = draw_seed(self.random_state, folder)
        rows: NDArray[np.int64] = np.arange(len(targets))
        held_out = None
        if validation is None and self.validation_fraction > 0 and len(targets) >= 20:
            share = min(self.validation_fraction, MOST_VALIDATION / len(targets))
            rows, held_out_rows = hold_out(targets, groups, share, seed, stratify=stratify)
            held_out = (
                (take(checked, held_out_rows, renumber=True), targets[held_out_rows]) if len(held_out_rows) else None
            )
            if len(rows) < 4:
                raise OrdinateError(
                    f"validation_fraction: got {self.validation_fraction}, leaves {len(rows)} of {len(targets)} samples"
                )
        elif validation is not None:
            X_val, y_val = inputs.unpack(*validation)
            held_out = (inputs.check_input(self, X_val, reset=False), self._targets(y_val, reset=False))
            if len(held_out[0]) != len(held_out[1]):
                raise OrdinateError(
                    f"y: got {len(held_out[1])} labels for {len(held_out[0])} samples of validation, takes one a sample"
                )
        checked, targets = take(checked, rows, renumber=True), targets[rows]
        self.reader_, checked = inputs.fit_reader(self, checked, progress=bool(self.verbose))
        self.reader_.on_gpu = self._on_gpu
        self.n_features_in_ = self.reader_.n_features_in
        training_data = self._training_data(inputs.read(self.reader_, checked, folder), torch.from_numpy(targets))
        validation_data = None
        if held_out is not None:
            watched = inputs.read(self.reader_, held_out[0], folder)
            validation_data = ArrayBatches(watched, torch.from_numpy(held_out[1]))

        devices = range(torch.cuda.device_count())
        batches = self._batches(targets, seed)
        self.n_batches_ = len(batches)
        with torch.random.fork_rng(devices):
            torch.manual_seed(seed)
            self.method_ = self._new_method(training_data.y)
            if self.verbose and self.reader_.steps_are_long:
                print(self._step_cost(training_data.x))
            run = "" if folder is None else self._fingerprint(training_data, validation_data, seed)
            if isinstance(self.method_.encoder, FrozenImageEncoder):
                training_data = self._features(training_data)
                validation_data = None if validation_data is None else self._features(validation_data)
            self.history_ = train(
                self.method_,
                training_data,
                batches,
                validation_data,
                folder=folder,
                accelerator=self.accelerator,
                seed=seed,
                progress=bool(self.verbose),
                run=run,
            )
            self.n_iter_ = len(self.history_)
            self._prepare_inference()
            self._finish(training_data, validation_data)
            if validation_data is not None:
                self._evaluate(validation_data)
        return self

    @property
    def method_name(self) -> str:
        """What trains it, as people call it."""
        return type(self).__name__.removesuffix("Classifier").removesuffix("Regressor")

    def _options_of(self, modality: Modality) -> Any:
        """Return the options of a kind of data, the defaults where none are given."""
        given = getattr(self, modality.parameter, None)
        return modality.options_class() if given is None and modality.options_class is not None else given

    @property
    def _data_options(self) -> Any:
        """The options of the kind of data that the estimator is fitted on."""
        return self._options_of(modality_of_reader(self.reader_))

    def _step_cost(self, x: Tensor) -> str:
        """Say what a training step takes, measured on one."""
        batch = x[: self._samples_a_batch]
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

    def _features(self, data: ArrayBatches | ViewBatches) -> ArrayBatches:
        """Return the features of images that a frozen network gives, in their place; those it gave before are kept."""
        device = torch.device("cuda" if self._on_gpu else "cpu")
        encoder = self.method_.encoder
        assert isinstance(encoder, FrozenImageEncoder)  # noqa: S101  # as it is asked for such a network alone
        frozen = encoder.to(device).eval()
        network = hashlib.sha256(repr((self.encoder, self._data_options)).encode())
        for value in (*frozen.backbone.state_dict().values(), frozen.mean, frozen.std):
            network.update(value.cpu().contiguous().numpy().tobytes())
        network.update(repr(tuple(data.x.shape[1:])).encode())
        keys = [network.digest() + hashlib.sha256(image.numpy().tobytes()).digest() for image in data.x]
        if len(_features_of) + len(keys) > CACHED_FEATURES:
            _features_of.clear()
        new = torch.tensor([row for row, key in enumerate(keys) if key not in _features_of], dtype=torch.long)
        with torch.no_grad():
            for rows in new.split(FEATURES_AT_ONCE):
                found = frozen.features(data.x[rows].to(device)).cpu()
                _features_of.update((keys[row], one.clone()) for row, one in zip(rows.tolist(), found, strict=True))
        encoder.cpu()
        return ArrayBatches(torch.stack([_features_of[key] for key in keys]), data.y)

    @property
    def _samples_a_batch(self) -> int:
        """``batch_size``, or what suits the data."""
        if self.batch_size is not None:
            return self.batch_size
        return self.reader_.batch_size

    def _fingerprint(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None, seed: int) -> str:
        """Return a digest of all that determines the weights."""
        elsewhere = ("accelerator", "checkpoint_dir", "decision", "random_state", "verbose")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in elsewhere}
        described = [f"{name}={describe(value, name)}" for name, value in sorted(settings.items())]
        digest = hashlib.sha256("\n".join([type(self).__name__, *described, str(seed)]).encode())
        for data in (training, validation):
            for part in () if data is None else (data.x, data.y):
                digest.update(np.ascontiguousarray(part.numpy()).data)  # without a copy of all samples
        return digest.hexdigest()

    def _new_method(self, targets: Tensor) -> StagedMethod:
        """Return the untrained method for these training targets."""
        return self._build_method(self._new_encoder())

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        return self.reader_.new_encoder(
            self.encoder,
            self.embedding_dim,
            self._data_options,
            for_saved_weights=for_saved_weights,
            **self._encoder_options(),
        )

    def _encoder_options(self) -> dict[str, Any]:
        """Return options of the encoder that depend on what is predicted."""
        return {}

    def _check_parameters(self) -> None:
        check_whole(self.embedding_dim, "embedding_dim")
        if self.batch_size is not None:
            check_whole(self.batch_size, "batch_size", least=4)
        inputs.check_options(self)
        if self.chunk_size is not None:
            check_whole(self.chunk_size, "chunk_size")
        check_positive(self.learning_rate, "learning_rate")
        if self.weight_decay is not None:
            check_positive(self.weight_decay, "weight_decay", or_zero=True)
        if check_positive(self.validation_fraction, "validation_fraction", or_zero=True) >= 1:
            raise OrdinateError(
                f"validation_fraction: got {self.validation_fraction!r}, takes a share from 0 to below 1"
            )
        if self.patience is not None:
            check_whole(self.patience, "patience")
        check_accelerator(self.accelerator)

    def _two_epochs(self, epochs: Any, name: str) -> tuple[int, int]:
        """Return the epochs of the two stages."""
        if not isinstance(epochs, tuple | list | np.ndarray) or len(epochs) != 2:
            raise OrdinateError(f"{name}: got {epochs!r}, takes two whole numbers, one a stage")
        first, second = (check_whole(value, name, least=0) for value in epochs)
        return first, second

    def _epochs(self, given: int | None, usual: int, most_batches: int, name: str) -> int:
        """Return the epochs of a stage: those given, or the usual ones, fewer where they pass so many batches."""
        if given is not None:
            return check_whole(given, name)
        return max(1, min(usual, most_batches // getattr(self, "n_batches_", 1)))

    def _optimization(self) -> Optimization:
        if self.weight_decay is None:
            raise OrdinateError("weight_decay: got None, takes a finite number of at least 0")
        return Optimization("adamw", self.learning_rate, self.weight_decay)

    # embedding

    def transform(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return the embeddings (n, embedding_dim) of samples, in float64 (images, volumes, text: in float32)."""
        check_is_fitted(self)
        return self._embed(self._read(X)).numpy()

    def _read(self, X: Any) -> Tensor:
        """Return samples as the encoder takes them."""
        return inputs.read_new(self, X)

    def _embed(self, x: Tensor) -> Tensor:
        """Embeddings in float64, so that a sample's does not depend on those beside it."""
        if self.reader_.in_float32:
            return self._embed_in_float32(x)
        rows = self.reader_.embedded_at_once(x)
        embeddings = torch.empty(len(x), self.embedding_dim, dtype=torch.float64)
        with torch.no_grad():
            for place, part in zip(embeddings.split(rows), x.split(rows), strict=True):
                place.copy_(self.method_(part.double()))
        return embeddings

    def _embed_rows(self, x: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Embeddings of some samples, a few thousand read at a time."""
        return torch.cat([self._embed(x[part]) for part in torch.from_numpy(rows).split(READ_AT_ONCE)])

    def _embed_in_float32(self, x: Tensor) -> Tensor:
        """Embeddings computed in float32, on the GPU if there is one; float64 would take image networks far longer."""
        known: dict[Any, tuple[Tensor, Tensor]] = getattr(self, "_embedded", {})
        key = (x.data_ptr(), tuple(x.shape))
        if key in known:
            return known[key][1].clone()
        device = torch.device("cuda" if self._on_gpu else "cpu")
        at_once = self.reader_.embedded_at_once(x)
        encoder = self.method_.encoder.to(device)
        with torch.no_grad():
            parts = [encoder(part.to(device)).double().cpu() for part in x.split(at_once)]
        encoder.cpu()
        embeddings = torch.cat(parts)
        if hasattr(self, "_embedded"):
            self._embedded[key] = (x, embeddings.clone())  # x, so that nothing else comes to lie where it does
        return embeddings

    @contextmanager
    def embedding_once(self) -> Iterator[None]:
        """Embed images that are embedded again in here once only."""
        self._embedded: dict[Any, tuple[Tensor, Tensor]] = {}
        try:
            yield
        finally:
            del self._embedded

    @property
    def _on_gpu(self) -> bool:
        return self.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()

    def _prepare_inference(self) -> None:
        """Let go of the Trainer, so that the method can be pickled and copied, and set the dtype of prediction."""
        method = self.method_
        method._trainer = None
        method._fabric_optimizers = []
        method.cpu().double().eval()
        if self.reader_.in_float32:
            method.encoder.float()

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim

    # saving

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as readable JSON.

        The folder must not hold anything yet; it appears whole or not at all. :func:`ordinate.load` reads it.
        """
        from ordinate.estimators.persistence import save_estimator

        check_is_fitted(self)
        save_estimator(self, Path(folder))

    def _state(self) -> dict[str, Any]:
        """Fitted values besides the weights, ready for JSON."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Set the fitted values that :meth:`_state` gave."""

    def _restore_method(self, weights: dict[str, Tensor]) -> None:
        """Build the method anew and give it the saved weights."""
        self.method_ = self._build_method(self._new_encoder(for_saved_weights=True))
        self.method_.load_state_dict(weights)
        self._prepare_inference()

    def _tensors(self) -> dict[str, Tensor]:
        """Fitted tensors besides the method's."""
        return {}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Set the fitted tensors that :meth:`_tensors` gave."""
