"""What a training step of an encoder costs, measured on one step before training starts."""

import copy
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class StepCost:
    """Seconds and bytes of a step."""

    seconds: float
    bytes: int


def measure_step(encoder: nn.Module, batch: Tensor, *, chunk_size: int | None = None, gpu: bool = False) -> StepCost:
    """Pass a batch forwards and backwards through a copy of the encoder, which stays as it is.

    Args:
        encoder: of the batch.
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
    with torch.random.fork_rng([torch.cuda.current_device()] if gpu else []):
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


def _unchanged(value: Any) -> Any:
    return value
