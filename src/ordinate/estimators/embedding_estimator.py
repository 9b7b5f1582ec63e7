"""What the four estimators share: reading X, the encoder, training, embeddings, saving."""

import copy
import hashlib
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate import methods  # imported on first use, as Lightning takes seconds
from ordinate.data.array_batches import ArrayBatches
from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.reader import ImageReader
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.series.crop import RandomCrop
from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.reader import SeriesScaler
from ordinate.data.text.options import TextOptions
from ordinate.data.text.token_reader import TokenReader
from ordinate.data.text.transformer import MINILM
from ordinate.data.text.word_reader import WordReader
from ordinate.data.view_batches import ViewBatches
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.encoders.build import build_encoder
from ordinate.encoders.image import FrozenImageEncoder
from ordinate.encoders.text import BiLSTM, TextEncoder
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.holdout import hold_out
from ordinate.estimators.seed import draw_seed
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.methods.devices import check_accelerator
from ordinate.methods.optimization import Optimization
from ordinate.methods.step_cost import measure_step

if TYPE_CHECKING:
    from ordinate.methods.staged import StagedMethod

EMBED_ROWS, EMBED_IMAGES, EMBED_VOLUMES = 4096, 64, 1
EMBED_POINTS = 2**20  # of series
BATCH_SIZE, BATCH_SIZE_OF_IMAGES = 256, 64
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
    method_: "StagedMethod"
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
    def _build_method(self, encoder: nn.Module) -> "StagedMethod":
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
                (inputs.take_rows(checked, held_out_rows), targets[held_out_rows]) if len(held_out_rows) else None
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
        checked, targets = inputs.take_rows(checked, rows), targets[rows]
        self.reader_, checked = inputs.fit_reader(
            checked,
            self._images,
            volumes=self.volumes,
            text=self.text,
            encoder=self.encoder,
            progress=bool(self.verbose),
        )
        if isinstance(self.reader_, TokenReader):
            self.reader_.on_gpu = self._on_gpu
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
            if self.verbose and isinstance(self.reader_, VolumeReader):
                print(self._step_cost(training_data.x))
            run = "" if folder is None else self._fingerprint(training_data, validation_data, seed)
            if isinstance(self.method_.encoder, FrozenImageEncoder):
                training_data = self._features(training_data)
                validation_data = None if validation_data is None else self._features(validation_data)
            self.history_ = methods.train(
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

    @property
    def _images(self) -> ImageOptions:
        return ImageOptions() if self.images is None else self.images

    @property
    def _series(self) -> SeriesOptions:
        return SeriesOptions() if self.series is None else self.series

    def _step_cost(self, x: Tensor) -> str:
        """Say what a training step takes, measured on one."""
        batch = x[: self._samples_a_batch]
        cost = measure_step(self.method_.encoder, batch, chunk_size=self.chunk_size, gpu=self._on_gpu)
        sides = " x ".join(map(str, batch.shape[2:]))
        epoch = cost.seconds * self.n_batches_
        return (
            f"a step on {len(batch)} volumes of {sides} voxels takes about {cost.seconds:.3g} s and "
            f"{cost.bytes / 2**30:.3g} GiB; an epoch has {self.n_batches_}, about {epoch:.3g} s"
        )

    def _training_data(self, x: Tensor, y: Tensor) -> ArrayBatches | ViewBatches:
        """Return the samples as training sees them: images as augmented views, series as crops if asked."""
        if isinstance(self.reader_, VolumeReader):
            self.n_features_in_ = x.shape[1]
        if isinstance(self.reader_, SeriesScaler) and self._series.crop is not None:
            views = self._series.views or self.views_of_images
            return ViewBatches(x, y, RandomCrop(self._series.crop), views, workers=0)
        if not isinstance(self.reader_, ImageReader):
            return ArrayBatches(x, y)
        self.n_features_in_ = x.shape[1]
        options = self._images
        augmentation = Augmentation(options.augmentation, self.reader_.preprocessing.size)
        views = options.views or (self.views_of_images if augmentation.changes else 1)
        return ViewBatches(x, y, augmentation, views, options.workers)

    def _features(self, data: ArrayBatches | ViewBatches) -> ArrayBatches:
        """Return the features of images that a frozen network gives, in their place; those it gave before are kept."""
        device = torch.device("cuda" if self._on_gpu else "cpu")
        encoder = self.method_.encoder
        assert isinstance(encoder, FrozenImageEncoder)  # noqa: S101  # as it is asked for such a network alone
        frozen = encoder.to(device).eval()
        network = hashlib.sha256(repr((self.encoder, self._images)).encode())
        for value in (*frozen.backbone.state_dict().values(), frozen.mean, frozen.std):
            network.update(value.cpu().contiguous().numpy().tobytes())
        network.update(repr(tuple(data.x.shape[1:])).encode())
        keys = [network.digest() + hashlib.sha256(image.numpy().tobytes()).digest() for image in data.x]
        if len(_features_of) + len(keys) > CACHED_FEATURES:
            _features_of.clear()
        new = torch.tensor([row for row, key in enumerate(keys) if key not in _features_of], dtype=torch.long)
        with torch.no_grad():
            for rows in new.split(EMBED_IMAGES):
                found = frozen.features(data.x[rows].to(device)).cpu()
                _features_of.update((keys[row], one.clone()) for row, one in zip(rows.tolist(), found, strict=True))
        encoder.cpu()
        return ArrayBatches(torch.stack([_features_of[key] for key in keys]), data.y)

    @property
    def _samples_a_batch(self) -> int:
        """``batch_size``, or what suits the data."""
        if self.batch_size is not None:
            return self.batch_size
        return BATCH_SIZE_OF_IMAGES if inputs.holds_images(self.reader_) else BATCH_SIZE

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

    def _new_method(self, targets: Tensor) -> "StagedMethod":
        """Return the untrained method for these training targets."""
        return self._build_method(self._new_encoder())

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        shape = inputs.sample_shape(self.reader_)
        if isinstance(self.reader_, ImageReader):
            pretrained = self._images.pretrained
            options: dict[str, Any] = {"mean": self.reader_.mean, "std": self.reader_.scale}
            if pretrained:  # normalised as its weights are used to, which saved weights bring along
                options = {"small_stem": False} if for_saved_weights else {"pretrained": pretrained}
                options["frozen"] = self._images.frozen
            return build_encoder(self.encoder, shape, self.embedding_dim, **options)
        if isinstance(self.reader_, WordReader | TokenReader):
            return self._new_text_encoder(self.reader_)
        if isinstance(self.reader_, VolumeReader):
            mean, std = self.reader_.mean, self.reader_.scale
            return build_encoder(self.encoder, shape, self.embedding_dim, mean=mean, std=std)
        return build_encoder(
            self.encoder,
            shape,
            self.embedding_dim,
            numeric=inputs.numeric_positions(self.reader_),
            **self._encoder_options(),
        )

    def _new_text_encoder(self, reader: WordReader | TokenReader) -> TextEncoder:
        options = TextOptions() if self.text is None else self.text
        sentences: nn.Module | None = None
        if isinstance(reader, WordReader):
            frozen = options.frozen and options.word_vectors is not None
            sentences = BiLSTM(torch.tensor(reader.vectors), options.hidden, frozen=frozen)
            width = 2 * options.hidden
        else:
            width = reader.pretrained.network.width
            if not reader.frozen:
                sentences = copy.deepcopy(reader.pretrained.network)
        return TextEncoder(sentences, width, reader.per_sample, self.embedding_dim)

    def _encoder_options(self) -> dict[str, Any]:
        """Return options of the encoder that depend on what is predicted."""
        return {}

    def _check_parameters(self) -> None:
        check_whole(self.embedding_dim, "embedding_dim")
        if self.batch_size is not None:
            check_whole(self.batch_size, "batch_size", least=4)
        if self.images is not None and not isinstance(self.images, ImageOptions):
            raise OrdinateError(f"images: got {self.images!r}, takes ordinate.ImageOptions(...) or None")
        if self.volumes is not None and not isinstance(self.volumes, VolumeOptions):
            raise OrdinateError(f"volumes: got {self.volumes!r}, takes ordinate.VolumeOptions(...) or None")
        if self.series is not None and not isinstance(self.series, SeriesOptions):
            raise OrdinateError(f"series: got {self.series!r}, takes ordinate.SeriesOptions(...) or None")
        if self.text is not None and not isinstance(self.text, TextOptions):
            raise OrdinateError(f"text: got {self.text!r}, takes ordinate.TextOptions(...) or None")
        if self.text is None and self.encoder in (inputs.BILSTM, MINILM):
            raise OrdinateError(f"text: got None, the encoder {self.encoder!r} takes ordinate.TextOptions(...)")
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
        X = inputs.unpack(X, None)[0]
        inputs.check_kind(self.reader_, X)
        return inputs.read(self.reader_, inputs.check_input(self, X, reset=False))

    def _embed(self, x: Tensor) -> Tensor:
        """Embeddings in float64, so that a sample's does not depend on those beside it."""
        if inputs.in_float32(self.reader_):
            return self._embed_images(x)
        rows = EMBED_ROWS
        if isinstance(self.reader_, SeriesScaler):
            rows = max(1, min(rows, EMBED_POINTS // x.shape[2]))
        embeddings = torch.empty(len(x), self.embedding_dim, dtype=torch.float64)
        with torch.no_grad():
            for place, part in zip(embeddings.split(rows), x.split(rows), strict=True):
                place.copy_(self.method_(part.double()))
        return embeddings

    def _embed_rows(self, x: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Embeddings of some samples, a few thousand read at a time."""
        return torch.cat([self._embed(x[part]) for part in torch.from_numpy(rows).split(EMBED_ROWS)])

    def _embed_images(self, x: Tensor) -> Tensor:
        """Embeddings computed in float32, on the GPU if there is one; float64 would take image networks far longer."""
        device = torch.device("cuda" if self._on_gpu else "cpu")
        at_once = EMBED_VOLUMES if isinstance(self.reader_, VolumeReader) else EMBED_IMAGES
        encoder = self.method_.encoder.to(device)
        with torch.no_grad():
            parts = [encoder(part.to(device)).double().cpu() for part in x.split(at_once)]
        encoder.cpu()
        return torch.cat(parts)

    def _predictions_of(self, embeddings: Tensor) -> NDArray[Any]:
        """Return the targets that are predicted from embeddings; ranks go by their probabilities."""
        raise NotImplementedError

    @property
    def _on_gpu(self) -> bool:
        return self.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()

    def _prepare_inference(self) -> None:
        """Let go of the Trainer, so that the method can be pickled and copied, and set the dtype of prediction."""
        method = self.method_
        method._trainer = None
        method._fabric_optimizers = []
        method.cpu().double().eval()
        if inputs.in_float32(self.reader_):
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
