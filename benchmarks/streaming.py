"""Measure training on streamed images: speed compared with a bare loop, memory and the time to the first batch.

    python benchmarks/streaming.py [--repeats 5] [--sizes 100000 10000000]

Pictures of noise in JPEG, 160 x 160 pixels, lie in a tar shard in WebDataset's layout; larger sets are links to it.
Everything runs in processes of its own, with two workers that decode:

- ``streamed``: OTDClassifier on the shard, an epoch after one that warms up;
- ``bare``: the same written out in PyTorch: a Dataset that opens the same pictures as files and resizes them, a
  DataLoader that stacks a batch and draws the same augmentation, the same network, loss, optimizer and batches;
- ``memory``: the first steps of the same classifier with a ResNet-18 on many images: the most that the process and
  its workers hold together (proportional set size, which counts shared pages once), and the seconds from the start to
  the first batch. The first run on a set passes over all headers and labels, and keeps their index for the others; the
  figures are medians of these; the seconds of the pass are given separately.

Images a second are by the clock and by the processor's time of the process and its workers, which whatever else runs
on the machine disturbs less. The ratio is that of the medians of runs that take turns.
"""

import argparse
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ordinate import ImageOptions, OTDClassifier, Training
from ordinate.data.images.automatic_views import automatic_views
from ordinate.data.images.labelled import read_labelled_images
from ordinate.data.labels_file import Columns
from ordinate.data.samplers import RankBatches
from ordinate.encoders import build_encoder
from ordinate.losses import AngularTriangleLoss
from ordinate.report.text import table
from ordinate.training.optimization import Optimization, undecayed_parameters
from runs import results_of, write

SIDE, SIZE, RANKS, BATCH, EPOCH, WORKERS, STEPS = 160, 64, 5, 64, 320, 2, 1
NETWORK, LARGE_NETWORK, LARGE_SIZE = "resnet10t", "resnet18", 224
CONTENDERS = ("streamed", "bare")


def draw(folder: Path, images: int) -> None:
    """Write pictures into a shard, and as files into a folder next to it."""
    random = np.random.default_rng(0)
    (folder / "files").mkdir()
    with tarfile.open(folder / "shard.tar", "w") as tar:
        for number in range(images):
            rank = number % RANKS
            coarse = random.integers(0, 256, (10, 10, 3), dtype=np.uint8)
            encoded = io.BytesIO()
            Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(encoded, "jpeg", quality=90)
            for ending, content in (("cls", str(rank).encode()), ("jpg", encoded.getvalue())):
                info = tarfile.TarInfo(f"{number:08}.{ending}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            (folder / "files" / f"{number:08}.jpg").write_bytes(encoded.getvalue())


class Clock(Callback):
    """Times the second epoch, or stops after some steps."""

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps
        self.images = 0

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self.steps is None and trainer.current_epoch == 1:
            self.started = spent()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self.steps is not None and batch_idx == 0:
            self.first = time.perf_counter()
        self.images += len(batch[1]) if trainer.current_epoch == 1 else 0

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx + 1 == self.steps:
            raise EnoughError
        if trainer.current_epoch == 1 and batch_idx + 1 == trainer.num_training_batches:
            self.rates = rates(self.images, self.started)


class EnoughError(Exception):
    """The steps that were asked for are made."""


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
    images = read_labelled_images(folder / "shard.tar", Columns("cls"))
    clock = Clock()
    OTDClassifier(
        encoder=NETWORK,
        data=ImageOptions(size=SIZE, stream=True, workers=WORKERS),
        batch_size=BATCH,
        epochs=2,
        random_state=0,
        training=Training(callbacks=[clock], accelerator="cpu"),
    ).fit(images.samples[:EPOCH], images.labels[:EPOCH])
    return clock.rates


class Files(Dataset[tuple[Tensor, int]]):
    """The pictures as files."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.iterdir())[:EPOCH]

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
    data = Files(folder / "files")
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


def memory(folder: Path) -> dict[str, float]:
    """Return the most memory of the first steps on a folder of shards, and the seconds to the first batch."""
    started = time.perf_counter()
    most = Most()
    images = read_labelled_images(folder, Columns("cls"))
    indexed = time.perf_counter()
    clock = Clock(STEPS)
    model = OTDClassifier(
        encoder=LARGE_NETWORK,
        data=ImageOptions(size=LARGE_SIZE, stream=True, workers=WORKERS),
        batch_size=BATCH,
        random_state=0,
        training=Training(callbacks=[clock], accelerator="cpu"),
    )
    with suppress(EnoughError):
        model.fit(images.samples, images.labels)
    return {
        "images": float(len(images)), "peak_mib": most.stop(), "index_seconds": indexed - started,
        "first_batch_seconds": clock.first - started,
    }  # fmt: skip


class Most:
    """The most memory that this process and its workers hold together, looked at ten times a second."""

    def __init__(self) -> None:
        self.most = 0.0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.stopped.wait(0.1):
            self.most = max(self.most, proportional())

    def stop(self) -> float:
        """Return it, in MiB."""
        self.stopped.set()
        self.thread.join()
        return max(self.most, proportional())


def proportional() -> float:
    """Return the proportional set size of this process and its workers, in MiB."""
    total = 0
    for process in processes():
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # The process has ended.
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def measure(folder: Path, images: int, repeats: int, sizes: list[int]) -> dict[str, Any]:
    """Return the figures of all runs and what they come to."""
    draw(folder, images)
    os.environ["ORDINATE_CACHE"] = str(folder / "cache")
    held: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    for size in sizes:
        links = folder / f"links-{size}"
        links.mkdir()
        for number in range(size // images):
            (links / f"{number:06}.tar").symlink_to(folder / "shard.tar")
    for _ in range(1 + repeats):
        for size in sizes:
            held[size].append(_apart("memory", folder / f"links-{size}"))
    runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
    for _ in range(repeats):
        for contender in CONTENDERS:
            runs[contender].append(_apart(contender, folder))
    medians = {contender: _medians(made) for contender, made in runs.items()}
    few, many = (_medians(made[1:]) for made in held.values())
    return {
        "side": SIDE, "size": SIZE, "images": EPOCH, "batch": BATCH, "workers": WORKERS, "network": NETWORK,
        "cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__,
        "medians": medians,
        "ratio": {
            name: round(medians["streamed"][name] / medians["bare"][name], 3)
            for name in ("images_a_second", "images_a_cpu_second")
        },
        "memory": {
            "network": LARGE_NETWORK, "size": LARGE_SIZE, "steps": STEPS, "medians": [few, many],
            "pass_seconds": [made[0]["index_seconds"] for made in held.values()], "runs": held,
        },
        "peak_ratio": round(many["peak_mib"] / few["peak_mib"], 3),
        "bytes_per_image": round((many["peak_mib"] - few["peak_mib"]) * 2**20 / (many["images"] - few["images"]), 1),
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
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs=2, default=[100_000, 10_000_000])
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        contenders = {"streamed": streamed, "bare": bare, "memory": memory}
        print(json.dumps(contenders[options.run[0]](Path(options.run[1]))))
        return
    with tempfile.TemporaryDirectory() as created:
        found = measure(Path(created), options.images, options.repeats, options.sizes)
    print(table(["images a second", *CONTENDERS, "ratio"], [
        [name, *(str(found["medians"][contender][name]) for contender in CONTENDERS), str(ratio)]
        for name, ratio in found["ratio"].items()
    ]))  # fmt: skip
    print(f"peak of memory {found['peak_ratio']} times, {found['bytes_per_image']} bytes per image")
    write(results_of(__file__), found)


if __name__ == "__main__":
    main()
