"""A bar over all epochs of a training, with the stage, the losses and the expected end."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
from lightning.pytorch.callbacks import Callback
from tqdm import tqdm

SHOWN = ("train_loss", "val_loss", "val_accuracy", "val_mae")
LOOKED_EVERY = 1.0  # seconds between two looks at the progress of other processes


class ProgressBar(Callback):
    """Show the epochs that this process trains."""

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar = _bar(trainer.max_epochs, trainer.current_epoch, disable=not trainer.is_global_zero)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        _show(self.bar, _progress(trainer, pl_module))

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.bar.close()

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        if hasattr(self, "bar"):
            self.bar.close()


class ProgressRecord(Callback):
    """Write the progress to a file that another process follows, see :func:`followed_progress`."""

    def __init__(self, record: Path) -> None:
        self.record = record

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        if trainer.is_global_zero:
            pending = self.record.with_suffix(".partial")
            pending.write_text(json.dumps(_progress(trainer, pl_module)))
            pending.replace(self.record)


@contextmanager
def followed_progress(record: Path, epochs: int) -> Iterator[None]:
    """Show the progress that other processes write to a file, which is removed in the end."""
    ended = threading.Event()

    def follow() -> None:
        with _bar(epochs) as bar:
            last = False
            while not last:
                last = ended.wait(LOOKED_EVERY)
                if record.exists():
                    _show(bar, json.loads(record.read_text()))

    record.unlink(missing_ok=True)  # of a run that was killed
    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        record.unlink(missing_ok=True)


def _bar(epochs: int | None, done: int = 0, *, disable: bool = False) -> Any:
    return tqdm(total=epochs, initial=done, unit="epoch", dynamic_ncols=True, disable=disable)


def _progress(trainer: lightning.Trainer, method: Any) -> dict[str, Any]:
    """Return the stage, the epochs trained and the values that are shown."""
    metrics = trainer.callback_metrics
    values = {name: f"{float(metrics[name]):.3g}" for name in SHOWN if name in metrics}
    return {"stage": method.stage.name, "epochs": trainer.current_epoch + 1, "values": values}


def _show(bar: Any, progress: dict[str, Any]) -> None:
    bar.set_description(progress["stage"], refresh=False)
    bar.set_postfix(progress["values"], refresh=False)
    bar.update(progress["epochs"] - bar.n)
