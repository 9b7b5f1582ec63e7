"""How the size of an embedding affects its quality (OTD, C.2, Fig. 13)."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ordinate.errors import OrdinateError
from ordinate.estimators.labels import to_ranks
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.metrics import knn_accuracy, svm_accuracy


class SizeRun(TypedDict):
    """One training: its embedding's dimensions, its seed, and the quality of the embedding on the test set."""

    embedding_dim: int
    seed: int
    svm_accuracy: float
    knn_accuracy: float


def sweep_embedding_dim(
    build: Callable[[int, int], RankClassifier],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    progress: bool = False,
) -> list[SizeRun]:
    """Train with every size of the embedding, once per seed, and evaluate the embeddings of the test set.

    ``build`` makes an unfitted classifier from an embedding's dimensions and a seed. The records are in the order of
    sizes and seeds: the accuracy of a support vector machine with an RBF kernel, fitted on the training embeddings
    (Table 1), and the share of three nearest neighbours with the same rank (eq. 6; of fewer where there are no three).

    Raises:
        OrdinateError: sizes below 1, or fewer than two test samples; before any training.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> def build(size, seed):
        ...     return OTDClassifier(embedding_dim=size, epochs=2, random_state=seed)
        >>> runs = sweep_embedding_dim(build, X, y, X, y, sizes=[2, 8], seeds=[0])
        >>> [run["embedding_dim"] for run in runs]
        [2, 8]
    """
    if min(sizes) < 1:
        raise OrdinateError("sizes", min(sizes), "dimensions of at least 1")
    if len(y_test) < 2:
        raise OrdinateError("y_test", f"{len(y_test)} sample(s)", "at least two, to have neighbours")
    runs: list[SizeRun] = []
    for size, seed in tqdm([*product(sizes, seeds)], unit="fit", dynamic_ncols=True, disable=not progress):
        model = build(size, seed).fit(X, y)
        ranks, test_ranks = to_ranks(y, model.ordered_classes_), to_ranks(y_test, model.ordered_classes_)
        unseen = model.transform(X_test)
        runs.append(
            {
                "embedding_dim": size,
                "seed": seed,
                "svm_accuracy": svm_accuracy(unseen, test_ranks, ref_emb=model.transform(X), ref_labels=ranks),
                "knn_accuracy": knn_accuracy(unseen, test_ranks, min(3, len(test_ranks) - 1)),
            }
        )
    return runs


def mean_by_size(runs: Sequence[SizeRun]) -> tuple[list[int], NDArray[np.float64]]:
    """Return the sizes, ascending, and the mean SVM accuracy of each, as ``accuracy_by_embedding_size`` draws them."""
    sizes = sorted({run["embedding_dim"] for run in runs})
    return sizes, np.array(
        [np.mean([run["svm_accuracy"] for run in runs if run["embedding_dim"] == size]) for size in sizes]
    )
