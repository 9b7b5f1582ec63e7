"""The estimators are scikit-learn's: its conformity suite, and what people do with them there."""

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor
from tests.estimators.conformity import (
    parametrize_with_essential_checks,
    parametrize_with_every_check,
    run_check,
)
from tests.estimators.examples import (
    cloc,
    draw_frame,
    draw_table,
    for_every_estimator,
    labels_for,
    supremix,
)

X, TARGET = draw_table()


@parametrize_with_every_check([CLOCClassifier(epochs=(3, 3), decision="mode"), SupCRRegressor(epochs=(6, 6))])
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@parametrize_with_essential_checks([OTDClassifier(epochs=8, decision="mode"), SupReMixRegressor(epochs=(6, 6))])
def test_scikit_learn_checks_what_the_others_could_break(estimator, check):
    run_check(estimator, check)


@for_every_estimator
def test_a_pickled_model_predicts_the_same(make):
    model = make().fit(X, labels_for(make, TARGET))
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict(X) == model.predict(X)).all()
    assert (copy.transform(X) == model.transform(X)).all()


@for_every_estimator
def test_it_ends_a_pipeline(make):
    labels = labels_for(make, TARGET)
    frame = draw_frame()[0].drop(columns=["category", "whole", "other"])
    columns = make_column_transformer((OneHotEncoder(), ["text"]), (StandardScaler(), ["number", "noise"]))
    pipeline = make_pipeline(columns, make()).fit(frame, labels)
    assert pipeline.predict(frame).shape == (48,)
    prepared = columns.fit_transform(frame)
    assert (pipeline.predict(frame) == make().fit(prepared, labels).predict(prepared)).all()


@for_every_estimator
def test_its_embedding_is_a_step_of_a_pipeline_with_named_columns(make):
    pipeline = make_pipeline(make(), StandardScaler()).set_output(transform="pandas")
    embedded = pipeline.fit_transform(X, labels_for(make, TARGET))
    name = type(make()).__name__.lower()
    assert list(embedded.columns) == [f"{name}{i}" for i in range(8)]
    assert np.isfinite(embedded.to_numpy()).all()


@pytest.mark.parametrize("make", [cloc, supremix], ids=["cloc", "supremix"])
def test_a_grid_of_settings_is_searched(make):
    grid = {"training__learning_rate": [1e-7, 1e-2]}
    search = GridSearchCV(make(), grid, cv=2, error_score="raise").fit(X, labels_for(make, TARGET))
    assert len(set(search.cv_results_["mean_test_score"].tolist())) > 1
    assert search.best_estimator_.predict(X).shape == (48,)
