"""The picture of embeddings by labels draws what was measured."""

import matplotlib.pyplot as plt
import numpy as np

from ordinate_papers.figures.embeddings_by_labels import embeddings_by_labels


def test_embeddings_are_coloured_by_the_labels_of_training():
    rng = np.random.default_rng(0)
    pictures = {
        method: {kind: {"places": rng.normal(size=(5, 2)).tolist(), "labels": rng.random(5)} for kind in ("a", "b")}
        for method in ("supcon", "supremix")
    }
    figure = embeddings_by_labels(pictures)
    drawn = iter(figure.axes)
    for by_kind in pictures.values():
        for picture in by_kind.values():
            points = next(drawn).collections[0]
            assert points.get_offsets().tolist() == picture["places"]
            assert (points.get_array() == picture["labels"]).all()
    plt.close("all")
