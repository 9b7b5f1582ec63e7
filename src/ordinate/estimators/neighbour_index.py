"""The training samples nearest to a query in the embedding: search by example (OTD, Appendix C.1)."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ordinate.data.new_files import new_file
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.metrics.embedding import DECIMALS, unit_norm
from ordinate.metrics.inputs import check_neighbours
from ordinate.metrics.neighbours import nearest_neighbours

FORMAT = 1
ROUNDING = 1e-5  # of cosines that float32 computes
MORE = 32  # candidates beside the k asked for, among which float64 chooses

Candidates = Callable[[NDArray[np.float64], int], tuple[NDArray[np.float64], NDArray[np.int64]]]


@dataclass(frozen=True)
class Neighbours:
    """What a search found for n queries, the most similar first.

    Args:
        similarity: (n, k), cosines.
        rows: (n, k), of the samples that the index was built from.
        labels: (n, k) of these samples, None if the index has none.

    Example:
        >>> found = Neighbours(np.array([[1.0, 0.9]]), rows=np.array([[4, 7]]), labels=None)
        >>> found.rows[0].tolist()  # of the first query, the nearest first
        [4, 7]
    """

    similarity: NDArray[np.float64]
    rows: NDArray[np.int64]
    labels: NDArray[Any] | None


def search_parts(
    estimator: EmbeddingEstimator, queries: ArrayLike, parts: Iterable[tuple[ArrayLike, ArrayLike | None]], k: int
) -> Neighbours:
    """Return what an index of all parts together would find, while one part is held at a time.

    Args:
        estimator: fitted.
        queries: (n, d), embeddings by the estimator.
        parts: Parts of the samples to search, one after the other: embeddings (m, d) and labels (m,), None for none.
        k: neighbours of each, at most as many as all parts hold.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, X[:, 0] > 0.5)
        >>> parts = [(model.transform(X[start : start + 20]), None) for start in (0, 20, 40)]
        >>> found = search_parts(model, model.transform(X[:3]), parts, k=1)
        >>> found.similarity.ravel().round(6).tolist()
        [1.0, 1.0, 1.0]
    """
    units = unit_norm(np.asarray(queries, dtype=np.float64))
    best: Neighbours | None = None
    start = 0
    for embeddings, labels in parts:
        index = NeighbourIndex(estimator, embeddings, labels)
        found = index._search(units, min(k, len(index)))
        found = replace(found, rows=found.rows + start)
        best = found if best is None else _nearer(best, found, k)
        start += len(index)
    check_neighbours(k, start)
    return cast(Neighbours, best)  # as there are k samples


def _nearer(earlier: Neighbours, later: Neighbours, k: int) -> Neighbours:
    """Return the k nearest of two findings, of equally near samples the earlier ones."""

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(earlier, name), getattr(later, name)], axis=1)

    order = np.argsort(-joined("similarity"), axis=1, kind="stable")[:, :k]
    places = np.arange(len(order))[:, None], order
    labels = None if later.labels is None else joined("labels")[places]
    return Neighbours(joined("similarity")[places], joined("rows")[places], labels)


class NeighbourIndex:
    """Searches samples by the cosine of their embeddings.

    FAISS looks for candidates where it is installed (``pip install "ordinate[search]"``), scikit-learn where it is
    not; float64 decides among them, and looks at all samples where the candidates leave it open. What is found is that
    of :func:`ordinate.metrics.nearest_neighbours` in any case: cosines compared to 12 decimals, and of equally near
    samples the first.

    Args:
        estimator: fitted; embeds queries.
        embeddings: (m, d), by the estimator, of the samples to search.
        labels: (m,) or (m, p) of these samples, of any kind; None for none.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, y)
        >>> found = NeighbourIndex.build(model, X, y).search([[0.1], [0.9]], k=3)
        >>> found.labels.tolist()
        [[0, 0, 0], [2, 2, 2]]
    """

    def __init__(self, estimator: EmbeddingEstimator, embeddings: ArrayLike, labels: ArrayLike | None = None) -> None:
        check_is_fitted(estimator)
        self.estimator = estimator
        self.embeddings: NDArray[np.float64] = np.asarray(embeddings, dtype=np.float64)
        if self.embeddings.ndim != 2 or len(self.embeddings) == 0 or not np.isfinite(self.embeddings).all():
            raise OrdinateError("embeddings", f"shape {self.embeddings.shape}", "finite (m, d), m at least 1")
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and len(self.labels) != len(self.embeddings):
            raise OrdinateError("labels", f"{len(self.labels)} for {len(self.embeddings)} samples", "one per sample")
        self._units = unit_norm(self.embeddings)
        build = _candidates_of_faiss if find_spec("faiss") else _candidates_of_scikit_learn
        self._candidates = build(self._units)

    @classmethod
    def build(cls, estimator: EmbeddingEstimator, X: Any, y: ArrayLike | None = None) -> "NeighbourIndex":
        """Return an index of samples X, of the estimator's kind of data, with labels y."""
        X, y = inputs.unpack(X, y, estimator.data)
        return cls(estimator, estimator.transform(X), y)

    def __len__(self) -> int:
        return len(self.embeddings)

    def search(self, X: Any, k: int = 10) -> Neighbours:
        """Return the k samples nearest to each query.

        Args:
            X: n queries, samples of the estimator's kind of data.
            k: neighbours of each, at most as many as the index holds.
        """
        k = check_neighbours(k, len(self))
        return self._search(unit_norm(self.estimator.transform(X)), k)

    def _search(self, queries: NDArray[np.float64], k: int) -> Neighbours:
        similarity, rows = self._nearest(queries, k)
        return Neighbours(similarity, rows, None if self.labels is None else self.labels[rows])

    def _nearest(self, queries: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        count = min(k + MORE, len(self))
        least, rows = self._candidates(queries, count)
        rows.sort(axis=1)
        cosine = self._cosines(queries, rows)
        order = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
        cosine, rows = np.take_along_axis(cosine, order, axis=1), np.take_along_axis(rows, order, axis=1)
        open_ = (cosine[:, -1] <= least + ROUNDING) & (count < len(self))  # a sample beyond them may be as near
        if open_.any():
            rows[open_] = nearest_neighbours(queries[open_], self._units, k)
            cosine[open_] = self._cosines(queries[open_], rows[open_])
        return cosine, rows

    def _cosines(self, queries: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, c), of each query with its row of samples, rounded as metrics round them."""
        cosines = [self._units[candidates] @ query for query, candidates in zip(queries, rows, strict=True)]
        return np.round(np.array(cosines).reshape(rows.shape), DECIMALS)

    def save(self, path: str | Path) -> None:
        """Write the index to a new file: the embeddings as safetensors, labels and checksums in its header.

        The estimator is not part of it.
        """
        path = Path(path)
        if path.exists():
            raise OrdinateError("path", problem=f"{path} exists", expected="a new file")
        try:
            labels = json.dumps(None if self.labels is None else self.labels.tolist(), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise OrdinateError("labels", "labels that JSON cannot hold", f"numbers or text: {error}") from error
        header = {
            "format": str(FORMAT),
            "labels": labels,
            "encoder": _digest_of_encoder(self.estimator),
            "sha256": _digest(self.embeddings, labels),
        }
        with new_file(path, "path") as pending:
            pending.write_bytes(save({"embeddings": self.embeddings}, header))  # save_file's is its owner's alone

    @classmethod
    def load(cls, path: str | Path, estimator: EmbeddingEstimator) -> "NeighbourIndex":
        """Return the index that :meth:`save` wrote.

        Args:
            path: the file.
            estimator: that the index was built with.

        Raises:
            OrdinateError: a file that is damaged or no index, or an estimator with another encoder.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                header, embeddings = file.metadata(), file.get_tensor("embeddings")
            intact = header["format"] == str(FORMAT) and header["sha256"] == _digest(embeddings, header["labels"])
            labels, encoder = json.loads(header["labels"]), header["encoder"]
        except (OSError, SafetensorError, TypeError, KeyError, ValueError) as error:
            raise OrdinateError("index", problem=f"{path} is damaged or no index: {error}") from error
        if not intact:
            raise OrdinateError("index", problem=f"{path} is damaged, or of another format than {FORMAT}")
        if encoder != _digest_of_encoder(estimator):
            raise OrdinateError("estimator", problem=f"has another encoder than the one that {path} was built with")
        return cls(estimator, embeddings, labels)


def _candidates_of_faiss(units: NDArray[np.float64]) -> Candidates:
    import faiss

    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units.astype(np.float32))

    def candidates(queries: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        cosine, rows = index.search(queries.astype(np.float32), count)
        return cosine[:, -1].astype(np.float64), rows

    return candidates


def _candidates_of_scikit_learn(units: NDArray[np.float64]) -> Candidates:
    index = NearestNeighbors(algorithm="brute").fit(units)

    def candidates(queries: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        distance, rows = index.kneighbors(queries, count)
        return 1 - distance[:, -1] ** 2 / 2, rows  # of a zero embedding too much, which leaves it open

    return candidates


def _digest(embeddings: NDArray[np.float64], labels: str) -> str:
    return hashlib.sha256(embeddings.tobytes() + labels.encode()).hexdigest()


def _digest_of_encoder(estimator: EmbeddingEstimator) -> str:
    """Return a checksum of the weights as a saved model holds them."""
    digest = hashlib.sha256()
    for name, value in estimator.encoder_.state_dict().items():
        digest.update(name.encode())
        digest.update((value.float() if value.is_floating_point() else value).cpu().numpy().tobytes())
    return digest.hexdigest()
