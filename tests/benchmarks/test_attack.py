"""The attack in small: what is damaged is read as what it says or refused; and the attack sees what does not hold."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import attack_trial
from ordinate.errors import OrdinateError
from tests.benchmarks.conftest import BENCHMARKS
from tests.command_line import ONE_THREAD


@pytest.mark.thorough
def test_what_is_tried_holds(tmp_path):
    command = [sys.executable, BENCHMARKS / "attack.py", "--small", "--out", tmp_path / "found.json"]
    done = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "found.json").read_text())["kinds"]
    assert {row["kind"] for row in rows} == {"files", "losses", "models"}
    for row in rows:
        assert row["held"] == row["tried"] >= 50
        assert row["refused"] > 10


class Traps:
    """Trials that do not hold, one after the other."""

    def __init__(self):
        self.trials = iter([*OUTCOMES.values()])

    def draw(self, random):
        if random is None:
            raise AssertionError
        return "a trap", next(self.trials)


def take_memory():
    return "read", str(len(bytearray(2 * attack_trial.MEMORY)))


def refuse(error):
    return lambda: attack_trial.refusal_of(error, "data.csv")


OUTCOMES = {
    "read": lambda: ("read", ""),
    "refused": refuse(OrdinateError("data.csv", problem="is damaged")),
    "unnamed": refuse(OrdinateError("X", problem="is damaged")),
    "traceback": lambda: 1 / 0,
    "memory": take_memory,
}


def test_every_outcome_is_told_from_the_others():
    found = list(attack_trial.try_all(Traps, 0, range(len(OUTCOMES)), 20.0))
    assert [trial.outcome for trial in found] == list(OUTCOMES)
    assert [trial.held for trial in found] == [True, True, False, False, False]


@pytest.mark.parametrize(("trial", "outcome"), [(lambda: os._exit(3), "crash"), (lambda: time.sleep(60), "hang")])
def test_a_process_that_hangs_or_dies_is_one_trial_and_the_others_go_on(trial, outcome):
    class Sometimes:
        def draw(self, random):
            return "sometimes", trial if random.random() < 0.4 else OUTCOMES["read"]

    expected = [np.random.default_rng([3, number]).random() < 0.4 for number in range(5)]
    assert any(expected)
    found = list(attack_trial.try_all(Sometimes, 3, range(5), 0.5))
    assert [trial.outcome for trial in found] == [outcome if each else "read" for each in expected]
    assert [trial.number for trial in found] == list(range(5))
