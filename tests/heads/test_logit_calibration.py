"""Calibrated logits against a loop over ranks in NumPy."""

import numpy as np
import torch
from scipy.special import softmax
from torch import nn

from ordinate.estimators.predictors import describe_predictor, restore_predictor
from ordinate.heads.logit_calibration import LogitCalibration
from ordinate.heads.rank_logits import RankLogits


def draw_calibration(classes=4):
    """A calibration with parameters at random."""
    torch.manual_seed(0)
    calibration = LogitCalibration(classes)
    with torch.no_grad():
        for parameter in calibration.parameters():
            parameter.add_(torch.randn_like(parameter))
    return calibration.requires_grad_(False)


def test_probabilities_are_those_of_the_formula():
    calibration = draw_calibration()
    logits = np.random.default_rng(0).normal(size=(7, 4)) * 5
    scale, pull = calibration.log_scale.exp().item(), calibration.log_pull.exp().item()
    expected = np.zeros_like(logits)
    for row, each in enumerate(logits * scale):
        mean = sum(rank * share for rank, share in enumerate(softmax(each)))
        changed = [each[rank] + calibration.shifts[rank].item() - pull * (rank - mean) ** 2 / 2 for rank in range(4)]
        expected[row] = (1 - 1e-6) * softmax(changed) + 1e-6 / 4
    np.testing.assert_allclose(calibration(torch.from_numpy(logits)).numpy(), expected, rtol=1e-12)


def test_a_constant_added_to_all_logits_changes_nothing():
    logits = torch.randn(5, 4).double()
    calibration = draw_calibration()
    np.testing.assert_allclose(calibration(logits + 7).numpy(), calibration(logits).numpy(), rtol=1e-12)


def test_no_probability_is_0_however_large_logits_are():
    probabilities = draw_calibration()(torch.tensor([[1e4, 0.0, -1e4, 0.0]]).double())
    assert probabilities.min() >= 1e-7
    np.testing.assert_allclose(probabilities.sum().item(), 1, rtol=1e-12)


def test_restored_logits_keep_their_calibration_or_have_none():
    head = nn.Linear(3, 4).double()
    x = torch.randn(6, 3).double()
    for predictor in (RankLogits(head, "cross_entropy", draw_calibration()), RankLogits(head, "cross_entropy")):
        again = restore_predictor(describe_predictor(predictor), predictor.state_dict())
        assert torch.equal(again(x), predictor(x))
        assert (again.calibration is None) == (predictor.calibration is None)
