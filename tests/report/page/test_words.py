"""What a page says in words, and what it warns of."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ordinate.report.card import limits
from ordinate.report.page import words
from ordinate.report.page.importance import Importance
from ordinate.report.page.measures import measure_calibration, score_all
from tests.report.page.stand_ins import contents

pytestmark = pytest.mark.usefixtures("few_trees")
RNG = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2, 3], 50)
SEEN = (RNG.normal(size=(200, 2)), TRUE)
INPUTS = np.arange(400.0).reshape(200, 2)  # Those of contents, none of which is in SEEN.
NONE = pd.DataFrame({"row": []})


def trained_on_first(count):
    return np.vstack([INPUTS[:count], SEEN[0][count:]]), TRUE


def cautions(of, calibration=None, suspects=NONE, coverage=None):
    measures = {"calibration": calibration, "suspects": suspects, "coverage": coverage}
    return words.find_cautions(of, SimpleNamespace(predictors=score_all(of), **measures))


def titles(of, *measures, **others):
    return [caution.title for caution in cautions(of, *measures, **others)]


def test_a_good_model_on_unseen_samples_needs_no_caution():
    assert titles(contents(TRUE, TRUE, trained_on=SEEN)) == []


def test_samples_that_may_have_been_trained_on_are_said_first():
    assert titles(contents(TRUE, TRUE))[0] == "It may have seen these samples"


def test_samples_that_were_trained_on_are_counted():
    assert titles(contents(TRUE, TRUE, trained_on=trained_on_first(3))) == ["Samples from training"]


def test_a_model_no_better_than_a_constant_is_named_so():
    alike = (np.zeros((200, 2)), TRUE)  # of which nothing but the median can be learned
    assert "Not clearly better than 5 nearest neighbours" in titles(contents(TRUE, np.full(200, 1), trained_on=alike))
    assert any(title.startswith("Worse than ") for title in titles(contents(TRUE, 3 - TRUE, trained_on=SEEN)))


def test_a_boundary_that_is_often_crossed_is_named():
    predicted = np.where((TRUE == 2) & (np.arange(200) % 3 == 0), 3, TRUE)
    assert titles(contents(TRUE, predicted, trained_on=SEEN)) == ["The boundary c | d is often crossed"]


def test_a_rank_that_is_never_found_is_named():
    of = contents(TRUE, np.where(TRUE == 2, 1, TRUE), trained_on=SEEN)
    (caution,) = [c for c in cautions(of) if "never" in c.title]
    assert caution.reason == "No sample of “c” (50) is predicted correctly."


def test_small_and_empty_ranks_are_named():
    true = np.repeat([0, 1, 2], [100, 90, 5])
    found = titles(contents(true, true, trained_on=(RNG.normal(size=(115, 2)), np.repeat([0, 1, 3], [50, 50, 15]))))
    assert found == [
        "Ranks with few training samples", "Ranks without a sample here", "Ranks with few samples here"
    ]  # fmt: skip


def test_probabilities_that_promise_too_much_are_said_to():
    of = contents(TRUE, np.where(np.arange(200) % 2, TRUE, (TRUE + 2) % 4), trained_on=SEEN)
    sure = measure_calibration(np.full(200, 0.95), of.errors == 0)
    assert "Its probabilities are too sure" in titles(of, sure)
    unsure = measure_calibration(np.full(200, 0.25), of.errors == 0)
    assert "Its probabilities are not sure enough" in titles(of, unsure)


@pytest.mark.parametrize("n", [40, 80, 120])
def test_correct_probabilities_are_seldom_said_to_be_off_and_overconfident_ones_mostly(n):
    rng = np.random.default_rng(n)

    def is_flagged(power):
        likely = rng.dirichlet([0.5] * 4, n)
        true = (rng.random((n, 1)) > likely.cumsum(axis=1)[:, :3]).sum(axis=1)
        probabilities = likely**power / (likely**power).sum(axis=1, keepdims=True)
        of = contents(true, likely.argmax(axis=1), probabilities=probabilities)
        return any(words._about_probabilities(of, measure_calibration(of.confidence, of.errors == 0)))

    assert np.mean([is_flagged(1.0) for _ in range(200)]) <= 0.1
    assert np.mean([is_flagged(6.0) for _ in range(50)]) >= 0.9


def test_contradicting_samples_and_suspects_are_counted():
    inputs = INPUTS.copy()
    inputs[199] = inputs[0]
    found = titles(contents(TRUE, TRUE, inputs=inputs, trained_on=SEEN), suspects=pd.DataFrame({"row": [1]}))
    assert found == ["The same sample, other labels", "1 label to check"]


def test_the_sentences_state_what_was_measured():
    predicted = np.where(np.arange(200) % 4 == 0, np.minimum(TRUE + 1, 3), TRUE)
    of = contents(TRUE, predicted, trained_on=SEEN)
    sentence = "OTD was trained on 200 samples, rows of 2 columns, to predict grade, one of 4 ranks: a < b < c < d."
    assert words.introduce([of], ["grade"], 200) == sentence
    assert words.introduce([of], ["grade"], 3000) == f"{sentence} This page is on 200 of 3,000 samples, at random."
    said = words.describe_quality(of, score_all(of))
    right = (predicted == TRUE).mean()
    assert f"Of 200 samples that it has not seen, {right:.0%} are predicted right (95% interval" in said
    assert said.endswith("Always 'a', the commonest, would reach 25%.")


@pytest.mark.parametrize(("count", "said"), [(100, "that it has not seen"), (101, ", most of which it was trained on")])
def test_samples_of_training_are_not_unseen(count, said):
    of = contents(TRUE, TRUE, trained_on=trained_on_first(count))
    followed = f"{' ' * said.startswith('that')}{said}"
    assert f"Of 200 samples{followed}, 100% are predicted right" in words.describe_quality(of, score_all(of))
    assert f"It was measured on 200 samples{followed}." in limits(200, of.known_from_training)[0]
    importance = Importance(pd.DataFrame(), count=2, samples=200, repeats=10, seconds=1.0)
    assert f"10 repeats on 200 samples{followed}." in words.describe_importance(of, importance, shown=2)


@pytest.mark.parametrize(("n", "expected"), [(20, "Few samples"), (60, None)])
def test_few_samples_of_a_target_are_said(n, expected):
    target = np.linspace(0, 1, n)
    found = titles(contents(target, target, names=None, trained_on=(RNG.normal(size=(50, 2)), RNG.random(50))))
    assert found == ([expected] if expected else [])


def test_a_rank_that_is_rarely_found_is_named_with_its_counts():
    predicted = TRUE.copy()
    predicted[np.flatnonzero(TRUE == 3)[4:]] = 2
    (caution,) = [each for each in cautions(contents(TRUE, predicted)) if each.title == "Ranks it rarely finds"]
    assert re.fullmatch(r"Predicted correctly: 4 of \d+ samples of “\S+”\.", caution.reason)
    assert "Ranks it rarely finds" not in titles(contents(TRUE, TRUE))


def test_sets_that_hold_a_rank_too_rarely_are_named_with_the_way_out():
    of = contents(TRUE, TRUE)
    coverage = pd.DataFrame([{"promised": 0.9, **dict.fromkeys(of.names, 0.95), of.names[1]: 0.6}])
    (caution,) = [each for each in cautions(of, coverage=coverage) if each.title.startswith("Prediction sets")]
    assert f"hold 60% of {of.names[1]}. Sets by rank, which" in caution.reason
    coverage[of.names[1]] = 0.85
    assert not [each for each in titles(of, coverage=coverage) if each.startswith("Prediction sets")]
