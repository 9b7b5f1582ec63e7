"""What a training step of an encoder costs, measured on one step before training starts."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.randomness import own_random_numbers


@dataclass(frozen=True)
class StepCost:
    """Seconds and bytes of a step."""

    seconds: float
    bytes: int


def measure_step(encoder: nn.Module, batch: Tensor, *, chunk_size: int | None = None, gpu: bool = False) -> StepCost:
    """Pass a batch forwards and backwards through a copy of the encoder, which stays as it is.

    Args:
        encoder: Encoder that embeds the batch.
        batch: (n, ...), one step's samples.
        chunk_size: samples that pass at a time in training; one chunk is measured then and its time multiplied.
        gpu: measure on the GPU.

    Returns:
        The step's time; and its memory: on a GPU the most that was allocated, and Adam's two moments; on CPU the
        batch, what the backward pass keeps, and the weights four times: themselves, gradients, moments. The loss is
        left out, which is small beside an encoder that is worth measuring; a chunk's pass without gradients too.

    Example:
        >>> measure_step(nn.Linear(3, 2), torch.zeros(5, 3)).bytes  # 60 of the batch (kept once), 4 x 32 of weights
        188
    """
    device = torch.device("cuda" if gpu else "cpu")
    chunk = batch[:chunk_size]
    weights = sum(parameter.numel() * parameter.element_size() for parameter in encoder.parameters())
    with own_random_numbers(gpus=gpu):
        encoder = copy.deepcopy(encoder).to(device).train()
        x = chunk.to(device)
        kept = {x.untyped_storage().data_ptr(): batch.nbytes}  # the storage may hold more than the batch
        own = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}

        def keep(value: Tensor) -> Tensor:
            storage = value.untyped_storage()
            if storage.data_ptr() not in own:
                kept.setdefault(storage.data_ptr(), storage.nbytes())
            return value

        if gpu:
            encoder(x[:2]).sum().backward()  # the first pass on a GPU loads and chooses its programs
            encoder.zero_grad()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        with torch.autograd.graph.saved_tensors_hooks(keep, _unchanged):
            embeddings = encoder(x)
        embeddings.sum().backward()
        if gpu:
            torch.cuda.synchronize()
        seconds = (time.perf_counter() - start) * len(batch) / len(chunk)
    if gpu:
        return StepCost(seconds, torch.cuda.max_memory_allocated() + 2 * weights)
    return StepCost(seconds, sum(kept.values()) + 4 * weights)


def seconds_per_sample(encoder: nn.Module, batch: Tensor, *, gpu: bool = False) -> tuple[float, float]:
    """Return the seconds that a sample takes in a training step, and in an embedding, each after one to warm up.

    Args:
        encoder: Encoder that embeds the batch; it stays as it is.
        batch: (n, ...) samples.
        gpu: measure on the GPU.
    """
    device = torch.device("cuda" if gpu else "cpu")
    with own_random_numbers(gpus=gpu):
        encoder, x = copy.deepcopy(encoder).to(device).train(), batch.to(device)
        optimizer = torch.optim.AdamW(encoder.parameters(), lr=0.0)

        def step() -> None:
            optimizer.zero_grad()
            encoder(x).sum().backward()
            optimizer.step()

        def embed() -> None:
            with torch.no_grad():
                encoder(x)

        training = _mean_seconds(step, gpu=gpu)
        encoder.eval()
        return training / len(batch), _mean_seconds(embed, gpu=gpu) / len(batch)


def _mean_seconds(step: Callable[[], None], *, gpu: bool, steps: int = 2) -> float:
    step()
    if gpu:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    if gpu:
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def _unchanged(value: Any) -> Any:
    return value


def training_memory(network: nn.Module) -> int:
    """Return the bytes that training takes beside the data and the network: gradients, and Adam's two moments."""
    return 3 * sum(weight.numel() * weight.element_size() for weight in network.parameters() if weight.requires_grad)
