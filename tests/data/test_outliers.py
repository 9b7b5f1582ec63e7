"""Values that lie far from all others of a column are found, and long tails are none."""

import numpy as np
import pandas as pd
import pytest

from ordinate.data.outliers import find_outliers

TAILS = {
    "normal": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n),
    "log-normal": lambda random, n: random.lognormal(0, 1, n),
    "wide log-normal": lambda random, n: random.lognormal(0, 3, n),
    "Pareto, without a mean": lambda random, n: random.pareto(1, n),
    "Cauchy": lambda random, n: random.standard_cauchy(n),
    "Student, without a variance": lambda random, n: random.standard_t(2, n),
    "mostly zero": lambda random, n: random.lognormal(0, 2, n) * (random.random(n) < 0.2),
    "counts": lambda random, n: random.negative_binomial(0.1, 0.02, n),
    "rare counts": lambda random, n: random.poisson(0.1, n),
    "word frequencies": lambda random, n: random.zipf(1.8, n),
    "two groups": lambda random, n: random.normal(size=n) + 100 * (random.random(n) < 0.1),
}


def measured(n=500, seed=0):
    """Return a body mass index for each of n persons, from 15 to 60."""
    return np.random.default_rng(seed).normal(27, 6, n).clip(15, 60).round(1)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("n", [200, 2000])
def test_long_tails_are_no_errors(tail, n):
    random = np.random.default_rng(0)
    found = [find_outliers(pd.Series(TAILS[tail](random, n))) for _ in range(200)]
    assert sum(each is not None for each in found) <= 2


@pytest.mark.parametrize("wrong", [[4000], [-700], [4000, 39000], [2700, 4000, 39000], [4000, 4000], [-700, 4000]])
@pytest.mark.parametrize("n", [60, 500, 20_000])
def test_impossible_values_are_found_with_their_rows(wrong, n):
    values = measured(n)
    rows = np.arange(7, 7 + len(wrong))
    values[rows] = wrong
    others = np.delete(values, rows)
    found = find_outliers(pd.Series(values))
    assert (found.rows, found.values) == (rows.tolist(), wrong)
    assert (found.low, found.high) == (others.min(), others.max())


def test_missing_values_and_other_kinds_of_columns_are_passed_over():
    values = measured()
    values[:100] = np.nan
    values[200] = 4000
    assert find_outliers(pd.Series(values)).rows == [200]
    assert find_outliers(pd.Series(values, dtype="Float64")).rows == [200]
    assert find_outliers(pd.Series(["low", "high"] * 50)) is None
    assert find_outliers(pd.Series([True, False] * 50)) is None
    assert find_outliers(pd.Series([np.nan] * 50)) is None
    assert find_outliers(pd.Series([1.0] * 50)) is None


def test_values_that_several_rows_share_are_no_outliers():
    values = measured()
    values[:5] = 4000
    assert find_outliers(pd.Series(values)) is None
