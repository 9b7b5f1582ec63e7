"""What tables may hold, on the command line and in Python: formats of csv, doubled names, numbers as objects, gaps."""

import html
import io
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ordinate
from ordinate.cli import main
from ordinate.data.registry import modality_of_files
from ordinate.errors import OrdinateError
from tests.command_line import draw, one_line

TABLE = draw(60).drop(columns=["word", "target"])
QUICK = ["--method", "cloc", "--epochs", "2", "--no-report", "--quiet", "--out", "model"]


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
    assert "; --sep names another separator" in one_line(capsys.readouterr().err)
    assert main(["predict", "model", "table.csv", "--sep", ";", "--decimal", ",", "--encoding", "latin-1"]) == 0


def test_every_command_reads_every_format(capsys):
    TABLE.to_csv("table.csv", index=False)
    TABLE.to_excel("table.xlsx", index=False)
    TABLE.to_feather("table.feather")
    TABLE.to_json("table.jsonl", orient="records", lines=True, double_precision=15)
    assert fit("table.xlsx") == 0
    shown = {}
    for data in ("table.csv", "table.xlsx", "table.feather", "table.jsonl"):
        capsys.readouterr()
        assert main(["predict", "model", data, "--keep-columns", "grade"]) == 0
        shown[data] = pd.read_csv(io.StringIO(capsys.readouterr().out))
        pd.testing.assert_frame_equal(shown[data], shown["table.csv"], rtol=1e-6)
        for command in ("explain model DATA", "search model DATA --among DATA"):
            assert main(command.replace("DATA", data).split()) == 0
    assert main(["report", "model", "table.xlsx", "--out", "a.html"]) == 0
    assert main(["suspects", "table.xlsx", "--target", "grade", "--epochs", "1", "--folds", "2", "--quiet"]) == 0


def test_a_url_is_refused(capsys):
    assert fit("https://host/a.csv") == 2
    assert "https://host/a.csv: is a URL, expected a file or folder; download it first" in capsys.readouterr().err
    with pytest.raises(OrdinateError, match="s3://host/knees: is a URL"):
        modality_of_files("s3://host/knees")


