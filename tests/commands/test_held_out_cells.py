"""What a model could not read of the rows that are held out is named before it is trained."""

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main

SPLITS = ["train"] * 40 + ["validation"] * 10 + ["test"] * 10


@pytest.fixture(autouse=True)
def untrained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("choose", "train"):
        monkeypatch.setattr(f"ordinate.commands.fit.command.{name}", lambda *_: pytest.fail("trained"))


def table(**columns):
    size = np.random.default_rng(0).normal(size=60)
    return pd.DataFrame({"size": size, "grade": np.arange(60) % 3, "split": SPLITS, **columns})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("row", [45, 55], ids=["validation", "test"])
@pytest.mark.parametrize(("cell", "said"), [(np.inf, "infinity"), (1e308, "exceed the range of float32")])
def test_of_tables(capsys, row, cell, said, ending):
    frame = table()
    frame.loc[row, "size"] = cell
    getattr(frame, f"to_{ending}")(f"data.{ending}", index=False)
    assert main(["fit", f"data.{ending}", "--target", "grade", "--split", "split", "--out", "model"]) == 2
    err = capsys.readouterr().err
    where = "column 'size': "
    if cell == np.inf:
        where = f"data.{ending}: no column except the target describes the rows: 'size' "
    assert err.startswith(f"ordinate: {where}")
    assert said in err


def test_of_targets(capsys):
    frame = table(grade=np.random.default_rng(0).normal(size=60))
    frame.loc[55, "grade"] = 1e200
    frame.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", "--target", "grade", "--split", "split", "--out", "model"]) == 2
    assert "holds infinity or numbers past 1e+150, expected smaller ones" in capsys.readouterr().err


def test_of_series(capsys):
    X = np.random.default_rng(0).normal(size=(60, 1, 20))
    X[:, :, 3] = np.where(np.arange(60)[:, None] == 7, 1e300, 0)
    y = np.arange(60) % 3
    np.savez("data.npz", X=X, y=y)
    said = set()
    for seed in range(6):  # on both sides
        assert main(["fit", "data.npz", "--target", "y", "--seed", str(seed), "--test-fraction", "0.5"]) == 2
        said.add(capsys.readouterr().err.partition("float")[2])
    assert said == {"32 once standardised, expected smaller ones\n", "64 when squared, expected smaller ones\n"}
