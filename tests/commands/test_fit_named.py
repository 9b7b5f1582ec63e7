"""``ordinate fit`` on a data set of the papers by its name."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from ordinate import cli

NAMES = ["frequency_hz", "angle_of_attack_deg", "chord_m", "velocity_mps", "displacement_thickness_m"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of data that holds airfoil, and another to work in."""
    folder = tmp_path / "data" / "uci_airfoil"
    folder.mkdir(parents=True)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1503, 5)), columns=NAMES)
    frame.assign(sound_pressure_db=frame.sum(axis=1)).to_csv(folder / "airfoil_self_noise.csv.gz", index=False)
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_a_set_is_trained_and_measured_on_its_own_split(here):
    assert cli.main(["fit", "airfoil", "--method", "supcr", "--epochs", "1", "--no-report", "--quiet"]) == 0
    record = json.loads((here / "airfoil-model" / "metrics.json").read_text())
    assert (record["training_samples"], record["test_samples"]) == (1203, 150)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["airfoil", "--target", "sound_pressure_db"], "--target: airfoil is a data set with its own label and split"),
        (["car"], r"car: not in \$ORDINATE_DATA"),
        (["tuab"], r"tuab: "),
    ],
)
def test_what_cannot_be_is_said(here, arguments, message, capsys):
    assert cli.main(["fit", *arguments]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not list(here.iterdir())


def test_a_file_of_that_name_comes_first(here, capsys):
    (here / "airfoil").write_text("not a table")
    assert cli.main(["fit", "airfoil", "--target", "y"]) == 2
    assert "airfoil: its ending names no known format" in capsys.readouterr().err
