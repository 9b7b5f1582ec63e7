"""What a trial takes and says: rows of any samples, a folder of its own, scores of ranks and of targets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error
from sklearn.neighbors import KNeighborsClassifier

from ordinate.data.images.pixels import Decoded, ImagePreprocessing
from ordinate.data.rows import take
from ordinate.metrics import continuous_report
from ordinate_papers.protocols.trial import score, train
from tests.estimators.examples import draw_table, otd, ranks_of

ROWS = np.array([4, 0, 2])


def test_rows_are_taken_from_every_kind_of_samples():
    array = np.arange(10).reshape(5, 2)
    frame = pd.DataFrame(array, index=list("abcde"))
    assert (take(array, ROWS) == array[ROWS]).all()
    assert (take(frame, ROWS).to_numpy() == array[ROWS]).all()
    assert take(list("abcde"), ROWS) == ["e", "a", "c"]
    pixels = np.arange(5, dtype=np.uint8)[:, None, None, None]
    assert take(Decoded(pixels, ImagePreprocessing((1, 1), 1)), ROWS).pixels.ravel().tolist() == [4, 0, 2]


def test_a_clone_is_trained_in_a_folder_of_its_own(tmp_path):
    X, target = draw_table()
    estimator = otd(checkpoint_dir=tmp_path)
    model = train(estimator, X, ranks_of(target), "part")
    assert not hasattr(estimator, "method_")
    assert [path.name for path in tmp_path.iterdir()] == ["part"]
    assert (tmp_path / "part" / "last.ckpt").exists()
    assert (model.predict(X) == otd().fit(X, ranks_of(target)).predict(X)).all()


def test_scores_of_ranks_are_scikit_learns():
    X, target = draw_table()
    y = ranks_of(target, 4)
    model = KNeighborsClassifier(5).fit(X[::2], y[::2])
    predicted = model.predict(X)
    assert score(model, X, y) == pytest.approx(
        {
            "accuracy": accuracy_score(y, predicted),
            "mae": mean_absolute_error(y, predicted),
            "quadratic_weighted_kappa": cohen_kappa_score(y, predicted, weights="quadratic"),
        },
        rel=1e-12,
    )


def test_scores_of_targets_are_the_report_of_targets():
    X, target = draw_table()
    model = DummyRegressor().fit(X, target)
    assert score(model, X, target) == continuous_report(target, model.predict(X))
