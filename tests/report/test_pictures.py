"""Which pictures and numbers a fitted model gets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ordinate.estimators.predictions import Predictions
from ordinate.metrics import knn_accuracy
from ordinate.report import evaluation, pictures
from tests.estimators.examples import cloc, draw_table, otd, ranks_of, supcr

X, TARGET = draw_table(48)
Y = ranks_of(TARGET)
OF_RANKS = {"embedding", "predictions", "cosine_matrix", "knn_curve"}


@pytest.fixture(scope="module")
def fitted():
    return cloc(critical_margins={(1, 2): 0.8}, epochs=(2, 2)).fit(X, Y)


@pytest.fixture
def drawn(monkeypatch):
    """The figures by the name of their file, before they are saved."""
    figures = {}

    def keep(figure, path):
        figures[path.name] = figure
        return path

    monkeypatch.setattr(pictures.figures, "save", keep)
    yield figures
    plt.close("all")


@pytest.mark.parametrize(
    ("make", "y", "names"),
    [
        (cloc, Y, OF_RANKS | {"margins", "margins_over_training"}),
        (otd, Y, OF_RANKS),
        (supcr, TARGET, {"embedding", "predictions"}),
    ],
    ids=["cloc", "otd", "supcr"],
)
def test_every_method_has_its_pictures(tmp_path, make, y, names):
    paths = pictures.draw(Predictions.of(make().fit(X, y), X, y), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.png" for name in names}
    assert set(paths) == set(tmp_path.iterdir())


@pytest.mark.parametrize(("samples", "most"), [(48, 30), (9, 8), (2, 1)])
def test_the_curve_of_neighbours_ends_at_30_or_at_all_there_are(tmp_path, fitted, drawn, samples, most):
    rows = np.linspace(0, 47, samples, dtype=int)
    pictures.draw(Predictions.of(fitted, X[rows], Y[rows]), tmp_path)
    (line,) = drawn["knn_curve.png"].axes[0].lines
    assert line.get_xdata().tolist() == list(range(1, most + 1))
    if samples == 48:
        assert line.get_ydata()[2] == pytest.approx(evaluation.evaluate(fitted, X, Y)["knn_accuracy"], abs=1e-15)
        assert line.get_ydata()[29] == pytest.approx(knn_accuracy(fitted.transform(X), Y, 30), abs=1e-15)


def test_of_many_samples_a_random_part_is_compared_and_drawn(tmp_path, fitted, drawn, monkeypatch):
    before = evaluation.evaluate(fitted, X, Y)
    for module in (evaluation, pictures):
        monkeypatch.setattr(module, "MOST_COMPARED", 20)
    part = np.sort(np.random.default_rng(0).permutation(48)[:20])
    after = evaluation.evaluate(fitted, X, Y)
    assert after.pop("knn_accuracy") == knn_accuracy(fitted.transform(X[part]), Y[part], 3)
    del before["knn_accuracy"]
    assert after == before
    pictures.draw(Predictions.of(fitted, X, Y), tmp_path)
    points = np.concatenate([each.get_offsets() for each in drawn["embedding.png"].axes[0].collections])
    assert len(points) == 20
