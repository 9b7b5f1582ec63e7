"""The rule of prediction as a setting of an estimator: what it changes, and what validation samples say of it."""

import numpy as np
import pandas as pd
import pytest
import torch

import ordinate
from ordinate.decisions import compare_rules
from ordinate.errors import OrdinateError
from tests.estimators.examples import cloc, draw_series, draw_table, for_every_classifier, otd, ranks_of

X, TARGET = draw_table(80)
NOISY = ranks_of(TARGET + np.random.default_rng(0).normal(scale=0.8, size=80), 5)
COSTS = [[0, 1, 2, 3, 4], [1, 0, 1, 2, 3], [9, 9, 0, 1, 2], [9, 9, 9, 0, 1], [9, 9, 9, 9, 0]]
every_rule = pytest.mark.parametrize("decision", ["mode", "median", COSTS], ids=["mode", "median", "costs"])


@every_rule
@for_every_classifier
def test_it_changes_no_weight_and_no_probability(make, decision):
    plain, decided = make().fit(X, NOISY), make(decision=decision).fit(X, NOISY)
    np.testing.assert_array_equal(decided.transform(X), plain.transform(X))
    np.testing.assert_array_equal(decided.predict_proba(X), plain.predict_proba(X))


@for_every_classifier
def test_on_tables_the_median_is_the_usual_rule_and_none_is_the_papers(make):
    model = make(decision="auto").fit(X, NOISY)
    by_median, by_mode = (make(decision=rule).fit(X, NOISY).predict(X) for rule in ("median", "mode"))
    np.testing.assert_array_equal(model.predict(X), by_median)
    np.testing.assert_array_equal(model.set_params(decision=None).predict(X), by_mode)


def test_elsewhere_the_usual_rule_is_the_papers():
    series, target = draw_series()
    assert cloc().fit(series, ranks_of(target)).rule == "mode"


def test_another_rule_after_the_fit_needs_no_other_fit():
    model = cloc(epochs=(10, 10), decision="mode").fit(X, NOISY)
    by_mode = model.predict(X)
    by_median = model.set_params(decision="median").predict(X)
    assert (by_mode != by_median).any()
    np.testing.assert_array_equal(by_median, cloc(epochs=(10, 10), decision="median").fit(X, NOISY).predict(X))


def test_a_stopped_fit_continues_under_another_rule(tmp_path):
    cloc(checkpoint_dir=tmp_path).fit(X, NOISY)
    resumed = cloc(checkpoint_dir=tmp_path, decision="median").fit(X, NOISY)
    np.testing.assert_array_equal(resumed.transform(X), cloc().fit(X, NOISY).transform(X))


@for_every_classifier
def test_validation_samples_measure_mode_and_median(make, tmp_path):
    seen, unseen = slice(0, 50), slice(50, 80)
    model = make().fit(X[seen], NOISY[seen], validation=(X[unseen], NOISY[unseen]))
    expected = compare_rules(NOISY[unseen], model.rank_probabilities(X[unseen]))
    for rule, scores in model.decision_scores_.items():
        assert scores == pytest.approx(expected[rule])
    model.save(tmp_path / "model")
    assert ordinate.load(tmp_path / "model").decision_scores_ == model.decision_scores_
    assert make().fit(X, NOISY).decision_scores_ is None
    assert make(validation_fraction=0.3).fit(X, NOISY).decision_scores_.keys() == {"mode", "median"}


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ("average", "decision: got 'average', expected 'mode', 'median', or a matrix of costs"),
        ([[0, 1], [1, 0]], r"decision: costs: got shape \(2, 2\), expected \(5, 5\)"),
        (7, r"decision: costs: got shape \(\)"),
    ],
)
@for_every_classifier
def test_another_decision_is_refused_before_training(make, decision, message):
    with pytest.raises(OrdinateError, match=message):
        make(decision=decision).fit(X, NOISY)


@pytest.mark.parametrize("form", [np.array, pd.DataFrame, torch.tensor], ids=["array", "frame", "tensor"])
def test_costs_of_a_model_are_kept_when_it_is_saved(form, tmp_path):
    model = otd(decision=form(COSTS)).fit(X, NOISY)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.rule, np.array(COSTS, dtype=float))
