"""Training in several processes: those that torchrun started, or that are started here, and the device of each."""

import atexit
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from ordinate.functional.global_batch import all_processes, place_among
from ordinate.option_group import Settings
from ordinate.torchrun import joined_processes
from ordinate.training.checkpoints import CHECKPOINT, read_checkpoint
from ordinate.training.time_budget import TrainingEnd, training_end, training_until

if TYPE_CHECKING:
    from ordinate.training.staged_method import StagedMethod


def join_processes(accelerator: str) -> None:
    """Let the processes that torchrun started see each other, once."""
    if joined_processes() > 1 and not dist.is_initialized():
        if _has_gpus(accelerator):
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group(_backend(accelerator))
        atexit.register(dist.destroy_process_group)


def device_of_process(accelerator: str, devices: int | Sequence[int]) -> torch.device:
    """Return the device on which this process trains; ``devices`` may be a list of GPUs."""
    if not _has_gpus(accelerator):
        is_mac = accelerator in ("auto", "mps") and torch.backends.mps.is_available()
        return torch.device("mps" if is_mac else "cpu")
    place = place_among(all_processes())
    place = int(os.environ.get("LOCAL_RANK", place))
    if not isinstance(devices, int):
        place = devices[place]
    return torch.device("cuda", place)


def train_in_processes(
    count: int,
    train: Callable[..., object],
    method: "StagedMethod",
    data: tuple[Any, ...],
    folder: Path | None,
    options: Settings,
) -> Settings:
    """Train a method in so many new processes, and return the checkpoint at their end.

    Args:
        count: Number of processes.
        train: Function that is called in each with the method, the data and the options.
        method: Method to train; it stays as it is.
        data: Data of the training.
        folder: Folder of the checkpoint; None for one that is removed.
        options: Options of ``train``.
    """
    with TemporaryDirectory(prefix="ordinate-") as meeting:
        folder = folder or Path(meeting)
        options = {**options, "folder": folder}
        arguments = (count, str(Path(meeting) / "meeting"), train, (method, *data), options, training_end())
        spawn(_train_as, arguments, nprocs=count)
        return read_checkpoint(folder / CHECKPOINT, options["run"])


def _train_as(
    place: int,
    count: int,
    meeting: str,
    train: Callable[..., object],
    arguments: tuple[Any, ...],
    options: Settings,
    end: TrainingEnd | None,
) -> None:
    accelerator = options["accelerator"]
    if _has_gpus(accelerator):
        devices = options["devices"]
        torch.cuda.set_device(place if isinstance(devices, int) else devices[place])
    dist.init_process_group(_backend(accelerator), init_method=f"file://{meeting}", rank=place, world_size=count)
    for tensor in (*arguments[0].parameters(), *arguments[0].buffers()):
        tensor.data = tensor.data.clone()  # The processes share the memory of what they are given.
    with training_until(end):
        train(*arguments, **options)
    dist.destroy_process_group()


def _has_gpus(accelerator: str) -> bool:
    return accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()


def _backend(accelerator: str) -> str:
    return "nccl" if _has_gpus(accelerator) else "gloo"
