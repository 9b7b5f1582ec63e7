"""Metrics of ranks against scikit-learn, counts by hand, and CLOC's Table 2."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, cohen_kappa_score, confusion_matrix, mean_absolute_error
from sklearn.model_selection import GridSearchCV, cross_val_score

from ordinate.errors import OrdinateError
from ordinate.metrics import (
    accuracy,
    adjacent_error_rates,
    amae,
    mae,
    mmae,
    quadratic_weighted_kappa,
    rank_report,
    rank_scorer,
    ranked_probability_score,
)

C = 5
pairs_of_ranks = st.lists(st.tuples(st.integers(0, C - 1), st.integers(0, C - 1)), min_size=1, max_size=40)


@given(pairs_of_ranks)
def test_accuracy_and_mae_are_those_of_scikit_learn(pairs):
    true, pred = np.array(pairs).T
    assert accuracy(true, pred) == accuracy_score(true, pred)
    assert mae(true, pred) == pytest.approx(mean_absolute_error(true, pred), abs=1e-12)


@given(pairs_of_ranks)
def test_amae_and_mmae_are_the_mean_and_the_largest_mae_of_the_classes(pairs):
    true, pred = np.array(pairs).T
    errors = [mean_absolute_error(true[true == rank], pred[true == rank]) for rank in set(true.tolist())]
    assert amae(true, pred) == pytest.approx(np.mean(errors), abs=1e-12)
    assert mmae(true, pred) == pytest.approx(max(errors), abs=1e-12)
    weights = 1.0 + np.arange(len(true)) % 3
    repeated = np.repeat(np.arange(len(true)), weights.astype(int))
    for metric in (amae, mmae):
        assert metric(true, pred, sample_weight=weights) == pytest.approx(
            metric(true[repeated], pred[repeated]), abs=1e-12
        )


@given(pairs_of_ranks)
def test_kappa_is_that_of_scikit_learn_and_finite_where_that_is_not(pairs):
    true, pred = np.array(pairs).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn divides 0 by 0 when all agree on one rank
        expected = cohen_kappa_score(true, pred, labels=range(C), weights="quadratic")
    expected = 1.0 if np.isnan(expected) else expected
    assert quadratic_weighted_kappa(true, pred) == pytest.approx(expected, abs=1e-12)
    assert quadratic_weighted_kappa(true, pred, num_classes=C) == quadratic_weighted_kappa(true, pred)


@pytest.mark.parametrize(
    ("true", "pred", "kappa"),
    [
        ([2, 2, 2], [2, 2, 2], 1.0),
        ([0], [0], 1.0),
        ([0], [3], 0.0),
        ([1, 1, 1], [0, 1, 2], 0.0),
        ([0, 1, 2], [1, 1, 1], 0.0),
        ([0, 4], [4, 0], -1.0),
    ],
)
def test_kappa_of_degenerate_ranks(true, pred, kappa):
    assert quadratic_weighted_kappa(true, pred) == pytest.approx(kappa, abs=1e-15)


@given(pairs_of_ranks)
def test_adjacent_error_rates_read_off_the_confusion_matrix(pairs):
    true, pred = np.array(pairs).T
    confusion = confusion_matrix(true, pred, labels=range(C))
    rates = adjacent_error_rates(true, pred, C)
    assert rates.shape == (C - 1,)
    for h in range(C - 1):
        samples = confusion[h].sum() + confusion[h + 1].sum()
        if samples == 0:
            assert np.isnan(rates[h])
        else:
            assert rates[h] == (confusion[h, h + 1] + confusion[h + 1, h]) / samples


@pytest.mark.parametrize(
    ("swapped", "printed"),
    [([5, 1, 5, 3], [0.1282, 0.0270, 0.0980, 0.0937]), ([4, 0, 6, 5], [0.1025, 0.0000, 0.1176, 0.1562])],
    ids=["learned", "controlled"],
)
def test_adjacent_error_rates_are_those_of_cloc_table_2(swapped, printed):
    """IDRiD: the rank sizes are those of the paper's Appendix A, the rates are printed cut or rounded to 4 digits."""
    true = np.repeat(range(C), [34, 5, 32, 19, 13])
    pred = true.copy()
    for h, count in enumerate(swapped):
        larger = h if np.sum(true == h) > np.sum(true == h + 1) else h + 1
        free = np.flatnonzero((true == larger) & (pred == true))[:count]
        pred[free] = 2 * h + 1 - larger
    np.testing.assert_allclose(adjacent_error_rates(true, pred, C), printed, rtol=0, atol=1e-4)


