"""CLOC on knee X-rays with a ResNet-50, through the estimator: images a second, waiting for data, use of the GPU."""

import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from statistics import mean
from typing import Any

import lightning.pytorch as lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray

from gpu_record import Record
from ordinate import ImageOptions
from ordinate.estimators.recipes import read_recipe
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from ordinate_papers.datasets.images import find, load

COUNTS = {"train": (2286, 1046, 1516, 757, 173), "validation": (328, 153, 212, 106, 27)}  # of KOA, by grade
OWN_SIZE = (120, 200)
SMOKE_PARTS, SMOKE_SIZE, SMOKE_BATCH = {"train": 12, "validation": 5}, (32, 32), 6
WARM_UP, SMOKE_WARM_UP = 5, 1  # batches
RESERVED = 0.15  # share of the time for the end of an epoch and the validation
SAMPLED_EVERY, KEPT_EVERY = 0.1, 5.0  # seconds

Part = tuple[Any, NDArray[Any]]


def train(size: tuple[int, int], precision: str, workers: int, record: Record, *, smoke: bool) -> None:
    """Train for as many epochs as fit and add a row.

    Args:
        size: (height, width) in pixels that the encoder sees.
        precision: of the estimator.
        workers: processes that decode and augment.
        record: of the section.
        smoke: train on few small images.
    """
    parts = {name: _generated(name, small=smoke) for name in COUNTS} if smoke or find("koa") is None else _koa()
    if smoke or find("koa") is None:
        record.note("generated images in the place of KOA's, of the same number, size and grades" + ", but few" * smoke)
    size, settings = (SMOKE_SIZE, {"batch_size": SMOKE_BATCH}) if smoke else (size, {})
    about = {"pixels": f"{size[0]} x {size[1]}", "precision": precision, "workers": workers}
    meter = Meter(SMOKE_WARM_UP if smoke else WARM_UP, lambda figures: record.replace(**about, **figures))
    estimator = read_recipe("cloc-koa").build(
        training__patience=None,
        training__precision=precision,
        training__devices=1,
        training__callbacks=[meter],
        data=ImageOptions(size=size, crop=OWN_SIZE, channels=1, augmentation="koa", workers=workers),
        epochs=(1, 1) if smoke else (500, 500),
        random_state=0,
        **settings,
    )
    budget = TimeBudget(max(1.0, (1 - RESERVED) * record.seconds_left))
    with training_until(TrainingEnd(budget, budget.seconds)):
        estimator.fit(*parts["train"], validation=parts["validation"])
    logged = {name: value for epoch in estimator.history_ for name, value in epoch.items()}  # the last of each
    accuracy = {f"{part} accuracy": logged.get(f"{part}_accuracy") for part in ("train", "val")}
    record.replace(**about, **meter.figures(), **accuracy)


def _koa() -> dict[str, Part]:
    images: Any = load("koa")
    splits, labels = images.splits.to_numpy(), images.labels.to_numpy()
    return {name: (images.samples[np.flatnonzero(splits == name)], labels[splits == name]) for name in COUNTS}


def _generated(part: str, *, small: bool) -> Part:
    """Return noise that is the brighter the higher the grade, as many images as KOA has of each."""
    random = np.random.default_rng(0)
    y = np.arange(SMOKE_PARTS[part]) % len(COUNTS[part]) if small else np.repeat(np.arange(5), COUNTS[part])
    noise = random.integers(0, 128, (len(y), 1, *OWN_SIZE), dtype=np.uint8)
    return noise + (20 * y).astype(np.uint8)[:, None, None, None], y


class Meter(Callback):
    """Time of training batches and of waiting for them, memory, and samples of the GPU's utilization.

    Args:
        warm_up: batches that do not count.
        keep: is given the figures now and then.
    """

    def __init__(self, warm_up: int, keep: Callable[[dict[str, float | None]], None]) -> None:
        self.warm_up, self.keep = warm_up, keep
        self.start = self.kept = time.perf_counter()
        self.images = self.batches = self.epochs = 0
        self.waited = self.worked = self.began = self.trained = self.last = 0.0
        self.utilization: list[float] = []
        self.over = threading.Event()

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.began = time.perf_counter()
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
            threading.Thread(target=self._sample, daemon=True).start()

    def on_train_epoch_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.last = self._now()

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        now = time.perf_counter()
        self.waited += now - self.last if self.batches >= self.warm_up else 0.0
        self.last = now

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        now = self._now()
        if self.batches >= self.warm_up:
            self.worked += now - self.last
            self.images += len(batch[1])
        self.batches += 1
        if now > self.kept + KEPT_EVERY:
            self.kept = now
            self.keep(self.figures())
        self.last = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.epochs += 1
        self.trained = self._now() - self.began

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.over.set()

    def figures(self) -> dict[str, float | None]:
        """Return what was measured; None where it was not."""
        seconds = self.waited + self.worked
        return {
            "images/s": self.images / seconds if self.images else None,
            "waiting share": self.waited / seconds if self.images else None,
            "GPU utilization, %": mean(self.utilization) if self.utilization else None,
            "peak GiB": torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None,
            "epochs": self.epochs,
            "s per epoch": self.trained / self.epochs if self.epochs else None,
            "s before training": self.began - self.start,
        }

    def _now(self) -> float:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()

    def _sample(self) -> None:
        while not self.over.wait(SAMPLED_EVERY):
            with suppress(OSError, ValueError, subprocess.SubprocessError):
                self.utilization.append(utilization())


def utilization() -> float:
    """Return the share of the last moments in which the GPU ran a kernel, in percent."""
    try:
        return float(torch.cuda.utilization())
    except (ImportError, RuntimeError):  # without nvidia-ml-py
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--id=0"]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
