"""``fit``, ``predict`` and ``report`` on columns of text."""

import json
import re

import pandas as pd
import pytest

import ordinate
from ordinate.commands.fit.command import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.predict import predict
from ordinate.commands.report import report
from ordinate.errors import OrdinateError
from ordinate.report.page.projections import project
from tests.estimators.test_text import WORDS, draw_pairs

X, Y = draw_pairs(60)
FRAME = X.assign(id=range(60), score=Y + 0.5)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordinate.report.page.page.project", lambda embeddings, _: project(embeddings, ("pca",)))
    FRAME.to_csv("pairs.csv", index=False)
    (tmp_path / "vectors.txt").write_text("".join(f"{word} {i} {i % 3} 1\n" for i, word in enumerate(WORDS)))
    return tmp_path


def fit_quickly(**options):
    settings = {"method": "supremix", "task": "continuous", "epochs": 2, "quiet": True, "no_report": True}
    settings["set"] = ["data.word_vectors=vectors.txt"]
    fit(FitOptions("pairs.csv", "score", **{**settings, **options}))


def samples_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL).group(1))["shown"]


def test_a_pair_of_columns_is_enough_and_reports_show_the_texts(folder, capsys):
    fit_quickly(text=["u", "v"], no_report=False)
    assert "note: --text trains on 'u' and 'v' alone, without 'id'\n" in capsys.readouterr().out
    model = ordinate.load("pairs-model")
    assert model.reader_.words == WORDS
    predict("pairs-model", "pairs.csv", coverage=None, costs=None, out="found.csv")
    assert pd.read_csv("found.csv")["prediction"].tolist() == pytest.approx(model.predict(X).tolist(), abs=1e-5)
    shown = samples_of(folder / "pairs-model" / "report.html")
    split = json.loads((folder / "pairs-model" / "split.json").read_text())
    assert shown["columns"] == ["u", "v"]
    assert shown["values"] == [X[name][split["test"]].tolist() for name in ("u", "v")]
    assert "pairs of texts" in (folder / "pairs-model" / "report.html").read_text()
    report("pairs-model", "pairs.csv", "score", "report.html")
    assert samples_of(folder / "report.html")["values"] == shown["values"]


def test_the_command_that_a_report_gives_names_every_column():
    options = FitOptions("d.csv", "score", text=["u", "v"])
    assert options.command == "ordinate fit d.csv --target score --text u v"


def test_one_column_is_a_single_text():
    fit_quickly(text=["u"])
    assert ordinate.load("pairs-model").predict(["a dog runs"]).shape == (1,)


@pytest.mark.parametrize("method", ["supremix", "auto"])
def test_texts_that_all_differ_are_read_as_text_and_never_as_categories(capsys, method):
    pairs, scores = draw_pairs(100)
    differing = pairs + " " + pairs.index.astype(str).to_numpy()[:, None]
    differing.assign(score=scores).to_csv("pairs.csv", index=False)
    fit_quickly(text=["u", "v"], method=method)
    out = capsys.readouterr().out
    assert "100 samples of a pair of texts, a continuous target" in out
    assert "trying blend" not in out
    assert ordinate.load("pairs-model").reader_.kind == "words"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": ["u", "w"]}, "pairs.csv: no column 'w'"),
        ({"text": ["u", "v", "id"]}, "--text: got 3 columns, expected one or two"),
        ({"text": ["u", "id"]}, "--text: pairs.csv: sample 0 holds 0, expected a string"),
        ({}, "--set data.word_vectors: is for .*text, and pairs.csv holds a table"),
        ({"text": ["u"], "set": ["data.word_vectors=absent.txt"]}, "word_vectors: absent.txt could not be read"),
    ],
)
def test_what_cannot_be_is_an_error(options, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        fit_quickly(**options)


def test_a_text_that_is_missing_is_an_error_before_any_training():
    FRAME.assign(v=FRAME["v"].where(FRAME["id"] != 7)).to_csv("pairs.csv", index=False)
    with pytest.raises(OrdinateError, match=r"^pairs.csv: 1 of 60 texts in 'v' are missing, .*: 7 "):
        fit_quickly(text=["u", "v"])
