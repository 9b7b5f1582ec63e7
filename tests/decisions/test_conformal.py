"""Sets of ranks against every interval there is, coverage against the n + 1 rule, intervals against MAPIE."""

import json
import math
from bisect import bisect_left
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ordinate.decisions import (
    calibrate_intervals,
    calibrate_ranks,
    interval_coverage,
    interval_coverage_report,
    intervals,
    least_samples,
    rank_coverage,
    rank_coverage_report,
    rank_sets,
)
from ordinate.errors import OrdinateError

C = 4


def draw_ranks(rng, n, classes=C, concentration=0.5):
    """Probabilities (n, C) of any shape, and ranks that follow them."""
    probabilities = rng.dirichlet(np.full(classes, concentration), n)
    cumulated = probabilities.cumsum(axis=1)
    return probabilities, np.minimum((rng.random((n, 1)) > cumulated).sum(axis=1), classes - 1)


@st.composite
def votes(draw, least=1, most=30):
    """Probabilities (n, C) with many zeros and ties, and ranks."""
    counts = st.lists(st.integers(0, 3), min_size=C, max_size=C).filter(any)
    rows = np.array(draw(st.lists(counts, min_size=least, max_size=most)), dtype=float)
    ranks = draw(st.lists(st.integers(0, C - 1), min_size=len(rows), max_size=len(rows)))
    return rows / rows.sum(axis=1, keepdims=True), np.array(ranks)


def worthwhile_interval(row, price):
    """Of all intervals that hold the mode, the one of most probability less the price of its ranks, by enumeration."""
    mode = int(np.argmax(row))
    intervals_around = product(range(mode + 1), range(mode, len(row)))
    worth = {(low, high): sum(row[low : high + 1] - price) for low, high in intervals_around}
    best = max(worth.values())
    return max((interval for interval in worth if worth[interval] > best - 1e-12), key=lambda ends: ends[1] - ends[0])


# ranks


@given(st.integers(0, 10_000), st.sampled_from([0.6, 0.8, 0.9, 0.95]))
def test_sets_are_those_that_an_enumeration_of_all_intervals_finds(seed, coverage):
    """A rank has one price for all samples: the highest at which enough samples have their rank in their set.

    No other sets around the mode have as much probability at the same mean size, or the price would find them.
    """
    rng = np.random.default_rng(seed)
    known, ranks = draw_ranks(rng, 40)
    new, _ = draw_ranks(rng, 20)
    needed = math.ceil(41 * Fraction(str(coverage)))

    def misses(price):
        sets = [worthwhile_interval(row, price) for row in known]
        return sum(low <= rank <= high for (low, high), rank in zip(sets, ranks, strict=True)) < needed

    prices = sorted({row[a:b].mean() for row in known for a in range(C) for b in range(a + 1, C + 1)} | {2.0})
    price = prices[bisect_left(prices, True, key=misses) - 1]
    expected = [worthwhile_interval(row, price) for row in new]
    np.testing.assert_array_equal(rank_sets(new, calibrate_ranks(ranks, known, coverage)), expected)


@given(votes(least=9), votes())
def test_sets_are_adjacent_hold_the_most_probable_rank_and_grow_with_the_coverage(known, new):
    probabilities, _ = new
    previous = np.stack([probabilities.argmax(axis=1)] * 2, axis=1)
    for coverage in (0.1, 0.5, 0.7, 0.9):
        sets = rank_sets(probabilities, calibrate_ranks(known[1], known[0], coverage))
        assert sets.min() >= 0
        assert sets.max() < C
        assert (sets[:, 0] <= previous[:, 0]).all()
        assert (previous[:, 1] <= sets[:, 1]).all()
        previous = sets


@given(votes(least=9), votes())
def test_reversing_the_ranks_reverses_the_sets(known, new):
    """Where the most probable rank is one only; of two the lower is predicted."""
    probabilities, ranks = known
    tops = [(rows == rows.max(axis=1, keepdims=True)).sum(axis=1) == 1 for rows in (probabilities, new[0])]
    probabilities, ranks, rows = probabilities[tops[0]], ranks[tops[0]], new[0][tops[1]]
    if len(ranks) < least_samples(0.7) or len(rows) == 0:
        return
    sets = rank_sets(rows, calibrate_ranks(ranks, probabilities, 0.7))
    mirrored = rank_sets(rows[:, ::-1], calibrate_ranks(C - 1 - ranks, probabilities[:, ::-1], 0.7))
    np.testing.assert_array_equal(C - 1 - mirrored[:, ::-1], sets)


