"""The temperature from predictions of samples that other models of the same settings have not seen."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from ordinate import CLOCClassifier, OTDClassifier, Training
from ordinate.estimators.calibration import calibrate_temperature
from ordinate.heads.ranks import Temperature
from ordinate.model.predictions import Predictions
from tests.estimators.test_probabilities import draw

EPOCHS = {CLOCClassifier: (4, 8), OTDClassifier: 5}
both = pytest.mark.parametrize("kind", EPOCHS, ids=["CLOC", "OTD"])


@dataclass(frozen=True)
class Slow:
    """A reader of data on which training takes long, so that no second run calibrates."""

    calibrates = False
    decision = None
    weight_decay = None


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    monkeypatch.setattr("ordinate.estimators.rank_classifier.defaults_of", lambda of: Slow())


def fit(kind, samples, **options):
    return kind(embedding_dim=8, epochs=EPOCHS[kind], random_state=0, training=Training(**options)).fit(*samples)


@both
def test_the_temperature_is_the_one_of_the_scores_and_keeps_the_most_probable_rank(kind):
    model, trial, (X, y) = fit(kind, draw(80)), fit(kind, draw(80, seed=1)), draw(200, seed=2)
    before, weights = model.rank_probabilities(X), np.random.default_rng(0).uniform(size=200)
    unseen = Predictions.of(trial.fitted, X, y)
    assert calibrate_temperature(model, [unseen], weights)
    embeddings = torch.from_numpy(trial.transform(X))
    predictor = trial.predictor_
    scores = predictor.head(embeddings) if kind is CLOCClassifier else predictor.scores(embeddings)
    expected = Temperature.fit(scores.detach(), torch.from_numpy(y), torch.from_numpy(weights))
    assert float(model.predictor_.temperature.scale) == pytest.approx(float(expected.scale), rel=1e-3)
    assert float(expected.scale) != pytest.approx(1, rel=0.05)
    np.testing.assert_array_equal(model.rank_probabilities(X).argmax(1), before.argmax(1))
    assert "calibrated" not in " ".join(model.notes_)
    assert not calibrate_temperature(model, [unseen])  # it has one


@both
def test_scores_of_a_calibrated_model_and_settings_that_exclude_it_change_nothing(kind):
    X, y = draw(60, seed=2)
    plain, calibrated = fit(kind, draw(80)), fit(kind, draw(80), calibration=True)
    for model, trial in (
        (plain, calibrated),
        (fit(kind, draw(80), calibration=False), plain),
        (fit(kind, draw(80), optimization="paper"), plain),
    ):
        before = model.rank_probabilities(X)
        assert not calibrate_temperature(model, [Predictions.of(trial.fitted, X, y)])
        np.testing.assert_array_equal(model.rank_probabilities(X), before)
