"""A package of somebody else adds a model, a data set and a command through the entry point group."""

import os
import subprocess
import sys

import pytest

EXTENSION = """
from ordinate.commands.catalogue import Command
from ordinate.extensions import Extension, of_ranks


def _add_options(parser):
    parser.add_argument("name")


COMMANDS = (
    Command("count", "count samples", "Count the samples of a data set.", _add_options, "cheese.counting:count"),
)
EXTENSION = Extension(
    models={"narrow_cloc": of_ranks("cheese.narrow:NarrowCLOC", margin_floor=0.25)},
    data_sets="cheese.data_sets",
    commands="cheese.extension:COMMANDS",
)
"""
NARROW = '''
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.estimator_dataclass import estimator_dataclass


@estimator_dataclass
class NarrowCLOC(CLOCClassifier):
    """CLOC with embeddings of three dimensions."""

    embedding_dim: int | None = 3
'''
DATA_SETS = """
import hashlib

import numpy as np
import pandas as pd


def holds_images(name):
    return False


def holds_others(name):
    return name == "cheddar"


def folder(name):
    return None


def read(name):
    age = np.linspace(0.0, 1.0, 60)
    table = pd.DataFrame({"age": age, "salt": age**2})
    ranks = np.digitize(age, [0.3, 0.7])
    splits = np.where(np.arange(60) % 5 == 0, "test", "train")
    return table, ranks, splits, hashlib.sha256(age.tobytes()).hexdigest()
"""
COUNTING = """
from cheese.data_sets import read


def count(name):
    table, *_ = read(name)
    print(f"{name}: {len(table)} samples")
"""
FIT_AND_LOAD = """
import pandas as pd
import ordinate
from ordinate.cli import main

options = ["--method", "narrow_cloc", "--epochs", "1", "--no-report", "--quiet", "--out", "model"]
assert main(["fit", "cheddar", *options]) == 0
model = ordinate.load("model")
table = pd.DataFrame({"age": [0.1, 0.9], "salt": [0.01, 0.81]})
print(type(model).__name__, model.margin_floor, model.transform(table).shape, model.predict(table).shape)
"""


@pytest.fixture
def run_with_cheese(tmp_path):
    """Install the package into a folder; return a function that runs Python with the folder on its path."""
    package = tmp_path / "site" / "cheese"
    package.mkdir(parents=True)
    modules = {"extension": EXTENSION, "narrow": NARROW, "data_sets": DATA_SETS, "counting": COUNTING, "__init__": ""}
    for name, code in modules.items():
        (package / f"{name}.py").write_text(code)
    metadata = tmp_path / "site" / "cheese-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cheese\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[ordinate.extensions]\ncheese = cheese.extension:EXTENSION\n")
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def run(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_its_command_is_listed_with_those_of_the_papers_and_runs(run_with_cheese):
    shown = run_with_cheese("-m", "ordinate", "--help").splitlines()
    commands = {line.split()[0] for line in shown if line.strip()}
    assert {"fit", "table", "count"} <= commands
    assert run_with_cheese("-m", "ordinate", "count", "cheddar") == "cheddar: 60 samples\n"


def test_its_model_is_fitted_on_its_data_set_and_loaded_again(run_with_cheese):
    assert run_with_cheese("-c", FIT_AND_LOAD).splitlines()[-1] == "NarrowCLOC 0.25 (2, 3) (2,)"


def test_without_the_package_its_model_is_unknown():
    command = [sys.executable, "-m", "ordinate", "fit", "cheddar", "--method", "narrow_cloc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--method: got 'narrow_cloc'" in done.stderr