def draw_of_a_wrong_model(rng, n):
    """Ranks of unequal shares, and probabilities of a model that hardly ever predicts the highest."""
    ranks = rng.choice(C, n, p=[0.4, 0.3, 0.2, 0.1])
    scores = rng.normal(size=(n, C)) + 1.5 * np.eye(C)[ranks] - [0, 0, 0, 2]
    return np.exp(scores) / np.exp(scores).sum(1, keepdims=True), ranks


def test_sets_by_rank_cover_every_rank_as_promised():
    rng = np.random.default_rng(0)
    shares = {by_rank: [] for by_rank in (False, True)}
    for _ in range(100):
        probabilities, ranks = draw_of_a_wrong_model(rng, 700)
        for by_rank, found in shares.items():
            calibration = calibrate_ranks(ranks[:400], probabilities[:400], 0.9, by_rank=by_rank)
            sets = rank_sets(probabilities[400:], calibration)
            found.append(rank_coverage(ranks[400:], sets, C)["coverage_by_rank"])
    together, by_rank = (np.array(shares[kind]) for kind in (False, True))
    assert together.mean(0)[3] < 0.8
    errors = by_rank.std(0) / math.sqrt(len(by_rank))
    assert (by_rank.mean(0) > 0.9 - 4 * errors).all()
    assert by_rank.mean(0).max() < 0.97


@given(votes(least=12))
def test_of_the_samples_of_each_rank_enough_are_in_their_sets(known):
    probabilities, ranks = known
    sets = rank_sets(probabilities, calibrate_ranks(ranks, probabilities, 0.7, by_rank=True))
    inside = (sets[:, 0] <= ranks) & (ranks <= sets[:, 1])
    for rank in set(ranks):
        of_rank = inside[ranks == rank]
        enough = math.ceil((len(of_rank) + 1) * Fraction("0.7")) if len(of_rank) >= least_samples(0.7) else len(of_rank)
        assert of_rank.sum() >= enough


def test_a_rank_of_too_few_samples_is_in_every_set():
    probabilities, ranks = np.tile([0.9, 0.1, 0.0], (30, 1)), np.repeat([0, 2], [29, 1])
    assert rank_sets(probabilities, calibrate_ranks(ranks, probabilities, 0.9, by_rank=True)).tolist() == [[0, 2]] * 30
    report = rank_coverage_report(ranks, probabilities, 0.9, by_rank=True, repeats=5)
    assert report["coverage_by_rank"] == [1.0, None, 1.0]


def measured_coverage(samples, coverage, draw, repeats=400, new=40):
    """Coverage over repeated draws of calibration and new samples, and its standard error."""
    rng = np.random.default_rng(0)
    shares = np.empty(repeats)
    for i in range(repeats):
        probabilities, ranks = draw(rng, samples + new)
        sets = rank_sets(probabilities[samples:], calibrate_ranks(ranks[:samples], probabilities[:samples], coverage))
        shares[i] = np.mean((sets[:, 0] <= ranks[samples:]) & (ranks[samples:] <= sets[:, 1]))
    return shares.mean(), shares.std() / math.sqrt(repeats)


@pytest.mark.parametrize(("samples", "coverage"), [(19, 0.9), (60, 0.8), (99, 0.95)])
def test_coverage_is_that_of_the_n_plus_1_rule(samples, coverage):
    """Without ties at the threshold it is exactly ceil((n + 1) coverage) / (n + 1) on average."""
    exact = math.ceil((samples + 1) * Fraction(str(coverage))) / (samples + 1)
    measured, error = measured_coverage(samples, coverage, lambda rng, n: draw_ranks(rng, n, concentration=5.0))
    assert abs(measured - exact) < 4 * error
    assert error < 0.006


