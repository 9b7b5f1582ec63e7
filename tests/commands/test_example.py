"""``ordinate example``: the tables that README starts from."""

import zipfile

import pandas as pd

from ordinate.cli import main


def test_it_writes_two_tables_of_different_wines(tmp_path, capsys):
    assert main(["example", "--out", str(tmp_path)]) == 0
    wines, others = (pd.read_csv(tmp_path / name) for name in ("wine.csv", "new-wines.csv"))
    assert wines.shape == (1159, 12)
    assert others.shape == (200, 12)
    assert not pd.concat([wines, others]).duplicated().any()
    assert "CC BY 4.0" in capsys.readouterr().out


def test_it_writes_two_sets_of_different_images(tmp_path, capsys):
    assert main(["example", "--images", "--out", str(tmp_path)]) == 0
    assert "RetinaMNIST" in capsys.readouterr().out
    pictures = []
    for name, count in (("eyes.zip", 300), ("new-eyes.zip", 40)):
        with zipfile.ZipFile(tmp_path / name) as written:
            labels = pd.read_csv(written.open("labels.csv"))
            assert list(labels.columns) == ["path", "grade"]
            assert labels["grade"].between(0, 4).all()
            assert set(written.namelist()) == {"labels.csv", *labels["path"]}
            assert len(labels) == count
            pictures += [written.read(path) for path in labels["path"]]
    assert len(set(pictures)) == 340


def test_it_replaces_nothing_unless_asked(tmp_path, capsys):
    (tmp_path / "new-wines.csv").write_text("mine")
    assert main(["example", "--out", str(tmp_path)]) == 2
    assert "new-wines.csv exists" in capsys.readouterr().err
    assert (tmp_path / "new-wines.csv").read_text() == "mine"
    assert not (tmp_path / "wine.csv").exists()
    assert main(["example", "--out", str(tmp_path), "--overwrite"]) == 0
