"""The command as a process: its start, its end, signals, kills and the environment."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.estimators.blend_method import Blend
from tests import processes
from tests.command_line import ONE_THREAD, ORDINATE, draw, fit_model, one_line, ordinate_command, read, write_table

pytestmark = pytest.mark.usefixtures("unpainted")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(folder):
    return write_table(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fit_model(tmp_path_factory.mktemp("fitted"))


def test_an_error_as_a_process_has_exit_code_2_one_line_and_no_traceback(folder):
    ended = ordinate_command("fit", "data.csv", "--target", "grade")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "ordinate: data.csv: no such file\n")
    assert list(folder.iterdir()) == []


def fit_quietly(arguments, kill_at=None):
    """A fit in a process of its own; ``kill_at=("otd-trial", 5)`` kills it at the sixth checkpoint of that stage."""
    if kill_at is not None:
        Blend.checkpoint_seconds = 0.0
        stage, count = kill_at
        places = iter(range(count))
        processes.kill_me_at_audit(
            "os.rename",
            lambda _, target, *__: str(target).endswith(f"{stage}/last.ckpt") and next(places, None) is None,
        )
    with contextlib.redirect_stdout(io.StringIO()):
        sys.exit(main(arguments))


def content(path):
    return {file.name: file.read_bytes() for file in Path(path).iterdir()}


@pytest.mark.thorough
def test_a_fit_killed_again_and_again_ends_with_the_files_of_one_that_was_not(table, folder):
    command = ["fit", table, "--target", "grade", "--epochs", "9", "--quiet", "--out"]
    assert processes.run(fit_quietly, [*command, "whole"]) == 0
    chosen = read("whole/metrics.json")["method"]
    stages = [("blend-final", 4), ("cloc-trial-1", 0), ("otd-trial-2", 2), (f"{chosen}-final", 4)]  # one kill in each
    for kill_at in stages if chosen != "blend" else stages[:-1]:
        assert processes.run(fit_quietly, [*command, "killed"], kill_at) == -signal.SIGKILL
        assert {path.name for path in folder.iterdir()} == {table, "whole", "killed.partial"}
    assert processes.run(fit_quietly, [*command, "killed"]) == 0
    assert content("killed") == content("whole")
    assert {path.name for path in folder.iterdir()} == {table, "whole", "killed"}


@pytest.fixture
def command(table):
    return ["fit", table, "--target", "grade", "--method", "cloc", "--epochs", "24", "--no-report", "--quiet", "--out"]


@pytest.fixture
def running(command):
    """A fit under way, in a process that shares nothing with this one."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([ORDINATE, *command, "model"], env=ONE_THREAD, **streams)
    until = time.monotonic() + 60
    while not Path("model.partial/checkpoints/cloc-final/last.ckpt").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    yield process
    process.kill()
    process.communicate()


def test_a_folder_in_use_is_refused_and_an_interrupted_run_continues(running, command, capsys):
    running.send_signal(signal.SIGSTOP)
    assert main([*command, "model"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line == "ordinate: --out: model is in use by another run, expected another folder"
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert err == "ordinate: stopped; the same command continues where it was\n"
    assert running.returncode == 130
    assert Path("model.partial/checkpoints/cloc-final/last.ckpt").exists()
    assert main([*command, "model", "--seed", "1"]) == 2
    assert "keeps the state of a run with other data or settings" in one_line(capsys.readouterr().err)
    assert main([*command, "model"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1] == "continuing the run that was stopped"
    assert err == ""
    assert main([*command, "whole"]) == 0
    assert content("model") == content("whole")


@pytest.mark.thorough
def test_a_reader_that_leaves_early_is_no_error(model):
    pd.concat([draw()] * 40).to_csv("new.csv", index=False)  # more predictions than a pipe holds
    command = f"{ORDINATE} predict {model} new.csv | head -n 1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=ONE_THREAD)
    assert ended.stdout == "row,prediction,probability_0,probability_1,probability_2\n"
    assert ended.stderr == ""


@pytest.mark.parametrize("words", [["--version"], ["fit", "--help"]])
def test_help_that_nobody_reads_ends_without_a_traceback(words):
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([ORDINATE, *words], stdout=writing, stderr=subprocess.PIPE, env=ONE_THREAD, check=False)
    os.close(writing)
    assert ended.returncode in (0, 1)
    assert ended.stderr == b""


@pytest.mark.parametrize("words", ["--version", "fit --help"])
def test_a_closed_output_is_no_error(words):
    ended = subprocess.run(
        f"{ORDINATE} {words} >&-", shell=True, stderr=subprocess.PIPE, text=True, env=ONE_THREAD, check=False
    )
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["--version"], ["fit", "--help"]])
def test_an_output_that_is_full_is_an_error_of_one_line(words):
    environment = {**ONE_THREAD, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [ORDINATE, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert ended.returncode == 2
    assert "No space left on device" in one_line(ended.stderr)


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, ("PASSIVE", "1000")), ({"GOMP_SPINCOUNT": "7"}, ("PASSIVE", "7")), ({"OMP_WAIT_POLICY": "x"}, ("x", None))],
)
def test_threads_hardly_spin_unless_the_environment_says_otherwise(given, expected, monkeypatch, capsys):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "restored afterwards")
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert main(["fit", "nowhere.csv", "--target", "y"]) == 2
    assert (os.environ["OMP_WAIT_POLICY"], os.environ.get("GOMP_SPINCOUNT")) == expected
    capsys.readouterr()
