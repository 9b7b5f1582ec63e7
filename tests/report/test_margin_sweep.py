"""The sweep of one boundary's margin: what is trained, what is measured, in which order."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, mean_absolute_error

from ordinate.errors import OrdinateError
from ordinate.report import curves
from ordinate.report.margin_sweep import mean_trade, sweep_margin
from tests.estimators.examples import cloc, draw_table, ranks_of

X, TARGET = draw_table(60)
Y = ranks_of(TARGET)


class Constant:
    """Stands in for an estimator where training does not matter: it predicts the first of its classes."""

    def __init__(self, trained, settings, class_order):
        self.trained = trained
        self.settings = settings
        self.class_order = class_order

    def fit(self, X, y):
        self.trained.append(self.settings)
        return self

    def predict(self, X):
        return np.full(len(X), self.class_order[0])


def constants(trained, class_order=(0, 1, 2)):
    return lambda margins, seed: Constant(trained, (margins, seed), class_order)


def test_every_margin_is_trained_once_a_seed_with_the_others_learned():
    trained = []
    runs = sweep_margin(constants(trained), X, Y, X, Y, (1, 2), [None, 0.8], [3, 4])
    assert [(run["margin"], run["seed"]) for run in runs] == [(None, 3), (None, 4), (0.8, 3), (0.8, 4)]
    assert trained == [(None, 3), (None, 4), ({(1, 2): 0.8}, 3), ({(1, 2): 0.8}, 4)]


def test_a_record_holds_what_scikit_learn_measures_of_the_same_training():
    (run,) = sweep_margin(
        lambda margins, seed: cloc(critical_margins=margins), X, Y, X[:40], Y[:40], (0, 1), [0.6], [0]
    )
    predicted = cloc(critical_margins={(0, 1): 0.6}).fit(X, Y).predict(X[:40])
    confusion = confusion_matrix(Y[:40], predicted, labels=range(3))
    swapped = [confusion[h, h + 1] + confusion[h + 1, h] for h in (0, 1)]
    samples = [confusion[h : h + 2].sum() for h in (0, 1)]
    assert run == {
        "margin": 0.6,
        "seed": 0,
        "critical_error": swapped[0] / samples[0],
        "accuracy": accuracy_score(Y[:40], predicted),
        "mae": mean_absolute_error(Y[:40], predicted),
        "adjacent_errors": [swapped[h] / samples[h] for h in (0, 1)],
    }


def test_ranks_with_names_are_measured_in_the_order_of_their_classes():
    order = ["mild", "grave", "deadly"]
    y = np.repeat(order, [1, 3, 2])
    (run,) = sweep_margin(constants([], order), X[:6], y, X[:6], y, ("mild", "grave"), [0.7], [0])
    assert (run["critical_error"], run["adjacent_errors"]) == (3 / 4, [3 / 4, 0])
    assert run["mae"] == (3 + 2 * 2) / 6


def test_a_boundary_without_samples_has_no_error_rate():
    (run,) = sweep_margin(constants([]), X, Y, X[:2], [0, 0], (0, 1), [0.7], [0])
    assert run["critical_error"] == 0
    assert np.isnan(run["adjacent_errors"][1])


def test_means_and_deviations_are_over_the_seeds_of_a_margin():
    runs = [
        {"margin": margin, "seed": seed, "critical_error": error, "accuracy": share, "mae": 0.0, "adjacent_errors": []}
        for margin, seed, error, share in [
            (None, 0, 0.1, 0.5), (None, 1, 0.3, 0.7), (1.0, 0, 0.2, 0.4), (1.0, 1, 0.2, 0.6), (0.5, 0, 0.0, 1.0)
        ]
    ]  # fmt: skip
    trade = mean_trade(runs)
    assert trade["margins"] == [None, 1.0, 0.5]
    np.testing.assert_allclose(trade["critical_error"], [0.2, 0.2, 0.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(trade["accuracy"], [0.6, 0.5, 1.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(trade["deviations"], [[0.1, 0, 0], [0.1, 0.1, 0]], rtol=0, atol=1e-15)
    (axes,) = curves.margin_trade(**trade, boundary_name="mild | grave").axes
    assert [text.get_text() for text in axes.texts] == ["learned", "1", "0.5"]


@pytest.mark.parametrize(
    ("boundary", "y_test", "message"),
    [
        ((0, 2), Y, r"boundary: got \(0, 2\), expected two adjacent labels, lower first, of 0 < 1 < 2"),
        ((2, 3), Y, "boundary: got"),
        ((-1, 0), Y, "boundary: got"),
        ((0, 1), np.full(60, 2), "y_test: got no sample of 0 and 1"),
        ((0, 1), np.full(60, 7), "y: got unknown labels"),
    ],
)
def test_what_cannot_be_measured_is_said_before_any_training(boundary, y_test, message):
    trained = []
    with pytest.raises(OrdinateError, match=message):
        sweep_margin(constants(trained), X, Y, X, y_test, boundary, [None], [0])
    assert trained == []


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_where_asked_for(capsys, progress):
    sweep_margin(constants([]), X, Y, X, Y, (0, 1), [0.6], [0], progress=progress)
    assert ("1/1" in capsys.readouterr().err) == progress
