"""What tables may hold, on the command line and in Python: formats of csv, doubled names, numbers as objects, gaps."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ordinate
from ordinate.cli import main
from ordinate.errors import OrdinateError
from tests.command_line import draw, one_line

TABLE = draw(60).drop(columns=["word", "target"])
QUICK = ["--method", "cloc", "--epochs", "2", "--quiet", "--out", "model"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(data, *options, target="grade"):
    return main(["fit", data, "--target", target, *QUICK, *options])


@pytest.mark.filterwarnings("default:.*reads semicolons")
def test_every_command_recognises_how_a_csv_is_written(capsys):
    TABLE.to_csv("table.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    note = "table.csv: reads semicolons and decimal commas"
    assert fit("table.csv") == 0
    assert f"note: {note}" in capsys.readouterr().out.splitlines()
    for command in ("predict model table.csv", "report model table.csv --out a.html", "search model table.csv"):
        arguments = command.split()
        assert main([*arguments, "--among", "table.csv"] if "search" in command else arguments) == 0
        assert any(note in printed for printed in capsys.readouterr())
    assert main(["predict", "model", "table.csv", "--sep", ","]) == 2
    assert one_line(capsys.readouterr().err).endswith("; --sep names another separator")
    assert main(["predict", "model", "table.csv", "--sep", ";", "--decimal", ",", "--encoding", "latin-1"]) == 0


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.tsv", "table.parquet"])
def test_a_name_that_several_columns_have_is_an_error(name, capsys):
    doubled = pd.concat([TABLE, TABLE[["grade"]]], axis=1)
    if name.endswith("parquet"):
        arrays = [pa.array(doubled.iloc[:, place]) for place in range(doubled.shape[1])]
        pq.write_table(pa.Table.from_arrays(arrays, names=list(doubled.columns)), name)
    else:
        doubled.to_csv(name, index=False, sep="\t" if "tsv" in name else ",")
    assert fit(name) == 2
    expected = f"ordinate: {name}: several columns are named 'grade', expected one name per column\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]])
def test_a_frame_of_such_columns_is_an_error(names):
    X = pd.DataFrame(np.zeros((12, 2)), columns=names)
    with pytest.raises(OrdinateError, match=f"^X: several columns are named '{names[0]}'"):
        ordinate.OTDClassifier().fit(X, np.arange(12) % 2)
