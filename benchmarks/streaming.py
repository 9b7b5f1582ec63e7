"""Measure the speed of training on streamed images, compared with a bare loop.

    python benchmarks/streaming.py [--repeats 5]

The images are JPEG files of noise, 160 x 160 pixels. Each run is a process of its own, with two workers that decode:

- ``streamed``: OTDClassifier, an epoch after one that warms up;
- ``bare``: the same written out in PyTorch: a Dataset that opens the same files and resizes them, a DataLoader that
  stacks a batch and draws the same augmentation, the same network, loss, optimizer and batches.

Images a second are by the clock and by the processor's time of the process and its workers, which whatever else runs
on the machine disturbs less. The ratio is that of the medians of runs that take turns.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ordinate import ImageOptions, OTDClassifier, Training
from ordinate.data.images.automatic_views import automatic_views
from ordinate.data.samplers import RankBatches
from ordinate.encoders import build_encoder
from ordinate.losses import AngularTriangleLoss
from ordinate.report.text import table
from ordinate.training.callback import Callback
from ordinate.training.loop import Loop
from ordinate.training.optimization import Optimization, undecayed_parameters
from runs import results_of, write

SIDE, SIZE, RANKS, BATCH, IMAGES, WORKERS = 160, 64, 5, 64, 320, 2
NETWORK = "resnet10t"
CONTENDERS = ("streamed", "bare")


def draw(folder: Path) -> None:
    """Write images as files."""
    random = np.random.default_rng(0)
    for number in range(IMAGES):
        coarse = random.integers(0, 256, (10, 10, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        image.save(folder / f"{number:08}.jpg", quality=90)


class Clock(Callback):
    """Times the second epoch."""

    def on_stage_start(self, loop: Loop) -> None:
        self.started = spent()

    def on_batch_end(self, loop: Loop) -> None:
        if loop.method.step == loop.method.n_batches:
            self.rates = rates(len(loop.data), self.started)

    def on_epoch_end(self, loop: Loop) -> None:
        self.started = spent()


def spent() -> tuple[float, float]:
    """Return the time by the clock, and that of the processor in this process and its workers."""
    ticks = 0
    for process in processes():
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK")


def processes() -> list[int]:
    """Return this process and its workers."""
    tasks = Path("/proc/self/task").iterdir()
    found = [os.getpid()]
    for task in tasks:
        with suppress(FileNotFoundError, ProcessLookupError):  # The thread may have ended.
            found += map(int, (task / "children").read_text().split())
    return found


def rates(images: int, started: tuple[float, float]) -> dict[str, float]:
    """Return images a second since then."""
    clock, processor = (now - then for now, then in zip(spent(), started, strict=True))
    return {"images_a_second": images / clock, "images_a_cpu_second": images / processor}


def streamed(folder: Path) -> dict[str, float]:
    """Return the speed of the library."""
    paths = np.array(sorted(map(str, folder.iterdir())))
    clock = Clock()
    OTDClassifier(
        encoder=NETWORK,
        data=ImageOptions(size=SIZE, stream=True, workers=WORKERS),
        batch_size=BATCH,
        epochs=2,
        random_state=0,
        training=Training(callbacks=[clock], accelerator="cpu"),
    ).fit(paths, np.arange(len(paths)) % RANKS)
    return clock.rates


class Files(Dataset[tuple[Tensor, int]]):
    """The pictures as files."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.iterdir())

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = Image.open(self.paths[index]).convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy()), index % RANKS


def augmented(samples: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    """Return a batch of views and their ranks."""
    pictures, ranks = zip(*samples, strict=True)
    return automatic_views(torch.stack(pictures)), torch.tensor(ranks)


def bare(folder: Path) -> dict[str, float]:
    """Return the speed of the loop written out."""
    data = Files(folder)
    ranks = np.arange(len(data)) % RANKS
    batches = RankBatches(ranks, BATCH, required={0: 1, RANKS - 1: 2}, seed=0)
    loader = DataLoader(data, batch_sampler=batches, num_workers=WORKERS, collate_fn=augmented, persistent_workers=True)
    torch.manual_seed(0)
    encoder = build_encoder(NETWORK, (3, SIZE, SIZE), 64, mean=(0.5,) * 3, std=(0.25,) * 3)
    loss = AngularTriangleLoss(RANKS)
    optimizer = Optimization("adamw", 1e-3, 0.05).build(list(encoder.parameters()), undecayed_parameters(encoder))
    for epoch in range(2):
        started, images = spent(), 0
        batches.set_epoch(epoch)
        for x, y in loader:
            value = loss(encoder(x), y)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            images += len(y)
    return rates(images, started)


def measure(folder: Path, repeats: int) -> dict[str, Any]:
    """Return the figures of all runs and what they come to."""
    draw(folder)
    runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
    for _ in range(repeats):
        for contender in CONTENDERS:
            runs[contender].append(_apart(contender, folder))
    medians = {contender: _medians(made) for contender, made in runs.items()}
    return {
        "side": SIDE, "size": SIZE, "images": IMAGES, "batch": BATCH, "workers": WORKERS, "network": NETWORK,
        "cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__,
        "medians": medians,
        "ratio": {
            name: round(medians["streamed"][name] / medians["bare"][name], 3)
            for name in ("images_a_second", "images_a_cpu_second")
        },
        "runs": runs,
    }  # fmt: skip


def _medians(made: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(run[name] for run in made), 1) for name in made[0]}


def _apart(name: str, folder: Path) -> dict[str, float]:
    """Return what a run in a process of its own prints."""
    command = [sys.executable, __file__, "--run", name, str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    print(name, {key: round(value, 2) for key, value in found.items()}, flush=True)
    return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        contenders = {"streamed": streamed, "bare": bare}
        print(json.dumps(contenders[options.run[0]](Path(options.run[1]))))
        return
    with tempfile.TemporaryDirectory() as created:
        found = measure(Path(created), options.repeats)
    print(table(["images a second", *CONTENDERS, "ratio"], [
        [name, *(str(found["medians"][contender][name]) for contender in CONTENDERS), str(ratio)]
        for name, ratio in found["ratio"].items()
    ]))  # fmt: skip
    write(results_of(__file__), found)


if __name__ == "__main__":
    main()
