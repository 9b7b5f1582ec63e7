"""From texts to numbers of words, for an encoder over word vectors."""

from collections import Counter

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.checks import check_whole
from ordinate.data.saved_fields import JsonObject
from ordinate.data.text.options import TextOptions
from ordinate.data.text.reader import TextReader
from ordinate.data.text.samples import Texts
from ordinate.encoders.given import Encoder, describe_encoder, new_given_network
from ordinate.encoders.network import feature_width
from ordinate_papers.words.networks import BiLSTM, WordNetwork
from ordinate_papers.words.words import read_word_vectors, tokenize

PADDING, UNKNOWN, FIRST_WORD = 0, 1, 2


class WordReader(TextReader):
    """Give every word the number of its vector: 0 is padding, 1 a word without one.

    ``vectors`` (v + 2, dim) are the first values; 0 in a reader that was loaded, whose encoder brings its own.
    """

    kind = "words"
    input_dtype = torch.int32

    def __init__(self, words: list[str], dim: int, per_sample: int, max_length: int, notes: list[str]) -> None:
        self.words = words
        self.dim = dim
        self.per_sample = per_sample
        self.max_length = max_length
        self.notes = notes
        self.vectors: NDArray[np.float32] = np.zeros((len(words) + FIRST_WORD, dim), dtype=np.float32)
        self._numbers = {word: number for number, word in enumerate(words, start=FIRST_WORD)}

    @classmethod
    def fit(cls, texts: Texts, options: TextOptions, learned_dim: int = 100, least: int = 2) -> "WordReader":
        """Choose the words: those that the file of word vectors has, or those that occur twice.

        Args:
            texts: Training texts.
            options: Options of text.
            learned_dim: Dimension of vectors that are learned from scratch.
            least: Smallest number of occurrences of a word whose vector is learned from scratch.
        """
        counts = Counter(word for text in texts.flat for word in tokenize(text))
        if options.word_vectors is None:
            words = [word for word, count in counts.most_common() if count >= least]
            drawn = np.random.default_rng(seed=0).normal(scale=0.1, size=(len(words) + 1, learned_dim))
            vectors = drawn.astype(np.float32)
        else:
            words, read = read_word_vectors(options.word_vectors, counts)
            vectors = np.concatenate([read.mean(axis=0, keepdims=True), read])
        reader = cls(words, vectors.shape[1], texts.per_sample, options.max_length, [])
        reader.vectors[UNKNOWN:] = vectors
        unknown = sum(count for word, count in counts.items() if word not in reader._numbers)
        if unknown:
            reader.notes.append(f"text: {unknown} of {counts.total()} words have no vector, and share one")
        return reader

    def transform(self, texts: Texts) -> Int[Tensor, "n k t"]:
        """Return the numbers of the words, int32, 0 past the end of a text; a text without words is one unknown."""
        numbers = np.full((len(texts) * self.per_sample, self.max_length), PADDING, dtype=np.int32)
        for row, text in zip(numbers, texts.flat, strict=True):
            found = [self._numbers.get(word, UNKNOWN) for word in tokenize(text)[: self.max_length]] or [UNKNOWN]
            row[: len(found)] = found
        return torch.from_numpy(numbers.reshape(len(texts), self.per_sample, self.max_length))

    def sentence_encoder(
        self, encoder: Encoder, embedding_dim: int | None, options: TextOptions
    ) -> tuple[nn.Module, int]:
        vectors, frozen = torch.tensor(self.vectors), options.frozen and options.word_vectors is not None
        if isinstance(encoder, str):
            return BiLSTM(vectors, options.hidden, frozen=frozen), 2 * options.hidden
        network = new_given_network(encoder, (self.max_length, self.dim), embedding_dim)
        width = feature_width(network, torch.zeros(2, self.max_length, self.dim), describe_encoder(encoder))
        return WordNetwork(vectors, network, frozen=frozen), width

    @property
    def sample_shape(self) -> tuple[int, int]:
        return (self.per_sample, self.max_length)

    def to_dict(self) -> JsonObject:
        names = ("words", "dim", "per_sample", "max_length", "notes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, state: JsonObject) -> "WordReader":
        for name in ("dim", "per_sample", "max_length"):
            check_whole(state[name], name)
        return cls(**state)
