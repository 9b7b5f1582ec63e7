"""Columns may have any name, also those that a result, a page or a library uses itself."""

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.data.tables.files import read_table_samples

NAMES = [
    "self", "row", "baseline", "column", "importance", "index", "prediction", "lower", "upper", "probability_0", "path",
    "label", "query", "neighbour", "similarity", "rank", "name", "X", "y", "data", "model", "Unnamed", "sample", "true",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(140, len(NAMES))).round(4), columns=NAMES)
    table["self"] = np.where(table["self"] > 0, "yes", "no")
    table["target"] = np.digitize(table["row"] + table["baseline"], [-0.7, 0.7])
    table.to_csv(folder / "table.csv", index=False)
    arguments = "--target target --method otd --epochs 4 --quiet"
    assert main(["fit", str(folder / "table.csv"), *arguments.split(), "--out", str(folder / "model")]) == 0
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "predict model table.csv --coverage 0.8 --out grades.csv",
        "explain model table.csv --out columns.csv",
        "explain model table.csv --row 0 7 --out rows.csv",
        "evaluate model table.csv",
        "report model table.csv --out page.html",
        "search model table.csv --among table.csv --target target --k 2 --out similar.csv",
        "transform model table.csv --out embeddings.csv",
    ],
)
def test_every_command_reads_and_writes_them(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(command.split()) == 0, capsys.readouterr().err


def test_what_columns_add_up_to_is_the_prediction(folder):
    model, table = ordinate.load(folder / "model"), pd.read_csv(folder / "table.csv")[:3]
    found = model.explain(table)
    assert list(found.columns) == ["baseline", *NAMES]
    expected = model.rank_probabilities(table) @ np.arange(3)
    np.testing.assert_allclose(found.to_numpy().sum(1), expected, atol=1e-9)
    main(
        ["explain", str(folder / "model"), str(folder / "table.csv"), "--row", "2", "--out", str(folder / "of_two.csv")]
    )
    written = pd.read_csv(folder / "of_two.csv", header=None).to_numpy()
    assert written[0].tolist() == ["row_", "baseline_", *NAMES]
    np.testing.assert_allclose(written[1, 1:].astype(float), found.iloc[2], atol=1e-6)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_survey_may_have_them(ending, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra surveys is not installed")
    dates = pd.to_datetime(["2020-01-02", "2021-03-04"])
    frame = pd.DataFrame({"self": ["a", ""], "frame": [1.0, 2.0], "kwargs": dates})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    write(frame, str(tmp_path / f"a.{ending}"))
    read = read_table_samples(tmp_path / f"a.{ending}")
    assert read["self"].tolist()[0] == "a"
    assert read["self"].isna().tolist() == [False, True]
    assert read["kwargs"].dt.year.tolist() == [2020, 2021]


def test_a_row_is_asked_for_by_its_identifier_before_its_number(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"patient": [f"{place:04}" for place in random.permutation(150)], "a": random.normal(size=150)}
    )
    table.assign(grade=np.digitize(table["a"], [0])).to_csv("table.csv", index=False)
    assert (
        main(
            [
                "fit",
                "table.csv",
                "--target",
                "grade",
                "--method",
                "otd",
                "--epochs",
                "2",
                "--no-report",
                "--quiet",
                "--out",
                "model",
            ]
        )
        == 0
    )
    capsys.readouterr()
    row = table.index[table["patient"] == "0007"][0]
    assert main(["explain", "model", "table.csv", "--row", "0007", "--out", "of_it.parquet"]) == 0
    assert capsys.readouterr().out.startswith(f"row {row}, 0007: predicts")
    assert pd.read_parquet("of_it.parquet")[["row", "patient"]].to_numpy().tolist() == [[row, "0007"]]
    assert main(["explain", "model", "table.csv", "--row", "7"]) == 0
    assert capsys.readouterr().out.startswith(f"row 7, {table['patient'][7]}: predicts")
