"""A method in a Trainer of Lightning, for its devices, strategies, callbacks and loggers."""

import copy
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike
from sklearn.base import clone
from torch import Tensor

from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.loader import Loader
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.blend_method import Blend
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.pipeline import Fit, learn_labels_and_reader, new_module
from ordinate.estimators.samples import GivenSamples
from ordinate.option_group import Settings
from ordinate.optional import optional
from ordinate.randomness import own_random_numbers
from ordinate.training.callbacks import EarlyStop
from ordinate.training.checkpoints import attributes_of, set_attributes
from ordinate.training.loop import PLACE, loader_in_order
from ordinate.training.optimization import OPTIMIZERS
from ordinate.training.staged_method import Batch, StagedMethod

if TYPE_CHECKING:
    import lightning.pytorch as lightning
else:
    lightning = optional("lightning.pytorch", "adapters", "LightningMethod")


class LightningMethod(lightning.LightningModule):
    """A LightningModule around a method, which is trained through its stages within one ``Trainer.fit``.

    ``max_epochs`` of the Trainer is :attr:`epochs`. A stage ends early, and its best weights come back, as in
    :func:`ordinate.methods.train`; a checkpoint that the Trainer writes at the end of an epoch resumes there. Each
    stage has an optimizer of its own, so optimization is manual in Lightning's sense, and clipping and accumulation are
    arguments here instead of the Trainer's. Several processes require ``strategy="ddp_find_unused_parameters_true"``,
    because a stage may train some of the parameters.

    Args:
        method: Method, trained in place.
        gradient_clip_val: Largest norm of the gradient; None does not clip.
        accumulate_grad_batches: Batches whose gradients make a step.

    Attributes:
        method: The method; ``method.history`` is what each epoch logged.

    Example:
        >>> from torch import nn
        >>> from ordinate.methods import OTD
        >>> module = LightningMethod(OTD(nn.Linear(3, 8), num_classes=4, epochs=20))
        >>> module.epochs  # lightning.Trainer(max_epochs=module.epochs).fit(module, loader)
        20
    """

    def __init__(
        self, method: StagedMethod, *, gradient_clip_val: float | None = None, accumulate_grad_batches: int = 1
    ) -> None:
        super().__init__()
        if not isinstance(method, StagedMethod):
            raise OrdinateError("method", type(method).__name__, "what LightningData(...).new_method() returns")
        self.automatic_optimization = False
        self.method = method
        self.gradient_clip_val = gradient_clip_val
        self.accumulated = accumulate_grad_batches
        self.early_stop = EarlyStop()
        self.logs: dict[str, float] = {}
        self.stage_is_over = False
        self.outputs: list[Batch] = []
        self.validated: dict[str, Tensor] = {}

    @property
    def epochs(self) -> int:
        """Largest number of epochs of all stages together."""
        return self.method.epochs

    def forward(self, x: Tensor) -> Tensor:
        """Return embeddings."""
        embeddings: Tensor = self.method(x)
        return embeddings

    def setup(self, stage: str) -> None:
        if stage == "fit":
            limit = self.trainer.max_epochs
            if limit is not None and 0 <= limit < self.epochs:
                warn(f"max_epochs={limit} ends before the {counted(self.epochs, 'epoch')} of the method")
            self.method.start_over()
            self.early_stop = EarlyStop()
            self.method.begin_stage()

    def configure_optimizers(self) -> Any:
        optimizers, present = [], self.method.stage_index
        for index in range(len(self.method.stages)):
            self.method.stage_index = index
            optimizers.append(self.method.build_optimizer(OPTIMIZERS))
        self.method.stage_index = present
        return optimizers

    def on_train_epoch_start(self) -> None:
        method = self.method
        method.n_batches = int(self.trainer.num_training_batches)
        if method.current_epoch == method.stage_start:
            samples: Any = self.trainer.train_dataloader
            method.see_samples(batch[0].to(self.device) for batch in samples)
        method.begin_epoch()

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        method, done = self.method, batch_idx + 1
        method.step = batch_idx
        optimizers: Any = self.optimizers()
        optimizer = optimizers
        if isinstance(optimizers, list):
            optimizer = optimizers[method.stage_index]
        if batch_idx % self.accumulated == 0:
            method.set_learning_rate(optimizer)
            self.zero_grad()
        for part, share in method.parts(batch):
            self.manual_backward(method.training_step(*part) * (share / self.accumulated))
        if done % self.accumulated and done < method.n_batches:
            return
        if self.gradient_clip_val is not None:
            self.clip_gradients(optimizer, self.gradient_clip_val, "norm")
        optimizer.step()
        method.after_step()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.outputs.append(self.method.validation_step(*batch))

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            self.validated = self.method.validate_outputs(self.outputs)
        self.outputs = []

    def on_train_epoch_end(self) -> None:
        self.logs, self.stage_is_over = self.method.close_epoch(self.validated)
        self.early_stop.on_epoch_end(cast(Any, self))  # It has what a loop has that this uses.
        self.method.history.append(self.logs)
        self.log_dict({name: value for name, value in self.logs.items() if name != "epoch"})
        self.validated = {}
        if self.stage_is_over:
            self._end_stage()

    def _end_stage(self) -> None:
        method = self.method
        self.early_stop.on_stage_end(cast(Any, self))
        if method.stage_index + 1 == len(method.stages):
            self.trainer.should_stop = True
            return
        method.stage_index += 1
        method.stage_start = method.current_epoch
        method.begin_stage()

    def on_save_checkpoint(self, checkpoint: Settings) -> None:
        checkpoint["place"] = {name: getattr(self.method, name) for name in PLACE}
        checkpoint["early_stop"] = self.early_stop.state_dict()
        checkpoint["method"] = attributes_of(self.method, "shared_state")

    def on_load_checkpoint(self, checkpoint: Settings) -> None:
        for name, value in checkpoint["place"].items():
            setattr(self.method, name, value)
        self.method.begin_stage()
        self.early_stop.load_state_dict(checkpoint["early_stop"])
        set_attributes(self.method, checkpoint["method"])


