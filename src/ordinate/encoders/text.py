"""Encoders of text: sentences to vectors, and one vector or those of a pair to the embedding."""

from typing import Self

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ordinate.encoders.network import PartlyTrained, features_in
from ordinate.errors import OrdinateError


class TextEncoder(PartlyTrained):
    """Texts through a sentence encoder, and a network from what they give to the embedding.

    A single text's features are its vector u; a pair's are ``(u, v, |u - v|, u * v)``, as in the model of STS-B-DIR
    (Yang et al., 2021), which SupReMix follows. The authors regress on these; here a network with one hidden layer of
    512 tanh units and layer normalisation brings them to the embedding.

    Args:
        sentences: Network from tokens (n, t), 0 after the end of a text, to vectors (n, width); None if samples come as
            vectors already.
        width: Width of these vectors.
        per_sample: Number of texts of a sample, 1 or 2.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.
        hidden: Units of the hidden layer.
        dropout: Share of the features and of the hidden units dropped in training.

    Example:
        >>> encoder = TextEncoder(BiLSTM(torch.randn(9, 5), hidden=4), width=8, per_sample=2, embedding_dim=3)
        >>> encoder(torch.randint(1, 9, (6, 2, 7))).shape
        torch.Size([6, 3])
    """

    network_name = "sentences"

    def __init__(
        self,
        sentences: nn.Module | None,
        width: int,
        per_sample: int,
        embedding_dim: int | None,
        *,
        hidden: int = 512,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.sentences = sentences
        self.per_sample = per_sample
        features = width if per_sample == 1 else 4 * width
        self.embedding: nn.Module = nn.Identity()
        if embedding_dim is not None:
            self.embedding = nn.Sequential(
                nn.Dropout(dropout), nn.Linear(features, hidden), nn.Tanh(), nn.LayerNorm(hidden), nn.Dropout(dropout),
                nn.Linear(hidden, embedding_dim),
            )  # fmt: skip
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.sentences is not None and self.per_sample == 2:
            with_words = isinstance(self.sentences, BiLSTM | WordNetwork)
            for part in self.sentences.modules():
                part.training = part.training and with_words and not isinstance(part, _DropoutNd)
        return self

    def train_only(self, trained: int | str) -> PartlyTrained:
        if isinstance(self.sentences, BiLSTM):
            raise OrdinateError("train_encoder", repr(trained), "'all' for 'bilstm', which has no weights to keep")
        return super().train_only(trained)

    def forward(self, texts: Num[Tensor, "n k t"]) -> Float[Tensor, "n d"]:
        if self.sentences is None:
            vectors = texts
        else:
            tokens = texts.flatten(0, 1)
            if not isinstance(self.sentences, WordNetwork):
                longest = int((tokens > 0).sum(dim=1).max())
                tokens = tokens[:, :longest]
            vectors = self.sentences(tokens).unflatten(0, texts.shape[:2])
        if texts.shape[1] == 1:
            return self.embedding(vectors[:, 0])
        return self.embedding(pair_features(vectors[:, 0], vectors[:, 1]))


def pair_features(u: Float[Tensor, "n w"], v: Float[Tensor, "n w"]) -> Float[Tensor, "n 4w"]:
    """Return (u, v, |u - v|, u * v).

    Example:
        >>> pair_features(torch.tensor([[2.0]]), torch.tensor([[5.0]]))
        tensor([[ 2.,  5.,  3., 10.]])
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


class BiLSTM(nn.Module):
    """Two layers of a bidirectional LSTM over word vectors, and the maximum over the words.

    Args:
        vectors: Vectors (v, w) of the words, the first of padding.
        hidden: Number of units in each direction; vectors of a text have twice as many.
        frozen: Whether the word vectors stay as they are.
        dropout: Share of the words' numbers dropped in training.

    Example:
        >>> network = BiLSTM(torch.randn(100, 50), hidden=16)
        >>> network(torch.tensor([[4, 8, 15], [16, 23, 0]])).shape  # two texts, the second of two words
        torch.Size([2, 32])
    """

    def __init__(
        self, vectors: Float[Tensor, "v w"], hidden: int, *, frozen: bool = True, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=frozen, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(vectors.shape[1], hidden, 2, batch_first=True, bidirectional=True)

    def forward(self, words: Int[Tensor, "n t"]) -> Float[Tensor, "n 2h"]:
        """Return the vectors of texts of at least one word, with 0 past their end."""
        lengths = (words > 0).sum(dim=1).cpu()
        packed = pack_padded_sequence(self.dropout(self.words(words)), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=-torch.inf)
        return states.amax(dim=1)


class WordNetwork(nn.Module):
    """A network over word vectors, of whose features of words (n, t, f) the mean over the words of a text is taken.

    Args:
        vectors: Vectors (v, w) of the words, the first of padding, which stays 0.
        network: Network from word vectors (n, t, w), 0 after the end of a text, to features of texts (n, f) or words
            (n, t, f).
        frozen: Whether the word vectors stay as they are.
    """

    def __init__(self, vectors: Float[Tensor, "v w"], network: nn.Module, *, frozen: bool) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=frozen, padding_idx=0)
        self.network = network

    def forward(self, words: Int[Tensor, "n t"]) -> Float[Tensor, "n f"]:
        features = features_in(self.network(self.words(words)))
        if features.dim() == 2:
            return features
        present = (words > 0)[:, :, None].to(features.dtype)
        return (features * present).sum(1) / present.sum(1)
