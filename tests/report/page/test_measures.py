"""What a page measures: scores, groups, calibration, coverage, duplicates, order, suspects."""

from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binomtest
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score
from sklearn.neighbors import KNeighborsClassifier

from ordinate import BlendClassifier, BlendRegressor
from ordinate.errors import OrdinateError
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import gather
from ordinate.report.page.measures import (
    check_suspects,
    find_order,
    find_suspects,
    gain,
    group_by_label,
    measure_calibration,
    measure_coverage,
    nearest,
    score_all,
)
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr
from tests.report.page.stand_ins import contents

TRUE = np.random.default_rng(0).integers(0, 4, 200)
PREDICTED = np.clip(TRUE + np.random.default_rng(1).integers(-1, 2, 200), 0, 3)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def test_scores_are_scikit_learns_and_lie_in_their_intervals():
    model = score_all(contents(TRUE, PREDICTED))[0]
    assert model.scores["accuracy"].value == pytest.approx(accuracy_score(TRUE, PREDICTED), abs=1e-15)
    kappa = cohen_kappa_score(TRUE, PREDICTED, weights="quadratic")
    assert model.scores["quadratic_weighted_kappa"].value == pytest.approx(kappa, abs=1e-12)
    for score in model.scores.values():
        assert score.low < score.value < score.high


def test_an_accuracy_without_errors_has_an_interval():
    score = score_all(contents(TRUE[:38], TRUE[:38]))[0].scores["accuracy"]
    assert (score.value, score.high) == (1, 1)
    assert score.low == pytest.approx(0.025 ** (1 / 38))  # 38 hits have this chance of a tail.


def test_intervals_of_samples_in_groups_are_those_of_the_groups():
    alone = contents(TRUE, PREDICTED)
    thrice = contents(np.repeat(TRUE, 3), np.repeat(PREDICTED, 3))
    mixed = np.random.default_rng(0).permutation(600)
    several = replace(
        thrice, groups=np.repeat(np.arange(200), 3)[mixed], true=thrice.true[mixed], predicted=thrice.predicted[mixed]
    )
    known, found = (score_all(each)[0].scores for each in (alone, several))
    for name in ("mae", "quadratic_weighted_kappa"):
        assert astuple(found[name]) == pytest.approx(astuple(known[name]), abs=1e-12)
    of_groups, of_samples = gain(several, np.zeros(600)), gain(alone, np.zeros(200))
    assert astuple(of_groups) == pytest.approx(astuple(of_samples), abs=1e-12)
    hits = 199 * known["accuracy"].value  # The variance between 200 groups is that of 199 independent samples.
    assert found["accuracy"].low == pytest.approx(beta.ppf(0.025, hits, 199 - hits + 1), abs=1e-12)
    assert found["accuracy"].high == pytest.approx(beta.ppf(0.975, hits + 1, 199 - hits), abs=1e-12)


@pytest.mark.parametrize("groups", [np.arange(200), np.zeros(200)], ids=["one sample each", "one group"])
def test_groups_that_say_nothing_leave_intervals_as_they_are(groups):
    of = contents(TRUE, PREDICTED)
    assert score_all(replace(of, groups=groups))[0].scores == score_all(of)[0].scores


def test_the_interval_of_an_accuracy_is_the_exact_one():
    exact = binomtest(int((TRUE == PREDICTED).sum()), 200).proportion_ci()
    score = score_all(contents(TRUE, PREDICTED))[0].scores["accuracy"]
    assert (score.low, score.high) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_simple_predictors_know_the_training_samples_alone(rng):
    seen, labels = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    inputs = rng.normal(size=(200, 2))
    of = contents(TRUE, PREDICTED, inputs=inputs, trained_on=(seen, labels))
    _, constant, neighbours, linear, forest, boosting = score_all(of)
    assert constant.name == f"always {'abcd'[np.bincount(labels).argmax()]!r}, the commonest"
    assert set(constant.predicted) == {np.bincount(labels).argmax()}
    expected = KNeighborsClassifier(5).fit(seen.astype(np.float32), labels).predict(inputs.astype(np.float32))
    np.testing.assert_array_equal(neighbours.predicted, expected)
    assert [each.name for each in (linear, forest, boosting)] == [
        "linear model", "random forest", "gradient boosting"
    ]  # fmt: skip
    boosted = HistGradientBoostingClassifier(random_state=0).fit(seen, labels)
    decided = of.model.decide(boosted.predict_proba(inputs))
    np.testing.assert_array_equal(boosting.predicted, decided)


