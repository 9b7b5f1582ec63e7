"""Texts and pairs of texts, read as words with vectors or as tokens of a transformer."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinate.data.modality import Modality
from ordinate.data.text.options import TextOptions
from ordinate.data.text.reader import TextReader
from ordinate.data.text.samples import Texts, as_texts
from ordinate.data.text.token_reader import TokenReader
from ordinate.data.text.transformer import MINILM
from ordinate.data.text.word_reader import WordReader
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError

BILSTM = "bilstm"  # The encoder over word vectors.


class Text(Modality):
    """n strings, (n, 2) strings of pairs, or columns of text, where an estimator is given ``text=TextOptions()``."""

    name = "text"
    expected = "text: n strings, or (n, 2) strings of pairs"
    readers = (WordReader, TokenReader)
    parameter = "text"
    options_class = TextOptions
    encoders = (BILSTM, MINILM)

    def recognises(self, X: Any, options: TextOptions | None = None) -> bool:
        return options is not None or isinstance(X, Texts)

    def describe(self, X: Any) -> str:
        return "a pair of texts" if as_texts(X).per_sample == 2 else "a text"

    def copies(self, X: Any) -> tuple[NDArray[np.uint64 | np.int64], str]:
        return super().copies(pd.DataFrame(as_texts(X).columns))

    def check(self, estimator: Any, X: Any, *, reset: bool) -> Texts:
        if hasattr(X, "to_pandas"):  # It is a table in files.
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        return as_texts(X)

    def fit(self, X: Texts, options: TextOptions, *, encoder: Encoder, progress: bool) -> tuple[TextReader, Texts]:
        if encoder == "auto":
            encoder = MINILM if options.word_vectors is None else BILSTM
        if encoder == BILSTM or not isinstance(encoder, str):
            return WordReader.fit(X, options), X
        if options.word_vectors is not None:
            raise OrdinateError("word_vectors", f"{options.word_vectors} with the encoder {encoder!r}", "None")
        reader = TokenReader.fit(X, options, encoder)
        reader.progress = progress
        return reader, X


MODALITY = Text()