def test_the_report_holds_every_metric_and_is_strict_json():
    true, pred = [0, 1, 1, 4], [0, 1, 2, 4]
    report = rank_report(true, pred, 7)
    assert report == {
        "accuracy": 0.75,
        "mae": 0.25,
        "quadratic_weighted_kappa": quadratic_weighted_kappa(true, pred),
        "adjacent_error_rates": [0.0, 0.5, None, 0.0, 0.0, None],
    }
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "y_pred: got 1 sample, expected 2"),
        ([], [], "y_true: got shape .* at least one sample"),
        ([0, 1], [0.5, 1], "y_pred: got fractions such as 0.5, expected whole ranks"),
        ([0, np.nan], [0, 1], "y_true: got NaN"),
        ([0, -1], [0, 1], "y_true: got ranks -1 to 0, expected 0 to 4"),
        ([0, 1], [0, 5], "y_pred: got ranks 0 to 5, expected 0 to 4"),
        ([[0, 1]], [0], "y_true: got shape"),
        ([[0, 1], [0]], [0, 1], "y_true: got rows of different lengths"),
        (["a", "b"], [0, 1], "y_true: got dtype"),
    ],
)
def test_ranks_that_cannot_be_used_are_named(true, pred, message):
    with pytest.raises(OrdinateError, match=message):
        rank_report(true, pred, C)


def test_ranks_past_the_range_of_integers_are_refused():
    with pytest.raises(OrdinateError, match="y_true: got ranks 0 to 1e\\+300"):
        accuracy([0, 1e300], [0, 1])


@given(st.lists(st.integers(0, C - 1), min_size=1, max_size=20), st.integers(0, 2**31))
def test_the_ranked_probability_score_is_the_sum_of_the_brier_scores_of_the_boundaries(true, seed):
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(C), len(true))
    brier = sum(
        brier_score_loss(np.array(true) <= boundary, probabilities[:, : boundary + 1].sum(1).clip(0, 1), pos_label=True)
        for boundary in range(C - 1)
    )
    assert ranked_probability_score(true, probabilities) == pytest.approx(brier, abs=1e-12)


def test_the_ranked_probability_score_weighs_samples_and_refuses_what_is_no_distribution():
    twice = ranked_probability_score([0, 0, 1], [[0.9, 0.1], [0.9, 0.1], [0.5, 0.5]])
    assert ranked_probability_score([0, 1], [[0.9, 0.1], [0.5, 0.5]], sample_weight=[2, 1]) == pytest.approx(twice)
    with pytest.raises(OrdinateError, match=r"sums to 0\.8"):
        ranked_probability_score([0], [[0.3, 0.5]])


def test_a_scorer_of_text_is_the_error_of_ranks_in_cross_validation_and_search():
    order = ["mild", "moderate", "severe"]
    random = np.random.default_rng(0)
    X, ranks = random.normal(size=(60, 2)), np.tile([0, 1, 2], 20)
    forest = RandomForestClassifier(5, random_state=0)
    expected = cross_val_score(forest, X, ranks, scoring="neg_mean_absolute_error")
    np.testing.assert_allclose(cross_val_score(forest, X, np.array(order)[ranks], scoring=rank_scorer(order)), expected)
    search = GridSearchCV(forest, {"max_depth": [1, 2]}, scoring=rank_scorer(order)).fit(X, np.array(order)[ranks])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_scorer_refuses_classes_that_its_order_lacks():
    model = DummyClassifier().fit([[0], [1]], ["low", "high"])
    with pytest.raises(OrdinateError, match=r"class_order: got \['low', 'mid'\], expected all classes, .* lacks high"):
        rank_scorer(["low", "mid"])(model, [[0], [1]], ["low", "high"])
    for order in (["low"], ["low", "low"]):
        with pytest.raises(OrdinateError, match="class_order"):
            rank_scorer(order)
