"""``torchrun -m ordinate fit`` trains the joined batch in all processes, and one of them writes."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
import torch

from ordinate import load
from ordinate.cli import main
from ordinate.commands.fit import command as fit_command
from ordinate.commands.fit import plan as planning
from ordinate.commands.fit.image_plan import ImagePlan
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.fit_options import FitOptions
from ordinate.estimators.pipeline import draw_seed
from ordinate.training.time_budget import TimeBudget
from tests import processes
from tests.data import pictures
from tests.estimators.examples import draw_table, ranks_of

SETTINGS = ("training.optimizer=sgd", "training.learning_rate=0.02", "training.accelerator=cpu", "batch_size=16")
OPTIONS = [
    "--target", "grade", "--method", "cloc", "--no-report", "--quiet",
    *(f"--set={setting}" for setting in SETTINGS),
]  # fmt: skip


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table(80)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "grade": ranks_of(target)}).to_csv("table.csv", index=False)


def start(count, *options):
    command = [sys.executable, "-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [*command, "-m", "ordinate", "fit", "table.csv", *OPTIONS, *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def assert_near(first, second):
    states = [load(folder).encoder_.state_dict() for folder in (first, second)]
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-5, atol=1e-6)


def fit_among(_, folder):
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["fit", "table.csv", *OPTIONS, "--epochs", "6", "--out", "two"]) == 0
    return said.getvalue()


def test_two_processes_write_one_model_which_is_that_of_one_process(tmp_path):
    said = "".join(processes.together(2, fit_among, tmp_path / "meeting", tmp_path))
    assert said.count("model and metrics: two") == 1
    assert main(["fit", "table.csv", *OPTIONS, "--epochs", "6", "--out", "one"]) == 0
    assert_near("one", "two")


@pytest.mark.thorough
def test_processes_that_are_killed_continue(tmp_path):
    for out, killed in (("undisturbed", False), ("killed", True)):
        process = start(2, "--epochs", "60", "--out", out)
        if killed:
            while not any(tmp_path.glob("killed.partial/checkpoints/*/last.ckpt")):
                assert process.poll() is None
                time.sleep(0.05)
            for each in [*psutil.Process(process.pid).children(recursive=True), process]:  # in sessions of their own
                each.kill()
            process.communicate()
            process = start(2, "--epochs", "60", "--out", out)
        said, errors = process.communicate()
        assert process.returncode == 0, errors
        assert ("continuing the run that was stopped" in said) == killed
    assert_near("undisturbed", "killed")


SMALL = ImagePlan(False, "test_resnet", (12, 12), False, epochs=2, seconds=7, after=1)


def fit_images_among(rank, folder):
    """Fit by a clock that only the first process has."""
    os.chdir(folder)
    ahead = 0 if rank == 0 else 500  # seconds, of the process that is not to decide
    clock = time.monotonic
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        patch.setattr(planning, "plan_images", lambda *_, **__: SMALL)
        patch.setattr(RunLimit, "has_time_for", lambda *_: False)  # Report and pictures take the longest.
        patch.setattr(TimeBudget.__init__, "__kwdefaults__", {"clock": lambda: clock() + ahead, "start": None})
        fit_command.fit(FitOptions("knees", time_limit=10, set=["training.accelerator=cpu"], quiet=True, out="model"))
    return said.getvalue()


@pytest.mark.thorough
def test_the_first_process_keeps_the_time_of_images(tmp_path):
    ranks = np.arange(60) % 3
    pictures.write(tmp_path / "knees", pictures.draw(ranks), [f"{rank}/{i:02}.png" for i, rank in enumerate(ranks)])
    first, other = processes.together(2, fit_images_among, tmp_path / "meeting", tmp_path)
    plan = "plan: cloc with test_resnet at 12 x 12 pixels, 2 epochs"
    for said in (first, other):
        assert plan in said
        assert "training cloc" in said
    assert "model, metrics" in first
    assert "model, metrics" not in other
    assert json.loads((tmp_path / "model" / "config.json").read_text())["params"]["encoder"] == "test_resnet"
    assert [path.name for path in tmp_path.glob("model*")] == ["model"]


@pytest.mark.thorough
def test_torchrun_keeps_to_a_time_limit(tmp_path):
    process = start(2, "--time-limit", "0.01", "--out", "model")
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "note: the time limit ended the training after" in said


def test_processes_draw_the_same_seed(monkeypatch, tmp_path):
    told = {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": "29500"}
    seeds = set()
    for rank in "01":
        for name, value in {**told, "RANK": rank}.items():
            monkeypatch.setenv(name, value)
        seeds |= {draw_seed(None, None), draw_seed(None, tmp_path / "kept")}
    assert len(seeds) == 1
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "y")
    assert draw_seed(None, None) not in seeds
    assert draw_seed(None, tmp_path / "kept") in seeds  # of the run that it continues
