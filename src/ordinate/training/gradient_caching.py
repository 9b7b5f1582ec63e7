"""Gradient caching: the gradient of a large batch with the activations of a small one."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ordinate.checks import check_whole


def embed_in_chunks(encoder: nn.Module, x: Tensor, chunk_size: int) -> Float[Tensor, "n d"]:
    """Embed a batch a chunk at a time, holding the activations of no more than one chunk.

    The first pass keeps the embeddings alone; when the gradient comes back, each chunk passes the encoder a second
    time. The gradient is exactly that of the whole batch. Two layers need a word:

    - Dropout draws the same masks in both passes; they are not those that the batch would draw in one piece.
    - Batch norm takes the statistics of a chunk, not of the batch: with it, the chunk size changes the gradient.
      Running statistics are updated once a chunk. From a ``chunk_size`` of 3 on, no chunk is left with one sample.

    Args:
        encoder: Network that maps samples (n, ...) to embeddings (n, d).
        x: (n, ...).
        chunk_size: Largest number of samples that pass the encoder at a time; chunks are of nearly equal size.

    Example:
        >>> import torch
        >>> encoder, x = torch.nn.Linear(3, 2), torch.randn(10, 3)
        >>> torch.allclose(embed_in_chunks(encoder, x, chunk_size=4), encoder(x))
        True
    """
    chunks = -(-len(x) // check_whole(chunk_size, "chunk_size"))
    if chunks <= 1:
        return encoder(x)
    return torch.cat(
        [
            checkpoint(encoder, part, use_reentrant=False, context_fn=lambda: _two_passes(encoder))
            for part in x.tensor_split(chunks)
        ]
    )


def _two_passes(encoder: nn.Module) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return the contexts of the two passes: the second finds the buffers that the first found."""
    return nullcontext(), _with_buffers(encoder, _copies(encoder))


@contextmanager
def _with_buffers(encoder: nn.Module, values: list[Tensor]) -> Iterator[None]:
    """Give the encoder's buffers other values for a while."""
    kept = _copies(encoder)
    _fill(encoder, values)
    try:
        yield
    finally:
        _fill(encoder, kept)


def _copies(encoder: nn.Module) -> list[Tensor]:
    return [buffer.clone() for buffer in encoder.buffers()]


def _fill(encoder: nn.Module, values: list[Tensor]) -> None:
    for buffer, value in zip(encoder.buffers(), values, strict=True):
        buffer.copy_(value)
