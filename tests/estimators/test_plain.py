"""Classifiers of ranks trained end to end are scikit-learn's, save, load and resume, and read all kinds of data."""

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.plain import CrossEntropyClassifier
from ordinate_papers.estimators import OrdinalClassifier
from ordinate_papers.methods.ordinal import LOSSES
from tests.estimators.conformity import EQUIVALENCE, parametrize_with_essential_checks, run_check
from tests.estimators.examples import Make, draw_frame, draw_table, ranks_of
from tests.model.test_saving import assert_same_model, save_and_load

X, TARGET = draw_table()
RANKS = ranks_of(TARGET, 4)
for_every_loss = pytest.mark.parametrize("loss", ["cross_entropy", *LOSSES])


def ordinal(loss="cross_entropy", **options):
    if loss == "cross_entropy":
        return Make(CrossEntropyClassifier, epochs=6)(**options)
    return Make(OrdinalClassifier, epochs=6, loss=loss)(**options)


def exceptions(estimator):
    reason = "takes the likeliest class for the one predicted, which here is the median, as in the papers"
    return EQUIVALENCE if estimator.decision == "mode" else EQUIVALENCE | {"check_classifiers_train": reason}


@parametrize_with_essential_checks(
    [CrossEntropyClassifier(epochs=15, decision="mode"), OrdinalClassifier(loss="or", epochs=15)],
    expected_failed_checks=exceptions,
)
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@for_every_loss
def test_grades_are_learned_and_probabilities_sum_to_1(loss):
    X, target = draw_table(96)
    grades = np.array(["none", "mild", "moderate", "severe"])[ranks_of(target, 4)]
    order = ["none", "mild", "moderate", "severe"]
    model = ordinal(loss=loss, class_order=order, epochs=60, batch_size=96, weight_decay=0.01, learning_rate=0.02)
    model.fit(X, grades)
    assert model.ordered_classes_.tolist() == order
    assert model.score(X, grades) > 0.8
    probability = model.predict_proba(X)
    assert probability.shape == (96, 4)
    assert probability.min() >= 0
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)


@for_every_loss
def test_the_class_predicted_follows_from_the_probabilities(loss):
    model = ordinal(loss=loss, epochs=2, decision=None).fit(X, RANKS)
    new = draw_table(400, seed=1)[0]
    probability = model.predict_proba(new)
    median = (probability.cumsum(axis=1) >= 0.5).argmax(axis=1)
    expected = probability.argmax(axis=1) if loss == "cross_entropy" else median
    assert (model.predict(new) == expected).all()
    assert (median != probability.argmax(axis=1)).any()  # hardly trained, it is sure of nothing


@for_every_loss
def test_a_loaded_model_is_the_saved_one(loss, tmp_path):
    model = ordinal(loss=loss).fit(X, RANKS)
    loaded = save_and_load(model, tmp_path / "model")
    assert_same_model(loaded, model, draw_table(seed=1)[0])
    assert loaded.get_params() == model.get_params()


def test_tables_are_read(tmp_path):
    X, target = draw_frame()
    model = ordinal(epochs=2).fit(X, ranks_of(target))
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_frame(seed=1)[0])


def fit(**options):
    return ordinal(epochs=9, validation_fraction=0.3, **options).fit(X, RANKS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "ordinal"}, "loss: got 'ordinal', expected one of 'or', 'corn', 'coral'"),
        ({"epochs": 0}, "epochs: got 0, expected a whole number of at least 1"),
        ({"weight_decay": -1.0}, "weight_decay: got -1.0"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(options, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        ordinal(**options).fit(X, RANKS)