def test_a_missing_package_is_refused_before_anything_is_read(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    Path("table.xlsx").write_bytes(b"")
    assert fit("table.xlsx") == 2
    message = capsys.readouterr().err
    assert message.startswith("ordinate: table.xlsx: requires python_calamine (")
    assert message.endswith(': pip install "ordinate[excel]"\n')


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


def decimals(values):
    return pd.Series([None if pd.isna(value) else Decimal(str(value)) for value in values], dtype=object)


STORED = {
    "decimals": decimals,
    "objects": lambda values: pd.Series(values).astype(object),
    "NA among objects": lambda values: pd.Series(values).astype(object).where(pd.notna(values), pd.NA),
    "text": lambda values: pd.Series(values).map(str, na_action="ignore"),
}
NUMBERS = pd.DataFrame({"x": np.linspace(-2, 2, 60).round(3), "k": np.arange(60) % 7})
GAPS = NUMBERS.assign(x=NUMBERS["x"].where(NUMBERS.index % 9 > 0))
RANKS = np.digitize(NUMBERS["x"], [-1, 0, 1]) * 5 + 1  # 1, 6, 11, 16


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
@pytest.mark.parametrize("X", [NUMBERS, GAPS], ids=["whole", "with gaps"])
def test_numbers_are_features_however_they_are_stored(stored, X):
    def transformed(frame):
        return ordinate.OTDClassifier(epochs=1, random_state=0).fit(frame, RANKS).transform(frame)

    np.testing.assert_array_equal(transformed(X.apply(stored)), transformed(X))


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_numbers_are_labels_however_they_are_stored(stored):
    y = stored(RANKS)
    model = ordinate.OTDClassifier(epochs=1, random_state=0).fit(NUMBERS, y)
    assert list(map(int, model.ordered_classes_)) == [1, 6, 11, 16]
    assert model.score(NUMBERS, y) == np.mean(model.predict(NUMBERS).astype(int) == RANKS)
    target = ordinate.SupCRRegressor(epochs=(1, 1), random_state=0)
    by_float = target.fit(NUMBERS, RANKS.astype(float)).predict(NUMBERS)
    np.testing.assert_array_equal(target.fit(NUMBERS, y).predict(NUMBERS), by_float)


@pytest.mark.parametrize("stored", [decimals, STORED["text"]], ids=["decimals", "text"])
def test_numbers_of_a_parquet_file_are_read_however_they_are_stored(stored, capsys):
    table = GAPS.assign(grade=RANKS)
    predicted = []
    for name, frame in {"plain.parquet": table, "stored.parquet": table.apply(stored)}.items():
        frame.to_parquet(name)
        assert fit(name, "--out", name[0]) == 0
        assert "4 ranks, 1 < 6 < 11 < 16" in capsys.readouterr().out
        assert main(["predict", name[0], name]) == 0
        predicted.append(capsys.readouterr().out)
    assert main(["report", name[0], name, "--out", "page.html"]) == 0
    assert predicted[0] == predicted[1]


def test_codes_as_text_stay_categories():
    model = ordinate.OTDClassifier(epochs=1).fit(pd.DataFrame({"zip": ["007", "110"] * 30}), RANKS)
    assert model.reader_.categorical == ["zip"]


BLANKS = TABLE.assign(
    group=np.repeat([f"p{k}" for k in range(20)], 3), number=np.arange(60) // 3, weight=1.0,
    split=np.tile(["train", "train", "test"], 20), text="fine words", grade=TABLE["grade"],
)  # fmt: skip


@pytest.mark.parametrize("data", ["table.csv", "table.parquet"])
@pytest.mark.parametrize(
    ("option", "column", "noun"),
    [
        ("--group", "group", "value"),
        ("--group", "number", "value"),
        ("--split", "split", "value"),
        ("--weight", "weight", "value"),
        ("--text", "text", "text"),
    ],
)
def test_blank_cells_of_a_column_with_a_role_are_an_error_that_names_the_rows(data, option, column, noun, capsys):
    blanked = BLANKS.assign(**{column: BLANKS[column].where(BLANKS.index % 10 != 4)})
    blanked.to_parquet(data) if data.endswith("parquet") else blanked.to_csv(data, index=False)
    problem = f"ordinate: {data}: 6 of 60 {noun}s in '{column}' are missing, expected one {noun} per row"
    commands = [["fit", data]]
    if option == "--group":
        commands.append(["suspects", data])
    for command in commands:
        assert main([*command, "--target", "grade", option, column]) == 2
        hint = "remove those rows, or fill them"
        assert capsys.readouterr().err == f"{problem}; {hint}: 4, 14, 24, 34, 44, ... (counted from 0)\n"


@pytest.mark.parametrize("column", ["path", "split", "group"])
@pytest.mark.parametrize("file", ["a.png", "a.nii", "a.npy"])
def test_so_they_are_in_a_labels_file(file, column, folder, capsys):
    listed = pd.DataFrame({"path": [file] * 12, "label": 1, "split": "test", "group": "a"})
    listed.loc[7, column] = np.nan
    Path("d").mkdir()
    listed.to_csv("d/labels.csv", index=False)
    Path("d", file).touch()
    noun = "path" if column == "path" else "value"
    assert main(["fit", "d"]) == 2
    message = one_line(capsys.readouterr().err)
    assert f"labels.csv: 1 of 12 {noun}s in '{column}' are missing" in message
    assert message.endswith(": 7 (counted from 0)")


@pytest.mark.parametrize(
    "estimator", [ordinate.OTDClassifier(epochs=1), ordinate.BlendClassifier(members=2, folds=2, epochs=1)]
)
def test_groups_may_be_of_several_kinds(estimator):
    groups = np.array([*range(15), *"abcdefghijklmno"], dtype=object).repeat(2)
    assert len(estimator.fit(NUMBERS, RANKS % 2, groups=groups).predict(NUMBERS)) == 60


def test_dates_and_comments_join_the_other_columns_of_a_table(capsys):
    dates = pd.Series(pd.date_range("2020-01-01", periods=60))
    comments = [
        f"the knee of visit {row} feels {'stiff' if grade else 'fine'}" for row, grade in enumerate(TABLE["grade"])
    ]
    table = TABLE.assign(seen=dates.dt.strftime("%d.%m.%Y"), comment=comments)
    table.to_csv("table.csv", index=False)
    assert fit("table.csv") == 0
    out = capsys.readouterr().out
    assert "left out" not in out
    assert "seen: dates from 2020-01-01 on, converted to days" in out
    assert re.search(r"comment: is free text, and is treated as \d+ components of its words", out)
    assert main(["predict", "model", "table.csv"]) == 0
    printed = capsys.readouterr().out
    table.assign(seen=dates).to_parquet("table.parquet")
    assert main(["predict", "model", "table.parquet"]) == 0
    assert capsys.readouterr().out == printed
    assert main(["explain", "model", "table.csv"]) == 0
    assert "comment" in capsys.readouterr().out
    assert fit("table.parquet", "--out", "of-times") == 0
    assert "could not be drawn" not in capsys.readouterr().out


@pytest.mark.filterwarnings("default:.*reads ")
def test_one_row_is_read_as_the_data_that_the_model_was_trained_on(capsys):
    numbers = np.random.default_rng(0).integers(1000, 9000, 60)
    table = pd.DataFrame(
        {"size": [f"{n // 1000}.{n % 1000:03}" for n in numbers], "dose": [f"{n / 7:.2f}" for n in numbers]}
    )
    table["dose"] = table["dose"].str.replace(".", ",")
    table.assign(grade=(numbers // 3000).clip(0, 2)).to_csv("table.csv", index=False, sep=";")
    assert fit("table.csv") == 0
    capsys.readouterr()
    assert main(["predict", "model", "table.csv"]) == 0
    whole = capsys.readouterr().out.splitlines()
    table.assign(dose="7")[:1].to_csv("one.csv", index=False, sep=";")
    table.assign(dose="7,0")[:1].to_csv("clear.csv", index=False, sep=";")
    printed = {}
    for name in ("one.csv", "clear.csv"):
        assert main(["predict", "model", name]) == 0
        printed[name] = capsys.readouterr().out
    assert printed["one.csv"] == printed["clear.csv"]
    assert whole[0] == printed["one.csv"].splitlines()[0]


@pytest.mark.filterwarnings("default:.*reads ")
def test_a_model_of_whole_numbers_reads_decimal_commas(capsys):
    numbers = np.arange(60) * 7 % 20
    table = pd.DataFrame({"size": numbers, "grade": numbers // 7})
    table.to_csv("table.csv", index=False, sep=";")
    assert fit("table.csv") == 0
    assert json.loads(Path("model/split.json").read_text())["csv"] == [";", None]
    new, printed = table.assign(size=table["size"] + 0.125), {}
    for mark in ".,":
        new.to_csv("new.csv", index=False, sep=";", decimal=mark)
        capsys.readouterr()
        assert main(["predict", "model", "new.csv"]) == 0
        printed[mark] = capsys.readouterr().out
    assert printed[","] == printed["."]


@pytest.mark.filterwarnings("default:.*reads ")
def test_pages_repeat_the_format_that_was_given(capsys):
    TABLE.to_csv("table.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    given = ["--sep", ";", "--decimal", ",", "--encoding", "latin-1"]
    assert fit("table.csv", *given) == 0
    assert main(["report", "model", "table.csv", "--out", "a.html", *given]) == 0
    assert "--sep ';' --decimal , --encoding" in html.unescape(Path("a.html").read_text(encoding="utf-8"))