def test_where_no_vote_tells_sets_grow_by_distance_then_towards_the_middle_then_where_it_is_less_certain():
    certain, split = [0, 1.0, 0, 0, 0], [0, 2 / 3, 1 / 3, 0, 0]
    known, ranks = [split, certain] * 4, [2, 2, 0, 0, 3, 3, 4, 4]  # in the order in which they enter
    grown = [rank_sets([split, certain], calibrate_ranks(ranks, known, place / 9)).tolist() for place in range(1, 9)]
    assert grown == [
        [[1, 2], [1, 1]], [[1, 2], [1, 2]], [[0, 2], [1, 2]], [[0, 2], [0, 2]],
        [[0, 3], [0, 2]], [[0, 3], [0, 3]], [[0, 4], [0, 3]], [[0, 4], [0, 4]],
    ]  # fmt: skip


class Votes(ClassifierMixin, BaseEstimator):
    """A classifier for MAPIE whose probabilities are its samples."""

    def __init__(self, classes):
        self.classes = classes
        self.classes_ = np.arange(classes)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return np.argmax(X, axis=1)


class Predictions(RegressorMixin, BaseEstimator):
    """A regressor for MAPIE whose predictions are its samples."""

    fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def one_peak(rng, n):
    """Probabilities that fall away from a peak, and ranks that follow them."""
    place = rng.uniform(0, C - 1, (n, 1))
    weights = np.exp(-np.abs(np.arange(C) - place) * rng.uniform(0.3, 1.2, (n, 1)))
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    return probabilities, (rng.random((n, 1)) > probabilities.cumsum(axis=1)).sum(axis=1).clip(max=C - 1)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_with_one_peak_the_sets_are_mapie_s_smallest_which_are_contiguous_then(coverage):
    rng = np.random.default_rng(1)
    known, ranks = one_peak(rng, 300)
    new, _ = one_peak(rng, 200)
    lac = SplitConformalClassifier(Votes(C), coverage, conformity_score="lac", prefit=True)
    members = lac.conformalize(known, ranks).predict_set(new)[1][:, :, 0]
    assert members.any(axis=1).all()  # no mode is left out here, so that both have the same quantile
    sets = rank_sets(new, calibrate_ranks(ranks, known, coverage))
    inside = (sets[:, :1] <= np.arange(C)) & (np.arange(C) <= sets[:, 1:])
    np.testing.assert_array_equal(inside, members)


# intervals


@pytest.mark.parametrize("coverage", [0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("samples", [21, 100, 253])
def test_intervals_are_mapie_s(samples, coverage):
    rng = np.random.default_rng(samples)
    predicted, targets = rng.normal(size=(2, samples))
    new = rng.normal(size=(30, 1))
    mapie = SplitConformalRegressor(Predictions(), coverage, prefit=True)
    _, expected = mapie.conformalize(predicted[:, None], targets).predict_interval(new)
    found = intervals(new[:, 0], calibrate_intervals(targets, predicted, coverage))
    np.testing.assert_allclose(found, expected[:, :, 0], rtol=0, atol=1e-12)


def test_a_box_holds_all_dimensions_as_often_as_promised_whatever_their_units():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(1000):
        predicted, targets = np.cumsum(rng.normal(size=(2, 99, 3)), axis=0) * [1, 1000, 0.001]
        bounds = intervals(predicted[59:], calibrate_intervals(targets[:59], predicted[:59], 0.9))
        shares.append(interval_coverage(targets[59:], bounds)["coverage"])
    error = np.std(shares) / math.sqrt(1000)
    assert 0.9 - 3 * error < np.mean(shares) < 0.92  # independent dimensions lose little to the sum of their shares


def test_targets_on_the_very_end_of_their_interval_are_inside():
    """Where predictions repeat and targets are whole steps, new targets lie exactly at the ends."""
    for target, predicted in np.random.default_rng(0).uniform(-1, 1, (300, 2)).round(1):
        bounds = intervals([predicted], calibrate_intervals([target], [predicted], 0.5))
        assert interval_coverage([target], bounds)["coverage"] == 1.0


# reports


def test_coverage_by_rank_counts_the_samples_of_each_rank():
    report = rank_coverage([0, 0, 1, 3], [[0, 1], [1, 1], [0, 3], [3, 3]], C)
    assert report == {
        "coverage": 0.75,
        "mean_size": 2.0,
        "coverage_by_rank": [0.5, 1.0, None, 1.0],
        "mean_size_by_rank": [1.5, 4.0, None, 1.0],
    }


def test_reports_over_halves_come_near_the_promise_repeat_and_are_strict_json():
    rng = np.random.default_rng(3)
    probabilities, ranks = draw_ranks(rng, 400, concentration=5.0)
    targets = rng.normal(size=400)
    for report, again in (
        (rank_coverage_report(ranks, probabilities), rank_coverage_report(ranks, probabilities)),
        (interval_coverage_report(targets, 0 * targets), interval_coverage_report(targets, 0 * targets)),
    ):
        assert report == again
        assert report["promised"] == 0.9
        assert abs(report["coverage"] - 0.9) < 0.015
        assert 0 < report["deviation"] < 0.06
        assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_a_report_over_halves_leaves_out_ranks_without_samples():
    probabilities = np.tile([0.5, 0.4, 0.1], (40, 1))
    report = rank_coverage_report([0, 1] * 20, probabilities, 0.8)
    assert report["coverage_by_rank"][2] is None
    assert report["coverage_by_rank"][:2] == [1.0, 1.0]


# errors


@pytest.mark.parametrize("dimensions", [1, 2, 7])
@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.7, 0.9, 0.95, 0.99])
def test_the_least_samples_are_the_fewest_that_leave_one_outside(coverage, dimensions):
    n = least_samples(coverage, dimensions)
    outside = (1 - Fraction(str(coverage))) / dimensions
    assert (n + 1) * outside >= 1
    assert n * outside < 1


