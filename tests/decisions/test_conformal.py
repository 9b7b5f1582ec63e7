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
    neighbour_difficulty,
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


@given(votes(least=9))
def test_of_the_samples_calibrated_on_enough_are_in_their_sets(known):
    probabilities, ranks = known
    for coverage in (0.5, 0.8, 0.9):
        sets = rank_sets(probabilities, calibrate_ranks(ranks, probabilities, coverage))
        inside = (sets[:, 0] <= ranks) & (ranks <= sets[:, 1])
        assert inside.sum() >= math.ceil((len(ranks) + 1) * Fraction(str(coverage)))


@given(votes(least=9), votes())
def test_a_sample_s_set_does_not_depend_on_those_beside_it(known, new):
    calibration = calibrate_ranks(known[1], known[0], 0.8)
    alone = np.concatenate([rank_sets(row[None], calibration) for row in new[0]])
    np.testing.assert_array_equal(alone, rank_sets(new[0], calibration))


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
    for _ in range(400):
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


def measured_coverage(samples, coverage, draw, repeats=1500, new=40):
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
    assert error < 0.003


@pytest.mark.parametrize("samples", [9, 50])
def test_coverage_of_votes_is_at_least_the_promised_one(samples):
    """Three neighbours vote: probabilities are 0, 1/3, 2/3 or 1, and one truth in three got no vote."""

    def draw(rng, n):
        probabilities, ranks = draw_ranks(rng, n, concentration=1.0)
        return np.stack([rng.multinomial(3, row) for row in probabilities]) / 3, ranks

    measured, error = measured_coverage(samples, 0.9, draw, repeats=600)
    assert measured > 0.9 - 3 * error


def test_a_model_that_is_right_more_often_than_promised_gets_sets_of_one_rank():
    ranks = np.arange(100) % C
    probabilities = np.full((100, C), 0.1)
    probabilities[np.arange(100), ranks] = 0.7
    wrong = np.roll(ranks, 1)
    ranks = np.where(np.arange(100) < 5, wrong, ranks)
    np.testing.assert_array_equal(
        np.ptp(rank_sets(probabilities, calibrate_ranks(ranks, probabilities, 0.9)), axis=1), 0
    )


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


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_of_votes_cover_with_fewer_ranks_than_mapie_s_sets(coverage):
    """Where the k-th calibration rank got no vote, its sets hold every rank."""
    rng = np.random.default_rng(2)
    place = rng.uniform(0, 6, 600)
    ranks = np.round(place + rng.normal(0, 0.7, 600)).clip(0, 6).astype(int)
    seen = np.round(place[:, None] + rng.normal(0, 0.7, (600, 3))).clip(0, 6).astype(int)
    probabilities = np.stack([np.bincount(row, minlength=7) for row in seen]) / 3
    known, new, truth = probabilities[:300], probabilities[300:], ranks[300:]
    lac = SplitConformalClassifier(Votes(7), coverage, conformity_score="lac", prefit=True)
    theirs = lac.conformalize(known, ranks[:300]).predict_set(new)[1][:, :, 0]
    ours = rank_coverage(truth, rank_sets(new, calibrate_ranks(ranks[:300], known, coverage)), 7)
    assert ours["mean_size"] <= theirs.sum(axis=1).mean()
    assert ours["coverage"] > coverage - 3 * math.sqrt(coverage * (1 - coverage) * 2 / 300)


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


def box_coverage(draw, samples, coverage, repeats=2500, new=40, scaled=False):
    rng = np.random.default_rng(0)
    shares = np.empty(repeats)
    for i in range(repeats):
        targets, predicted, difficulty = draw(rng, samples + new)
        given = {"difficulty": difficulty[:samples]} if scaled else {}
        calibration = calibrate_intervals(targets[:samples], predicted[:samples], coverage, **given)
        bounds = intervals(predicted[samples:], calibration, difficulty=difficulty[samples:] if scaled else None)
        shares[i] = interval_coverage(targets[samples:], bounds)["coverage"]
    return shares.mean(), shares.std() / math.sqrt(repeats)


def heteroscedastic(rng, n):
    difficulty = rng.uniform(0.1, 2, n)
    predicted = rng.normal(size=n)
    return predicted + difficulty * rng.standard_t(3, n), predicted, difficulty


@pytest.mark.parametrize("scaled", [False, True], ids=["one width", "by difficulty"])
def test_coverage_of_intervals_is_that_of_the_n_plus_1_rule(scaled):
    measured, error = box_coverage(heteroscedastic, 24, 0.9, scaled=scaled)
    assert abs(measured - 23 / 25) < 4 * error
    assert error < 0.003


def test_a_box_holds_all_dimensions_as_often_as_promised_whatever_their_units():
    def draw(rng, n):
        predicted = rng.normal(size=(n, 3)) * [1, 1000, 0.001]
        return predicted + rng.normal(size=(n, 3)) * [1, 1000, 0.001], predicted, None

    measured, error = box_coverage(draw, 59, 0.9, repeats=1000)
    assert measured > 0.9 - 3 * error
    assert measured < 0.92  # independent dimensions lose little to the sum of their shares


