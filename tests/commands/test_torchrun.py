"""``torchrun -m ordinate fit`` trains the joined batch in all processes, and one of them writes."""

import contextlib
import io
import os
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest
import torch

from ordinate import load
from ordinate.cli import main
from ordinate.estimators.seed import draw_seed
from tests import processes
from tests.estimators.examples import draw_table, ranks_of

OPTIONS = ["--target", "grade", "--method", "cloc", "--optimizer", "sgd", "--learning-rate", "0.02", "--quiet",
           "--accelerator", "cpu", "--batch-size", "16"]  # fmt: skip


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
    states = [load(folder).method_.state_dict() for folder in (first, second)]
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-5, atol=1e-6)


def fit_among(_, folder):
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["fit", "table.csv", *OPTIONS, "--epochs", "6", "--out", "two"]) == 0
    return said.getvalue()


def test_two_processes_write_one_model_which_is_that_of_one_process(tmp_path):
    said = "".join(processes.together(2, fit_among, tmp_path / "meeting", tmp_path))
    assert said.count("model, metrics, report") == 1
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


def test_what_one_process_alone_can_do_is_refused():
    process = start(2, "--time-limit", "1")
    _, errors = process.communicate()
    assert process.returncode != 0
    assert errors.count("ordinate: --time-limit: is for one process; give --epochs under torchrun") == 1


def test_a_strategy_that_runs_the_command_again_is_refused(capsys):
    assert main(["fit", "table.csv", *OPTIONS, "--devices", "2", "--strategy", "ddp"]) == 2
    assert (
        "--strategy: got ddp, expected one such as ddp_spawn; other strategies start under" in capsys.readouterr().err
    )


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
