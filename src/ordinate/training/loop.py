"""The training loop of every method: stages, epochs and batches, on plain PyTorch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ordinate.counts import counted
from ordinate.data.loader import Loader, RestOfEpoch
from ordinate.data.samplers import InOrder, ShuffledBatches
from ordinate.data.training_batches import ArrayBatches
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, place_among, processes
from ordinate.option_group import Settings
from ordinate.options import Precision
from ordinate.training.callback import Callback
from ordinate.training.callbacks import Announcement, Checkpoint, EarlyStop, History, Progress, StageLimit
from ordinate.training.checkpoints import CHECKPOINT, epoch_state, read_checkpoint, restore_epoch_state
from ordinate.training.machine import check_accelerator, single_thread_if_small
from ordinate.training.optimization import Optimizer
from ordinate.training.processes import device_of_process, join_processes
from ordinate.training.staged_method import Batch, StagedMethod
from ordinate.training.time_budget import training_end

CHECKPOINT_SECONDS = 600.0  # Time between two checkpoints in the middle of an epoch.
AUTOCAST = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
PLACE = ("stage_index", "stage_start", "current_epoch", "step", "history", "best_epochs", "hurried")  # Of the method.


def train(
    method: StagedMethod,
    training_data: ArrayBatches,
    batches: ShuffledBatches,
    validation_data: ArrayBatches | None = None,
    *,
    folder: Path | None = None,
    seed: int = 0,
    progress: bool = True,
    run: str = "",
    accelerator: str = "auto",
    precision: Precision = "32-true",
    gradient_clip_val: float | None = None,
    accumulate_grad_batches: int = 1,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float | None = None,
) -> list[dict[str, float]]:
    """Train ``method`` and return what was logged, one dictionary per epoch.

    The random state of every epoch follows from the seed and the epoch's number alone. With a ``folder``, the
    state is kept there after every epoch, and in the middle of one every ten minutes; a run that finds one continues
    from that batch and ends with the weights, bit for bit on CPU, of a run that was never stopped. Within
    :func:`~ordinate.training.time_budget.training_until` it ends in time.

    Under ``torchrun``, or where ``torch.distributed`` is initialised, all processes share each batch.

    Args:
        method: Method that is trained in place.
        training_data: Samples to train on.
        batches: Sampler of batches.
        validation_data: Samples to measure on after every epoch.
        folder: Folder for the checkpoint; None keeps none.
        seed: Seed of everything random in training.
        progress: Whether to show a progress bar with the expected end; without one, a training of more than ten seconds
            says on the logger ``"ordinate"`` when it ends.
        run: Description of everything that determines the run, in any form; a checkpoint that was written under another
            is refused.
        accelerator: ``"auto"``, ``"cpu"``, ``"gpu"`` or ``"mps"``.
        precision: ``"32-true"``, ``"bf16-mixed"`` or ``"16-mixed"`` (on a GPU; elsewhere ``"bf16-mixed"``).
        gradient_clip_val: Largest norm of the gradient; None does not clip.
        accumulate_grad_batches: Batches whose gradients make a step.
        callbacks: What else the training calls.
        checkpoint_seconds: Time between two checkpoints, whether epochs end or not; None for the rule above.

    Example:
        >>> import torch
        >>> from ordinate.methods import OTD, ArrayBatches, ShuffledBatches
        >>> x, y = torch.randn(32, 3), torch.arange(32) % 4
        >>> method = OTD(torch.nn.Linear(3, 8), num_classes=4, epochs=2)
        >>> history = train(method, ArrayBatches(x, y), ShuffledBatches(32, batch_size=16), progress=False)
        >>> len(history), "train_loss" in history[0]
        (2, True)
    """
    for name, given, kind in (
        ("method", method, StagedMethod), ("training_data", training_data, ArrayBatches),
        ("batches", batches, ShuffledBatches),
    ):  # fmt: skip
        if not isinstance(given, kind):
            raise OrdinateError(name, type(given).__name__, f"a {kind.__name__}")
    if batches.size != len(training_data):
        raise OrdinateError("batches", f"batches of {counted(batches.size, 'sample')}", f"of {len(training_data)}")
    check_accelerator(accelerator)
    join_processes(accelerator)
    limit = StageLimit(training_end())
    parts: list[Callback] = [limit, EarlyStop(), History()]
    parts.append(Progress() if progress else Announcement())
    parts += callbacks
    if folder is not None:
        seconds = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
        parts.append(Checkpoint(folder, seconds, every_epoch=checkpoint_seconds is None))
    loop = Loop(
        method, training_data, batches, validation_data, seed=seed, run=run, precision=precision,
        device=device_of_process(accelerator), gradient_clip_val=gradient_clip_val,
        accumulate_grad_batches=accumulate_grad_batches, limit=limit, callbacks=parts,
    )  # fmt: skip
    with single_thread_if_small(method, training_data.x, batches.batch_size):
        loop.run_all(None if folder is None else folder / CHECKPOINT)
    return method.history


class Loop:
    """A training: where it stands, and its steps.

    Args:
        method, data, batches, validation, seed, run: Arguments of :func:`train`.
        device: Device of the method.
        precision, gradient_clip_val, accumulate_grad_batches: Arguments of :func:`train`.
        limit: Limit of time.
        callbacks: What the training calls, in this order.

    Attributes:
        optimizer: Optimizer of the present stage.
        logs: What the latest epoch logged.
        passed: Share of the latest epoch's batches that time allowed.
        stage_is_over, finished: Whether the stage or the training ends.
        is_first: Whether this process is the one that prints and writes.
    """

    optimizer: Optimizer

    def __init__(
        self,
        method: StagedMethod,
        data: ArrayBatches,
        batches: ShuffledBatches,
        validation: ArrayBatches | None,
        *,
        seed: int,
        run: str,
        device: torch.device,
        precision: Precision,
        gradient_clip_val: float | None,
        accumulate_grad_batches: int,
        limit: StageLimit,
        callbacks: Sequence[Callback],
    ) -> None:
        group = all_processes()
        batches.check_processes(processes(group))
        self.method, self.data, self.validation = method, data, validation
        self.rest = RestOfEpoch(data.requests(batches, seed))
        self.loader: Iterable[Batch] | None = None
        if data.workers > 0:
            self.loader = Loader(
                data, sampler=self.rest, batch_size=None, num_workers=data.workers, persistent_workers=True,
                generator=torch.Generator(),  # It takes none of the epoch's random numbers.
            )  # fmt: skip
        self.seed, self.run, self.device = seed, run, device
        self.is_first = place_among(group) == 0
        self.autocast = AUTOCAST.get(precision)
        if device.type == "cpu" and precision == "16-mixed":
            self.autocast = torch.bfloat16
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.autocast is torch.float16)
        self.clip, self.accumulated = gradient_clip_val, accumulate_grad_batches
        self.limit, self.callbacks = limit, list(callbacks)
        self.logs: dict[str, float] = {}
        self.passed = 1.0
        self.stage_is_over = self.is_stopped = self.finished = False

    def stop(self) -> None:
        """End the training with the present epoch."""
        self.stage_is_over = self.is_stopped = True

    def run_all(self, checkpoint: Path | None) -> None:
        """Train all stages, from the checkpoint if there is one."""
        method = self.method.to(self.device)
        self.trainable = {name for name, parameter in method.named_parameters() if parameter.requires_grad}
        method.start_over()
        kept = None
        if checkpoint is not None and checkpoint.exists():
            kept = read_checkpoint(checkpoint, self.run)
            take_over(method, kept)
            self.stage_is_over, self.is_stopped, self.finished = kept["over"]
        if self.finished:
            method.cpu()
            return
        method.n_batches = len(self.rest)
        self._enter_stage()
        if kept is not None:
            self._restore(kept)
        self._call("on_start")
        try:
            if kept is None:
                self._call("on_stage_start")
            else:
                restore_epoch_state(method, self.device, kept["epoch"])
            while not self.finished:
                if not self.stage_is_over:
                    self._train_epoch()
                if self.stage_is_over:
                    self._end_stage()
        finally:
            for name, parameter in method.named_parameters():
                parameter.requires_grad_(name in self.trainable)
            self._call("on_end")
            method.cpu()

    def _call(self, hook: str) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self)

    # Stages.

    def _enter_stage(self) -> None:
        method = self.method
        method.enter_stage(self.trainable)
        self.optimizer = method.build_optimizer()
        self.training_step: Callable[..., Tensor] = method.training_step
        if all_processes() is not None:
            devices = [self.device] if self.device.type == "cuda" else None
            self.training_step = DistributedDataParallel(_Step(method), device_ids=devices)

    def _end_stage(self) -> None:
        method = self.method
        self._call("on_stage_end")
        if self.is_stopped or method.stage_index + 1 == len(method.stages):
            self.finished = True
            return
        method.stage_index += 1
        method.stage_start = method.current_epoch
        self.stage_is_over = False
        self._enter_stage()
        self._call("on_stage_start")

    # Epochs.

    def _train_epoch(self) -> None:
        method = self.method
        if method.step == 0:
            if method.current_epoch == method.stage_start:
                samples = loader_in_order(ArrayBatches(self.data.x, self.data.y))
                method.see_samples(self._on_device(batch)[0] for batch in samples)
            self._draw_anew(hash((self.seed, method.current_epoch)) % 2**63)
            method.begin_epoch()
        self.passed = 1.0
        for batch in self._read():
            if self.is_between_steps:
                time_progress = self.limit.progress(self)
                if method.step > 0 and time_progress >= 1:  # Every epoch has a step, and something to log.
                    self.passed = method.step / method.n_batches
                    break
                method.set_learning_rate(self.optimizer, time_progress)
                self.optimizer.zero_grad()
            self._train_batch(self._on_device(batch))
            method.step += 1
            self._call("on_batch_end")
        with _evaluating(method), torch.no_grad(), self._precision():
            self.logs, self.stage_is_over = method.close_epoch(method.validate(self._read_validation()))
        self._call("on_epoch_end")

    def _draw_anew(self, seed: int) -> None:
        # Seeding with torch.manual_seed takes longer than a step of a small network: it also seeds devices that are not
        # used.
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    @property
    def is_between_steps(self) -> bool:
        """Whether no gradients are accumulated."""
        return self.method.step % self.accumulated == 0

    def _train_batch(self, batch: Batch) -> None:
        method, done = self.method, self.method.step + 1
        makes_step = done % self.accumulated == 0 or done == method.n_batches
        waits: AbstractContextManager[None] = nullcontext()
        if isinstance(self.training_step, DistributedDataParallel) and not makes_step:
            waits = self.training_step.no_sync()
        with waits:
            for part, share in method.parts(batch):
                with self._precision():
                    loss = self.training_step(*part)
                self.scaler.scale(loss * (share / self.accumulated)).backward()
        if not makes_step:
            return
        optimizer = cast(torch.optim.Optimizer, self.optimizer)  # A scaler needs no more of it than we do.
        if self.clip is not None:
            self.scaler.unscale_(optimizer)
            moved = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
            nn.utils.clip_grad_norm_(moved, self.clip)
        self.scaler.step(optimizer)
        self.scaler.update()
        method.after_step()

    def _precision(self) -> AbstractContextManager[object]:
        if self.autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.autocast, cache_enabled=False)

    def _read(self) -> Iterable[Batch]:
        """Return the rest of the epoch's batches."""
        self.rest.set_epoch(self.method.current_epoch)
        self.rest.start = self.method.step
        if self.loader is not None:
            return self.loader
        return map(self.data.__getitem__, self.rest)

    def _read_validation(self) -> Iterable[Batch]:
        if self.validation is None:
            return []
        return map(self._on_device, loader_in_order(self.validation))

    def _on_device(self, batch: Batch) -> Batch:
        return [part.to(self.device, non_blocking=self.device.type == "cuda") for part in batch]

    # Checkpoints.

    def state(self) -> Settings:
        """Return what a checkpoint holds; all processes must call it together."""
        return {
            "run": self.run,
            "over": (self.stage_is_over, self.is_stopped, self.finished),
            "place": {name: getattr(self.method, name) for name in PLACE},
            "state_dict": self.method.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "callbacks": {name: callback.state_dict() for name, callback in self._named_callbacks()},
            "epoch": epoch_state(self.method, self.device),
        }

    def _restore(self, state: Settings) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        for name, callback in self._named_callbacks():
            if name in state["callbacks"]:
                callback.load_state_dict(state["callbacks"][name])

    def _named_callbacks(self) -> Iterator[tuple[str, Callback]]:
        names: dict[str, int] = {}
        for callback in self.callbacks:
            name = type(callback).__qualname__
            names[name] = names.get(name, 0) + 1
            yield f"{name} {names[name]}", callback


class _Step(nn.Module):
    """The loss of a batch as a module, whose gradients DistributedDataParallel averages."""

    def __init__(self, method: StagedMethod) -> None:
        super().__init__()
        self.method = method

    def forward(self, *batch: Tensor) -> Tensor:
        return self.method.training_step(*batch)


def take_over(method: StagedMethod, state: Settings) -> None:
    """Give a method the weights and the place of a checkpoint."""
    method.load_state_dict(state["state_dict"])
    for name, value in state["place"].items():
        setattr(method, name, value)


def loader_in_order(data: ArrayBatches) -> Loader:
    """Return what reads samples in their order, so many at a time as pass an encoder without a gradient."""
    at_once = {4: 64, 5: 4}.get(data.x.dim(), 4096)  # Images and volumes; rows and series.
    if data.x.dtype == torch.int32:  # A sample may have many tokens.
        at_once = 64
    order = InOrder(len(data), at_once)
    return Loader(data, sampler=order, batch_size=None, num_workers=data.workers, generator=torch.Generator())


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Set all parts of a module to evaluation for a while."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