class LightningData(lightning.LightningDataModule):
    """Labelled samples of any kind, read, held out, batched and augmented as an estimator's ``fit`` does it.

    Batches keep the rule of the estimator's method (CLOC: two ranks of two samples at least), and several processes
    share each of them.

    Args:
        estimator: Estimator whose parameters describe the training; it is not fitted.
        X, y, sample_weight, validation, groups: The arguments of its ``fit``.

    Attributes:
        labels: What the ranks or targets are.

    Raises:
        OrdinateError: parameters, samples or labels that ``fit`` refuses.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> data = LightningData(CLOCClassifier(random_state=0), X, np.digitize(X[:, 0], [0.3, 0.7]))
        >>> module = LightningMethod(data.new_method())  # Trainer(max_epochs=module.epochs).fit(module, data)
        >>> x, ranks = next(iter(data.train_dataloader()))
        >>> module(x).shape, ranks.shape
        (torch.Size([60, 64]), torch.Size([60]))
    """

    def __init__(
        self,
        estimator: EmbeddingEstimator,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        validation: GivenSamples | None = None,
        groups: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        self._estimator: EmbeddingEstimator = clone(estimator)
        self._method = self._estimator.checked_method()
        if isinstance(self._method, Blend):
            raise OrdinateError(
                "estimator", type(estimator).__name__, "one with a single network, such as CLOCClassifier"
            )
        self._data = learn_labels_and_reader(self._estimator, self._method, X, y, sample_weight, validation, groups)
        self.labels = self._method.labels

    def new_method(self) -> StagedMethod:
        """Return the untrained method of the estimator, with its own encoder."""
        with own_random_numbers(self._data.seed, gpus=True):
            module, self._embedding_dim = new_module(self._estimator, self._method, self._data)
        return module

    def fitted_estimator(self, method: StagedMethod) -> EmbeddingEstimator:
        """Return the estimator with a method that a Trainer has trained, which predicts, explains and saves.

        Args:
            method: What :meth:`new_method` returned, trained; it is copied.

        Raises:
            OrdinateError: a method that is not from here, or has not been trained.
        """
        if not isinstance(method, StagedMethod) or not hasattr(self, "_embedding_dim"):
            raise OrdinateError("method", type(method).__name__, "what new_method() returned, trained")
        if not method.history:
            raise OrdinateError("method", problem="has not been trained", expected="Trainer.fit before")
        estimator = clone(self._estimator)
        fit = Fit(estimator, self._method, self._data)
        with collected():  # Samples of the fit are not new.
            return estimator.keep(fit, fit.take(copy.deepcopy(method), self._embedding_dim))

    def train_dataloader(self) -> Loader:
        data, seed = self._data.training, self._data.seed
        return Loader(data, sampler=data.requests(self._data.batches, seed), batch_size=None, num_workers=data.workers)

    def val_dataloader(self) -> Loader | list[Loader]:
        return [] if self._data.validation is None else loader_in_order(self._data.validation)
