"""How a fitted estimator embeds samples."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.modality import Reader
from ordinate.data.streamed import Streamed
from ordinate.estimators import inputs
from ordinate.methods.threads import few_for_little

if TYPE_CHECKING:
    from ordinate.methods.staged import StagedMethod

READ_AT_ONCE = 4096  # samples


class Inference:
    """The part of an estimator that reads samples and passes them through the fitted method."""

    reader_: Reader
    method_: "StagedMethod"
    embedding_dim_: int
    accelerator: str

    def _read(self, X: Any) -> Tensor:
        """Return samples as a batch of the encoder."""
        return inputs.read_new(self, X)

    def _embed(self, x: Tensor) -> Tensor:
        """Embed in float64, so that a sample's embedding does not depend on the rest of its batch."""
        if self.reader_.in_float32:
            return self._embed_in_float32(x)
        rows = self.reader_.embedded_at_once(x)
        embeddings = torch.empty(len(x), self.embedding_dim_, dtype=torch.float64)
        with torch.no_grad(), few_for_little(self.method_, x, min(rows, len(x))):
            for place, part in zip(embeddings.split(rows), x.split(rows), strict=True):
                place.copy_(self.method_(part.double()))
        return embeddings

    def _embed_rows(self, x: Any, rows: NDArray[np.int64]) -> Tensor:
        """Embed some samples, a few thousand of which are read at a time."""
        if isinstance(x, Streamed):
            part: Any = x.part(rows)
            return self._embed(part)
        return torch.cat([self._embed(x[part]) for part in torch.from_numpy(rows).split(READ_AT_ONCE)])

    def _embed_in_float32(self, x: Tensor) -> Tensor:
        """Embed in float32, on the GPU if there is one; float64 would take image networks far longer."""
        at_once, device = self.reader_.embedded_at_once(x), self._device
        encoder = self.method_.encoder.to(device)
        with torch.no_grad():
            parts = [encoder(part.to(device)).double().cpu() for part in x.split(at_once)]
        encoder.cpu()
        return torch.cat(parts)

    @property
    def _on_gpu(self) -> bool:
        return self.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()

    @property
    def _device(self) -> torch.device:
        return torch.device("cuda" if self._on_gpu else "cpu")

    def _prepare_inference(self) -> None:
        """Let go of the Trainer, so that the method can be pickled and copied, and set the dtype of prediction."""
        method = self.method_
        method._trainer = None
        method._fabric_optimizers = []
        method.cpu().double().eval()
        if self.reader_.in_float32:
            method.encoder.float()
