"""Encoders of text: sentences to vectors, and one vector or those of a pair to the embedding."""

from typing import Self

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ordinate.encoders.network import PartlyTrained
from ordinate.errors import OrdinateError


class OverWords(nn.Module):
    """The base of networks over vectors of words, as extensions bring them.

    Attributes:
        brings_weights: Whether parts of it may be kept as they are.
        fixed_length: Whether it takes the numbers of words with the padding of the longest text allowed.
    """

    brings_weights = True
    fixed_length = False


class TextEncoder(PartlyTrained):
    """Texts through a sentence encoder, and a network from what they give to the embedding.

    A single text's features are its vector u; a pair's are ``(u, v, |u - v|, u * v)``, as in the model of STS-B-DIR
    (Yang et al., 2021), which SupReMix follows. The authors regress on these; here a network with one hidden layer of
    512 tanh units and layer normalisation brings them to the embedding.

    Args:
        sentences: Network from tokens (n, t), 0 after the end of a text, to vectors (n, width), a transformer unless it
            is :class:`OverWords`; None if samples come as vectors already.
        width: Width of these vectors.
        per_sample: Number of texts of a sample, 1 or 2.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.
        hidden: Units of the hidden layer.
        dropout: Share of the features and of the hidden units dropped in training.

    Example:
        >>> TextEncoder(None, width=8, per_sample=2, embedding_dim=3)(torch.randn(6, 2, 8)).shape
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
            over_words = isinstance(self.sentences, OverWords)
            for part in self.sentences.modules():
                part.training = part.training and over_words and not isinstance(part, _DropoutNd)
        return self

    def train_only(self, trained: int | str) -> PartlyTrained:
        if isinstance(self.sentences, OverWords) and not self.sentences.brings_weights:
            raise OrdinateError("train_encoder", repr(trained), "'all' for a network that has no weights to keep")
        return super().train_only(trained)

    def forward(self, texts: Num[Tensor, "n k t"]) -> Float[Tensor, "n d"]:
        if self.sentences is None:
            vectors = texts
        else:
            tokens = texts.flatten(0, 1)
            if not (isinstance(self.sentences, OverWords) and self.sentences.fixed_length):
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
