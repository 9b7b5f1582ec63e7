"""The processes that torchrun started see each other, and each trains on a device of its own."""

import atexit
import os

import torch
import torch.distributed as dist

from ordinate.functional.global_batch import all_processes, place_among
from ordinate.torchrun import joined_processes


def join_processes(accelerator: str) -> None:
    """Let the processes that torchrun started see each other, once."""
    if joined_processes() > 1 and not dist.is_initialized():
        if _has_gpus(accelerator):
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if _has_gpus(accelerator) else "gloo")
        atexit.register(dist.destroy_process_group)


def device_of_process(accelerator: str) -> torch.device:
    """Return the device on which this process trains."""
    if not _has_gpus(accelerator):
        is_mac = accelerator in ("auto", "mps") and torch.backends.mps.is_available()
        return torch.device("mps" if is_mac else "cpu")
    place = place_among(all_processes())
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", place)))


def _has_gpus(accelerator: str) -> bool:
    return accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()
