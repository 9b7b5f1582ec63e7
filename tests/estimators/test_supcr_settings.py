"""The settings of SupCR's loss: what they are, what is refused, and gaze directions as they are."""

import numpy as np
import pytest
import torch

import ordinate
from ordinate.errors import OrdinateError
from ordinate.estimators.supcr import SupCRMethod
from ordinate.functional import supcr as supcr_loss
from tests.estimators.examples import draw_table, supcr

X, TARGET = draw_table()
GAZE = np.stack([0.6 + 0.2 * np.tanh(X[:, 0]), 1.2 * np.tanh(X[:, 1])], axis=1)  # far from (0, 0): pitch matters
GIVEN = {
    "similarity": "cosine", "label_distance": "l2", "num_positives": 5, "temperature": 0.5, "tie_tolerance": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_every_setting_changes_the_training(name):
    y = GAZE if name == "label_distance" else TARGET  # of one dimension, L1 and L2 are the same
    given, default = supcr(**{name: GIVEN[name]}).fit(X, y), supcr().fit(X, y)
    assert (given.transform(X) != default.transform(X)).any()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"similarity": "dot"}, "similarity: got 'dot'"),
        ({"label_distance": "cosine"}, "label_distance: got 'cosine'"),
        ({"num_positives": 0}, "num_positives: got 0"),
        ({"num_positives": 1.5}, r"num_positives: got 1\.5"),
        ({"temperature": 0}, "temperature: got 0"),
        ({"tie_tolerance": -0.1}, r"tie_tolerance: got -0\.1"),
        ({"label_distance": "angular"}, r"y: got 1 target\(s\) per sample, expected \(pitch, yaw\)"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_training(option, message, monkeypatch):
    monkeypatch.setattr(SupCRMethod, "module", lambda *_: pytest.fail("training began"))
    with pytest.raises(OrdinateError, match=message):
        supcr(**option).fit(X, TARGET)


@pytest.fixture
def seen(monkeypatch):
    """The labels that the loss of a SupCRRegressor sees."""
    found = []
    forward = ordinate.losses.SupCRLoss.forward

    def record(loss, embeddings, labels, *arguments, **options):
        found.append(labels)
        return forward(loss, embeddings, labels, *arguments, **options)

    monkeypatch.setattr(ordinate.losses.SupCRLoss, "forward", record)
    return found


def test_an_angular_distance_is_between_the_directions_as_they_are_and_not_around_their_mean(seen):
    model = supcr(label_distance="angular", batch_size=48, epochs=(1, 1), validation_fraction=0.0).fit(X, GAZE)
    (labels, *_) = seen
    np.testing.assert_allclose(np.sort(labels.numpy(), axis=0), np.sort(GAZE, axis=0), rtol=1e-6)
    embeddings = torch.randn(48, 4, generator=torch.Generator().manual_seed(0))
    shifted = labels - labels.mean(0)
    losses = [supcr_loss(embeddings, given, label_distance="angular") for given in (labels, shifted)]
    assert losses[0] != losses[1]  # so that centring would have been another training
    assert model.predict(X).shape == GAZE.shape


def test_one_number_of_epochs_is_for_the_encoder_and_a_quarter_of_it_for_the_head():
    fitted = supcr(epochs=8, scheme="fine_tune", validation_fraction=0.0).fit(X, TARGET)
    stages = [epoch["stage"] for epoch in fitted.history_]
    assert (stages.count(0), stages.count(1)) == (8, 2)
