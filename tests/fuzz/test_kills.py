"""A command that is killed at a random moment leaves its output whole or absent, and the same command does the rest."""

import hashlib
import io
import os
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate import load
from ordinate.cli import main
from tests import processes
from tests.fuzz.trials import seeds

ROWS = 60
COMMANDS = {
    "fit": ["{data}", "--target", "grade", "--method", "cloc", "--epochs", "3", "--quiet", "--out", "{out}/model"],
    "predict": ["{model}", "{data}", "--out", "{out}/predicted.csv"],
    "transform": ["{model}", "{data}", "--out", "{out}/embeddings.npy"],
    "suspects": ["{data}", "--target", "grade", "--epochs", "2", "--quiet", "--out", "{out}/suspects.csv"],
    "report": ["{model}", "{data}", "--target", "grade", "--out", "{out}/report.html"],
    "export": ["{model}", "--format", "torch", "--out", "{out}/graph.pt2"],
}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A table and a model, and the time that each command took."""
    folder = tmp_path_factory.mktemp("given")
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 3)), columns=list("abc"))
    table.assign(grade=np.arange(ROWS) % 3).to_csv(folder / "data.csv", index=False)
    given = SimpleNamespace(data=folder / "data.csv", model=folder / "model", seconds={})
    run("fit", given, folder, None)
    return given


@pytest.mark.thorough
@pytest.mark.parametrize("seed", seeds(quick=1, thorough=6))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_nothing_half_written(name, seed, given, tmp_path):
    if name not in given.seconds:
        start = time.monotonic()
        run(name, given, tmp_path / "first", None)
        given.seconds[name] = time.monotonic() - start
    inputs = digest(given)
    work = tmp_path / "work"
    run(name, given, work, np.random.default_rng(seed).uniform(0, given.seconds[name]))
    out = work / COMMANDS[name][-1].removeprefix("{out}/")
    if out.exists():
        check_whole(out)
    else:
        run(name, given, work, None)
        check_whole(out)
    assert digest(given) == inputs
    assert {path.name for path in work.iterdir()} <= {"temporary", out.name, f"{out.name}.json"}
    left = [path.name for path in (work / "temporary").iterdir()]
    assert [name for name in left if not name.startswith("torchinductor")] == []


def run(name, given, out, seconds):
    """Run a command in a new process, which is killed after some seconds or must end well."""
    places = {"data": given.data, "model": given.model, "out": out}
    (out / "temporary").mkdir(parents=True, exist_ok=True)
    process = processes.start(run_here, [name, *(part.format(**places) for part in COMMANDS[name])], out, daemon=False)
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    else:
        assert process.exitcode == 0


def run_here(arguments, out):
    os.environ["TMPDIR"] = tempfile.tempdir = str(out / "temporary")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = main(arguments)
    raise SystemExit(code)


def digest(given):
    files = [given.data, *sorted(given.model.iterdir())]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def check_whole(out):
    """Read the output of a command to its end."""
    if out.is_dir():
        load(out)
    elif out.suffix == ".csv":
        lines = out.read_text().splitlines()
        assert len(lines) == ROWS + 1
        assert len({line.count(",") for line in lines}) == 1
    elif out.suffix == ".npy":
        assert len(np.load(out)) == ROWS
    elif out.suffix == ".html":
        assert out.read_text().rstrip().endswith("</html>")
    else:
        torch.export.load(out)
        assert out.with_name(f"{out.name}.json").is_file()
