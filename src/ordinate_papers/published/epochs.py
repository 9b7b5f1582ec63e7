"""Epochs of plain PyTorch: shuffled batches, a learning rate for each step, and the weights of the best epoch."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.optim import Optimizer

from ordinate.errors import OrdinateError

Rate = Callable[[float], float]


class BatchLoss(Protocol):
    """The loss of a batch, given by the rows of its samples."""

    def __call__(self, rows: Int[Tensor, " b"], /) -> Tensor: ...


class Epoch(NamedTuple):
    """What an epoch of a stage has given.

    Args:
        stage: Name of the stage.
        loss: Mean loss of its batches.
        error: Error of the validation samples after it; None where the authors' code does not compute one.
    """

    stage: str
    loss: float
    error: float | None = None


class TrainedProbe(NamedTuple):
    """An encoder, the linear probe on it, and the history of both."""

    encoder: nn.Module
    probe: nn.Linear
    history: list[Epoch]


def trained_epochs(
    batch_loss: BatchLoss,
    optimizer: Optimizer,
    n: int,
    *,
    epochs: int,
    batch_size: int,
    rate: Rate,
    drop_last: bool = False,
) -> Iterator[float]:
    """Train by an optimizer, and yield the mean loss of the batches after each epoch.

    Args:
        batch_loss: Function from the rows of a batch to its loss.
        optimizer: Optimizer of all that is trained.
        n: Number of samples.
        epochs: Number of epochs.
        batch_size: Samples per batch.
        rate: Function from the number of epochs that are over, with the part of the present one, to the learning rate.
        drop_last: Whether the last batch of an epoch is left out where it is incomplete.

    Raises:
        OrdinateError: No batch is complete.

    Example:
        >>> weight = torch.zeros(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([weight], lr=0.1)
        >>> loss = lambda rows: (weight - 1).square().sum()
        >>> losses = list(trained_epochs(loss, optimizer, 8, epochs=3, batch_size=4, rate=constant(0.1)))
        >>> losses[0] > losses[1] > losses[2]
        True
    """
    if drop_last and n < batch_size:
        raise OrdinateError("batch_size", batch_size, f"at most {n}, the number of samples")
    for epoch in range(epochs):
        batches = torch.randperm(n).split(batch_size)
        if drop_last and len(batches[-1]) < batch_size:
            batches = batches[:-1]
        losses = []
        for step, rows in enumerate(batches):
            for group in optimizer.param_groups:
                group["lr"] = rate(epoch + step / len(batches))
            loss = batch_loss(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        yield sum(losses) / len(losses)


def with_errors(stage: str, losses: Iterable[float], error: Callable[[], float]) -> Iterator[Epoch]:
    """Yield epochs with the error of the validation samples after each."""
    for loss in losses:
        yield Epoch(stage, loss, error())


def keep_best(module: nn.Module, epochs: Iterable[Epoch]) -> list[Epoch]:
    """Train, and go back to the weights of the epoch with the lowest error, the first of several.

    Example:
        >>> module = nn.Linear(1, 1)
        >>> def train():
        ...     for error in (3.0, 1.0, 2.0):
        ...         nn.init.constant_(module.bias, error)
        ...         yield Epoch("probe", 0.0, error)
        >>> len(keep_best(module, train())), module.bias.item()
        (3, 1.0)
    """
    history, best, weights = [], math.inf, copy.deepcopy(module.state_dict())
    for epoch in epochs:
        history.append(epoch)
        if epoch.error is not None and epoch.error < best:
            best, weights = epoch.error, copy.deepcopy(module.state_dict())
    module.load_state_dict(weights)
    return history


def constant(rate: float) -> Rate:
    """Return a learning rate that stays."""

    def at(_progress: float) -> float:
        return rate

    return at


def cosine_by_epoch(rate: float, epochs: int, least: float) -> Rate:
    """Return a learning rate that falls with every epoch by a cosine; that of the last epoch is the least.

    The first epoch already has less than ``rate``.

    Example:
        >>> at = cosine_by_epoch(0.5, epochs=4, least=0.0)
        >>> [round(at(progress), 3) for progress in (0, 0.9, 1, 3)]
        [0.427, 0.427, 0.25, 0.0]
    """

    def at(progress: float) -> float:
        turn = math.pi * (int(progress) + 1) / epochs
        return least + (rate - least) * (1 + math.cos(turn)) / 2

    return at


def tenth_after(rate: float, *milestones: float) -> Rate:
    """Return a learning rate that is divided by ten at each of some numbers of epochs.

    Example:
        >>> at = tenth_after(0.1, 60, 80)
        >>> [round(at(progress), 6) for progress in (0, 59.9, 60, 80)]
        [0.1, 0.1, 0.01, 0.001]
    """

    def at(progress: float) -> float:
        passed = sum(int(progress) >= milestone for milestone in milestones)
        return rate / 10**passed

    return at
