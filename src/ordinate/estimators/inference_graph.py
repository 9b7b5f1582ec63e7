"""A fitted estimator's inference as one module of tensor operations, for other runtimes.

It starts where the estimator's reader ends and computes in the estimator's own precision, float64 behind encoders of
tables and in every head. Convolutions are in float32, as runtimes have no others: images are so in the estimator
too, series are not.
"""

import copy

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Num
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from ordinate.decisions.rule import TIE as TIE_OF_PROBABILITIES
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.heads.neighbours import TIE_BREAK, NeighbourMean, NeighbourVote
from ordinate.heads.temperature import VoteProbabilities

TIE = 1e-9  # between similarities, relative to the largest: below, rounding decides which neighbour is nearer


class InferenceGraph(nn.Module):
    """From a batch as the reader gives it to embeddings and predictions.

    Args:
        estimator: fitted.

    The forward pass takes float32 features (n, f) or series (n, c, t), or uint8 images (n, c, h, w), and returns
    float64: ``"embedding"`` (n, d), and ``"probability"`` (n, C) of a classifier, by rank, or ``"prediction"`` (n,) or
    (n, p) of a regressor, in units of the labels; of a classifier also ``"rank"`` (n,), int64, which it predicts.

    Raises:
        OrdinateError: an estimator of another kind.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupCRRegressor(epochs=(2, 2), random_state=0).fit(X, 10 * X[:, 0])
        >>> graph = InferenceGraph(model)
        >>> {name: tuple(value.shape) for name, value in graph(torch.zeros(5, *graph.sample_shape)).items()}
        {'embedding': (5, 64), 'prediction': (5,)}
    """

    def __init__(self, estimator: EmbeddingEstimator) -> None:
        super().__init__()
        reader = estimator.reader_
        self.sample_shape, self.sample_dtype, self.dtype = reader.sample_shape, reader.input_dtype, reader.graph_dtype
        self.encoder = copy.deepcopy(estimator.encoder_).to(self.dtype)
        self.head = _head(estimator)
        self.decision = _Decision(estimator.rule) if isinstance(estimator, RankClassifier) else None
        self.predicts = "prediction" if self.decision is None else "probability"
        self.outputs = ["embedding", self.predicts, *(["rank"] if self.decision is not None else [])]

    def forward(self, samples: Num[Tensor, "n ..."]) -> dict[str, Tensor]:
        embedding = self.encoder(samples.to(self.dtype)).double()
        predicted = self.head(embedding)
        outputs = {"embedding": embedding, self.predicts: predicted}
        return outputs if self.decision is None else {**outputs, "rank": self.decision(outputs["probability"])}

    def undecided(self, embeddings: Float[Tensor, "n d"]) -> Bool[Tensor, " n"]:
        """Return where rounding decides which training samples are the nearest, so that predictions may differ."""
        head: nn.Module = self.head
        if isinstance(head, _Shifted):
            head = head.head
        if isinstance(head, VoteProbabilities):
            head = head.vote
        if not isinstance(head, _Vote | _Mean) or head.k == len(head.embeddings):
            return torch.zeros(len(embeddings), dtype=torch.bool)
        nearest = head.nearness(embeddings).topk(head.k + 1).values
        return nearest[:, -2] - nearest[:, -1] <= TIE * nearest.abs().amax(1)


def _head(estimator: EmbeddingEstimator) -> nn.Module:
    """Return the module from embeddings to probabilities or predictions."""
    predictor = estimator.predictor_
    if isinstance(predictor, VoteProbabilities):
        probabilities = copy.deepcopy(predictor)
        probabilities.add_module("vote", _Vote(predictor.vote))
        return probabilities
    if isinstance(estimator, RankClassifier):
        return copy.deepcopy(predictor)
    if isinstance(estimator, TargetRegressor):
        head = _Mean(predictor) if isinstance(predictor, NeighbourMean) else predictor
        labels = estimator.labels_
        return _Shifted(head, torch.from_numpy(labels.offset), labels.is_vector)
    raise OrdinateError("estimator", type(estimator).__name__, "a classifier of ranks or a regressor")


