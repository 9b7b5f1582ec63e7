"""CLOC on knee X-rays with a ResNet-50, through the estimator: images per second, waiting for data, memory."""

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ordinate import ImageOptions
from ordinate.estimators.recipes import read_recipe
from ordinate.training.callback import Callback
from ordinate.training.loop import Loop
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from ordinate_papers.datasets.images import find, load

# KOA has this many images of each grade.
COUNTS = {"train": (2286, 1046, 1516, 757, 173), "validation": (328, 153, 212, 106, 27)}
OWN_SIZE = (120, 200)

Part = tuple[Any, NDArray[Any]]


def train(size: tuple[int, int], precision: str, workers: int, seconds: float, *, smoke: bool) -> dict[str, Any]:
    """Train for as many epochs as fit into the time and return a row.

    Args:
        size: Height and width in pixels that the encoder sees.
        precision: Precision of the estimator.
        workers: Number of processes that decode and augment.
        seconds: Time that the training may take, of which a part is left for its end and the validation.
        smoke: Whether to train on few small images.
    """
    generated = smoke or find("koa") is None
    parts = {name: _generated(name, small=smoke) for name in COUNTS} if generated else _koa()
    settings: dict[str, Any] = {"epochs": (500, 500)}
    if smoke:
        size = (32, 32)
        settings = {"epochs": (1, 1), "batch_size": 6}
    meter = Meter(warm_up=1 if smoke else 5)
    estimator = read_recipe("cloc-koa").build(
        training__patience=None,
        training__precision=precision,
        training__callbacks=[meter],
        data=ImageOptions(size=size, crop=OWN_SIZE, channels=1, augmentation="koa", workers=workers),
        random_state=0,
        **settings,
    )
    budget = TimeBudget(max(1.0, 0.85 * seconds))
    with training_until(TrainingEnd(budget, budget.seconds)):
        estimator.fit(*parts["train"], validation=parts["validation"])
    logged = {name: value for epoch in estimator.history_ for name, value in epoch.items()}  # The last value of each.
    accuracy = {f"{part} accuracy": logged.get(f"{part}_accuracy") for part in ("train", "val")}
    about = {"pixels": f"{size[0]} x {size[1]}", "precision": precision, "workers": workers, "generated": generated}
    return about | meter.figures() | accuracy


def _koa() -> dict[str, Part]:
    images: Any = load("koa")
    splits, labels = images.splits.to_numpy(), images.labels.to_numpy()
    return {name: (images.samples[np.flatnonzero(splits == name)], labels[splits == name]) for name in COUNTS}


def _generated(part: str, *, small: bool) -> Part:
    """Return noise that is the brighter the higher the grade, as many images as KOA has of each."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(5), COUNTS[part])
    if small:
        y = np.arange(12 if part == "train" else 5) % 5
    noise = random.integers(0, 128, (len(y), 1, *OWN_SIZE), dtype=np.uint8)
    return noise + (20 * y).astype(np.uint8)[:, None, None, None], y


class Meter(Callback):
    """Measures the time of training batches and of waiting for them, and the memory.

    Args:
        warm_up: Number of batches that do not count.
    """

    def __init__(self, warm_up: int) -> None:
        self.warm_up = warm_up
        self.images = 0
        self.batches = 0
        self.waited = 0.0
        self.worked = 0.0
        self.last = 0.0

    def on_stage_start(self, loop: Loop) -> None:
        step = loop.training_step

        def timed(x: Tensor, *others: Tensor) -> Tensor:
            now = time.perf_counter()
            if self.batches >= self.warm_up:
                self.waited += now - self.last
                self.images += len(x)
            self.last = now
            return step(x, *others)

        loop.training_step = timed
        self.last = _now()

    def on_batch_end(self, loop: Loop) -> None:
        now = _now()
        if self.batches >= self.warm_up:
            self.worked += now - self.last
        self.batches += 1
        self.last = now

    def on_epoch_end(self, loop: Loop) -> None:
        self.last = _now()

    def figures(self) -> dict[str, float | None]:
        """Return the measurements, None where there are none."""
        seconds = self.waited + self.worked
        memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None
        if not self.images:
            return {"images/s": None, "waiting share": None, "peak GiB": memory}
        return {"images/s": self.images / seconds, "waiting share": self.waited / seconds, "peak GiB": memory}


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
