"""How samples are embedded by a trained encoder."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.modality import Reader
from ordinate.data.streamed import Streamed
from ordinate.training.options import Training
from ordinate.training.threads import single_thread_if_small


def device_of(training: Training) -> torch.device:
    """Return the device that encoders in float32 run on."""
    on_gpu = training.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    return torch.device("cuda" if on_gpu else "cpu")


class Inference:
    """Embeds samples that were read.

    Args:
        encoder: From a batch to embeddings (n, d), in evaluation mode.
        reader: How the samples were read.
        training: The options of training, which say whether a GPU may be used.
    """

    def __init__(self, encoder: nn.Module, reader: Reader, training: Training) -> None:
        self.encoder = encoder
        self.reader = reader
        self.device = device_of(training)

    def embed(self, x: Tensor) -> Tensor:
        """Return embeddings (n, d) in float64; a sample's embedding does not depend on the rest of its batch."""
        rows = self.reader.embedded_at_once(x)
        if self.reader.in_float32:
            return self._embed_in_float32(x, rows)
        with torch.no_grad(), single_thread_if_small(self.encoder, x, min(rows, len(x))):
            rows = min(rows, getattr(self.encoder, "most_rows", rows))
            return torch.cat([self.encoder(part.double()) for part in x.split(rows)])

    def _embed_in_float32(self, x: Tensor, rows: int) -> Tensor:
        """Embed in float32, on the GPU if there is one; float64 would take image networks far longer."""
        encoder = self.encoder.to(self.device)
        with torch.no_grad():
            parts = [encoder(part.to(self.device)).double().cpu() for part in x.split(rows)]
        encoder.cpu()
        return torch.cat(parts)

    def embed_rows(self, x: Any, rows: NDArray[np.int64], at_once: int = 4096) -> Tensor:
        """Embed some samples, a few thousand of which are read at a time."""
        if isinstance(x, Streamed):
            part: Any = x.part(rows)
            return self.embed(part)
        return torch.cat([self.embed(x[part]) for part in torch.from_numpy(rows).split(at_once)])
