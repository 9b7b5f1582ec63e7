"""The one function that turns probabilities into ranks."""

import numpy as np
import pytest

from ordinate.decisions import RULES, better_rule, check_decision, compare_rules, cost_matrix, decide, predict_ranks
from ordinate.errors import OrdinateError

RANDOM = np.random.default_rng(0)
N = 4000
PROBABILITIES = RANDOM.dirichlet(np.ones(5), size=N)
OFF = np.abs(np.arange(5)[:, None] - np.arange(5))


def test_the_mode_is_the_most_probable_rank():
    assert (predict_ranks(PROBABILITIES, "mode") == PROBABILITIES.argmax(1)).all()


def test_the_median_has_the_least_expected_distance_of_ranks():
    expected = PROBABILITIES @ OFF
    chosen = predict_ranks(PROBABILITIES, "median")
    np.testing.assert_allclose(expected[np.arange(N), chosen], expected.min(1), rtol=0, atol=1e-12)
    assert (chosen != PROBABILITIES.argmax(1)).any()  # or the test could not tell the two apart


def test_costs_decide_as_least_expected_cost():
    costs = cost_matrix(5, {(1, 2): 7.0})
    assert (predict_ranks(PROBABILITIES, costs) == decide(PROBABILITIES, costs)).all()


@pytest.mark.parametrize("rule", [*RULES, 1.0 - np.eye(3)], ids=["mode", "median", "costs"])
@pytest.mark.parametrize("noise", [0.0, 1e-15, -1e-15])
def test_rounding_decides_no_tie(rule, noise):
    tied = [[0.5 + noise, 0.0, 0.5 - noise], [0.4 + noise, 0.2 - noise, 0.4]]
    assert predict_ranks(tied, rule).tolist() == [0, 1 if isinstance(rule, str) and rule == "median" else 0]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ("mean", "decision: got 'mean', expected 'mode', 'median', or a matrix of costs"),
        ([[0, 1], [1, 0]], "decision: costs: got shape"),
        ([[0, 1, 1], [1, 0, 1], [1, -1, 0]], "decision: costs: got NaN, infinity or a value below 0"),
        (3, "decision: costs: got shape"),
    ],
)
def test_another_decision_is_refused_by_name(decision, message):
    with pytest.raises(OrdinateError, match=message.replace("(", r"\(")):
        check_decision(decision, 3)


def test_rules_are_compared_at_what_they_are_for():
    true = (RANDOM.random((N, 1)) > PROBABILITIES.cumsum(1)).sum(1)  # drawn as the probabilities promise
    compared = compare_rules(true, PROBABILITIES)
    for rule in RULES:
        predicted = predict_ranks(PROBABILITIES, rule)
        assert compared[rule]["accuracy"] == (predicted == true).mean()
        assert compared[rule]["mae"] == np.abs(predicted - true).mean()
    gained = np.abs(predict_ranks(PROBABILITIES, "mode") - true) - np.abs(predict_ranks(PROBABILITIES, "median") - true)
    assert compared["median"]["gain"] == pytest.approx(gained.mean() / (gained.std(ddof=1) / N**0.5))
    assert compared["median"]["gain"] > 2
    assert better_rule(compared, "mode") == "median"
    assert better_rule(compared, OFF) is None


@pytest.mark.parametrize("n", [2, 9])
def test_a_few_samples_recommend_nothing(n):
    compared = compare_rules([2] * n, [[0.4, 0.25, 0.35]] * n)
    assert compared["median"]["mae"] < compared["mode"]["mae"]
    assert better_rule(compared, "mode") is None
    assert better_rule(compare_rules([2] * 40, [[0.4, 0.25, 0.35]] * 40), "mode") == "median"