def test_simple_models_of_a_target_are_those_of_scikit_learn(rng):
    seen, targets, inputs = rng.normal(size=(60, 2)), rng.normal(size=60), rng.normal(size=(30, 2))
    of = contents(rng.normal(size=30), np.zeros(30), names=None, inputs=inputs, trained_on=(seen, targets))
    found = {each.name: each.predicted for each in score_all(of)[3:]}
    assert list(found) == ["linear model", "random forest", "gradient boosting"]
    expected = ExtraTreesRegressor(200, max_features=2, random_state=0).fit(seen, targets).predict(inputs)
    np.testing.assert_allclose(found["random forest"], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", [BlendClassifier, BlendRegressor])
def test_a_blend_is_compared_with_its_parts_and_with_simple_models_that_are_none_of_them(kind, rng, few_trees):
    X = rng.normal(size=(90, 2))
    y = 1e3 + X[:, 0] + 0.5 * rng.normal(size=90)
    if kind is BlendClassifier:
        y = np.digitize(y - 1e3, [-0.5, 0.5])
    model = kind(members=4, folds=2, epochs=40, random_state=0).fit(X, y)
    found = {each.name: each.predicted for each in score_all(gather(Predictions.of(model.fitted, X, y), (X, y)))}
    names = [name for name in found if name.endswith(" alone")]
    assert len(names) == len(model.shares_) > 1
    for name, part in (("linear model", "linear"), ("random forest", "trees"), ("gradient boosting", "boosting")):
        assert (name in found) == (part not in model.shares_)
    for name in names:
        assert np.abs(found[name] - y).mean() < np.abs(y - np.median(y)).mean()


def test_simple_models_give_no_probability_to_ranks_that_they_have_not_seen(rng):
    seen, labels = rng.normal(size=(60, 2)), 2 * rng.integers(0, 2, 60)
    of = contents(TRUE, PREDICTED, inputs=rng.normal(size=(200, 2)), trained_on=(seen, labels))
    assert all(set(each.predicted) <= {0, 2} for each in score_all(of)[4:])
    alone = contents(TRUE, PREDICTED, inputs=rng.normal(size=(200, 2)), trained_on=(seen, 0 * labels))
    assert len(score_all(alone)) == 3


def test_the_gain_is_how_much_the_mean_error_is_lower():
    of = contents(TRUE, TRUE)
    simple = score_all(of)[1]
    assert gain(of, simple.predicted).value == pytest.approx(simple.scores["mae"].value, abs=1e-12)
    assert gain(of, simple.predicted).low > 0


def test_column_of_targets_are_between_round_numbers_and_hold_every_sample():
    true = np.array([0.3, 1.0, 9.7, 5.0, 5.2] * 6)
    groups = group_by_label(contents(true, true, names=None, trained_on=(np.zeros((3, 2)), [0.5, 5.5, 9.9])))
    assert groups.names == ["0 to 2", "2 to 4", "4 to 6", "6 to 8", "8 to 10"]
    for value, group in zip(true, groups.of, strict=True):
        low, high = map(float, groups.names[group].split(" to "))
        assert low <= value < high
    assert groups.trained_on.tolist() == [1, 0, 1, 0, 1]


def test_calibration_counts_every_sample_once_and_weighs_its_tenths(rng):
    confidence, right = rng.uniform(0.25, 1, 500), rng.random(500) < 0.5
    found = measure_calibration(confidence, right)
    assert found.counts.sum() == 500
    expected = 0.0
    for low in np.arange(10) / 10:
        inside = (confidence >= low) & (confidence < low + 0.1)
        if inside.any():
            expected += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    assert found.error == pytest.approx(expected, abs=1e-9)
    assert measure_calibration([1.0, 1.0], [True, True]).error == 0


def test_coverage_is_measured_for_every_rank_and_close_to_what_is_promised(rng):
    probabilities = rng.dirichlet(np.ones(4), 2000)
    true = np.array([rng.choice(4, p=row) for row in probabilities])
    found = measure_coverage(contents(true, probabilities.argmax(axis=1), probabilities=probabilities))
    assert list(found.columns) == ["promised", "measured", "mean_size", *"abcd"]
    np.testing.assert_allclose(found["measured"], found["promised"], atol=0.02)
    assert measure_coverage(contents(true[:79], true[:79], probabilities=probabilities[:79])) is None


@pytest.mark.parametrize("kind", ["ranks", "targets"])
def test_coverage_of_new_samples_is_that_of_the_intervals_that_the_model_predicts(kind):
    X, y = draw_table(240)
    model = supcr()
    if kind == "ranks":
        model, y = cloc(), ranks_of(y)
    model.fit(X[:80], y[:80]).calibrate(X[80:160], y[80:160])
    new, labels = X[160:], y[160:]
    found = measure_coverage(gather(Predictions.of(model.fitted, new, labels)), model.held_out_)
    for promised, measured, size in found[["promised", "measured", "mean_size"]].to_numpy():
        low, high = model.predict_interval(new, promised)
        assert measured == np.mean((low <= labels) & (labels <= high))
        assert size == pytest.approx(np.mean(high - low) + (kind == "ranks"), rel=1e-12)
    assert list(found["promised"]) == [0.8, 0.9, 0.95]
    few = HeldOut(model.held_out_.labels[:10], model.held_out_.predicted[:10], model.held_out_.classes)
    found = measure_coverage(gather(Predictions.of(model.fitted, new, labels)), few)
    assert list(found["promised"]) == [0.8, 0.9]  # 10 samples calibrate no more.


def test_duplicates_are_equal_to_the_last_bit():
    inputs = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0 + 1e-6], [5.0, 5.0]]
    found = contents([0, 1, 0, 0], [0, 0, 0, 0], inputs=inputs, trained_on=([[5.0, 5.0]], [0]))
    assert (found.contradicting, found.seen) == (2, 1)


