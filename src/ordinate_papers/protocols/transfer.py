"""An encoder transferred to another data set: probed, or fine-tuned (SupCR, Table 5; SupReMix, Table 8)."""

import hashlib
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.checks import check_choice, check_positive, check_whole
from ordinate.data.registry import modality_of_reader
from ordinate.data.rows import Samples
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.heads.linear import LinearHead
from ordinate.metrics import continuous_report
from ordinate.model.labels import find_classes, to_ranks
from ordinate.randomness import own_random_numbers
from ordinate.training.loop import train as train_method
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import check_labels, score_ranks

LEARNING_RATES = {"linear_probe": 1e-2, "fine_tune": 1e-3}


def transfer(
    model: EmbeddingEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    class_order: Sequence[object] | None = None,
    schemes: Sequence[str] = tuple(LEARNING_RATES),
    epochs: int = 100,
    learning_rate: float | None = None,
    optimization: Optimization | None = None,
    seed: int = 0,
    checkpoint_dir: str | Path | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores on a data set of a model whose encoder was trained on another one, by linear probe and by fine-tuning.

    SupCR, Section 4.4, Table 5 (AgeDB to 2k of IMDB-WIKI, 32k of IMDB-WIKI to AgeDB; both schemes) and SupReMix,
    Section 4.3, Table 8 (IMDB-WIKI to AgeDB and back; linear probe). The model's head is left behind: a linear probe
    trains one new linear layer on the encoder's embeddings without augmentation, standardised; fine-tuning trains
    encoder and layer together, on the model's augmented views. Chosen here, as the papers name no settings: absolute
    error (regressors) or cross-entropy (classifiers), AdamW without weight decay, a cosine schedule, the batch size of
    the model, and no validation. The model itself is not changed.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        model: Model fitted on the first data set; a classifier's probe predicts the ranks of the second one.
        X, X_test: Samples of the second data set, of the kind and with the columns of the model's training samples.
        class_order: Classes of the second data set from lowest to highest, where y does not define their order.
        schemes: ``"linear_probe"``, ``"fine_tune"`` or both.
        epochs: Epochs of the new layer, or of encoder and layer; 100 is what both papers give their predictors.
        learning_rate: None for 0.01 for the probe and 0.001 for fine-tuning.
        optimization: Optimizer and schedule; None for AdamW at the learning rate.
        seed: Seed of the layer's first weights and of the batches.
        checkpoint_dir: Folder of the training states, one folder per scheme.

    Returns:
        ``rows``, one per scheme: ``scheme`` and the scores.

    Example:
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 64)[:, None]
        >>> model = SupCRRegressor(epochs=(20, 5), random_state=0).fit(X, X[:, 0])
        >>> figures = transfer(model, X[::4], 100 * X[::4, 0] ** 2, X, 100 * X[:, 0] ** 2, epochs=20)
        >>> [row["scheme"] for row in figures["rows"]]
        ['linear_probe', 'fine_tune']
    """
    for scheme in schemes:
        check_choice(scheme, tuple(LEARNING_RATES), "schemes")
    check_whole(epochs, "epochs")
    if learning_rate is not None:
        check_positive(learning_rate, "learning_rate")
    labels, test_labels = check_labels(X, y), check_labels(X_test, y_test, "y_test")
    classes = find_classes(y, class_order) if is_classifier(model) else None
    x = model.fitted.read(X)
    x_test = model.fitted.read(X_test)
    if classes is None:
        targets = torch.tensor(np.asarray(labels, dtype=np.float32))[:, None]
    else:
        targets = torch.from_numpy(to_ranks(labels, classes))

    def trial(scheme: str) -> Figures:
        rate = learning_rate or LEARNING_RATES[scheme]
        how = optimization or Optimization("adamw", rate, 0.0)
        folder = None if checkpoint_dir is None else Path(checkpoint_dir) / scheme
        outputs = _train(model, x, targets, x_test, classes, scheme, epochs, how, seed, folder)
        if classes is None:
            return dict(continuous_report(test_labels.astype(np.float64), outputs[:, 0].double().numpy()))
        return dict(score_ranks(to_ranks(test_labels, classes), outputs.argmax(1).numpy(), len(classes)))

    return {"rows": [{"scheme": scheme, **keep(scheme, partial(trial, scheme))} for scheme in schemes]}


class TransferredEncoder(StagedMethod):
    """An encoder and a new linear layer on it, trained together on the layer's loss."""

    def __init__(self, encoder: nn.Module, head: nn.Module, epochs: int, optimization: Optimization) -> None:
        super().__init__((Stage("transfer", epochs, optimization),))
        self.encoder = encoder
        self.head = head

    def batch_loss(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
        if isinstance(self.head, LinearHead):
            return self.head.loss(self(x), y)
        return cross_entropy(self.head(self(x)), y)


def _train(
    model: EmbeddingEstimator,
    x: Tensor,
    targets: Tensor,
    x_test: Tensor,
    classes: NDArray[np.generic] | None,
    scheme: str,
    epochs: int,
    optimization: Optimization,
    seed: int,
    folder: Path | None,
) -> Tensor:
    """Train on the samples as the model reads them, and return the outputs for the test samples."""
    with own_random_numbers(seed, gpus=True):
        head = LinearHead(model.embedding_dim_) if classes is None else nn.Linear(model.embedding_dim_, len(classes))
        if isinstance(head, LinearHead):
            head.standardise(targets)
        data: ArrayBatches | ViewBatches
        if scheme == "linear_probe":
            x, x_test = _standardised(model.fitted.embed(x), model.fitted.embed(x_test))
            encoder: nn.Module = nn.Identity()
            data = ArrayBatches(x, targets)
        else:
            encoder = deepcopy(model.encoder_).float()
            data = _views(model, x, targets)
        method = TransferredEncoder(encoder, head, epochs, optimization)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        batches = ShuffledBatches(len(targets), model.checked_method().batch_size(model.reader_, len(targets)), seed)
        settings = (scheme, epochs, optimization, seed)
        train_method(
            method, data, batches, folder=folder, accelerator=model.training.accelerator, seed=seed,
            progress=bool(model.verbose), run=_fingerprint(settings, [x, targets, *encoder.state_dict().values()]),
        )  # fmt: skip
    method.cpu().eval()
    with torch.no_grad():
        return torch.cat([method.head(method(part)) for part in x_test.split(64)])


def _views(model: EmbeddingEstimator, x: Tensor, targets: Tensor) -> ArrayBatches | ViewBatches:
    """Return samples to train on, in the views that the model's method draws of them."""
    method = model.checked_method()
    views = model.reader_.views(method.data_options(modality_of_reader(model.reader_)), method.views)
    if views is None:
        return ArrayBatches(x, targets)
    return ViewBatches(x, targets, *views)


def _standardised(training: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Return embeddings with the training's mean 0 and deviation 1, on which a linear layer is found sooner."""
    scale = training.std(0, correction=0)
    scale = torch.where(scale > 0, scale, 1)
    return ((training - training.mean(0)) / scale).float(), ((test - training.mean(0)) / scale).float()


def _fingerprint(settings: tuple[object, ...], tensors: list[Tensor]) -> str:
    """Return a digest of all that determines the weights."""
    digest = hashlib.sha256(repr(settings).encode())
    for tensor in tensors:
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
