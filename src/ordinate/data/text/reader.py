"""What the readers of text share."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.data.modality import Reader
from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import Texts, as_texts
from ordinate.encoders.given import Encoder, is_factory
from ordinate.encoders.text import TextEncoder
from ordinate.errors import OrdinateError


class TextReader(Reader):
    """Turn samples of one text or two into numbers.

    Attributes:
        per_sample: Number of texts per sample.
    """

    read_at_once = 1024
    in_float32 = True
    has_dropout = True
    per_sample: int

    def read(self, X: Texts, folder: Path | None = None) -> Tensor:
        if X.per_sample != self.per_sample:
            raise OrdinateError(
                "X", f"{counted(X.per_sample, 'text')} per sample", f"{self.per_sample}, as in training"
            )
        return self.transform(X)

    @abstractmethod
    def transform(self, X: Texts) -> Tensor: ...

    @abstractmethod
    def sentence_encoder(
        self, encoder: Encoder, embedding_dim: int | None, options: TextOptions
    ) -> tuple[nn.Module | None, int]:
        """Return what encodes a text, None where :meth:`transform` does, and the width of its vectors."""

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: TextOptions, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        sentences, width = self.sentence_encoder(name, embedding_dim, options)
        if is_factory(name) and self.per_sample == 1:  # The network of the user ends in the embedding.
            embedding_dim = None
        return TextEncoder(sentences, width, self.per_sample, embedding_dim)

    def blank(self, n: int) -> Tensor:
        return torch.ones(n, *self.sample_shape, dtype=self.input_dtype)

    def embedded_at_once(self, x: Tensor) -> int:
        return 64

    @property
    def n_features_in(self) -> int:
        return self.per_sample

    def describe(self, x: Tensor) -> str:
        return {1: "texts", 2: "pairs of texts"}[self.per_sample]

    def shown(self, X: object, x: Tensor) -> pd.DataFrame:
        return X if isinstance(X, pd.DataFrame) else pd.DataFrame(as_texts(X).columns).add_prefix("text ")
