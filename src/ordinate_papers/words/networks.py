"""Networks over vectors of words."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ordinate.encoders.network import features_in
from ordinate.encoders.text import OverWords


class BiLSTM(OverWords):
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

    brings_weights = False

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


class WordNetwork(OverWords):
    """A network over word vectors, of whose features of words (n, t, f) the mean over the words of a text is taken.

    Args:
        vectors: Vectors (v, w) of the words, the first of padding, which stays 0.
        network: Network from word vectors (n, t, w), 0 after the end of a text, to features of texts (n, f) or words
            (n, t, f).
        frozen: Whether the word vectors stay as they are.
    """

    fixed_length = True

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
