"""How an estimator trains and predicts: one object per method, which the pipeline asks for its parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.modality import Modality, Reader
from ordinate.data.options import DataOptions
from ordinate.data.rows import Labels, random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.splits import Units
from ordinate.data.streamed import StreamedPixels
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.hugging_face import VisionNetwork
from ordinate.encoders.network import PartlyTrained
from ordinate.estimators.defaults import LEARNING_RATE, defaults_of
from ordinate.estimators.registry import named_encoders
from ordinate.estimators.samples import CheckedSamples
from ordinate.extensions import load_object
from ordinate.metrics.neighbours import nearest_neighbours
from ordinate.model.embedding import embed
from ordinate.model.labels import RankLabels, TargetLabels
from ordinate.option_group import Settings
from ordinate.options import Similarity
from ordinate.training.loop import train
from ordinate.training.optimization import Optimization
from ordinate.training.options import Training
from ordinate.training.staged_method import StagedMethod

Batches = ArrayBatches | ViewBatches
PLAIN_SIMILARITIES: tuple[Similarity, ...] = ("neg_l2", "cosine")  # Those that a loss without one is read by.


@dataclass
class Fitted:
    """A trained module and everything that a predictor is made from.

    Args:
        module: The trained module, in evaluation mode.
        reader: How samples are read.
        device: Device that encoders in float32 run on.
        embedding_dim: Dimension d of the embeddings.
        training: Training samples as the module has seen them.
        validation: Validation samples; None without any.
        train_again: Function that goes on training the module with other stages on other samples.
        fit_part: Function from rows of the training samples and a number to another module that is trained on these.
        seed: Seed of the fit.
        held_out_by_share: Whether validation samples are a share of the samples, which may be trained on afterwards.
        all_weights: Weights of training and validation samples together; None for equal ones.
        seconds: Seconds that training took.
        facts: Other results of the fit by name, see :class:`~ordinate.model.model.Model`.
        notes: What the user should know.
    """

    module: Any
    reader: Reader
    device: torch.device
    embedding_dim: int
    training: Batches
    validation: ArrayBatches | None
    train_again: Callable[..., None]
    fit_part: Callable[[NDArray[np.int64], int], "Fitted"]
    seed: int
    held_out_by_share: bool
    all_weights: Tensor | None = None
    seconds: float = 0.0
    facts: Settings = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def embed(self, x: Any) -> Tensor:
        """Return embeddings (n, d) of samples as batches have them, in float64."""
        return embed(self.module.encoder, self.reader, self.device, x)

    def embed_rows(self, x: Any, rows: NDArray[np.int64], at_once: int = 4096) -> Tensor:
        """Return embeddings of some samples, a few thousand of which are read at a time."""
        if isinstance(x, StreamedPixels):
            return self.embed(x.part(rows))
        return torch.cat([self.embed(x[part]) for part in torch.from_numpy(rows).split(at_once)])


@dataclass
class Facts:
    """What a method knows of the training data when it builds its module.

    Args:
        reader: How samples are read.
        targets: Training targets, or a random part of very many: ranks (n,) or targets (n, p).
        outputs: Number of ranks C, or of target dimensions p.
        embedding_dim: Dimension d of the embeddings.
        n_batches: Batches per epoch.
        batch_size: Samples per batch.
        is_validated: Whether there are validation samples.
        from_scratch: Whether what is trained of the encoder starts from random weights.
    """

    reader: Reader
    targets: Tensor
    outputs: int
    embedding_dim: int
    n_batches: int
    batch_size: int
    is_validated: bool
    from_scratch: bool = True


class Method(ABC):
    """What differs between methods: their module, batches and predictor.

    Args:
        estimator: The estimator, whose parameters are the settings of the method.

    Attributes:
        labels: Labels of the training samples, once they are learned.
        reader: How samples are read, once it is learned.
        units: What of the training samples stays on one side of a split, once they are read; None for nothing.
    """

    labels: RankLabels | TargetLabels
    reader: Reader

    name: str
    views = 1  # Views of an image in a batch, if its augmentation draws any.
    checkpoint_seconds: float | None = None  # Time between two checkpoints; None for one per epoch at least.
    unweighted: str | None = None  # Why samples cannot be weighted.

    def __init__(self, estimator: Any) -> None:
        self.settings = estimator
        self.training: Training = estimator.training
        self.units: Units | None = None

    # What a method defines.

    def check(self) -> None:  # noqa: B027  # Many methods have nothing to check.
        """Raise an error if a parameter of the estimator cannot be used."""

    @abstractmethod
    def weight_decay(self, reader: Reader) -> float:
        """Return the weight decay that suits method and data."""

    def batches(self, targets: Labels, batch_size: int, seed: int) -> ShuffledBatches:
        """Return the batches that the method trains on."""
        return ShuffledBatches(len(targets), batch_size, seed)

    @abstractmethod
    def validation_share(self, samples: CheckedSamples) -> float:
        """Return the share of the samples to validate on."""

    def check_samples(self, reader: Reader, training: Batches) -> None:  # noqa: B027  # Most take all samples.
        """Raise an error if the method cannot train on such samples."""

    def run_name(self) -> str:
        """Return what determines the weights in addition to parameters and samples."""
        return ""

    def data_options(self, modality: Modality) -> Any:
        """Return the options of the kind of data as this method needs them; None if it has none."""
        options = modality.options_of(self.settings.data)
        if options is None or not isinstance(self.settings.encoder, str):
            return options
        return options.with_part(self.training.train_encoder)

    def prepare(
        self, training: Batches, validation: ArrayBatches | None, run: str
    ) -> tuple[Batches, ArrayBatches | None]:
        """Return the samples to train and to validate on; called with the module built, before it is trained.

        ``run`` describes everything that determines the run; it is empty where there are no checkpoints.
        """
        return training, validation

    @abstractmethod
    def module(self, encoder: nn.Module, facts: Facts) -> StagedMethod:
        """Return the untrained module around an encoder."""

    def train(
        self,
        module: StagedMethod,
        training: Batches,
        batches: ShuffledBatches,
        validation: ArrayBatches | None,
        *,
        options: Training,
        folder: Path | None,
        seed: int,
        run: str,
        progress: bool,
    ) -> list[dict[str, float]]:
        """Train the module and return what its epochs logged.

        Args:
            module: Module to train.
            training: Training samples.
            batches: Which training samples make a batch.
            validation: Validation samples; None without any.
            options: Options of training.
            folder: Folder of the checkpoint; None keeps none.
            seed: Seed of everything random in training.
            run: Description of everything that determines the run.
            progress: Whether to show a progress bar.
        """
        return train(
            module, training, batches, validation, folder=folder, seed=seed, run=run, progress=progress,
            accelerator=options.accelerator, precision=options.precision,
            gradient_clip_val=options.gradient_clip_val, callbacks=options.callbacks or (),
            accumulate_grad_batches=options.accumulate_grad_batches, checkpoint_seconds=self.checkpoint_seconds,
        )  # fmt: skip

    @abstractmethod
    def finish(self, fitted: Fitted) -> nn.Module:
        """Return what predicts from embeddings, once the module is trained."""

    def similarity(self, fitted: Fitted) -> Similarity:
        """Return the similarity of embeddings that the loss orders; of others the one that finds near labels."""
        usual: Similarity = "cosine" if isinstance(self.labels, RankLabels) else "neg_l2"
        return preferred_similarity(fitted, usual)

    # What methods have in common.

    def encoder_options(self, reader: Reader) -> Settings:
        """Return options of the encoder that depend on the label."""
        return {}

    def encoder(self, reader: Reader, options: DataOptions | None, saved: Settings | None = None) -> nn.Module:
        """Return a new encoder.

        Args:
            reader: How samples are read.
            options: Options of the kind of data.
            saved: Description of the encoder in a saved model, whose weights it gets; None for a new model.
        """
        network = self.settings.encoder
        if isinstance(network, str) and network in named_encoders():
            return load_object(named_encoders()[network])(reader, self.settings.embedding_dim)
        if saved is not None and saved.get("network") is not None:
            network = VisionNetwork(saved["network"])
        task = self.encoder_options(reader)
        encoder = reader.new_encoder(network, self.embedding_dim, options, for_saved_weights=saved is not None, **task)
        part = self.training.train_encoder
        if part in (None, "all") or not isinstance(encoder, PartlyTrained):
            return encoder
        return encoder.train_only(part)

    @property
    def embedding_dim(self) -> int | None:
        """The dimension that the encoder is built with; None for the features of the network itself."""
        return self.settings.embedding_dim

    def batch_size(self, reader: Reader, samples: int) -> int:
        """Return the samples per batch."""
        return self.settings.batch_size or defaults_of(reader).batch_size

    has_unseen_folds = False  # Whether training measures samples that it leaves out, without validation samples.

    def patience(self, facts: Facts) -> int | None:
        """Return the epochs of early stopping."""
        return None if self.training.patience == "auto" else self.training.patience

    def stage_options(self, facts: Facts) -> Settings:
        """Return the options that all modules share, by name."""
        options: Settings = {"patience": self.patience(facts), "chunk_size": self.training.chunk_size}
        if not self.training.follows_paper:
            decay = self.training.weight_decay
            if decay is None:
                decay = self.weight_decay(facts.reader)
            rate = LEARNING_RATE
            if facts.from_scratch:
                rate = defaults_of(facts.reader).learning_rate
            options["optimization"] = Optimization("adamw", self.training.learning_rate or rate, decay)
        return options


def fewer_epochs(usual: int, most_batches: int, n_batches: int) -> int:
    """Return the usual number of epochs, or fewer if these pass more batches than ``most_batches``."""
    return max(1, min(usual, most_batches // n_batches))


def embedded_part(fitted: Fitted, most: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return embeddings (m, d), labels and weights of at most so many training samples, drawn at random.

    Embeddings are rounded as a saved model holds them.
    """
    training = fitted.training
    rows = random_part(len(training.x), most)
    embeddings = fitted.embed_rows(training.x, rows).float().double()
    return embeddings, training.y[torch.from_numpy(rows)], training.weights_of(rows)


def preferred_similarity(fitted: Fitted, usual: Similarity, most: int = 2000, most_neighbours: int = 10) -> Similarity:
    """Return the similarity by which the training samples nearest to validation samples have the nearest labels.

    Without validation samples it is the usual one: training samples, which a network may have memorised, tell nothing.
    """
    validation = fitted.validation
    if validation is None or not len(validation.x):
        return usual
    embeddings, labels, _ = embedded_part(fitted, most)
    rows = random_part(len(validation.x), most)
    queries = fitted.embed_rows(validation.x, rows)
    if not bool(embeddings.isfinite().all() and queries.isfinite().all()):
        return usual
    known, asked = (
        each.double().reshape(len(each), -1).numpy() for each in (labels, validation.y[torch.from_numpy(rows)])
    )
    count = min(most_neighbours, len(embeddings))
    apart: dict[Similarity, float] = {}
    for similarity in (usual, *(each for each in PLAIN_SIMILARITIES if each != usual)):
        found = nearest_neighbours(queries.numpy(), embeddings.numpy(), count, similarity=similarity)
        apart[similarity] = float(np.abs(known[found] - asked[:, None]).mean())
    return min(apart, key=apart.__getitem__)
