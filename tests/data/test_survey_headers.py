"""Exports of survey platforms: rows below the names that hold questions or "Response" are no answers."""

import io

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.data.csv_files import read_csv
from ordinate.data.csv_format import recognise
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.files import read_table_samples

R = np.random.default_rng(0)
ANSWERS = pd.DataFrame(
    {
        "StartDate": ["2024-03-01 10:02:11", "2024-03-02 11:00:00", "2024-03-02 12:30:59", "2024-03-05 09:14:00"],
        "Finished": [1, 1, 0, 1],
        "Q1": [3.5, 2.0, 9.25, 1.0],
        "Q2": ["mild", "none", "mild", "severe"],
    }
)
QUESTIONS = ["Start Date", "Finished", 'How long, in hours,\ndid you wait ("all in all")?', "How bad\n\nis it?"]
IDS = [f'{{"ImportId":"{name}","timeZone":"America/Denver"}}' for name in ANSWERS]
MONKEY = ANSWERS.rename(columns={"StartDate": "Start Date", "Finished": "Respondent ID"})
HEADERS = {
    "Qualtrics": (ANSWERS, [QUESTIONS, IDS]),
    "Qualtrics, ids alone": (ANSWERS, [IDS]),
    "Qualtrics, without ids": (ANSWERS, [QUESTIONS]),
    "SurveyMonkey": (MONKEY, [[None, None, "Open-Ended Response", "Response"]]),
    "SurveyMonkey, answers alone": (MONKEY[["Q1", "Q2"]], [["Response", "Response"]]),
}
every_header = pytest.mark.parametrize(("answers", "rows"), HEADERS.values(), ids=HEADERS)


def with_rows(answers, rows):
    return pd.concat([pd.DataFrame(rows, columns=answers.columns, dtype=object), answers.astype(object)])


def note(path, rows):
    noun = "row" if len(rows) == 1 else "rows"
    return f"{path}: left out {len(rows)} {noun} below the header with questions and the like, not answers"


@every_header
@pytest.mark.parametrize("before", ["", "\n\n", "# a comment\n"])
def test_they_are_left_out_of_csv(tmp_path, answers, rows, before):
    path, said = tmp_path / "survey.csv", []
    path.write_text(before + with_rows(answers, rows).to_csv(index=False))
    pd.testing.assert_frame_equal(read_csv(path, path, said.append), answers)
    assert said[-1] == note(path, rows)
    with pytest.warns(UserWarning, match="left out"):
        table = CsvTable(path)
    pd.testing.assert_frame_equal(pd.concat(table.batches(3), ignore_index=True), answers)


@every_header
def test_they_are_left_out_of_excel(tmp_path, answers, rows):
    path, said = tmp_path / "survey.xlsx", []
    with_rows(answers, rows).to_excel(path, index=False)
    found = read_table_samples(path, said.append)
    pd.testing.assert_frame_equal(found, answers, check_dtype=False)
    assert said == [note(path, rows)]
    assert pd.api.types.is_numeric_dtype(found["Q1"])


TABLES = {
    "a response": "patient,outcome\n118,Response\n119,Progression\n120,Stable\n",
    "responses of text": "arm,outcome\nA,Response\nB,Progression\nA,Response\n",
    "blank cells elsewhere": "arm,note,outcome\nA,,Response\nB,,Progression\nC,x,Stable\n",
    "questions as answers": "question,answer\nHow old?,Old\nWhere?,Here\n",
    "a name as a value": "grade,group\nGrade,b\nc,d\n",
    "names as values again": "low,high\nlow,high\nhigh,low\nlow,high\n",
    "codes of text": "a,b\nx,y\nz,y\n",
    "one row": "arm,outcome\nA,Response\n",
    "numbers as names": "1,2\n1,2\n3,4\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_rows_of_other_tables_stay(tmp_path, text):
    assert recognise(io.BytesIO(text.encode()), "a.csv").below == ()
    path = tmp_path / "a.xlsx"
    plain = pd.read_csv(io.StringIO(text))
    plain.to_excel(path, index=False)
    assert len(read_table_samples(path)) == len(plain)


@pytest.mark.filterwarnings("default:new.csv. left out:UserWarning")
def test_fit_and_predict_leave_them_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answers = pd.DataFrame({"StartDate": "2024-03-01", "Finished": 1, "Q1": R.normal(size=60), "Q2": np.arange(60) % 3})
    with_rows(answers, [QUESTIONS, IDS]).to_csv("survey.csv", index=False)
    with_rows(answers.head(2), [QUESTIONS, IDS]).to_csv("new.csv", index=False)
    options = ["--target", "Q2", "--method", "otd", "--epochs", "1", "--no-report", "--quiet", "--out", "model"]
    assert main(["fit", "survey.csv", *options]) == 0
    said = capsys.readouterr().out
    assert note("note: survey.csv", IDS[:2]) in said
    assert "60 samples" in said
    assert main(["predict", "model", "new.csv", "--out", "found.csv"]) == 0
    assert len(pd.read_csv("found.csv")) == 2
    assert "left out 2 rows below the header" in capsys.readouterr().err
