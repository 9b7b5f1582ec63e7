"""Predictions of labelled samples: those of the model, in one object."""

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.model.predictions import Predictions
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr

X, TARGET = draw_table(48)
NAMES = np.array(["low", "mid", "high"], dtype=object)


def test_they_are_what_the_model_predicts_and_embeds():
    labels = NAMES[ranks_of(TARGET)]
    model = cloc(class_order=NAMES.tolist()).fit(X, labels)
    found = Predictions.of(model.fitted, X[:9], labels[:9])
    assert found.classes == NAMES.tolist()
    assert NAMES[found.true].tolist() == labels[:9].tolist()
    assert NAMES[found.predicted].tolist() == model.predict(X[:9]).tolist()
    np.testing.assert_array_equal(found.probabilities, model.rank_probabilities(X[:9]))
    np.testing.assert_array_equal(found.embeddings, model.transform(X[:9]))


def test_targets_have_no_probabilities():
    model = supcr().fit(X, TARGET)
    found = Predictions.of(model.fitted, X[:9], TARGET[:9])
    np.testing.assert_array_equal(found.predicted, model.predict(X[:9]))
    assert found.classes is found.probabilities is None


def test_some_of_them_keep_together():
    found = Predictions.of(supcr().fit(X, TARGET).fitted, X, TARGET)
    some = found.take(np.array([3, 1]))
    assert len(some) == 2
    for name in ("X", "inputs", "true", "predicted", "embeddings"):
        np.testing.assert_array_equal(getattr(some, name), getattr(found, name)[[3, 1]])


def test_another_number_of_labels_is_an_error():
    with pytest.raises(OrdinateError, match=r"y: got 8 labels for 9 samples, expected one per sample"):
        Predictions.of(supcr().fit(X, TARGET).fitted, X[:9], TARGET[:8])
