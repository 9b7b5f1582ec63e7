"""Candidates are compared on the same samples."""

import numpy as np
import pytest

from ordinate.estimators.unseen_errors import UnseenErrors

random = np.random.default_rng(0)


def errors(**of):
    return UnseenErrors(of={name: np.asarray(values, dtype=float) for name, values in of.items()})


def test_the_standard_error_is_that_of_a_mean():
    values = random.exponential(size=50)
    mean, error = errors(a=values).mean("a")
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_samples_of_a_group_count_as_one():
    """The same four samples a hundred times over say no more than once."""
    values = np.array([0.0, 1.0, 2.0, 5.0])
    once = errors(a=values).mean("a")
    often = UnseenErrors(groups=np.tile(list("wxyz"), 100), of={"a": np.tile(values, 100)}).mean("a")
    assert often == pytest.approx(once)


def test_a_weight_is_a_number_of_samples():
    values, counts = random.exponential(size=40), random.integers(0, 4, size=40)
    weighted = UnseenErrors(weights=counts.astype(float), of={"a": values}).mean("a")[0]
    assert weighted == pytest.approx(np.repeat(values, counts).mean())


def test_a_difference_is_between_pairs():
    """Errors that differ much from sample to sample hide no small difference between two candidates."""
    values = random.exponential(size=50)
    found = errors(worse=values + 0.01 + random.normal(scale=1e-3, size=50), better=values)
    assert found.lowest(found.of) == "better"
    assert found.behind("worse", "better", 2.0)
    assert not found.behind("better", "worse", 0.0)


@pytest.mark.parametrize("order", [("one", "other"), ("other", "one")])
def test_of_equal_candidates_the_first_is_the_lowest(order):
    values = np.abs(random.normal(size=100))
    assert errors(**dict.fromkeys(order, values)).lowest(order) == order[0]
    values = np.abs(np.roll(values, 1)) + 0.01
    found = errors(one=values - 0.01, other=values)
    assert found.lowest(order) == "one"


def test_equal_weighted_means_are_equal_whatever_rounding_makes_of_them():
    for _ in range(100):
        weights, values = random.uniform(0.1, 3, size=30), random.integers(0, 3, size=30).astype(float)
        order = random.permutation(30)
        # The second half has the errors and the weights of the first in another order.
        first, other = np.concatenate([values, 0 * values]), np.concatenate([0 * values, values[order]])
        found = UnseenErrors(np.concatenate([weights, weights[order]]), of={"first": first, "other": other})
        assert found.lowest(["first", "other"]) == "first"
        assert found.lowest(["other", "first"]) == "other"


def test_candidates_are_compared_on_the_samples_that_both_were_measured_on():
    found = errors(all=[1, 1, 9, 9], some=[0.5, 0.7, np.nan, np.nan])
    assert found.mean("all", "some")[0] == pytest.approx(0.4)
    assert found.lowest(["all"]) == "all"
    assert found.lowest(["all", "some"]) == "some"
    assert found.intervals()["some"]["mae"] == pytest.approx(0.6)
    assert [each["samples"] for each in found.intervals().values()] == [4, 2]


@pytest.mark.parametrize("count", [20, 87, 150, 299])
def test_a_lead_on_a_single_sample_is_a_tie_wherever_it_is(count):
    """It is one standard error, which rounding must not decide about."""
    for place in range(count):
        other = np.zeros(count)
        first = np.where(np.arange(count) == place, 1.0, other)
        assert not errors(first=first, other=other).behind("first", "other", 1.0)


@pytest.mark.parametrize("groups", [None, ["a", "a", "a"]])
def test_one_sample_or_group_decides_nothing_and_has_no_interval(groups):
    count = 3 if groups else 1
    found = UnseenErrors(groups=groups, of={"first": np.full(count, 2.0), "other": np.full(count, 1.0)})
    assert not found.behind("first", "other", 0.5)
    assert found.intervals()["first"] == {"mae": 2.0, "samples": count}


def test_an_interval_holds_the_mean_in_95_of_100_even_of_few_groups():
    drawn = random.normal(size=(4000, 4)) + 10
    inside = [errors(a=each).intervals()["a"] for each in drawn]
    assert np.mean([each["low"] <= 10 <= each["high"] for each in inside]) == pytest.approx(0.95, abs=0.01)


def test_no_mistake_is_not_no_mistake_ever():
    assert errors(a=np.zeros(30)).intervals()["a"] == {"mae": 0.0, "samples": 30, "low": 0.0, "high": 0.1}
