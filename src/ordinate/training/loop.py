"""Running a method: batches, progress, history, checkpoints and resuming, around Lightning's Trainer."""

import logging
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, cast

import lightning.pytorch as lightning
import torch
from lightning.pytorch.callbacks import Callback, Checkpoint
from tqdm import tqdm

from ordinate.data.loader import Loader, ResumableLoader
from ordinate.data.samplers import InOrder, ShuffledBatches
from ordinate.data.training_batches import ArrayBatches
from ordinate.functional.global_batch import all_processes, largest
from ordinate.option_group import Settings
from ordinate.training.checkpoints import CHECKPOINT, read_checkpoint
from ordinate.training.machine import check_accelerator, quick_to_find_no_gpu, single_thread_if_small
from ordinate.training.stages import StagedMethod
from ordinate.training.time_budget import training_end

CHECKPOINT_SECONDS = 600.0  # Time between two checkpoints in the middle of an epoch.
LOGGERS = ("lightning.pytorch", "lightning.fabric")


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
    trainer: Mapping[str, Any] = MappingProxyType({}),
) -> list[dict[str, float]]:
    """Train ``method`` and return what was logged, one dictionary per epoch.

    The random state of every epoch follows from the seed and the epoch's number alone. With a ``folder``, the
    state is kept there after every epoch, and in the middle of one every ten minutes; a run that finds one continues
    from that batch and ends with the weights, bit for bit on CPU, of a run that was never stopped. Within
    :func:`~ordinate.training.time_budget.training_until` it ends in time.

    Args:
        method: Method that is trained in place.
        training_data: Samples to train on.
        batches: Sampler of batches.
        validation_data: Samples to measure on after every epoch.
        folder: Folder for the checkpoint; None keeps none.
        seed: Seed of everything random in training.
        progress: Whether to show a progress bar with the expected end.
        run: Description of everything that determines the run, in any form; a checkpoint that was written under another
            is refused.
        trainer: Options of Lightning's Trainer; its ``callbacks`` follow ours.

    Example:
        >>> import torch
        >>> from ordinate.methods import OTD
        >>> x, y = torch.randn(32, 3), torch.arange(32) % 4
        >>> method = OTD(torch.nn.Linear(3, 8), num_classes=4, epochs=2)
        >>> history = train(method, ArrayBatches(x, y), ShuffledBatches(32, batch_size=16), progress=False)
        >>> len(history), "train_loss" in history[0]
        (2, True)
    """
    options = {"accelerator": "auto", "devices": 1, "logger": False, **trainer}
    check_accelerator(options["accelerator"])
    several = options["devices"]
    if not isinstance(several, int):
        several = len(several)
    batches.check_processes(several * options.get("num_nodes", 1))
    spawns = any(kind in str(options.get("strategy")) for kind in ("spawn", "fork", "notebook"))
    if several > 1 and spawns and folder is None:  # The processes need a folder in which to save the trained model.
        with TemporaryDirectory(prefix="ordinate-") as kept:
            return train(
                method, training_data, batches, validation_data, folder=Path(kept), seed=seed, progress=progress,
                run=run, trainer=trainer,
            )  # fmt: skip
    callbacks: list[Callback] = [EpochSeed(seed), QuietProcess()]
    if progress:
        callbacks.append(ProgressBar())
    method.run = run
    resume = None
    if folder is not None:
        callbacks.append(TrainingCheckpoint(folder, CHECKPOINT_SECONDS))
        if (folder / CHECKPOINT).exists():
            resume = str(folder / CHECKPOINT)
            checkpoint = read_checkpoint(folder / CHECKPOINT, run)
            if checkpoint["stage"]["finished"]:
                _take_over(method, checkpoint)
                return method.history
    callbacks += options.get("callbacks", ())
    method.end = training_end()
    with _quiet(), quick_to_find_no_gpu(), single_thread_if_small(method, training_data.x, batches.batch_size):
        runner = lightning.Trainer(
            **{**options, "callbacks": callbacks},
            max_epochs=method.epochs,
            log_every_n_steps=min(50, len(batches)),
            enable_checkpointing=any(isinstance(each, Checkpoint) for each in callbacks),
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        loader = training_loader(training_data, batches, seed)
        evaluation = None if validation_data is None else validation_loader(validation_data)
        handler = signal.getsignal(signal.SIGINT)
        try:
            runner.fit(method, loader, evaluation, ckpt_path=resume, weights_only=True)
        except SystemExit as stopped:  # On Ctrl-C, Lightning ignores further ones and exits.
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
            raise KeyboardInterrupt from stopped
        finally:
            method.end = None
    if not method.finished and folder is not None:  # The method was trained in other processes.
        _take_over(method, read_checkpoint(folder / CHECKPOINT, run))
    return method.history


def _take_over(method: StagedMethod, checkpoint: Settings) -> None:
    method.load_state_dict(checkpoint["state_dict"])
    method.on_load_checkpoint(checkpoint)
    method.trainable = {}


def training_loader(training_data: ArrayBatches, batches: ShuffledBatches, seed: int) -> Loader:
    """Return what reads the training batches; what worker processes do, they do over all epochs."""
    workers = training_data.workers
    sampler = training_data.requests(batches, seed)
    return ResumableLoader(
        training_data, sampler, num_workers=workers, persistent_workers=workers > 0, generator=LoaderSeeds()
    )


def validation_loader(data: ArrayBatches) -> Loader:
    """Return what reads validation data in order, so many samples at a time as pass an encoder without a gradient."""
    at_once = {4: 64, 5: 4}.get(data.x.dim(), 4096)  # Images and volumes; rows and series.
    if data.x.dtype == torch.int32:  # A sample may have many tokens.
        at_once = 64
    order = InOrder(len(data), at_once)
    return Loader(data, sampler=order, batch_size=None, num_workers=data.workers, generator=LoaderSeeds())


class LoaderSeeds(torch.Generator):
    """What a loader draws seeds from, so that it takes none of the epoch's numbers; each process makes its own."""

    def __reduce__(self) -> Any:
        return LoaderSeeds, ()


class EpochSeed(Callback):
    """Draw each epoch's random numbers from the seed and the epoch alone."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        torch.manual_seed(hash((self.seed, trainer.current_epoch)) % 2**63)


class QuietProcess(Callback):
    """Silence Lightning in the processes that it starts, as soon as they receive this."""

    def __reduce__(self) -> tuple[Callable[[], "QuietProcess"], tuple[()]]:
        return _quiet_process, ()


def _quiet_process() -> QuietProcess:
    warnings.filterwarnings("ignore", module="lightning")
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    return QuietProcess()


class TrainingCheckpoint(Checkpoint):
    """Keep the state after every epoch, and within an epoch every so many seconds, written whole or not at all."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.kept = time.monotonic()

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        done = batch_idx + 1
        # No gradient is accumulated at this point.
        if done % trainer.accumulate_grad_batches == 0 and done < trainer.num_training_batches:
            due = float(time.monotonic() - self.kept >= self.seconds)
            if largest(due, all_processes(), pl_module.device):
                self.keep(trainer)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.keep(trainer)

    def keep(self, trainer: lightning.Trainer) -> None:
        """Write the state; all processes must call it together."""
        pending = self.folder / f"{CHECKPOINT}.partial"
        trainer.save_checkpoint(pending)
        if trainer.is_global_zero:
            pending.replace(self.folder / CHECKPOINT)
        trainer.strategy.barrier()
        self.kept = time.monotonic()

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Keep the end of a training that a callback of the user's has ended."""
        if isinstance(pl_module, StagedMethod) and not pl_module.finished:
            pl_module.end_training()
            self.keep(trainer)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning's advice about workers and hardware, which does not apply to data in memory."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


class ProgressBar(Callback):
    """Show a bar over all epochs, with the stage, the losses and the expected end."""

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        epochs, done, hidden = trainer.max_epochs, trainer.current_epoch, not trainer.is_global_zero
        self.bar = tqdm(total=epochs, initial=done, unit="epoch", dynamic_ncols=True, disable=hidden)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        metrics = trainer.callback_metrics
        shown = [name for name in ("train_loss", "val_loss", "val_accuracy", "val_mae") if name in metrics]
        self.bar.set_description(cast(StagedMethod, pl_module).stage.name, refresh=False)
        self.bar.set_postfix({name: f"{float(metrics[name]):.3g}" for name in shown}, refresh=False)
        self.bar.update(trainer.current_epoch + 1 - self.bar.n)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar.close()

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        if hasattr(self, "bar"):
            self.bar.close()
