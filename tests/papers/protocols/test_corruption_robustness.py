"""Errors under corruptions, on arrays and decoded images."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from ordinate import ImageOptions
from ordinate.data.images.pixels import Decoded
from ordinate.errors import OrdinateError
from ordinate_papers.protocols.corruption_robustness import corruption_robustness
from ordinate_papers.protocols.corruptions import CORRUPTIONS, corrupt
from tests.estimators.examples import cloc


class MeanLight(RegressorMixin, BaseEstimator):
    """Predicts the mean of the pixels."""

    def predict(self, images):
        pixels = images.pixels if isinstance(images, Decoded) else images
        return pixels.mean(axis=(1, 2, 3))


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (5, 1, 16, 16)).astype(np.uint8)


def test_the_error_is_that_of_the_predictions_on_corrupted_images(images):
    labels = images.mean(axis=(1, 2, 3)) + 1
    figures = corruption_robustness(MeanLight(), images, labels, names=["fog", "contrast"], severities=[2, 4], seed=3)
    assert figures["clean"] == pytest.approx(1, abs=1e-9)
    for name in ("fog", "contrast"):
        wanted = [np.abs(corrupt(images, name, s, 3).mean(axis=(1, 2, 3)) - labels).mean() for s in (2, 4)]
        assert figures["errors"][name] == pytest.approx(wanted, rel=1e-12)
    assert figures["mean"] == pytest.approx(np.mean([figures["errors"]["fog"], figures["errors"]["contrast"]], axis=0))
    assert [(row["corruption"], row["severity"]) for row in figures["rows"]] == [
        ("none", 0), ("fog", 2), ("fog", 4), ("contrast", 2), ("contrast", 4)
    ]  # fmt: skip


def test_an_estimator_is_measured_under_all_19():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 8)
    X = (40 + 80 * y[:, None, None, None] + rng.integers(0, 20, (24, 3, 12, 12))).astype(np.uint8)
    model = cloc(encoder="test_resnet", data=ImageOptions(augmentation="none", workers=0)).fit(X, y)
    figures = corruption_robustness(model, X[::4], y[::4], severities=[5])
    assert list(figures["errors"]) == list(CORRUPTIONS)
    assert len(figures["rows"]) == 20


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"names": ["rain"]}, "names: got \\['rain'\\]"),
        ({"names": []}, "names: got none"),
        ({"severities": [6]}, "severities: got \\[6\\]"),
        ({"labels": np.arange(4)}, "labels: got shape \\(4,\\) for 5 samples"),
    ],
)
def test_what_cannot_be_measured_is_an_error(images, given, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        corruption_robustness(MeanLight(), **{"images": images, "labels": np.arange(5), **given})