class _Decision(nn.Module):
    """:func:`~ordinate.decisions.predict_ranks` as tensor operations."""

    costs: Tensor | None

    def __init__(self, rule: str | NDArray[np.float64]) -> None:
        super().__init__()
        self.is_median = isinstance(rule, str) and rule == "median"
        self.register_buffer("costs", None if isinstance(rule, str) else torch.from_numpy(rule))

    def forward(self, probabilities: Float[Tensor, "n c"]) -> Int[Tensor, " n"]:
        if self.is_median:
            return (probabilities.cumsum(1)[:, :-1] < 0.5 - TIE_OF_PROBABILITIES).long().sum(1)
        if self.costs is None:
            return (probabilities >= probabilities.amax(1, keepdim=True) - TIE_OF_PROBABILITIES).long().argmax(1)
        expected = probabilities @ self.costs
        bound = expected.amin(1, keepdim=True) + TIE_OF_PROBABILITIES * self.costs.max()
        return (expected <= bound).long().argmax(1)


class _Shifted(nn.Module):
    """Predictions of a head that was trained on centred targets."""

    offset: Tensor

    def __init__(self, head: nn.Module, offset: Float[Tensor, " p"], is_vector: bool) -> None:
        super().__init__()
        self.head = head
        self.is_vector = is_vector
        self.register_buffer("offset", offset)

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Tensor:
        predicted = self.head(embeddings) + self.offset
        return predicted[:, 0] if self.is_vector else predicted


class _Vote(nn.Module):
    """:class:`~ordinate.heads.NeighbourVote` for a batch of any size."""

    embeddings: Tensor
    votes: Tensor
    one_hot: Tensor

    def __init__(self, head: NeighbourVote) -> None:
        super().__init__()
        self.k = head.k
        self.register_buffer("embeddings", normalize(head.embeddings, eps=0))
        votes = 1 + TIE_BREAK * 0.5 ** torch.arange(self.k, dtype=torch.float64)
        self.register_buffer("votes", votes)
        one_hot = nn.functional.one_hot(head.ranks, head.num_classes).double()
        self.register_buffer("one_hot", one_hot if head.weights is None else head.weights[:, None] * one_hot)

    def nearness(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        """Return cosines."""
        norm = torch.linalg.vector_norm(queries, dim=1, keepdim=True)
        return queries / torch.where(norm == 0, 1, norm) @ self.embeddings.T

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        nearest = self.nearness(queries).topk(self.k).indices
        counted = (self.votes[:, None] * self.one_hot[nearest]).sum(1)
        return counted / counted.sum(1, keepdim=True)


class _Mean(nn.Module):
    """:class:`~ordinate.heads.NeighbourMean` for a batch of any size."""

    embeddings: Tensor
    targets: Tensor
    weights: Tensor
    centre: Tensor

    def __init__(self, head: NeighbourMean) -> None:
        super().__init__()
        self.k = head.k
        self.register_buffer("centre", head.embeddings.mean(0))  # distances from it lose fewer digits than from 0
        self.register_buffer("embeddings", head.embeddings - self.centre)
        self.register_buffer("targets", head.targets)
        self.register_buffer(
            "weights", torch.ones(len(head.targets)).double() if head.weights is None else head.weights
        )

    def nearness(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        """Return negative squared distances, up to what they have in common in a row."""
        return 2 * (queries - self.centre) @ self.embeddings.T - self.embeddings.square().sum(1)

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        nearest = self.nearness(queries).topk(self.k).indices
        between = (queries - self.centre)[:, None] - self.embeddings[nearest]
        distance = torch.linalg.vector_norm(between, dim=2)
        closest = distance.amin(1, keepdim=True)
        # relative to the closest, so that a distance of 0 divides nothing by 0
        weights = self.weights[nearest] * torch.where(closest > 0, closest / distance, (distance == 0).double())
        return (weights[:, :, None] * self.targets[nearest]).sum(1) / weights.sum(1, keepdim=True)
