"""A page holds what it is about, whatever is given and whatever is missing, and nothing of it runs or is fetched."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.errors import OrdinateError
from ordinate.report.page import write_report
from ordinate.report.page.projections import project
from tests.estimators.examples import cloc, draw_frame, draw_table, otd, ranks_of, supcr

X, TARGET = draw_table(60)
RANKS = ranks_of(TARGET, 3)
TWO = np.column_stack([TARGET, 10 * X[:, 0]])
NO_SUSPECTS = pd.DataFrame(columns=["row", "label", "suggested", "suspicion"]).astype({"row": int})
HOSTILE = '</script><img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def model():
    return cloc(critical_margins={(1, 2): 0.8}).fit(X, RANKS)


def read(path):
    text = path.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1)
    return text, json.loads(data)


def write(model, samples, y, tmp_path, **options):
    return read(
        write_report(model.fitted, samples, y, tmp_path / "report.html", **{"projections": ("pca",), **options})
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory, model):
    return write(model, X, RANKS, tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def full(tmp_path_factory, model):
    costs = pd.DataFrame({"rule": ["least cost"], "mean cost": [0.61]})
    return write(model, X, RANKS, tmp_path_factory.mktemp("full"), training=(X, RANKS), costs=costs)


def test_a_page_fetches_nothing_and_runs_only_its_own_scripts(bare):
    text, _ = bare
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    outside = text[: text.index('id="data"')]
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", outside)
    assert text.count("<script>") == 3


def test_hostile_text_is_escaped_wherever_it_comes_from(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", HOSTILE])
    frame["text"] = HOSTILE
    y = np.array([HOSTILE, "b", "c"], dtype=object)[RANKS]
    fitted = cloc(class_order=[HOSTILE, "b", "c"]).fit(frame, y)
    text, data = write(
        fitted, frame, y, tmp_path, target=HOSTILE, names=[HOSTILE] * 60, command=HOSTILE, facts={HOSTILE: HOSTILE},
        costs=pd.DataFrame({HOSTILE: [HOSTILE], "cost": [1.0]}),
        suspects=pd.DataFrame({"row": [0], "label": [HOSTILE], "suggested": [HOSTILE], "suspicion": [1.0]}),
    )  # fmt: skip
    assert "<img" not in text
    assert text.count("<script>") == 3
    assert data["names"][0] == data["shown"]["columns"][2] == data["ranks"][0] == HOSTILE


def test_the_page_has_what_was_predicted(full, model):
    _, data = full
    assert data["true"] == RANKS.tolist()
    assert data["predicted"] == model.predict(X).tolist()
    assert data["error"] == (model.predict(X) - RANKS).tolist()
    predicted = model.predict_proba(X)[np.arange(len(X)), model.predict(X)]
    np.testing.assert_allclose(data["confidence"], predicted, rtol=1e-4)
    np.testing.assert_allclose(np.array(data["probabilities"]).T, 100 * model.predict_proba(X), atol=0.5)


def test_what_is_not_given_has_no_part(bare, full):
    assert "What decisions cost" not in bare[0]
    assert "It may have seen these samples" in bare[0]
    assert "0.61" in full[0]
    assert "It may have seen these samples" not in full[0]


def test_a_fixed_margin_is_marked_and_a_collapsed_one_warned_of(tmp_path, bare):
    text, _ = bare
    assert text.count(">fixed<") >= 1
    assert "Collapsed margins" not in text
    fitted = cloc().fit(X, RANKS)
    assert not fitted.fitted.facts["collapsed_margins_"].any()
    fitted.fitted.facts["collapsed_margins_"][0] = True
    assert "Between 0 | 1 the learned margin is almost 0" in write(fitted, X, RANKS, tmp_path)[0]


@pytest.mark.parametrize(("make", "count"), [(cloc, 2), (otd, 20)])
def test_two_and_twenty_ranks_have_a_page(tmp_path, make, count):
    y = ranks_of(TARGET, count)
    text, data = write(make().fit(X, y), X, y, tmp_path)
    assert len(data["ranks"]) == count
    assert text.count('class="dot"') >= count


def test_three_samples_are_enough_and_two_are_not(tmp_path, model):
    _, data = write(model, X[:3], RANKS[:3], tmp_path, projections=("pca", "tsne"))
    assert [each["key"] for each in data["projections"]] == ["pca"]
    with pytest.raises(OrdinateError, match="y: got 2 samples, expected at least 3"):
        write(model, X[:2], RANKS[:2], tmp_path)


def test_a_page_replaces_the_one_before_whole_or_not_at_all(tmp_path, model, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    write_report(model.fitted, X, RANKS, path, projections=("pca",))
    assert path.read_text().startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(OrdinateError, match=r"^out: .* No such folder as"):
        write_report(model.fitted, X, RANKS, tmp_path / "no" / "report.html", projections=("pca",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"projections": ("mds",)}, r"projections: got \('mds',\), expected some of pca, tsne"),
        ({"names": ["a"]}, "names: got 1, expected 60, one per sample"),
        ({"suspects": pd.DataFrame({"row": [1]})}, "suspects: got no label, suggested, suspicion"),
        ({"training": (X, RANKS[:5])}, "training: got 5 labels for 60 samples"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, model, options, message):
    with pytest.raises(OrdinateError, match=message):
        write(model, X, RANKS, tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def of_two_targets():
    return supcr().fit(X, TWO)


def test_each_of_several_targets_has_its_errors_and_its_plot(tmp_path, of_two_targets):
    scores = []
    options = {"training": (X, TWO), "on_scores": scores.append, "target": ("east", HOSTILE)}
    text, data = write(of_two_targets, X, TWO, tmp_path, **options)
    assert "<img" not in text
    predicted = of_two_targets.predict(X)
    for place, each in enumerate([data, *data["others"]]):
        np.testing.assert_allclose(each["true"], TWO[:, place])
        np.testing.assert_allclose(each["predicted"], predicted[:, place], rtol=1e-4)
        np.testing.assert_allclose(each["error"], (predicted - TWO)[:, place], atol=1e-3 * np.ptp(TWO[:, place]))
        assert each["range"] == [TWO[:, place].min(), TWO[:, place].max()]
    model, *_ = (each for each in scores[0].predictors if each.name == f"{HOSTILE}, SupCR")
    assert model.scores["mae"].value == pytest.approx(np.abs(predicted - TWO)[:, 1].mean())
    for identifier in ("plot-predicted", "plot-predicted1", "groups", "groups1"):
        assert text.count(f'id="{identifier}"') == 1


def test_notes_on_the_data_are_listed_and_a_column_that_gives_the_label_away_is_a_caution(tmp_path, model):
    notes = ["left out: column 'id' numbers the rows", "note: column 'copy' determines the label exactly; --drop copy"]
    text, _ = write(model, X, RANKS, tmp_path, notes=notes)
    assert text.count("column &#39;id&#39; numbers the rows") == 1
    cautions = text[text.index("What to be careful about") : text.index('id="embedding"')]
    assert "A column may give the label away</b>Column &#39;copy&#39; determines the label exactly" in cautions


def test_several_targets_without_names_are_numbered(tmp_path, of_two_targets):
    _, data = write(of_two_targets, X, TWO, tmp_path)
    assert [each["target"] for each in (data, *data["others"])] == ["the label 1", "the label 2"]


def test_what_belongs_to_all_targets_is_said_once(tmp_path, of_two_targets):
    text, _ = write(of_two_targets, X, TWO, tmp_path, target=("east", "north"))
    assert text.count("It may have seen these samples") == 1
    assert "east: It may have seen" not in text


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (TARGET, {}, r"y: got labels of shape \(60,\), expected 2 targets per sample, \(n, 2\)"),
        (TWO, {"target": ("east",)}, "target: got 1 name, expected 2, one per target"),
        (TWO, {"training": (X, TARGET)}, r"training: got labels of shape \(60,\), expected 2 targets per sample"),
        (TWO, {"suspects": NO_SUSPECTS}, "suspects: got a table, and the model predicts 2 targets, expected None"),
    ],
)
def test_what_does_not_fit_several_targets_is_named(tmp_path, of_two_targets, y, options, message):
    with pytest.raises(OrdinateError, match=message):
        write(of_two_targets, X, y, tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_targets_of_two_dimensions_do_not_fit_a_model_of_one(tmp_path):
    with pytest.raises(OrdinateError, match=r"y: got labels of shape \(60, 2\), expected one target per sample"):
        write(supcr().fit(X, TARGET), X, TWO, tmp_path)


def test_samples_that_tsne_leaves_out_are_said_and_have_no_place(monkeypatch):
    monkeypatch.setattr("ordinate.report.page.projections.MOST_FOR_TSNE", 20)
    (tsne,) = project(np.random.default_rng(0).normal(size=(30, 3)), ("tsne",))
    assert np.isnan(tsne.points).all(axis=1).sum() == 10
    assert tsne.note.endswith("Shows 20 of 30 samples, at random.")


def test_the_same_page_is_written_again(tmp_path, model):
    first, second = (
        write_report(model.fitted, X, RANKS, tmp_path / f"{name}.html", projections=("pca", "tsne")) for name in "ab"
    )
    assert first.read_bytes() == second.read_bytes()


def test_a_page_on_many_samples_is_on_a_random_part_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("ordinate.report.page.page.MOST_SAMPLES", 25)
    frame, target = draw_frame(n=60)
    fitted = supcr().fit(frame, target)
    names = [f"row {row}" for row in range(60)]
    doubted = pd.DataFrame({"row": range(60), "label": names, "suggested": "0", "suspicion": 0.5})
    text, data = write(fitted, frame, target, tmp_path, names=names, suspects=doubted)
    rows = [int(name.removeprefix("row ")) for name in data["names"]]
    assert len(set(rows)) == 25
    assert data["true"] == target[rows].tolist()
    np.testing.assert_allclose(data["predicted"], fitted.predict(frame)[rows], rtol=1e-4)
    assert data["shown"]["columns"] == [str(name) for name in frame]
    assert "This page is on 25 of 60 samples, at random." in text
    csv = base64.b64decode(re.search(r"data:text/csv;charset=utf-8;base64,([^\"]+)", text).group(1)).decode()
    suspects = pd.read_csv(io.StringIO(csv))
    assert suspects["row"].tolist() == list(range(25))
    assert suspects["label"].tolist() == suspects["sample"].tolist() == data["names"]


def test_a_table_in_parquet_has_the_page_of_the_frame(tmp_path):
    frame, target = draw_frame()
    frame.to_parquet(tmp_path / "a.parquet")
    whole = pd.read_parquet(tmp_path / "a.parquet")
    fitted = supcr().fit(whole, target)
    _, expected = write(fitted, whole, target, tmp_path)
    assert write(fitted, ParquetTable(tmp_path / "a.parquet"), target, tmp_path)[1] == expected
