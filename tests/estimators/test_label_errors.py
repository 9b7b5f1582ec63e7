"""Samples that look mislabelled: every one is judged by a model that has not seen it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinate import OrdinateError, OTDClassifier
from ordinate.decisions.label_errors import neighbour_shares, residual_suspicion, suggested_ranks, suspicion
from ordinate.estimators import label_errors
from ordinate.estimators.label_errors import _folds, find_label_errors, out_of_fold_probabilities
from tests.estimators.examples import (
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    for_every_classifier,
    otd,
    ranks_of,
    supcr,
)

WRONG = [3, 17]


def line(n=60):
    """Samples along a line, ranks in its order but for two."""
    X = np.linspace(0, 1, n)[:, None]
    y = np.digitize(X[:, 0], [1 / 3, 2 / 3])
    y[WRONG] = 2
    return X, y


@for_every_classifier
def test_moved_labels_come_first_with_the_rank_that_they_had(make):
    longer = {"epochs": 8} if make is otd else {"epochs": (8, 8)}
    X, y = line()
    found = find_label_errors(make(**longer, learning_rate=0.01), X, y, folds=3)
    assert sorted(found["row"][:2]) == WRONG
    assert found["label"][:2].tolist() == [2, 2]
    assert found["suggested"][:2].tolist() == [0, 0]


def test_ranks_are_judged_by_their_probabilities_out_of_fold():
    X, target = draw_table()
    y = ranks_of(target)
    probabilities = out_of_fold_probabilities(cloc(), X, y, folds=3)
    found = find_label_errors(cloc(), X, y, folds=3).sort_values("row")
    assert found["suspicion"].tolist() == suspicion(y, probabilities).tolist()
    assert found["suggested"].tolist() == suggested_ranks(y, probabilities).tolist()


@for_every_classifier
def test_probabilities_are_those_of_models_trained_without_the_sample(make):
    X, target = draw_table()
    y = ranks_of(target)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    expected = np.zeros((len(y), 3))
    for rows, unseen in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        model = make().fit(X[rows], y[rows])
        shares = neighbour_shares(model.transform(X[unseen]), model.transform(X[rows]), y[rows], 3, k=10)
        expected[unseen] = (model.predict_proba(X[unseen]) + shares) / 2
    assert out_of_fold_probabilities(make(), X, y, folds=3) == pytest.approx(expected, abs=1e-12)


def test_targets_are_judged_by_their_residuals_out_of_fold():
    X, target = draw_table()
    target[5] += 20
    found = find_label_errors(supcr(), X, target, folds=2)
    assert found["row"][0] == 5
    ordered = found.sort_values("row")
    assert ordered["label"].tolist() == target.tolist()
    assert ordered["suspicion"].tolist() == residual_suspicion(target, ordered["suggested"], len(target)).tolist()


def test_the_model_that_judges_a_sample_has_not_seen_its_group():
    X, target = draw_table(48)
    groups = np.repeat(np.arange(16), 3)
    trained = []

    class Watched(type(cloc())):
        def fit(self, X, y, **options):
            trained.append(set(X["x0"]))
            return super().fit(X, y, **options)

        def predict_proba(self, X):
            seen = groups[[value in trained[-1] for value in values]]
            assert set(seen).isdisjoint(groups[[value in set(X["x0"]) for value in values]])
            return super().predict_proba(X)

    values = X[:, 0]
    find_label_errors(Watched(epochs=(1, 1), random_state=0), X, ranks_of(target), folds=3, groups=groups)
    assert len(trained) == 3


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")
@pytest.mark.parametrize(("distinct", "are_apart"), [(16, True), (3, False)])
def test_the_model_of_a_sample_has_not_seen_its_copies_if_enough_samples_differ(distinct, are_apart, monkeypatch):
    copied = np.arange(48) % distinct
    X, target = draw_table(distinct)
    drawn = []

    def record(*arguments):
        drawn.extend(_folds(*arguments))
        return drawn

    monkeypatch.setattr(label_errors, "_folds", record)
    find_label_errors(otd(epochs=1), X[copied], ranks_of(target)[copied], folds=3)
    assert len(drawn) == 3
    for rows, unseen in drawn:
        assert sorted([*rows, *unseen]) == list(range(48))
        assert set(copied[rows]).isdisjoint(copied[unseen]) == are_apart


def test_text_in_an_order_of_its_own_is_found_and_suggested_as_text():
    X, y = line()
    words = np.array(["low", "mid", "high"])[y]
    expected = find_label_errors(otd(epochs=2), X, y, folds=2)
    ordered = pd.Categorical(words, categories=["low", "mid", "high"], ordered=True)
    for labels, options in ((words, {"class_order": ["low", "mid", "high"]}), (ordered, {})):
        found = find_label_errors(otd(epochs=2, **options), X, labels, folds=2)
        assert found["row"].tolist() == expected["row"].tolist()
        assert found["suspicion"].tolist() == expected["suspicion"].tolist()
        assert found["suggested"].tolist() == np.array(["low", "mid", "high"])[expected["suggested"]].tolist()


@pytest.mark.parametrize("draw", [draw_frame, draw_series], ids=["frame", "series"])
def test_every_kind_of_samples_is_taken(draw):
    X, target = draw()
    assert len(find_label_errors(otd(), X, ranks_of(target), folds=2)) == len(target)


def test_the_estimator_is_left_as_it_was():
    X, y = line()
    estimator = otd()
    before = estimator.get_params()
    find_label_errors(estimator, X, y, folds=2)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "method_")


def test_a_run_that_was_stopped_continues_in_the_folder_of_its_fold(tmp_path):
    X, y = line()
    expected = find_label_errors(otd(), X, y, folds=2)
    for _ in range(2):
        found = find_label_errors(otd(checkpoint_dir=tmp_path / "state"), X, y, folds=2)
        pd.testing.assert_frame_equal(found, expected)
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"fold-0", "fold-1"}


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0] * 10 + [1] * 10, {"folds": 1}, "folds: got 1, expected a whole number of at least 2"),
        ([0] * 10 + [1] * 10, {"folds": 11}, "folds: got 11, expected at most 10, the samples of the largest rank"),
        ([0] * 10 + [1] * 10, {"folds": 3, "groups": [0, 1] * 10}, "folds: got 3, expected at most 2, the groups"),
        ([0] * 10 + [1] * 10, {"groups": [0, 1]}, "groups: got shape .2,., expected .20,., one per sample"),
        ([0] * 19 + [1], {}, "y: a fold leaves no sample of rank 1 to train on, expected at least two of every rank$"),
        (
            [0] * 10 + [1] * 10,
            {"folds": 2, "groups": [*range(10), *[10] * 10]},
            "y: a fold leaves no sample of rank 1 to train on, expected at least two of every rank, in two groups",
        ),
        ([0, 1], {}, "y: got 2 labels for 20 samples, expected one per sample"),
        ([0.0, np.nan] * 10, {}, "y: Input contains NaN"),
    ],
)
def test_labels_and_folds_that_do_not_fit_are_errors(labels, options, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        find_label_errors(otd(), np.arange(20.0)[:, None], labels, **options)


def test_targets_of_several_dimensions_are_an_error():
    X, target = draw_table()
    with pytest.raises(OrdinateError, match=r"^y: got shape \(48, 2\), expected one target per sample, \(n,\)"):
        find_label_errors(supcr(), X, np.stack([target, target], axis=1))


def test_a_pipeline_is_refused_by_name():
    pipeline = make_pipeline(StandardScaler(), OTDClassifier())
    with pytest.raises(OrdinateError, match="estimator: got Pipeline, expected an estimator of ordinate"):
        find_label_errors(pipeline, np.zeros((6, 2)), [0, 1, 2, 0, 1, 2])
