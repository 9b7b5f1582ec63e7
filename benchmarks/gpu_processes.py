"""The losses in two processes against one on the joined batch: NCCL on two cards, gloo on a processor."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import start_processes

from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss

N, DIM, CLASSES, TOLERANCE = 512, 64, 4, 1e-5
LOSSES: dict[str, Callable[[], nn.Module]] = {
    "supcr": SupCRLoss,
    "mmnp": lambda: MMNPLoss(CLASSES, reduction="pair_mean"),
    "supremix": lambda: SupReMixLoss(temperature=0.5, window=2.0, mix_negatives=False, reduction="mean"),
    "angular_triangle": lambda: AngularTriangleLoss(CLASSES),
}


def compare(device: str) -> Iterator[dict[str, Any]]:
    """Yield a row per loss: the relative difference of its value and of its gradient from those of one process."""
    if device == "cuda" and torch.cuda.device_count() < 2:
        # gloo, which would do with one card, ends with a segmentation fault when it gathers tensors on it.
        yield {"failed": "not measured: NCCL needs a card for each process"}
        return
    backend = "nccl" if device == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        start = "spawn" if device == "cuda" else "fork"  # which takes less time, and a process with a GPU may not
        start_processes(_work, (backend, device, folder), nprocs=2, start_method=start)
        halves = [torch.load(Path(folder) / f"{rank}.pt") for rank in range(2)]
    for name in LOSSES:
        if "failed" in (first := halves[0][name]):
            yield {"loss": name, "backend": backend, **first}
            continue
        value, gradient = _value_and_gradient(name, *_batch(device))
        values = [half[name]["value"] for half in halves]
        joined = torch.cat([half[name]["gradient"] for half in halves]) / 2  # DistributedDataParallel takes the mean
        differences = {
            "value difference": max(abs(each - value) / abs(value) for each in values),
            "gradient difference": float((joined - gradient).norm() / gradient.norm()),
        }
        right = max(differences.values()) <= TOLERANCE
        yield {"loss": name, "backend": backend, **differences, "right": right}


def _batch(device: str) -> tuple[Tensor, Tensor]:
    z = torch.randn(N, DIM, generator=torch.Generator().manual_seed(0))
    return z.to(device), (torch.arange(N) % CLASSES).to(device)


def _value_and_gradient(name: str, z: Tensor, y: Tensor) -> tuple[float, Tensor]:
    torch.manual_seed(0)  # of MMNP's margins
    z = z.requires_grad_()
    value = LOSSES[name]().to(z.device)(z, y)
    (gradient,) = torch.autograd.grad(value, z)
    return float(value.detach()), gradient.cpu()


def _work(rank: int, backend: str, device: str, folder: str) -> None:
    if device == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(backend, init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    z, y = _batch(device)
    rows = slice(rank * N // 2, (rank + 1) * N // 2)
    found: dict[str, dict[str, Any]] = {}
    for name in LOSSES:
        try:
            value, gradient = _value_and_gradient(name, z[rows].clone(), y[rows])
            found[name] = {"value": value, "gradient": gradient}
        except RuntimeError as error:  # gloo may lack an operation on GPUs
            found[name] = {"failed": str(error).splitlines()[0]}
    torch.save(found, Path(folder) / f"{rank}.pt")
    dist.destroy_process_group()
