"""Quantiles of Beta distributions are SciPy's, to the last bit of float32 where they are not tiny."""

import numpy as np
import pytest
from scipy.special import betaincinv

from ordinate.functional.beta_quantiles import beta_quantiles

SHAPES = [(2.0, 8.0), (1, 1), (5, 2), (0.5, 0.5), (0.2, 0.2), (0.05, 4), (50, 3), (1e3, 3e3)]


@pytest.mark.parametrize(("alpha", "beta"), SHAPES)
def test_quantiles_are_scipys(alpha, beta):
    expected = betaincinv(alpha, beta, np.linspace(0, 1, 4096))
    np.testing.assert_allclose(beta_quantiles(alpha, beta, 4096), expected, rtol=1e-9, atol=1e-15)


def test_what_supremix_draws_from_by_default_is_bit_for_bit_scipys():
    expected = betaincinv(2.0, 8.0, np.linspace(0, 1, 4096)).astype(np.float32)
    np.testing.assert_array_equal(beta_quantiles(2.0, 8.0, 4096).astype(np.float32), expected)