def test_every_sample_of_training_is_found():
    """One digest in 256 ends in a zero byte, which pandas leaves out of what it looks for."""
    true, inputs = np.zeros(2000, int), np.random.default_rng(0).normal(size=(2000, 3))
    found = contents(true, true, inputs=inputs, trained_on=(inputs, true))
    assert found.seen == 2000
    assert found.are_mostly_seen


def test_ranks_on_a_half_circle_have_their_angles_and_lie_in_order():
    angles = np.repeat(np.linspace(0, np.pi, 5), 3)
    embeddings = np.column_stack([np.cos(angles), np.sin(angles)])
    order = find_order(embeddings, np.repeat([0, 1, 2, 3, 4], 3), 5)
    np.testing.assert_allclose(order.angles, [0, 45, 90, 135, 180], atol=1e-5)
    assert order.ordered
    mixed = find_order(embeddings, np.repeat([0, 3, 2, 1, 4], 3), 6)
    assert not mixed.ordered
    assert np.isnan(mixed.angles[5])


def test_the_nearest_are_those_of_all_distances(rng):
    embeddings = rng.normal(size=(30, 4))
    distances = np.linalg.norm(embeddings[:, None] - embeddings, axis=2) + np.diag(np.full(30, np.inf))
    np.testing.assert_array_equal(nearest(embeddings, 5), np.argsort(distances, axis=1)[:, :5])
    assert nearest(embeddings[:3], 10).shape == (3, 2)


def test_planted_label_errors_among_ranks_are_suspects_worst_first(rng):
    true = np.repeat([0, 1, 2], 30)
    embeddings = np.eye(3)[true] + 0.01 * rng.normal(size=(90, 3))
    embeddings[3] = embeddings[:30].mean(axis=0)  # amid its rank
    planted = {0: 1, 40: 0, 3: 2}
    labels = true.copy()
    for row, label in planted.items():
        labels[row] = label
    probabilities = np.full((90, 3), 0.1) + 0.7 * np.eye(3)[true]
    of = contents(labels, true, "abc", embeddings=embeddings, probabilities=probabilities)
    found = find_suspects(of, nearest(embeddings, 10))
    assert set(found["row"]) == set(planted)
    assert dict(zip(found["row"], found["suggested"], strict=True)) == {0: "a", 40: "b", 3: "a"}
    assert found["suspicion"].is_monotonic_decreasing


def test_planted_label_errors_among_targets_are_suspects(rng):
    target = np.linspace(0, 1, 100)
    labels = target + rng.normal(scale=0.1, size=100)
    labels[50] = 3.0
    found = find_suspects(contents(labels, target, names=None), nearest(target[:, None], 10))
    assert (found["row"][0], found["suggested"][0]) == (50, f"{target[50]:.4g}")
    assert found["suspicion"][0] > 20
    assert len(found) < 6


def test_a_table_of_suspects_is_checked():
    good = pd.DataFrame({"suspicion": [0.9], "row": [3], "suggested": ["b"], "label": ["a"], "more": [1]})
    assert list(check_suspects(good, 4).columns) == ["row", "label", "suggested", "suspicion"]
    with pytest.raises(OrdinateError, match="suspects: got no label, expected the columns row, label"):
        check_suspects(good.drop(columns="label"), 4)
    with pytest.raises(
        OrdinateError, match="suspects: got rows that are none of the samples, expected numbers from 0 to 2"
    ):
        check_suspects(good, 3)
