"""How far a contender goes."""

import pytest
import torch

from ordinate_papers.bench import climb
from ordinate_papers.bench.climb import Climb, predict
from ordinate_papers.bench.measure import Probe, Setting

GIBIBYTE = 2**30
SETTING = Setting(dim=8, dtype=torch.float32, device="cpu")
CUBIC, QUADRATIC = "mmnp published", "mmnp"


@pytest.fixture
def passes(monkeypatch):
    """The sizes that were run; a pass takes (n / 1024)^3 seconds and as many GiB, of 20 that are available."""
    sizes = []

    def probe(name, n, setting):
        sizes.append(n)
        return Probe(n, (n / 1024) ** 3, int((n / 1024) ** 3 * GIBIBYTE))

    monkeypatch.setattr(climb, "probe", probe)
    monkeypatch.setattr(climb, "available_memory", lambda device: 20.0 * GIBIBYTE)
    return sizes


@pytest.mark.parametrize(
    ("measured", "cubic", "expected"),
    [
        ([(128, 1.0)], False, 4.0),
        ([(128, 1.0)], True, 8.0),
        ([(64, 0.0), (128, 1.0)], True, 8.0),
        ([(64, 0.9), (128, 1.0)], True, 4.0),  # what a pass costs whatever n hides the growth
        ([(64, 1.0), (128, 2**2.5)], True, 2**5.0),
        ([(64, 1.0), (128, 100.0)], True, 800.0),
        ([(64, 1.0), (128, 100.0)], False, 400.0),
    ],
)
def test_growth_goes_on_between_the_square_and_the_cube(measured, cubic, expected):
    assert predict(measured, 256, cubic=cubic) == pytest.approx(expected)


def test_what_was_measured_is_expected():
    assert predict([(64, 1.0), (128, 3.0)], 128, cubic=True) == 3.0


def test_a_climb_doubles_up_to_the_size_that_is_wanted(passes):
    contender = Climb(QUADRATIC, SETTING)
    assert contender.reach(300)
    assert contender.reach(512)
    assert passes == [128, 256, 300, 512]


def test_the_first_size_may_be_small(passes):
    assert Climb(QUADRATIC, SETTING).reach(16)
    assert passes == [16]


def test_a_cubic_contender_stops_before_it_takes_too_much_memory(passes, monkeypatch):
    monkeypatch.setattr(climb, "LARGEST", 6 * 2**30)
    contender = Climb(CUBIC, SETTING)
    assert contender.reach(1024)
    assert not contender.reach(2048)
    assert contender.stopped == "n = 2048: a pass takes about 8.0 GiB, more than 6.0 GiB"
    assert not contender.reach(4096)
    assert passes == [128, 256, 512, 1024]


def test_a_cubic_contender_stops_before_it_takes_too_long(passes, monkeypatch):
    monkeypatch.setattr(climb, "LARGEST", float("inf"))
    contender = Climb(CUBIC, SETTING)
    assert not contender.reach(4096)
    assert contender.stopped == "n = 4096: a pass takes about 64 s, more than 20 s"
    assert passes[-1] == 2048


def test_the_first_pass_of_a_process_is_corrected_by_those_of_a_warm_one(passes, monkeypatch):
    monkeypatch.setattr(climb, "LARGEST", float("inf"))
    contender = Climb(CUBIC, SETTING)
    assert contender.reach(2048)
    assert contender.obstacle(4096) == "a pass takes about 64 s, more than 20 s"
    contender.settle(2.0)
    assert contender.seconds(2048) == 2.0
    assert contender.obstacle(4096) == "a pass takes about 64.0 GiB, more than 18.0 GiB"


def test_another_stops_where_the_memory_of_the_machine_does(passes):
    contender = Climb(QUADRATIC, SETTING)
    assert not contender.reach(8192)
    assert contender.stopped == "n = 4096: a pass takes about 32.0 GiB, more than 18.0 GiB"
    assert contender.seconds(4096) > climb.LONGEST


def test_a_contender_whose_memory_is_not_known_is_held_by_time_alone(passes, monkeypatch):
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: Probe(n, (n / 1024) ** 3, None))
    contender = Climb(CUBIC, SETTING)
    assert contender.reach(2048)
    assert not contender.reach(4096)


def test_a_contender_that_fails_does_not_run_again(monkeypatch):
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: "its process ended with code -9")
    contender = Climb(QUADRATIC, SETTING)
    assert not contender.reach(256)
    assert contender.stopped == "n = 128: its process ended with code -9"
    monkeypatch.setattr(climb, "probe", None)
    assert not contender.reach(512)
