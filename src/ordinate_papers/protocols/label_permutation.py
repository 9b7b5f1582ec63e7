"""Whether a method sees the order of its labels: training on permuted ones (SupReMix, Section 2.1, Fig. 2)."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator

from ordinate.counts import counted
from ordinate.data.decoded import evenly_spread
from ordinate.data.rows import Samples, take
from ordinate.errors import OrdinateError
from ordinate.metrics import spearman
from ordinate.report.page.projections import project
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import as_numbers, check_labels, score, train, with_order_of


def label_permutation(
    estimator: BaseEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    seed: int = 0,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores and order of the test embedding, trained on genuine labels and on permuted ones.

    SupReMix, Section 2.1, Fig. 2 (airfoil): label values are permuted, so that equal labels stay equal and different
    ones different. A method that sees labels as classes (SupCon) embeds the test set as before; one that sees their
    order does not. The paper shows t-SNE pictures; here they come with the scores of the predictions and the rank
    correlation, over all pairs of up to 1000 test samples, of the Euclidean distance of embeddings with the distance of
    labels. Training and test labels are permuted in the same way.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimator: Estimator that is not fitted, with ``transform`` once fitted.
        X_test: Three or more test samples.

    Returns:
        ``rows``, one each for ``"genuine"`` and ``"permuted"`` labels: ``labels``, the scores, ``order``, the rank
        correlation with the labels that training had, and ``genuine_order``, that with the genuine ones, in [-1, 1];
        and ``pictures``, from the same names to ``places``, the t-SNE coordinates (m, 2) of the test samples'
        embeddings, which are 0 where fewer than ten of these differ, and ``labels`` (m,), the ranks or targets that
        training had for them.

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
        raise OrdinateError("y_test", counted(len(test_labels), "sample"), "at least 3 to compare distances of")
    both = permute_labels(np.concatenate([labels, test_labels]), seed)
    trained_on = {"genuine": (labels, test_labels), "permuted": (both[: len(labels)], both[len(labels) :])}

    def trial(name: str) -> Figures:
        training, test = trained_on[name]
        model = train(estimator, X, training, name, groups)
        numbers = as_numbers(estimator, test, y), as_numbers(estimator, test_labels, y)
        return {**score(model, X_test, test), **_order(model, X_test, *numbers)}

    rows, pictures = [], {}
    for name in trained_on:
        figures = keep(name, partial(trial, name))
        pictures[name] = figures.pop("picture")
        rows.append({"labels": name, **figures})
    return {"rows": rows, "pictures": pictures}


def permute_labels(y: ArrayLike, seed: int = 0) -> NDArray[Any]:
    """Permute the label values (n,), out of their order: equal labels stay equal, different ones different.

    A permutation that keeps or reverses the order is drawn again.

    Raises:
        OrdinateError: fewer than three values, which have no other order.

    Example:
        >>> permute_labels([10, 20, 20, 30], seed=0).tolist()
        [30, 10, 10, 20]
    """
    values, places = np.unique(np.asarray(y), return_inverse=True)
    if len(values) < 3:
        raise OrdinateError("y", counted(len(values), "different label"), "at least 3, which can lose their order")
    random = np.random.default_rng(seed)
    order = random.permutation(len(values))
    while len(set(np.sign(np.diff(order)))) == 1:
        order = random.permutation(len(values))
    return np.asarray(values[order][places])


def _order(model: BaseEstimator, X: Samples, labels: NDArray[np.float64], genuine: NDArray[np.float64]) -> Figures:
    """Return the order of the embeddings by the labels that training had and by the genuine ones, and their t-SNE."""
    rows = np.array(evenly_spread(len(X), 1000))
    embeddings = model.transform(take(X, rows))
    distances = pdist(embeddings)
    order, genuine_order = (spearman(pdist(some[rows, None]), distances) for some in (labels, genuine))
    drawn = project(embeddings, ("tsne",))  # Nothing is drawn of an embedding that has collapsed to a few points.
    places = drawn[0].points if drawn else np.zeros((len(rows), 2))
    picture = {"places": places.tolist(), "labels": labels[rows].tolist()}
    return {"order": order, "genuine_order": genuine_order, "picture": picture}
