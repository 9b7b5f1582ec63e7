"""Probabilities around an estimate: a normal distribution, cut off at the ends of the ranks."""

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm

from ordinate_papers.methods.rank_probabilities import probabilities_around


@pytest.mark.parametrize("variance", [0.0025, 0.04, 0.5, 30.0])
def test_they_are_those_of_a_normal_distribution_cut_off_half_a_rank_beyond_the_ends(variance):
    estimates, spread = np.array([0.0, 0.3, 1.7, 2.49, 4.0]), np.sqrt(variance)
    expected = [
        np.diff(truncnorm(-(0.5 + e) / spread, (4.5 - e) / spread, loc=e, scale=spread).cdf(np.arange(6) - 0.5))
        for e in estimates
    ]
    actual = probabilities_around(torch.from_numpy(estimates), torch.full((5,), variance, dtype=torch.float64), 5)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)
