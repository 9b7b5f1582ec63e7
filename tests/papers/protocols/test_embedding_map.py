"""The map of an embedding: its samples, their labels, and how far it keeps their order."""

import numpy as np

from ordinate_papers.protocols.embedding_map import embedding_map


class Line:
    """An embedding on a line, which goes the way of the labels or not."""

    def __init__(self, turn):
        self.turn = turn

    def transform(self, X):
        return np.column_stack([self.turn(X[:, 0]), np.zeros(len(X))])


X = np.linspace(0, 1, 40)[:, None]


def test_the_order_is_that_of_the_embedding_and_not_of_the_picture(monkeypatch):
    monkeypatch.setattr("ordinate_papers.protocols.embedding_map.umap_points", lambda points: points)
    kept, lost = (embedding_map(Line(turn), X, 30 * X[:, 0]) for turn in (lambda x: 7 * x, lambda x: (5 * x) % 1))
    assert kept["order"] > 0.999  # rounding breaks ties between distances
    assert abs(lost["order"]) < 0.5
    assert np.shape(kept["places"]) == (40, 2)
    assert np.isfinite(kept["places"]).all()
    np.testing.assert_allclose(kept["labels"], 30 * X[:, 0])
