"""What the readers of text share."""

from abc import abstractmethod
from typing import Any

import pandas as pd
from torch import Tensor, nn

from ordinate.data.modality import Reader
from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import Texts, as_texts
from ordinate.encoders.text import TextEncoder
from ordinate.errors import OrdinateError

EMBEDDED_AT_ONCE = 64


class TextReader(Reader):
    """Turn samples of one text or two into numbers.

    Attributes:
        per_sample: texts per sample.
    """

    in_float32 = True
    has_dropout = True
    hub_tasks = ("text-classification", "feature-extraction")
    per_sample: int

    def read(self, X: Texts, folder: Any = None) -> Tensor:
        if X.per_sample != self.per_sample:
            raise OrdinateError("X", f"{X.per_sample} texts per sample", f"{self.per_sample}, as in training")
        return self.transform(X)

    @abstractmethod
    def transform(self, X: Texts) -> Tensor: ...

    @abstractmethod
    def sentence_encoder(self, options: TextOptions) -> tuple[nn.Module | None, int]:
        """Return what encodes a text, None where :meth:`transform` does, and the width of its vectors."""

    def new_encoder(
        self, name: str, embedding_dim: int, options: TextOptions, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        sentences, width = self.sentence_encoder(options)
        return TextEncoder(sentences, width, self.per_sample, embedding_dim)

    def embedded_at_once(self, x: Tensor) -> int:
        return EMBEDDED_AT_ONCE

    @property
    def n_features_in(self) -> int:
        return self.per_sample

    def describe(self, x: Tensor) -> str:
        return "texts" if self.per_sample == 1 else "pairs of texts"

    def shown(self, X: Any, x: Tensor) -> pd.DataFrame:
        return X if isinstance(X, pd.DataFrame) else pd.DataFrame(as_texts(X).columns).add_prefix("text ")
