"""The choice of a model within a time limit, on a clock that the trials move."""

import json

import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.choice import Trial, choose_within
from ordinate.training.time_budget import TimeBudget, training_end


class Trials:
    """Trials of given seconds and errors, on a clock of their own; a training ends when its time is over."""

    def __init__(self, trials):
        self.trials = trials
        self.now = 0.0
        self.begun = []

    def choose(self, seconds, until=None, **options):
        budget = TimeBudget(seconds, clock=lambda: self.now, start=0.0)
        return choose_within(list(self.trials), self.run, budget, seconds if until is None else until, **options)

    def run(self, name):
        self.begun.append(name)
        lasts, error = self.trials[name]
        left = training_end().until - training_end().now
        self.now += min(lasts, left)
        return Trial(error, None if lasts <= left else 7)


def test_with_time_for_all_the_lowest_error_is_chosen_and_the_order_is_kept():
    trials = Trials({"a": (10, 0.5), "b": (10, 0.3), "c": (10, 0.4)})
    choice = trials.choose(100)
    assert choice.chosen == "b"
    assert trials.begun == ["a", "b", "c"]
    assert choice.errors == {"a": 0.5, "b": 0.3, "c": 0.4}
    assert choice.seconds == {"a": 10, "b": 10, "c": 10}
    assert choice.untried == []
    assert choice.epochs == {}


def test_trials_that_would_last_too_long_share_the_time_with_the_final_training():
    trials = Trials({"a": (1000, 0.5), "b": (1000, 0.3), "c": (1000, 0.1)})
    choice = trials.choose(90, growth=1.0)
    assert choice.seconds == {"a": 30, "b": 30}
    assert (choice.chosen, choice.untried) == ("b", ["c"])
    assert choice.epochs == {"a": 7, "b": 7}
    assert trials.now == 60


def test_a_candidate_that_cannot_be_trained_is_left_out_unless_all_cannot():
    def trial(name):
        if name != "good":
            raise OrdinateError(name, problem="fails")
        return Trial(0.5)

    choice = choose_within(["bad", "good", "worse"], trial, TimeBudget(60), until=50)
    assert (choice.chosen, choice.failed) == ("good", {"bad": "bad: fails", "worse": "worse: fails"})
    with pytest.raises(OrdinateError, match=r"^worse: fails"):
        choose_within(["bad", "worse"], trial, TimeBudget(60), until=50)


def test_a_limit_in_which_no_trial_can_end_still_has_a_model():
    trials = Trials({"a": (1000, 0.5), "b": (1000, 0.3)})
    assert trials.choose(0.3).chosen == "b"
    assert trials.now <= 0.2 + 1e-9


def test_after_a_quick_first_trial_the_others_have_more_time():
    trials = Trials({"quick": (5, 0.5), "slow": (40, 0.1)})
    choice = trials.choose(90, growth=1.0)
    assert choice.chosen == "slow"
    assert choice.seconds["slow"] == 40


def test_whatever_is_chosen_can_be_trained_within_the_limit():
    for limit in range(10, 120, 7):
        trials = Trials({"a": (5, 0.6), "b": (20, 0.5), "c": (11, 0.55), "d": (30, 0.2)})
        choice = trials.choose(limit, growth=1.25)
        assert trials.now + 1.25 * choice.seconds[choice.chosen] <= limit + 1e-9


def test_a_choice_that_was_stopped_continues_with_the_time_it_had_spent(tmp_path):
    table = {"a": (10, 0.5), "b": (10, 0.3), "c": (10, 0.4)}
    stopped = Trials(table)

    def run(name):
        if name == "c":
            stopped.now += 4
            raise KeyboardInterrupt
        return stopped.run(name)

    record = tmp_path / "choice.json"
    with pytest.raises(KeyboardInterrupt):
        choose_within(list(table), run, TimeBudget(100, clock=lambda: stopped.now), 100, record=record)
    again = Trials(table)
    again.now = 24.0
    choice = again.choose(100, record=record)
    assert again.begun == ["c"]
    assert (choice.chosen, list(choice.errors)) == ("b", ["a", "b", "c"])
    third = Trials(table)
    assert third.choose(100, record=record).errors == choice.errors
    assert third.begun == []


def test_a_trial_that_was_stopped_keeps_the_end_of_its_training(tmp_path):
    record = tmp_path / "choice.json"
    first = Trials({"a": (1000, 0.5), "b": (1000, 0.3)})

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_within(["a", "b"], stop, TimeBudget(90, clock=lambda: first.now, start=0.0), 90, record=record)
    first.now = 10.0
    first.choose(90, record=record)
    assert json.loads(record.read_text())["shares"]["a"] == [0, 30]


def test_what_cannot_be_chosen_from_is_said():
    with pytest.raises(OrdinateError, match="candidates: got none, expected at least one name"):
        choose_within([], Trials({}).run, TimeBudget(1), 1)
