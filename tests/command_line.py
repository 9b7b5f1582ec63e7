"""A small table for the command line, and what its tests run and read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinate.cli import main
from tests.estimators.examples import draw_frame, ranks_of

ORDINATE = Path(sys.executable).with_name("ordinate")
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
QUICK = ["--epochs", "4", "--no-report", "--quiet"]


def draw(n=48):
    frame, target = draw_frame(n)
    grades = np.array(["low", "mid", "high"])[ranks_of(target)]
    return frame.assign(grade=ranks_of(target), word=grades, target=target)


def ordinate_command(*arguments):
    return subprocess.run([ORDINATE, *arguments], capture_output=True, text=True, check=False, env=ONE_THREAD)


def read(path):
    """JSON as the standard has it: without NaN."""
    return json.loads(Path(path).read_text(), parse_constant=pytest.fail)


def one_line(err):
    assert err.endswith("\n")
    (line,) = err.splitlines()
    return line


def write_table(folder):
    """Write ranks.csv, of ranks alone, and return its name."""
    draw().drop(columns=["word", "target"]).to_csv(folder / "ranks.csv", index=False)
    return "ranks.csv"


def fit_model(path):
    """Return the folder of a CLOC model of the table."""
    arguments = [str(path / write_table(path)), "--target", "grade", "--method", "cloc", "--out", str(path / "model")]
    assert main(["fit", *arguments, *QUICK]) == 0
    return path / "model"
