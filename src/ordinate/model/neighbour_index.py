"""The training samples nearest to a query in the embedding: search by example (OTD, Appendix C.1)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.counts import counted
from ordinate.data.other_containers import unpack
from ordinate.data.rows import Labels, column_of
from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_neighbours
from ordinate.metrics.nearness import similarities
from ordinate.metrics.neighbours import nearest_neighbours
from ordinate.model.model import Model


@dataclass(frozen=True)
class Neighbours:
    """What a search found for n queries, the most similar first.

    Args:
        similarity: (n, k), of the embeddings: cosines, or distances with a minus sign.
        rows: (n, k), places of the samples in the index.
        labels: (n, k) or (n, k, p), their labels; None for an index without labels.

    Example:
        >>> Neighbours(np.array([[0.9, 0.8]]), np.array([[4, 1]]), None).rows.tolist()
        [[4, 1]]
    """

    similarity: NDArray[np.float64]
    rows: NDArray[np.int64]
    labels: Labels | None


class NeighbourIndex:
    """Searches samples by the similarity of the model, exactly; of equally near samples the first ones come first.

    Args:
        model: Fitted model that embeds the queries.
        embeddings: (m, d), embeddings of the samples to search by that model.
        labels: (m,) or (m, p), their labels; None for none.

    Raises:
        OrdinateError: embeddings that are not finite or no matrix, or labels of another number.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7])).fitted
        >>> index = NeighbourIndex.build(model, X, X[:, 0])
        >>> index.search([[0.2]], k=3).rows.shape
        (1, 3)
    """

    def __init__(self, model: Model, embeddings: ArrayLike, labels: ArrayLike | None = None) -> None:
        self.model = model
        self.embeddings: NDArray[np.float64] = np.asarray(embeddings, dtype=np.float64)
        if self.embeddings.ndim != 2 or len(self.embeddings) == 0 or not np.isfinite(self.embeddings).all():
            raise OrdinateError("embeddings", f"shape {self.embeddings.shape}", "finite (m, d), m at least 1")
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and len(self.labels) != len(self.embeddings):
            raise OrdinateError(
                "labels", f"{len(self.labels)} for {counted(len(self.embeddings), 'sample')}", "one per sample"
            )

    @classmethod
    def build(cls, model: Model, X: ArrayLike | pd.DataFrame, y: ArrayLike | None = None) -> "NeighbourIndex":
        """Return an index of samples X, of the model's kind of data, with labels y."""
        X, y = unpack(X, y)
        return cls(model, model.transform(X), y)

    def __len__(self) -> int:
        return len(self.embeddings)

    def search(self, X: ArrayLike | pd.DataFrame, k: int = 10) -> Neighbours:
        """Return the k samples nearest to each query.

        Args:
            X: Queries (n) of the model's kind of data.
            k: Number of samples, at most those of the index.
        """
        k = check_neighbours(k, len(self))
        return self.nearest(self.model.transform(X), k)

    def nearest(self, queries: NDArray[np.float64], k: int) -> Neighbours:
        """Return the k samples nearest to embeddings (n, d)."""
        similarity = self.model.similarity
        rows = nearest_neighbours(queries, self.embeddings, k, similarity=similarity)
        values = similarities(queries, self.embeddings[rows], similarity)
        return Neighbours(values, rows, column_of(self.labels, rows))
