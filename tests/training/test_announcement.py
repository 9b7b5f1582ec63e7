"""A training says when it ends: by a bar that counts to the limit, or once after ten seconds."""

import logging
from types import SimpleNamespace

import pytest

from ordinate.training import callbacks
from ordinate.training.callbacks import Announcement, Pace
from tests.estimators.examples import draw_table, otd, ranks_of

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)


@pytest.fixture
def logged(monkeypatch):
    """What is logged, as a list of messages."""
    found = []
    # Other code may have disabled the logger, which would pass nothing on.
    monkeypatch.setattr(logging.getLogger("ordinate"), "warning", lambda text, *values: found.append(text % values))
    return found


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: now.seconds)
    return now


def a_loop(epochs=20, end=None):
    method = SimpleNamespace(current_epoch=0, epochs=epochs)
    return SimpleNamespace(method=method, is_first=True, limit=SimpleNamespace(end=end))


def test_the_epochs_left_are_those_that_the_limit_allows(clock):
    loop = a_loop(20)
    pace = Pace(loop)
    clock.seconds, loop.method.current_epoch = 110.0, 5
    assert (pace.per_epoch(loop), pace.epochs_left(loop)) == (2.0, 15)
    loop.limit.end = SimpleNamespace(now=10.0, until=16.0)
    assert pace.epochs_left(loop) == 3
    loop.limit.end = SimpleNamespace(now=17.0, until=16.0)
    assert pace.epochs_left(loop) == 0


def test_after_ten_seconds_it_says_once_how_long_the_rest_takes(clock, logged):
    loop, announcement = a_loop(20), Announcement()
    announcement.on_start(loop)
    for epoch, seconds in enumerate([104.0, 112.0, 120.0], start=1):
        clock.seconds, loop.method.current_epoch = seconds, epoch
        announcement.on_epoch_end(loop)
    (message,) = logged
    assert "2 epochs took 12 s, and the rest takes at most about 108 s" in message


@pytest.mark.parametrize(("verbose", "count"), [(0, 1), (1, 0)])
def test_an_estimator_says_it_unless_it_shows_a_bar(verbose, count, logged, monkeypatch):
    monkeypatch.setattr(Announcement.__init__, "__defaults__", (0.0,))
    otd(epochs=3, calibration=False, verbose=verbose).fit(X, RANKS)
    assert len(logged) == count
