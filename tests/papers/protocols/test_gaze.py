"""Angles between directions against the arc cosine, rotations and the label distance of the losses."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from ordinate.errors import OrdinateError
from ordinate.functional.label_distance import pairwise_label_distance
from ordinate_papers.protocols.gaze import angular_error


def gazes(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform([-1.5, -3], [1.5, 3], (2, n, 2))


def test_the_angle_is_that_between_the_directions_that_pitch_and_yaw_turn_to():
    true, pred = gazes()
    ahead = [0.0, 0.0, 1.0]
    vectors = [Rotation.from_euler("YX", np.stack([y, -p], axis=-1)).apply(ahead) for p, y in (true.T, pred.T)]
    cosines = np.sum(vectors[0] * vectors[1], axis=1)
    expected = np.degrees(np.arccos(cosines)).mean()
    assert angular_error(true, pred) == pytest.approx(expected, abs=1e-9)


def test_the_angle_is_the_label_distance_of_the_losses_in_degrees():
    true, pred = gazes(seed=1)
    distances = pairwise_label_distance(torch.tensor(true), torch.tensor(pred), "angular").diagonal()
    assert angular_error(true, pred) == pytest.approx(np.degrees(distances.mean().item()), abs=1e-9)


@pytest.mark.parametrize("angle", [1e-12, 1e-6, 1.0, 90.0, 180 - 1e-6, 180.0])
def test_no_angle_loses_digits(angle):
    turned = [[0.0, 0.0], [0.0, np.radians(angle)]]
    assert angular_error(turned[:1], turned[1:]) == pytest.approx(angle, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: angular_error([[0.0] * 3], [[0.0] * 3]), r"y_true: got 3 dimensions, expected \(pitch, yaw\)"),
        (lambda: angular_error([[0.0, np.nan]], [[0.0, 0.0]]), "y_true: got NaN"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
