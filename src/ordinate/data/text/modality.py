"""Texts and pairs of texts, read as tokens of a transformer or as the readers of extensions do."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinate.data.modality import Modality
from ordinate.data.options import DataOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.text.reader import TextReader
from ordinate.data.text.samples import Texts, as_texts
from ordinate.data.text.token_reader import TokenReader
from ordinate.data.text.transformer import MINILM
from ordinate.encoders.given import Encoder, describe_encoder
from ordinate.errors import OrdinateError
from ordinate.extensions import extensions, load_object

ADDED: dict[str, Any] = {
    name: load_object(place) for extension in extensions() for name, place in extension.text_readers.items()
}


class Text(Modality):
    """n strings, (n, 2) strings of pairs, or columns of text, where an estimator is given ``text=TextOptions()``."""

    name = "text"
    expected = "text: n strings, or (n, 2) strings of pairs"
    readers = (TokenReader, *dict.fromkeys(ADDED.values()))
    parameter = "text"
    options_class = TextOptions
    encoders = (*(name for name in ADDED if name != "own"), MINILM)

    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        return options is not None or isinstance(X, Texts)

    def describe(self, X: object) -> str:
        return {1: "a text", 2: "a pair of texts"}[as_texts(X).per_sample]

    def copies(self, X: object) -> tuple[NDArray[np.uint64 | np.int64], str]:
        return super().copies(pd.DataFrame(as_texts(X).columns))

    def check(self, estimator: object, X: object, *, reset: bool) -> Texts:
        if hasattr(X, "to_pandas"):  # It is a table in files.
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        return as_texts(X)

    def fit(self, X: Texts, options: TextOptions, *, encoder: Encoder, progress: bool) -> tuple[TextReader, Texts]:
        if encoder == "auto":
            encoder = MINILM if options.word_vectors is None else "bilstm"
        name = encoder if isinstance(encoder, str) else "own"
        if name in ADDED:
            return ADDED[name].fit(X, options), X
        if not isinstance(encoder, str):
            raise OrdinateError("encoder", describe_encoder(encoder), "the name of a transformer for texts")
        if options.word_vectors is not None:
            raise OrdinateError("word_vectors", f"{options.word_vectors} with the encoder {encoder!r}", "None")
        reader = TokenReader.fit(X, options, encoder)
        reader.progress = progress
        return reader, X


MODALITY = Text()