def test_too_few_samples_say_how_many_are_needed():
    with pytest.raises(OrdinateError, match=r"coverage: got 0\.95 for 18 samples, expected at least 19"):
        calibrate_ranks([0] * 18, [[1.0, 0.0]] * 18, 0.95)
    with pytest.raises(OrdinateError, match=r"coverage: got 0\.9 for 28 samples, expected at least 29"):
        calibrate_intervals(np.zeros((28, 3)), np.zeros((28, 3)), 0.9)
    calibrate_intervals(np.zeros((29, 3)), np.zeros((29, 3)), 0.9)


@pytest.mark.parametrize("coverage", [0, 1, 1.0, 0.0, -0.1, 90.0, True, float("nan"), "0.9"])
def test_a_coverage_is_a_share(coverage):
    with pytest.raises(OrdinateError, match=r"coverage: got .*, expected a share above 0 and below 1"):
        calibrate_ranks([0] * 99, [[1.0, 0.0]] * 99, coverage)


@pytest.mark.parametrize(
    ("probabilities", "ranks", "message"),
    [
        ([0.5, 0.5], [0, 1], r"probabilities: got shape \(2,\), expected \(n, C\)"),
        ([[1.0]], [0], r"probabilities: got shape \(1, 1\), expected \(n, C\) for two ranks"),
        ([[0.5, 0.5], [1.0]], [0, 1], "probabilities: got rows of different lengths"),
        ([[0.5, 0.6]], [0], "probabilities: got a row that sums to 1.1"),
        ([[-0.5, 1.5]], [0], "probabilities: got -0.5, expected values of at least 0"),
        ([[np.nan, 1.0]], [0], "probabilities: got NaN"),
        ([[0.5, 0.5]], [2], "y_true: got ranks 2 to 2, expected 0 to 1"),
        ([[0.5, 0.5]], [0, 1], "y_true: got 2 samples, expected 1"),
    ],
)
def test_probabilities_and_ranks_that_cannot_be_used_are_named(probabilities, ranks, message):
    with pytest.raises(OrdinateError, match=message):
        calibrate_ranks(ranks, probabilities, 0.5)


def test_sets_take_what_they_were_calibrated_for():
    ranks = calibrate_ranks([0, 1], [[1.0, 0.0]] * 2, 0.5)
    with pytest.raises(OrdinateError, match="probabilities: got 3 ranks, expected 2, as many as calibrated"):
        rank_sets([[1.0, 0.0, 0.0]], ranks)
    with pytest.raises(OrdinateError, match="y_pred: got 2 dimensions, expected 1"):
        intervals([[0.0, 1.0]], calibrate_intervals([0.0], [1.0], 0.5))


def test_shapes_of_sets_and_bounds_are_checked():
    with pytest.raises(OrdinateError, match=r"sets: got shape \(2,\)"):
        rank_coverage([0, 1], [0, 1], 2)
    with pytest.raises(OrdinateError, match=r"bounds: got shape \(2, 2\), expected \(3, 2\)"):
        interval_coverage([0.0, 1.0, 2.0], [[0, 1], [0, 1]])
