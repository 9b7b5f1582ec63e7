"""What an estimator trains on, for a Lightning Trainer of the user's."""

import lightning.pytorch as lightning
from numpy.typing import ArrayLike
from sklearn.base import clone

from ordinate.data.loader import Loader
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.pipeline import learn_labels_and_reader, new_module
from ordinate.estimators.samples import LabelledSamples
from ordinate.randomness import own_random_numbers
from ordinate.training.loop import training_loader, validation_loader
from ordinate.training.staged_method import StagedMethod


class DataModule(lightning.LightningDataModule):
    """Labelled samples of any kind, read, held out, batched and augmented as an estimator's ``fit`` does it.

    Batches keep the rule of the estimator's method (CLOC: two ranks of two samples at least), and several processes
    share each of them, without a special strategy or sampler.

    Args:
        estimator: Estimator whose parameters describe the training; it is not fitted.
        X, y, sample_weight, validation, groups: The arguments of its ``fit``.

    Attributes:
        estimator: Copy of the estimator that knows the classes and how samples are read.

    Raises:
        OrdinateError: parameters, samples or labels that ``fit`` refuses.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> data = DataModule(CLOCClassifier(random_state=0), X, np.digitize(X[:, 0], [0.3, 0.7]))
        >>> method = data.new_method()  # Trainer(max_epochs=method.epochs, devices=2).fit(method, data)
        >>> x, ranks = next(iter(data.train_dataloader()))
        >>> method(x).shape, ranks.shape
        (torch.Size([60, 64]), torch.Size([60]))
    """

    def __init__(
        self,
        estimator: EmbeddingEstimator,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        validation: LabelledSamples | None = None,
        groups: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        self.estimator: EmbeddingEstimator = clone(estimator)
        self._method = self.estimator.checked_method()
        self._data = learn_labels_and_reader(self.estimator, self._method, X, y, sample_weight, validation, groups)
        self.training_data, self.validation_data = self._data.training, self._data.validation
        self.batches = self._data.batches

    def new_method(self) -> StagedMethod:
        """Return the untrained method of the estimator, which may be trained on this data, with its own encoder."""
        with own_random_numbers(self.batches.seed, gpus=True):
            return new_module(self.estimator, self._method, self._data)[0]

    def train_dataloader(self) -> Loader:
        return training_loader(self.training_data, self.batches, self.batches.seed)

    def val_dataloader(self) -> Loader | list[Loader]:
        return [] if self.validation_data is None else validation_loader(self.validation_data)
