"""The batches of all processes seen as one: each contrasts its own anchors with the samples of all.

The value of a loss is that of the joined batch. DistributedDataParallel averages gradients over processes, so each
process's share of a sum is multiplied by their number; the average is then the gradient of the joined batch.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from ordinate.functional.numerics import accumulation_dtype

_alone: ContextVar[bool] = ContextVar("alone", default=False)

Group = dist.ProcessGroup | None
T = TypeVar("T")


def all_processes() -> Group:
    """Return the group of all processes if training runs in several, otherwise None; see :func:`this_process_alone`."""
    several = not _alone.get() and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    return dist.group.WORLD if several else None


@contextmanager
def this_process_alone() -> Iterator[None]:
    """Let losses see the samples of this process alone, as in validation that every process does in full."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def processes(group: Group) -> int:
    """Return how many processes there are."""
    return 1 if group is None else dist.get_world_size(group)


def place_among(group: Group) -> int:
    """Return the place of this process among them, from 0."""
    return 0 if group is None else dist.get_rank(group)


def gathered(x: Shaped[Tensor, "n *d"], group: Group) -> tuple[Shaped[Tensor, "m *d"], int]:
    """Return the rows of all processes, in their order, and where those of this process start.

    The number of rows may differ between processes. Gradients find their way back to the process that a row is from.
    """
    if group is None:
        return x, 0
    from torch.distributed import _functional_collectives as collectives

    gather = getattr(collectives, "all_gather_single_autograd", None) or collectives.all_gather_tensor_autograd
    sizes = [torch.zeros(1, dtype=torch.int64, device=x.device) for _ in range(processes(group))]
    dist.all_gather(sizes, torch.tensor([len(x)], device=x.device), group)
    rows = [int(size) for size in sizes]
    widest = max(rows)
    padded = torch.cat([x, x.new_zeros(widest - len(x), *x.shape[1:])])
    every = gather(padded.contiguous(), 0, group)
    parts = [part[:size] for part, size in zip(every.split(widest), rows, strict=True)]
    return torch.cat(parts), sum(rows[: place_among(group)])


def summed(x: Tensor, group: Group) -> Tensor:
    """Return the sum over processes, without a gradient."""
    if group is None:
        return x
    total = x.detach().clone()
    dist.all_reduce(total, group=group)
    return total


def largest(value: float, group: Group, device: torch.device) -> float:
    """Return the largest value of all processes."""
    if group is None:
        return value
    among = torch.tensor(value, dtype=torch.float32, device=device)
    dist.all_reduce(among, dist.ReduceOp.MAX, group=group)
    return float(among)


def from_first(value: T, group: Group) -> T:
    """Return, in all processes, the value that the first one has."""
    if group is None:
        return value
    among = [value]
    dist.broadcast_object_list(among, 0, group)
    return among[0]


def joined_value(loss: Float[Tensor, ""], group: Group) -> Float[Tensor, ""]:
    """Return the average over processes, with the gradient of the loss of this process."""
    if group is None:
        return loss
    return loss + (summed(loss, group) / processes(group) - loss.detach())


def mean_over_all(mean: Float[Tensor, ""], n: int, group: Group) -> Float[Tensor, ""]:
    """Return the mean over the samples of all processes, from the mean over the n samples of this process."""
    if group is None:
        return mean
    total = summed(torch.tensor(n, dtype=accumulation_dtype(mean.device), device=mean.device), group)
    return joined_value(mean * (n * processes(group) / total).to(mean.dtype), group)


def holds_anywhere(mask: Bool[Tensor, " n"], group: Group) -> bool:
    """Return whether any sample of any process is marked."""
    return bool(summed(mask.sum(), group) > 0)
