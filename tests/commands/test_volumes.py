"""``ordinate fit``, ``predict`` and ``report`` on volumes: folders, npz."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.commands.fit.command import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError
from tests.data import scans

RANKS = np.arange(36) % 3
AGES = 50.0 + RANKS * 10 + np.linspace(0, 1, 36)
DRAWN = scans.draw(AGES)
NAMES = [f"t1/{i:02}.nii.gz" for i in range(36)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ResNet3d18.__init__.__kwdefaults__, "widths", (4, 4, 8, 8))


def train(data, **options):
    fit(FitOptions(**{"data": data, "epochs": 2, "out": "model", "quiet": True, **options}))
    return json.loads(Path("model/config.json").read_text())


def write(names=NAMES, **columns):
    scans.write("brains", DRAWN, names)
    pd.DataFrame(columns).to_csv("brains/labels.csv", index=False)


def test_a_folder_of_volumes_leaves_a_model_that_predicts_them_and_a_report(capsys):
    write(path=NAMES, age=AGES)
    config = train("brains", target="age", method="supremix", set=["data.size=12"], no_report=True)
    said = capsys.readouterr().out
    assert "36 samples of 12 x 12 x 12 voxels, a continuous target from 50 to 71; 29 to train, 7 held out" in said
    assert "note: volumes of up to 16 x 16 x 16 voxels are cut to their central 12 x 12 x 12" in said
    assert config["reader"]["kind"] == "volumes"
    assert main(["predict", "model", "brains", "--out", "ages.csv"]) == 0
    ages = pd.read_csv("ages.csv")
    assert [Path(path).as_posix().removeprefix("brains/") for path in ages["path"]] == NAMES
    assert np.isfinite(ages["prediction"]).all()
    assert main(["report", "model", "brains", "--target", "age", "--out", "again.html"]) == 0
    assert "volumes of 12 x 12 x 12 voxels" in Path("again.html").read_text()
    assert main(["search", "model", "brains", "--among", "brains", "--out", "found.csv"]) == 0
    assert pd.read_csv("found.csv")["neighbour"].iloc[0].endswith("00.nii.gz")


@pytest.mark.thorough
def test_volumes_are_resampled_to_a_spacing():
    write(path=NAMES, age=AGES)
    config = train("brains", target="age", method="supcr", set=["data.size=8", "data.spacing=2"])
    assert config["params"]["data"]["volumes"]["spacing"] == [2.0, 2.0, 2.0]
    assert config["reader"]["size"] == [8, 8, 8]


@pytest.mark.thorough
def test_the_recipe_of_uk_biobank_is_for_volumes(tmp_path):
    write(path=NAMES, age=AGES)
    config = train(
        "brains", target="age", recipe="supremix-ukbiobank", quick=True, set=["data.size=8", "data.spacing=2"]
    )
    assert config["params"]["temperature"] == 0.5
    assert config["params"]["data"]["volumes"]["size"] == [8, 8, 8]
    with pytest.raises(OrdinateError, match="--recipe: otd-busi is for images, and brains holds "):
        train("brains", target="age", recipe="otd-busi", out="other")


def test_unreadable_volumes_are_named_and_can_be_left_out(capsys):
    write(path=NAMES, grade=RANKS)
    Path("brains", NAMES[4]).write_bytes(b"nothing")
    with pytest.raises(OrdinateError, match=r"1 of 36 volumes cannot be read: .*04\.nii\.gz.*--skip-unreadable"):
        train("brains", target="grade", method="otd")
    write(path=[*NAMES[:7], "x.nii", *NAMES[8:]], grade=RANKS)
    Path("brains", NAMES[4]).write_bytes(b"nothing")
    with pytest.raises(OrdinateError, match=r"1 of its volumes are not there: x\.nii; --skip-unreadable"):
        train("brains", target="grade", method="otd")
    train("brains", target="grade", method="otd", skip_unreadable=True, no_report=True)
    assert "34 samples of 16 x 16 x 16 voxels, 3 ranks" in capsys.readouterr().out
    assert main(["predict", "model", "brains", "--skip-unreadable", "--out", "grades.csv"]) == 0
    out, err = capsys.readouterr()
    assert "34 predictions" in out
    assert [line.split(": ")[2] for line in err.splitlines()] == ["x.nii", f"brains/{NAMES[4]}"]


@pytest.mark.thorough
def test_an_npz_of_volumes_is_trained_on(capsys):
    np.savez("volumes.npz", X=DRAWN, grade=RANKS)
    train("volumes.npz", target="grade", method="cloc")
    assert "36 samples of 16 x 16 x 16 voxels" in capsys.readouterr().out
    assert main(["predict", "model", "volumes.npz", "--out", "grades.csv"]) == 0
    assert main(["report", "model", "volumes.npz", "--target", "grade", "--out", "again.html"]) == 0
    with pytest.raises(OrdinateError, match=r"--image-size: is for images, and volumes\.npz holds volumes"):
        train("volumes.npz", target="grade", image_size="16", out="other")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set": ["data.size=0"]}, "--set data.size: got 0, expected a whole number of at least 1"),
        (
            {"set": ["data.size=(4, 5)"]},
            r"--set data.size: got '\(4, 5\)', expected a whole number, tuple",
        ),
        ({"set": ["data.spacing=two"]}, "--set data.spacing: got 'two', expected a number, tuple"),
        ({"image_size": "16"}, "--image-size: is for images, and .* holds volumes"),
    ],
)
def test_options_that_do_not_fit_volumes_are_refused(options, message):
    write(path=NAMES, age=AGES)
    with pytest.raises(OrdinateError, match=message):
        train("brains", target="age", **options)


def test_a_table_takes_no_options_of_volumes():
    pd.DataFrame({"x": np.linspace(0, 1, 20), "y": range(20)}).to_csv("t.csv", index=False)
    with pytest.raises(OrdinateError, match=r"--set data.spacing: is for volumes, and t\.csv holds a table"):
        train("t.csv", target="y", set=["data.spacing=2"])
