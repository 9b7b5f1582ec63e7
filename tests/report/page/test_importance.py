"""The importance of columns on the page: against the function that measures it, and what it costs."""

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.model.importance import column_importance
from ordinate.report.page import write_report
from ordinate.report.page.importance import measure_importance
from tests.estimators.examples import cloc

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(90, 12)), columns=[f"noise {place}" for place in range(12)])
X.insert(0, "signal", RANDOM.normal(size=90))
RANKS = np.digitize(X["signal"], [-0.5, 0.5])


@pytest.fixture(scope="module")
def model():
    return cloc(epochs=(8, 8), learning_rate=0.01).fit(X[:45], RANKS[:45])


def write(model, samples, tmp_path, **options):
    path = write_report(model.fitted, samples, RANKS[45:], tmp_path / "report.html", projections=("pca",), **options)
    return path.read_text()


def test_the_page_lists_the_ten_most_important_columns(tmp_path, model):
    text = write(model, X[45:], tmp_path, training=(X[:45], RANKS[:45]), importance_seconds=1000)
    found = column_importance(model.fitted, X[45:], RANKS[45:], repeats=10)
    part = text[text.index('id="columns"') : text.index('id="order"')]
    assert "the mean of 10 repeats on 45 samples that it has not seen" in part
    assert "the first 10 of 13 columns" in part
    places = [part.index(f">{name}<") for name in found["column"][:10]]
    assert places == sorted(places)
    assert found["column"][0] == "signal"
    for number in ("importance", "low", "high"):
        assert f"{round(found[number][0], 3):.3g}" in part[places[0] : places[1]]


def test_without_time_a_sentence_says_so_and_an_array_has_no_columns(tmp_path, model):
    text = write(model, X[45:], tmp_path, importance_seconds=1e-9)
    assert "The importance of the columns is left out: shuffling each of the 13 columns once takes about" in text
    assert 'id="columns"' not in write(model, X[45:], tmp_path, importance_seconds=0)
    of_array = cloc().fit(X[:45].to_numpy(), RANKS[:45])
    assert 'id="columns"' not in write(of_array, X[45:].to_numpy(), tmp_path)


def test_samples_that_the_model_may_have_seen_are_said(tmp_path, model):
    assert "on 45 samples, some of which it may have been trained on" in write(model, X[45:], tmp_path)


def test_time_limits_the_repeats_and_the_samples_are_a_part(model, tmp_path, monkeypatch):
    clock = iter([10.0, 10.5])
    monkeypatch.setattr("ordinate.report.page.importance.time.perf_counter", lambda: next(clock))
    X.to_parquet(tmp_path / "table.parquet")
    found = measure_importance(model.fitted, ParquetTable(tmp_path / "table.parquet"), RANKS, 2.0, most_samples=30)
    assert (found.samples, found.repeats, found.seconds, found.count) == (30, 3, 0.65, 13)
    assert len(found.columns) == 13
