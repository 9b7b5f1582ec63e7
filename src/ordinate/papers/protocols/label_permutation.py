"""Whether a method sees the order of its labels: training on permuted ones (SupReMix, Section 2.1, Fig. 2)."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import is_classifier

from ordinate.data.rows import take
from ordinate.errors import OrdinateError
from ordinate.estimators.rank_labels import to_ranks
from ordinate.metrics import spearman
from ordinate.papers.protocols.parts import Figures, Keep, compute
from ordinate.papers.protocols.trial import check_labels, classes_of, score, train, with_order_of

MOST_SAMPLES = 1000  # of the test set, between whose pairs the order is measured


def label_permutation(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    seed: int = 0,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores and order of the test embedding, trained on genuine labels and on permuted ones.

    SupReMix, Section 2.1, Fig. 2 (airfoil): label values are permuted so that samples of one label keep one label and
    samples of different labels keep different ones. A method that sees labels as classes (SupCon) embeds the test set
    as before; one that sees their order does not. The paper shows t-SNE pictures; chosen here: the same, and beside
    them figures, the scores of the predictions and the rank correlation, over all pairs of up to 1000 test samples, of
    the Euclidean distance of their embeddings with the distance of their labels, both those that training had and the
    genuine ones. Training and test labels are permuted by the same permutation of all their values.

    Args:
        estimator: not fitted, with ``transform`` once fitted.
        X: n training samples, as the estimator takes them.
        y: (n,), their labels.
        X_test: samples to measure on, three or more.
        y_test: their labels.
        seed: of the permutation.
        groups: (n,) of the training samples, for an estimator that holds some of them out by itself: none of these is
            on both sides.
        keep: keeps the figures of either labels.

    Returns:
        ``rows``, a record each for ``"genuine"`` and ``"permuted"`` labels: ``labels``, the scores, ``order``, the rank
        correlation with the labels that training had, and ``genuine_order``, that with the genuine ones, in [-1, 1];
        and ``pictures``, from the same names to ``places``, the t-SNE coordinates (m, 2)
        of the test samples' embeddings, and ``labels`` (m,), the ranks or targets that training had for them.

    Raises:
        OrdinateError: labels of several dimensions, too few test samples, or what the estimator refuses.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.25, 0.5, 0.75])
        >>> estimator = OTDClassifier(epochs=20, random_state=0)
        >>> genuine, permuted = label_permutation(estimator, X, y, X, y)["rows"]
        >>> genuine["genuine_order"] > permuted["genuine_order"]
        True
    """
    estimator = with_order_of(estimator, y)
    labels, test_labels = check_labels(X, y), check_labels(X_test, y_test, "y_test")
    if len(test_labels) < 3:
        raise OrdinateError(f"y_test: got {len(test_labels)} samples, takes at least 3 to compare distances of")
    classes = classes_of(estimator, y) if is_classifier(estimator) else None
    both = permute_labels(np.concatenate([labels, test_labels]), seed)
    trained_on = {"genuine": (labels, test_labels), "permuted": (both[: len(labels)], both[len(labels) :])}
    rows, pictures = [], {}
    for name, (training, test) in trained_on.items():
        figures = keep(name, partial(_trial, estimator, X, training, X_test, test, test_labels, classes, name, groups))
        pictures[name] = figures.pop("picture")
        rows.append({"labels": name, **figures})
    return {"rows": rows, "pictures": pictures}


def permute_labels(y: ArrayLike, seed: int = 0) -> NDArray[Any]:
    """Permute the label values, out of their order: equal labels stay equal, different ones different.

    Args:
        y: (n,), ranks or targets of at least three values.
        seed: of the permutation; one that keeps or reverses the order is drawn again.

    Raises:
        OrdinateError: fewer than three values, which have no other order.

    Example:
        >>> permute_labels([10, 20, 20, 30], seed=0).tolist()
        [30, 10, 10, 20]
    """
    values, places = np.unique(np.asarray(y), return_inverse=True)
    if len(values) < 3:
        raise OrdinateError(f"y: got {len(values)} different labels, takes at least 3, which can lose their order")
    random = np.random.default_rng(seed)
    order = random.permutation(len(values))
    while len(set(np.sign(np.diff(order)))) == 1:
        order = random.permutation(len(values))
    return np.asarray(values[order][places])


def _trial(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    X_test: Any,
    y_test: NDArray[Any],
    genuine: NDArray[Any],
    classes: NDArray[Any] | None,
    name: str,
    groups: ArrayLike | None,
) -> Figures:
    from sklearn.manifold import TSNE

    model = train(estimator, X, y, name, groups)
    scores = score(model, X_test, y_test)
    rows = np.linspace(0, len(y_test) - 1, min(MOST_SAMPLES, len(y_test))).astype(int)
    embeddings = model.transform(take(X_test, rows))
    numbers = [
        np.asarray(labels[rows] if classes is None else to_ranks(labels[rows], classes), dtype=np.float64)
        for labels in (y_test, genuine)
    ]
    distances = pdist(embeddings)
    order, genuine_order = (spearman(pdist(labels[:, None]), distances) for labels in numbers)
    places = TSNE(perplexity=min(30, len(rows) - 1), random_state=0).fit_transform(embeddings.astype(np.float32))
    picture = {"places": places.tolist(), "labels": numbers[0].tolist()}
    return {**scores, "order": order, "genuine_order": genuine_order, "picture": picture}
