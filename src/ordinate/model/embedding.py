"""Embeddings of samples by a trained encoder, however many there are."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import torch
from torch import Tensor, nn

from ordinate.data.modality import Reader
from ordinate.training.machine import one_torch_thread, single_thread_if_small


def device_of(accelerator: str) -> torch.device:
    """Return the device that encoders in float32 run on."""
    on_gpu = accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    return torch.device("cuda") if on_gpu else torch.device("cpu")


def embed(encoder: nn.Module, reader: Reader, device: torch.device, x: Tensor) -> Tensor:
    """Return embeddings (n, d) in float64; a sample's embedding does not depend on the rest of its batch.

    Encoders of images and volumes run in float32 on the device; float64 would take them far longer.
    """
    rows = reader.embedded_at_once(x)
    if reader.in_float32:
        encoder = encoder.to(device)
        with torch.no_grad():
            parts = [encoder(part.to(device)).double().cpu() for part in x.split(rows)]
        encoder.cpu()
        return torch.cat(parts)
    rows = min(rows, getattr(encoder, "most_rows", rows))
    if len(x) <= rows:
        with torch.no_grad(), single_thread_if_small(encoder, x, len(x)):
            return encoder(x.double())

    def embed_part(start: int) -> Tensor:
        with torch.no_grad():
            part: Tensor = encoder(x[start : start + rows].double())
        return part

    starts = range(0, len(x), rows)
    with one_torch_thread() as threads, ThreadPoolExecutor(threads) as pool:
        following = pool.map(embed_part, starts)
        first = next(following)
        embeddings = first.new_empty(len(x), *first.shape[1:])  # Joined parts would take twice the memory.
        for start, part in zip(starts, chain([first], following), strict=True):
            embeddings[start : start + rows] = part
    return embeddings
