"""What a training step of an encoder costs, measured on one step before training starts."""

import copy
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ordinate.randomness import own_random_numbers


def seconds_per_sample(encoder: nn.Module, batch: Tensor, *, gpu: bool = False) -> tuple[float, float]:
    """Return the seconds that a sample takes in a training step, and in an embedding, each after one to warm up.

    Args:
        encoder: Encoder that embeds the batch; it stays as it is.
        batch: (n, ...) samples.
        gpu: Whether to measure on the GPU.
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


def bytes_per_sample(encoder: nn.Module, batch: Tensor) -> float:
    """Return the memory that a sample takes from the forward pass of an encoder to the backward pass, in bytes.

    Args:
        encoder: Encoder that embeds the batch, on the CPU; it stays as it is.
        batch: (n, ...) samples.
    """
    encoder, sizes = copy.deepcopy(encoder).train(), dict[int, int]()
    kept = {tensor.untyped_storage().data_ptr() for tensor in (*encoder.parameters(), *encoder.buffers())}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in kept:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with own_random_numbers(), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        embeddings = encoder(batch)
    found = sum(sizes.values()) / len(batch)
    del embeddings  # Until here they hold all that was noted, so that no two tensors had the same memory in turn.
    return found


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