def test_targets_on_the_very_end_of_their_interval_are_inside():
    """Where predictions repeat and targets are whole steps, new targets lie exactly at the ends."""
    for target, predicted in np.random.default_rng(0).uniform(-1, 1, (300, 2)).round(1):
        bounds = intervals([predicted], calibrate_intervals([target], [predicted], 0.5))
        assert interval_coverage([target], bounds)["coverage"] == 1.0


def test_intervals_adapt_to_the_difficulty():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi / 2, 900)
    embeddings = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    residuals = np.where(angle < np.pi / 4, 0.1, 2.0) * rng.normal(size=900)
    difficulty = neighbour_difficulty(embeddings[300:], embeddings[:300], residuals[:300])
    zeros = np.zeros(600)
    calibration = calibrate_intervals(residuals[300:600], zeros[:300], 0.9, difficulty=difficulty[:300])
    adapted = intervals(zeros[300:], calibration, difficulty=difficulty[300:])
    plain = intervals(zeros[300:], calibrate_intervals(residuals[300:600], zeros[:300], 0.9))
    report, flat = (interval_coverage(residuals[600:], bounds) for bounds in (adapted, plain))
    assert report["mean_width"] < 0.95 * flat["mean_width"]
    assert report["coverage"] > 0.86


def test_difficulty_is_half_way_between_the_neighbours_and_all():
    rng = np.random.default_rng(0)
    embeddings, references = rng.normal(size=(5, 3)), rng.normal(size=(30, 3))
    residuals = rng.normal(size=(30, 2))
    cosines = (embeddings / np.linalg.norm(embeddings, axis=1)[:, None]) @ (
        references / np.linalg.norm(references, axis=1)[:, None]
    ).T
    nearest = np.argsort(-cosines, axis=1)[:, :4]
    expected = (np.abs(residuals)[nearest].mean(axis=1) + np.abs(residuals).mean(axis=0)) / 2
    np.testing.assert_allclose(neighbour_difficulty(embeddings, references, residuals, 4), expected, rtol=1e-12)
    assert neighbour_difficulty(embeddings, references, residuals[:, 0], 4).shape == (5,)


# reports


def test_coverage_by_rank_counts_the_samples_of_each_rank():
    report = rank_coverage([0, 0, 1, 3], [[0, 1], [1, 1], [0, 3], [3, 3]], C)
    assert report == {
        "coverage": 0.75,
        "mean_size": 2.0,
        "coverage_by_rank": [0.5, 1.0, None, 1.0],
        "mean_size_by_rank": [1.5, 4.0, None, 1.0],
    }


def test_a_box_covers_where_every_dimension_does():
    bounds = [[[0, 2], [0, 2]], [[0, 2], [0, 4]]]
    assert interval_coverage([[1.0, 3.0], [1.0, 3.0]], bounds) == {"coverage": 0.5, "mean_width": 2.5}


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
    one, scaled = calibrate_intervals([0.0], [1.0], 0.5), calibrate_intervals([0.0], [1.0], 0.5, difficulty=[1.0])
    with pytest.raises(OrdinateError, match="y_pred: got 2 dimensions, expected 1"):
        intervals([[0.0, 1.0]], one)
    with pytest.raises(OrdinateError, match="difficulty: got values, expected None"):
        intervals([0.0], one, difficulty=[1.0])
    with pytest.raises(OrdinateError, match="difficulty: got None, expected one a prediction"):
        intervals([0.0], scaled)
    with pytest.raises(OrdinateError, match="difficulty: got 0, expected values above 0"):
        intervals([0.0], scaled, difficulty=[0.0])
    with pytest.raises(OrdinateError, match=r"difficulty: got shape \(2,\), expected \(1,\)"):
        intervals([0.0], scaled, difficulty=[1.0, 1.0])


@pytest.mark.parametrize("repeats", [0, -1])
def test_halves_are_taken_at_least_once(repeats):
    with pytest.raises(OrdinateError, match="repeats: got"):
        interval_coverage_report([0.0, 1.0], [0.0, 1.0], 0.5, repeats=repeats)


def test_shapes_of_sets_and_bounds_are_checked():
    with pytest.raises(OrdinateError, match=r"sets: got shape \(2,\)"):
        rank_coverage([0, 1], [0, 1], 2)
    with pytest.raises(OrdinateError, match=r"bounds: got shape \(2, 2\), expected \(3, 2\)"):
        interval_coverage([0.0, 1.0, 2.0], [[0, 1], [0, 1]])
    with pytest.raises(OrdinateError, match="residuals: got 2 samples, expected 3"):
        neighbour_difficulty([[1.0, 0.0]], [[1.0, 0.0]] * 3, [0.0, 1.0], k=1)
