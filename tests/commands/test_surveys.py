"""Surveys from the command line: codes, labels and missing answers, from fit to predict and report."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import ordinate
from ordinate import OTDClassifier, TableOptions
from ordinate.cli import main
from ordinate.data.tables.files import read_table_samples
from ordinate.errors import OrdinateError
from ordinate.model.batches import reading_of

QUICK = ["--method", "otd", "--epochs", "1", "--quiet", "--out", "model"]
HEALTH = {-9: "-9. Refused", -8: "-8. Don't know", 1: "1. Poor", 2: "2. Fair", 3: "3. Good"}
LABELS = {"health": HEALTH, "agree": {1: "not at all", 5: "fully"}, "income": {-9: "refused"}}


def draw(n=80):
    random = np.random.default_rng(0)
    health = random.integers(1, 4, n).astype(float)
    agree = np.clip(health + random.integers(0, 3, n), 1, 5).astype(float)
    income = random.integers(10, 90, n).astype(float)
    income[:5] = -9
    table = pd.DataFrame({"hours": random.normal(size=n), "agree": agree, "income": income, "health": health})
    table.loc[10:15, "health"] = -9
    table.loc[16:17, "health"] = -8
    return table


TABLE = draw()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(table, name, labels=LABELS):
    labels = {column: each for column, each in labels.items() if column in table}
    if name.endswith("sav"):
        pyreadstat.write_sav(table, name, variable_value_labels=labels)
    else:
        pyreadstat.write_dta(table, name, variable_value_labels=labels)


def columns_of_model():
    state = json.loads(Path("model", "config.json").read_text())
    return {column["name"]: column for column in state["reader"]["columns"]}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_model_of_a_survey_reads_new_rows_as_it_was_trained(ending, capsys):
    write(TABLE, f"survey.{ending}")
    assert main(["fit", f"survey.{ending}", "--target", "health", *QUICK]) == 0
    said = capsys.readouterr().out
    assert "read as missing in health: -9. Refused in 6, -8. Don't know in 2 rows" in said
    assert "income: -9 (refused) in 5 rows" in said
    assert "72 samples of 3 columns, 3 ranks, 1. Poor < 2. Fair < 3. Good" in said
    columns = columns_of_model()
    assert "categories" not in columns["agree"]
    assert columns["income"]["low"] >= 10
    new = TABLE.drop(columns="health").loc[TABLE["agree"].isin([1, 5])].head(6)  # All of its codes have labels.
    write(new, f"new.{ending}")
    new.replace({"income": {-9: np.nan}}).to_csv("new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "model", f"new.{ending}"]) == 0
    of_survey = capsys.readouterr().out
    assert main(["predict", "model", "new.csv"]) == 0
    assert capsys.readouterr().out == of_survey
    assert main(["report", "model", f"survey.{ending}", "--out", "report.html"]) == 0
    assert "left out: 8 of 80 rows" in capsys.readouterr().out


def test_values_named_as_missing_are_in_training_prediction_and_python(capsys):
    TABLE.to_csv("survey.csv", index=False)
    assert main(["fit", "survey.csv", "--target", "health", *QUICK, "--missing=-9,health=-8"]) == 0
    assert "3 ranks, 1 < 2 < 3" in capsys.readouterr().out
    model = ordinate.load("model")
    assert model.reader_.missing == ("-9", "health=-8")
    new = TABLE.drop(columns="health").head(8)
    blank = new.replace({"income": {-9: np.nan}})
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(blank))
    assert main(["report", "model", "survey.csv", "--out", "report.html"]) == 0
    fitted = OTDClassifier(epochs=1, random_state=0, data=TableOptions(missing=[-9]))
    fitted.fit(new.assign(income=[-9.0, 3, -9, 4, 5, 6, 7, 8]), [0, 1] * 4)
    assert fitted.reader_.columns[2].low == 3


def test_labels_that_say_no_answer_may_be_ranks(capsys):
    write(TABLE, "survey.dta")
    assert main(["fit", "survey.dta", "--target", "health", *QUICK, "--keep-missing"]) == 0
    assert "5 ranks, -9. Refused < -8. Don't know < 1. Poor" in capsys.readouterr().out
    assert main(["report", "model", "survey.dta", "--out", "report.html"]) == 0


def test_labelled_grades_may_be_wanted_as_numbers(capsys):
    write(TABLE, "survey.dta")
    command = ["fit", "survey.dta", "--target", "health", "--task", "continuous", "--method", "l1", "--epochs", "1"]
    assert main([*command, "--no-report", "--quiet", "--out", "model"]) == 0
    assert "a continuous target from 1 to 3" in capsys.readouterr().out
    assert main(["report", "model", "survey.dta", "--out", "report.html"]) == 0


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_na_may_be_a_rank(ending, capsys):
    quality = pd.Series(["NA", "Po", "Fa", "Gd"] * 20)
    table = pd.DataFrame({"area": np.arange(80) % 37 + quality.index % 4, "quality": quality})
    if ending == "csv":
        table.to_csv("homes.csv", index=False)
    else:
        table.to_excel("homes.xlsx", index=False)
    data = f"homes.{ending}"
    assert main(["fit", data, "--target", "quality", "--order", "NA,Po,Fa,Gd", *QUICK]) == 0
    assert "80 samples of 1 column, 4 ranks, NA < Po < Fa < Gd" in capsys.readouterr().out
    assert main(["report", "model", data, "--out", "report.html"]) == 0


def test_a_rank_that_the_order_names_is_one_of_the_model(capsys):
    words = pd.Series(["low", "mid"] * 40)
    table = pd.DataFrame({"a": np.arange(80.0) % 31, "grade": words})
    table.to_csv("train.csv", index=False)
    assert main(["fit", "train.csv", "--target", "grade", "--order", "low,mid,high", *QUICK]) == 0
    assert "note: no training sample has the rank high" in capsys.readouterr().out
    table.assign(grade=["low", "mid", "high", "mid"] * 20).to_csv("test.csv", index=False)
    assert main(["report", "model", "test.csv", "--out", "report.html"]) == 0
    assert main(["predict", "model", "test.csv", "--out", "predicted.csv"]) == 0
    assert "probability_high" in pd.read_csv("predicted.csv")


def test_columns_that_cannot_be_used_are_left_out_with_one_note(capsys):
    table = pd.DataFrame({"a": np.arange(120.0), "grade": [0, 1, 2] * 40, "infinite": np.inf})
    table["city"] = [f"c{row % 60}" for row in range(120)]
    table["town"] = [f"t{row % 55}" for row in range(120)]
    table.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", "--target", "grade", *QUICK, "--no-report"]) == 0
    said = capsys.readouterr().out
    assert said.count("cannot be used") == 1
    assert "left out: columns 'infinite' (infinity), 'city' (text with 60 different values in 120 rows)" in said
    assert "if rows of one 'city' belong together, --group city keeps them on one side" in said
    assert main(["predict", "model", "data.csv"]) == 0


def test_a_column_described_as_an_identifier_is_one():
    table = TABLE.assign(v1=np.random.default_rng(1).permutation(80) * 7.0 + 1000, v2=np.arange(80) * 3.0 + 7)
    described = [*(f"column {name}" for name in TABLE), "UNIQUE PERSONAL IDENTIFIER", "age in days"]
    pyreadstat.write_sav(table, "survey.sav", column_labels=described)
    assert read_table_samples("survey.sav").attrs["descriptions"]["v1"] == "UNIQUE PERSONAL IDENTIFIER"
    assert main(["fit", "survey.sav", "--target", "agree", "--drop", "health", *QUICK, "--no-report"]) == 0
    assert set(columns_of_model()) == {"hours", "income", "v2"}


def test_rows_without_a_label_need_no_group():
    table = TABLE.assign(person=np.where(TABLE["health"] < 0, None, (TABLE.index // 2).astype(str)))
    table["health"] = table["health"].where(table["health"] > 0)
    table.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", "--target", "health", "--group", "person", *QUICK, "--no-report"]) == 0


def test_suspects_leaves_out_a_rank_of_one_row(capsys):
    TABLE.assign(health=["a"] * 40 + ["b"] * 39 + ["c"]).to_csv("data.csv", index=False)
    command = ["suspects", "data.csv", "--target", "health", "--order", "a,b,c", "--folds", "2"]
    assert main([*command, "--epochs", "1", "--quiet", "--out", "suspects.csv"]) == 0
    assert "left out: 1 row of 'c': checking a label takes two samples of its rank" in capsys.readouterr().err
    assert len(pd.read_csv("suspects.csv")) == 79


@pytest.mark.filterwarnings("default:data.csv")
def test_of_doubled_names_the_first_is_read(capsys):
    lines = ["a,b,a,grade", *(f"{row % 17},{row % 5},7,{row % 3}" for row in range(60))]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    assert main(["fit", "data.csv", "--target", "grade", *QUICK, "--no-report"]) == 0
    assert "several columns are named 'a'; the first of each is read" in capsys.readouterr().out
    assert set(columns_of_model()) == {"a", "b"}
    assert main(["predict", "model", "data.csv"]) == 0
    assert "several columns are named 'a'" in capsys.readouterr().err


def test_a_model_that_keeps_refusals_keeps_them_in_prediction(capsys):
    table = TABLE.assign(asked=np.where(np.arange(80) % 4 == 0, 9.0, 1.0 + np.arange(80) % 2))
    write(table, "survey.sav", {"asked": {1: "no", 2: "yes", 9: "Refused"}})
    command = ["fit", "survey.sav", "--target", "agree", "--drop", "health", "--keep-missing"]
    assert main([*command, *QUICK, "--no-report"]) == 0
    assert columns_of_model()["asked"]["categories"] == ["Refused", "no", "yes"]
    model = ordinate.load("model")
    read = read_table_samples("survey.sav", how=reading_of(model.fitted))
    assert read["asked"].notna().all()


def test_a_split_may_be_blank_where_no_label_is():
    table = TABLE.assign(split=np.where(TABLE["health"] < 0, None, np.where(np.arange(80) % 4 == 0, "test", "train")))
    table["health"] = table["health"].where(table["health"] > 0)
    table.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", "--target", "health", "--split", "split", *QUICK, "--no-report"]) == 0


def test_dates_out_of_range_leave_the_dates_of_other_columns():
    dates = pd.to_datetime(["2020-01-31"] * 79 + ["2021-01-01"])
    pyreadstat.write_sav(TABLE.assign(seen=dates), "survey.sav", variable_format={"hours": "DATETIME20"})
    assert read_table_samples("survey.sav")["seen"].dt.year.tolist()[-2:] == [2020, 2021]


NUMBERED = TABLE[["hours", "agree", "income"]].assign(
    health=np.tile([1, 2, 3, 9], 20), word=np.tile(["a", "b", "refused", "c=d", "a"], 16), row=np.arange(80)
)


def fit_with(missing, name="data.csv", *options):
    return main(["fit", name, "--target", "health", "--missing", missing, "--no-report", *QUICK, *options])


@pytest.mark.parametrize(
    ("missing", "unmatched"),
    [
        ("-9,9", None),
        ("health=9", None),
        ("refused,c=d,NA", None),
        ("row=0", None),
        ("income=-9,income=-8", "'income=-8'"),
        ("98,Refused", "'98' or 'Refused'"),
        ("agree=-9", "'agree=-9'"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "sav"])
def test_a_value_named_as_missing_that_does_not_occur_is_noted(missing, unmatched, ending, capsys):
    if ending == "csv":
        NUMBERED.to_csv("data.csv", index=False)
    else:
        write(NUMBERED, "data.sav", {"income": {-9: "refused"}})
    assert fit_with(missing, f"data.{ending}") == 0
    said = [line for line in capsys.readouterr().out.split("\n") if "no value is" in line]
    assert said == ([] if unmatched is None else [f"note: data.{ending}: no value is {unmatched}, named as missing"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_missing_values_that_is_not_there_is_an_error_before_training(ending, capsys):
    getattr(NUMBERED, f"to_{ending}")(f"data.{ending}", index=False)
    assert fit_with("-9,incme=-9", f"data.{ending}") == 2
    error = capsys.readouterr().err
    assert "--missing: got 'incme=-9', expected a value, or COLUMN=VALUE with a column of the data; did you" in error
    assert "did you mean 'income'?" in error
    assert not Path("model").exists()
    assert fit_with("-9,income=-9,health=9,row=3", f"data.{ending}", "--drop", "income") == 0


def test_a_model_says_so_in_python():
    table = NUMBERED[["hours", "income"]]

    def fit(*missing):
        model = OTDClassifier(epochs=1, random_state=0, data=TableOptions(missing=missing))
        return model.fit(table, NUMBERED["health"]).reader_.notes

    assert not any("no value" in note for note in fit(-9, "income=-9"))
    assert "no value is '98' or 'income=7', named as missing" in fit(-9, 98, "income=7")
    with pytest.raises(OrdinateError, match=r"missing: got 'Income=-9', .*; did you mean 'income'\?"):
        fit("Income=-9")


def write_codes(labels, ending, codes=(1, 2, 3)):
    """Write a survey whose label has codes in turn, and return how its columns are named."""
    table = pd.DataFrame({"hours": np.tile([1.0, 2, 3, 4, 5], 12), "view": np.resize(codes, 60).astype(float)})
    write(table, f"views.{ending}", {"view": labels})


ALPHABET = {1: "agree", 2: "mixed, or both", 3: "oppose"}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_the_order_of_codes_along_the_alphabet_is_asked_for_ready_to_paste(ending, capsys):
    write_codes(ALPHABET, ending)
    fit = ["fit", f"views.{ending}", "--target", "view", *QUICK, "--no-report"]
    assert main(fit) == 2
    error = capsys.readouterr().err.strip()
    typed = """--order '["agree", "mixed, or both", "oppose"]'"""
    assert error.endswith(
        f"holds text without an order: {', '.join(map(repr, ALPHABET.values()))}; the order of their codes is {typed}"
    )
    assert main([*fit, *shlex.split(typed)]) == 0
    assert "3 ranks, agree < mixed, or both < oppose" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize(
    ("labels", "order", "ranks"),
    [
        (ALPHABET, "3,2,1", "oppose < mixed, or both < agree"),
        (ALPHABET, "3.0, 2,1", "oppose < mixed, or both < agree"),
        ({1: "low", 2: "mid", 3: "high"}, "3,1,2", "high < low < mid"),
        ({1: "low", 2: "high", 3: "refused"}, "3,1,2", "refused < low < high"),
        ({1: "low", 2: "high", 3: "refused"}, "refused,low,high", "refused < low < high"),
        ({1: "low", 2: "high", 3: "refused"}, "2,1", "high < low"),
        ({1: "2", 2: "3", 3: "one"}, "one,2,3", "one < 2 < 3"),
    ],
)
def test_codes_give_the_order_of_their_labels(labels, order, ranks, ending, capsys):
    write_codes(labels, ending)
    fit = ["fit", f"views.{ending}", "--target", "view", "--order", order, *QUICK, "--no-report"]
    assert main(fit) == 0
    assert f"{ranks.count('<') + 1} ranks, {ranks};" in capsys.readouterr().out
    assert main(["report", "model", f"views.{ending}", "--out", "report.html"]) == 0


@pytest.mark.parametrize(
    ("order", "absent"),
    [
        ("3,1", "mixed, or both (2)"),
        ("3,2,7", "agree (1), mixed, or both (2), oppose (3)"),
        ("oppose,agree", "mixed, or both (2)"),
    ],
)
def test_codes_that_the_order_leaves_out_are_named_with_their_labels(order, absent, capsys):
    write_codes(ALPHABET, "sav")
    assert main(["fit", "views.sav", "--target", "view", "--order", order, *QUICK]) == 2
    assert capsys.readouterr().err.strip() == (
        f"ordinate: --order: column 'view' also holds {absent}, expected every rank of the data; it takes labels or "
        "codes; if these rows have no label, --missing names their values"
    )
