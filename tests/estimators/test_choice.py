"""The choice of a model within a time limit, on a clock that the trials move."""

import json

import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.choice import choose_within
from ordinate.methods.training import _CHECK, watched
from tests.estimators.examples import draw_table, otd, ranks_of


class Trials:
    """Trials of given seconds and errors, a batch a second, on a clock of their own."""

    def __init__(self, trials):
        self.trials = trials
        self.now = 0.0
        self.begun = []

    def choose(self, seconds, **options):
        return choose_within(list(self.trials), self.run, seconds, clock=lambda: self.now, **options)

    def run(self, name):
        self.begun.append(name)
        lasts, error = self.trials[name]
        for _ in range(lasts):
            self.now += 1
            _CHECK.get()()
        return error


def test_with_time_for_all_the_lowest_error_is_chosen_and_the_order_is_kept():
    trials = Trials({"a": (10, 0.5), "b": (10, 0.3), "c": (10, 0.4)})
    choice = trials.choose(100)
    assert choice.chosen == "b"
    assert trials.begun == ["a", "b", "c"]
    assert choice.errors == {"a": 0.5, "b": 0.3, "c": 0.4}
    assert choice.seconds == {"a": 10, "b": 10, "c": 10}
    assert choice.untried == []


def test_a_limit_of_almost_nothing_takes_the_first():
    trials = Trials({"a": (10, 0.5), "b": (10, 0.3)})
    choice = trials.choose(0.1)
    assert (choice.chosen, choice.errors, choice.untried) == ("a", {}, ["a", "b"])


@pytest.mark.parametrize(("growth", "limit", "tried"), [(1, 19, []), (1, 20, ["a"]), (2, 29, []), (2, 30, ["a"])])
def test_the_training_of_the_chosen_counts_as_long_as_its_trial_times_the_growth(growth, limit, tried):
    trials = Trials({"a": (10, 0.5)})
    assert list(trials.choose(limit, growth=growth).errors) == tried


def test_a_trial_is_stopped_while_the_best_so_far_can_still_be_trained():
    trials = Trials({"quick": (5, 0.5), "slow": (90, 0.1)})
    choice = trials.choose(60, growth=2)
    assert (choice.chosen, choice.untried) == ("quick", ["slow"])
    assert trials.now + 2 * 5 <= 60


def test_after_one_that_is_too_slow_a_quicker_one_still_has_its_chance():
    trials = Trials({"slow": (90, 0.1), "quick": (5, 0.5)})
    assert trials.choose(60).chosen == "quick"


def test_whatever_is_chosen_can_be_trained_within_the_limit():
    for limit in range(10, 120, 7):
        trials = Trials({"a": (5, 0.6), "b": (20, 0.5), "c": (11, 0.55), "d": (30, 0.2)})
        choice = trials.choose(limit, growth=1.25)
        assert trials.now + 1.25 * choice.seconds.get(choice.chosen, 0) <= limit + 1  # a batch may be under way


def test_a_choice_that_was_stopped_continues_with_the_time_it_had_spent(tmp_path):
    table = {"a": (10, 0.5), "b": (10, 0.3), "c": (10, 0.4)}
    stopped = Trials(table)

    def run(name):
        if name == "c":
            stopped.now += 4
            raise KeyboardInterrupt
        return stopped.run(name)

    with pytest.raises(KeyboardInterrupt):
        choose_within(list(table), run, 100, record=tmp_path / "choice.json", clock=lambda: stopped.now)
    again = Trials(table)
    choice = again.choose(100, record=tmp_path / "choice.json")
    assert again.begun == ["c"]
    assert (choice.chosen, list(choice.errors)) == ("b", ["a", "b", "c"])
    assert json.loads((tmp_path / "choice.json").read_text())["spent"] >= 30
    third = Trials(table)
    assert third.choose(100, record=tmp_path / "choice.json") == choice
    assert third.begun == []


def test_time_spent_before_counts(tmp_path):
    spent = Trials({"a": (10, 0.5), "b": (30, 0.3)})
    spent.choose(45, record=tmp_path / "choice.json")
    state = json.loads((tmp_path / "choice.json").read_text())
    assert state["choice"]["untried"] == ["b"]
    assert state["spent"] == 28  # the first second after which b and its training could not end within 45
    assert state["choice"]["chosen"] == "a"


def test_a_real_training_is_watched_after_every_batch_and_ends_with_what_is_raised():
    X, target = draw_table(40)
    calls = []
    with watched(lambda: calls.append(1)):
        otd(epochs=2, batch_size=16, validation_fraction=0).fit(X, ranks_of(target))
    assert len(calls) in (4, 6)

    class Enough(Exception):  # noqa: N818
        pass

    def raise_it():
        raise Enough

    with pytest.raises(Enough), watched(raise_it):
        otd(epochs=2).fit(X, ranks_of(target))
    otd(epochs=1).fit(X, ranks_of(target))  # watched no more


@pytest.mark.parametrize(
    ("candidates", "seconds", "message"), [([], 1, "candidates: got none"), (["a"], 0, "seconds: got 0")]
)
def test_what_cannot_be_chosen_from_is_said(candidates, seconds, message):
    with pytest.raises(OrdinateError, match=message):
        choose_within(candidates, len, seconds)
