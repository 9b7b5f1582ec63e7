"""Decisions by cost against brute force over all ranks, costs against sums over boundaries."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, recall_score

from ordinate.decisions import (
    boundary_errors,
    check_costs,
    compare_decisions,
    cost_matrix,
    decide,
    expected_cost,
    read_costs,
)
from ordinate.errors import OrdinateError
from ordinate.metrics import mae, rank_report

C = 4
entries = st.integers(0, 9)
matrices = st.lists(st.lists(entries, min_size=C, max_size=C), min_size=C, max_size=C).map(
    lambda rows: np.array(rows, dtype=float) * (1 - np.eye(C))
)
rows_of_probability = st.lists(st.lists(entries, min_size=C, max_size=C).filter(any), min_size=1, max_size=20).map(
    lambda rows: np.array(rows, dtype=float) / np.sum(rows, axis=1, keepdims=True)
)
ranks = st.lists(st.tuples(st.integers(0, C - 1), st.integers(0, C - 1)), min_size=1, max_size=30)
steps = st.tuples(st.floats(0, 10), st.floats(0, 10))


# costs


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_without_critical_boundaries_the_cost_is_a_power_of_the_distance(power):
    distance = np.abs(np.subtract.outer(range(5), range(5)))
    np.testing.assert_allclose(cost_matrix(5, power=power), distance**power, rtol=1e-15)


@given(st.lists(steps, min_size=C - 1, max_size=C - 1))
def test_a_mistake_costs_the_sum_of_the_boundaries_it_crosses(pairs):
    costs = cost_matrix(C, {(h, h + 1): pair for h, pair in enumerate(pairs)})
    for true, pred in product(range(C), repeat=2):
        crossed = [pairs[h][0] for h in range(pred, true)] + [pairs[h][1] for h in range(true, pred)]
        assert costs[true, pred] == pytest.approx(sum(crossed), rel=1e-12, abs=1e-12)


def test_a_file_gives_its_costs_whatever_the_order_of_its_labels(tmp_path):
    costs = cost_matrix(3, {(1, 2): (5.0, 2.0)})
    frame = pd.DataFrame(costs, ["low", "mid", "high"], ["low", "mid", "high"])
    frame.loc[["high", "low", "mid"], ["mid", "high", "low"]].to_csv(tmp_path / "costs.csv")
    np.testing.assert_array_equal(read_costs(tmp_path / "costs.csv", ["low", "mid", "high"]), costs)
    pd.DataFrame(costs).to_csv(tmp_path / "numbers.csv")
    np.testing.assert_array_equal(read_costs(tmp_path / "numbers.csv", [0, 1, 2]), costs)


# decisions


@given(rows_of_probability, matrices)
def test_the_decision_is_the_cheapest_of_all_ranks(probabilities, costs):
    decided = decide(probabilities, costs)
    for row, rank in zip(probabilities, decided, strict=True):
        expected = [sum(row[true] * costs[true, pred] for true in range(C)) for pred in range(C)]
        assert expected[rank] <= min(expected) + 1e-11
        assert all(expected[lower] > expected[rank] for lower in range(rank))


@given(rows_of_probability)
def test_with_a_cost_of_1_for_every_mistake_the_most_probable_rank_is_decided(probabilities):
    np.testing.assert_array_equal(decide(probabilities, 1 - np.eye(C)), probabilities.argmax(axis=1))


@given(rows_of_probability)
def test_with_the_distance_for_a_cost_the_median_is_decided(probabilities):
    medians = (probabilities.cumsum(axis=1) >= 0.5 - 1e-9).argmax(axis=1)
    np.testing.assert_array_equal(decide(probabilities, cost_matrix(C)), medians)


@given(ranks, matrices)
def test_the_expected_cost_is_read_off_the_confusion_matrix(pairs, costs):
    true, pred = np.array(pairs).T
    confusion = confusion_matrix(true, pred, labels=range(C), normalize="all")
    assert expected_cost(true, pred, costs) == pytest.approx((confusion * costs).sum(), rel=1e-12, abs=1e-12)
    assert expected_cost(true, pred, cost_matrix(C)) == pytest.approx(mae(true, pred), rel=1e-12)


@given(ranks)
def test_boundary_errors_are_one_less_sensitivity_and_specificity(pairs):
    true, pred = np.array(pairs).T
    errors = boundary_errors(true, pred, C)
    for h in range(C - 1):
        for name, side in (("too_low", 1), ("too_high", 0)):
            found = errors[name][h]
            if not ((true > h) == side).any():
                assert found is None
            else:
                recall = recall_score(true > h, pred > h, pos_label=side, zero_division=0.0)
                assert found == pytest.approx(1 - recall, abs=1e-12)


def draw_samples(n=400):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(C), n)
    return (rng.random((n, 1)) > probabilities.cumsum(axis=1)).sum(axis=1).clip(max=C - 1), probabilities


def test_the_comparison_holds_both_decisions_and_their_paired_difference():
    true, probabilities = draw_samples()
    costs = cost_matrix(C, {(1, 2): (8.0, 1.0)})
    comparison = compare_decisions(true, probabilities, costs)
    usual, decided = probabilities.argmax(axis=1), decide(probabilities, costs)
    for name, pred in (("most_probable", usual), ("least_cost", decided)):
        assert comparison[name] == {
            "expected_cost": expected_cost(true, pred, costs),
            **rank_report(true, pred, C),
            **boundary_errors(true, pred, C),
        }
    saved = costs[true, usual] - costs[true, decided]
    assert comparison["saving"] == pytest.approx(saved.mean(), rel=1e-12)
    assert comparison["saving_standard_error"] == pytest.approx(saved.std(ddof=1) / 20, rel=1e-12)
    assert comparison["saving"] > 3 * comparison["saving_standard_error"]
    assert comparison["least_cost"]["too_low"][1] < comparison["most_probable"]["too_low"][1]
    assert json.loads(json.dumps(comparison, allow_nan=False)) == comparison


# errors


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (0.0, r"costs: got shape \(\), expected \(2, 2\)"),
        ([[0.0]], r"costs: got shape \(1, 1\), expected \(2, 2\)"),
        (np.zeros((2, 3)), r"costs: got shape \(2, 3\), expected \(2, 2\)"),
        ([[0, 1], [1]], r"costs: expected a matrix of numbers \(2, 2\)"),
        ([[0, "x"], [1, 0]], "costs: expected a matrix of numbers"),
        ([[0, -1], [1, 0]], "costs: got NaN, infinity or a value below 0"),
        ([[0, np.inf], [1, 0]], "costs: got NaN, infinity"),
        ([[0, np.nan], [1, 0]], "costs: got NaN, infinity"),
        ([[0, 1], [1, 2]], r"costs: got a diagonal \[0.0, 2.0\], expected 0"),
    ],
)
def test_what_is_no_cost_matrix_is_refused(costs, message):
    for use in (
        lambda: check_costs(costs, 2),
        lambda: decide([[0.5, 0.5]], costs),
        lambda: expected_cost([0], [1], costs),
    ):
        with pytest.raises(OrdinateError, match="costs: "):
            use()
    with pytest.raises(OrdinateError, match=message):
        check_costs(costs, 2)


@pytest.mark.parametrize("boundary", [(1, 0), (0, 2), (2, 3), (-1, 0), 1, "0,1"])
def test_a_critical_boundary_lies_between_adjacent_ranks(boundary):
    with pytest.raises(OrdinateError, match=r"critical: got boundary .*, expected adjacent ranks"):
        cost_matrix(3, {boundary: 2.0})


@pytest.mark.parametrize("cost", [-1.0, np.nan, np.inf, (1.0,), (1.0, -2.0)])
def test_a_critical_cost_is_one_or_two_numbers_of_at_least_0(cost):
    with pytest.raises(OrdinateError, match=r"critical\[\(0, 1\)\]: got .*, expected a cost of at least 0"):
        cost_matrix(3, {(0, 1): cost})


def test_other_arguments_are_checked():
    with pytest.raises(OrdinateError, match="power: got 0"):
        cost_matrix(3, power=0)
    with pytest.raises(OrdinateError, match="y_true: got 1 sample, expected at least two"):
        compare_decisions([0], [[0.5, 0.5]], cost_matrix(2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,a,b\na,0,1\n", "the first column of .* has a, expected a, b once each"),
        ("x,a,c\na,0,1\nb,1,0\n", "the first row of .* has a, c, expected a, b once each"),
        ("x,a,b\na,0,1\na,1,0\n", "the first column of .* has a, a"),
        ("x,a,b\na,0,\nb,1,0\n", r"costs: expected a matrix of numbers \(2, 2\)"),
        ("x,a,b\na,0,-1\nb,1,0\n", "a value below 0"),
        ("", "cannot be read"),
    ],
)
def test_a_file_without_a_cost_matrix_is_refused(text, message, tmp_path):
    (tmp_path / "costs.csv").write_text(text)
    with pytest.raises(OrdinateError, match=message):
        read_costs(tmp_path / "costs.csv", ["a", "b"])


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OrdinateError, match=r"costs: .* cannot be read"):
        read_costs(tmp_path / "absent.csv", ["a", "b"])
