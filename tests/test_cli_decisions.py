"""Decisions on the command line: what mistakes cost, in training and prediction, and sets with a promised coverage."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate import BlendClassifier
from ordinate.cli import main
from ordinate.decisions import calibrate_ranks, cost_matrix, decide, predict_ranks, rank_sets
from ordinate.model.held_out import HeldOut
from tests.estimators.examples import draw_frame, ranks_of

pytestmark = pytest.mark.usefixtures("unpainted")
QUICK = ["--epochs", "4", "--quiet"]
GRADES = np.array(["low", "mid", "high"])
COSTS = cost_matrix(3, {(1, 2): (5.0, 1.0)})


def draw(n):
    frame, target = draw_frame(n)
    return frame.assign(grade=GRADES[ranks_of(target)], target=target)


def write_costs(path, matrix):
    pd.DataFrame(matrix, GRADES, GRADES).to_csv(path)
    return str(path)


def predictions(capsys, *arguments):
    assert main(["predict", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return pd.read_csv(io.StringIO(out))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with new samples in it."""
    monkeypatch.chdir(tmp_path)
    draw(12).to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of ranks, of ranks with costs, and of a continuous target, each with half of 80 samples held out."""
    path = tmp_path_factory.mktemp("fitted")
    draw(80).to_csv(path / "data.csv", index=False)
    costs = write_costs(path / "costs.csv", COSTS)
    settings = {
        "ranks": [
            "--target",
            "grade",
            "--order",
            "low,mid,high",
            "--drop",
            "target",
            "--method",
            "cloc",
            "--no-report",
        ],
        "costs": ["--target", "grade", "--order", "low,mid,high", "--drop", "target", "--costs", costs],
        "target": ["--target", "target", "--drop", "grade", "--method", "supcr", "--no-report"],
    }
    for name, arguments in settings.items():
        out = ["--out", str(path / name), "--test-fraction", "0.5"]
        assert main(["fit", str(path / "data.csv"), *arguments, *out, *QUICK]) == 0
    return path


def test_sets_hold_the_coverage_of_the_samples_that_fit_held_out(models, capsys):
    printed = predictions(capsys, str(models / "ranks"), "new.csv", "--coverage", "0.9")
    assert list(printed.columns[-2:]) == ["lower", "upper"]
    held_out = HeldOut.read(models / "ranks")
    assert len(held_out.labels) == 41  # stratified
    model = ordinate.load(models / "ranks")
    probabilities = model.rank_probabilities(draw(12)[list(model.feature_names_in_)])
    sets = rank_sets(probabilities, calibrate_ranks(held_out.labels, held_out.predicted, 0.9))
    decided = predict_ranks(probabilities, "median")  # It is in every set.
    sets = np.column_stack([np.minimum(sets[:, 0], decided), np.maximum(sets[:, 1], decided)])
    assert printed[["lower", "upper"]].to_numpy().tolist() == GRADES[sets].tolist()


def test_sets_by_rank_are_calibrated_by_rank(models, capsys):
    printed = predictions(capsys, str(models / "ranks"), "new.csv", "--coverage", "0.8", "--by-rank")
    held_out, model = HeldOut.read(models / "ranks"), ordinate.load(models / "ranks")
    probabilities = model.rank_probabilities(draw(12)[list(model.feature_names_in_)])
    lower, upper = held_out.sets(model, probabilities, held_out.calibrate(0.8, by_rank=True))
    assert printed["lower"].tolist() == lower.tolist()
    assert printed["upper"].tolist() == upper.tolist()
    smaller, larger = held_out.sets(model, probabilities, held_out.calibrate(0.8))
    assert (lower != smaller).any() or (upper != larger).any()


def test_ranks_with_too_few_held_out_samples_are_named(models, capsys):
    counts = np.bincount(HeldOut.read(models / "ranks").labels.astype(int))
    assert counts.tolist() == [14, 13, 14]
    assert main(["predict", str(models / "ranks"), "new.csv", "--coverage", "0.93", "--by-rank"]) == 0
    assert "93% by rank takes 14 held-out samples of each; mid have fewer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "options", "error"),
    [
        ("ranks", ["--by-rank"], "--by-rank: expected --coverage SHARE"),
        ("target", ["--by-rank", "--coverage", "0.5"], "--by-rank: got True for a continuous target"),
    ],
)
def test_what_is_not_by_rank_is_an_error(models, model, options, error, capsys):
    assert main(["predict", str(models / model), "new.csv", *options]) == 2
    assert capsys.readouterr().err.startswith(f"ordinate: {error}")


def test_intervals_lie_around_the_predictions_and_grow_with_the_coverage(models, capsys):
    half = {}
    for coverage in ("0.5", "0.9"):
        printed = predictions(capsys, str(models / "target"), "new.csv", "--coverage", coverage)
        middle = (printed["lower"] + printed["upper"]) / 2
        np.testing.assert_allclose(middle, printed["prediction"], rtol=1e-4, atol=1e-6)
        half[coverage] = (printed["upper"] - printed["lower"]) / 2
    held_out = HeldOut.read(models / "target")
    residuals = np.sort(np.abs(held_out.labels - held_out.predicted))
    np.testing.assert_allclose(half["0.9"], residuals[36], rtol=1e-3)  # the 37th of 40, ceil(41 * 0.9)
    np.testing.assert_allclose(half["0.5"], residuals[20], rtol=1e-3)


def test_costs_decide_between_the_same_probabilities(models, folder, capsys):
    matrix = [[0, 1, 1], [1, 0, 1], [50, 50, 0]]
    costs = write_costs(folder / "costs.csv", matrix)
    plain = predictions(capsys, str(models / "ranks"), "new.csv")
    careful = predictions(capsys, str(models / "ranks"), "new.csv", "--costs", costs)
    probabilities = [f"probability_{grade}" for grade in GRADES]
    pd.testing.assert_frame_equal(plain[probabilities], careful[probabilities])
    model = ordinate.load(models / "ranks")
    known = model.rank_probabilities(draw(12)[list(model.feature_names_in_)])
    assert careful["prediction"].tolist() == GRADES[decide(known, matrix)].tolist()
    assert plain["prediction"].tolist() == GRADES[predict_ranks(known, "median")].tolist()
    assert (careful["prediction"] == "high").sum() > (plain["prediction"] == "high").sum()


def test_a_model_trained_with_costs_decides_by_them(models, capsys):
    model = ordinate.load(models / "costs")
    printed = predictions(capsys, str(models / "costs"), "new.csv")
    known = model.rank_probabilities(draw(12)[list(model.feature_names_in_)])
    least = decide(known, COSTS)
    assert (least != predict_ranks(known, "mode")).any()
    assert printed["prediction"].tolist() == GRADES[least].tolist()


def test_fit_says_what_deciding_by_cost_saves(folder, capsys):
    draw(80).to_csv("data.csv", index=False)
    arguments = ["--target", "grade", "--order", "low,mid,high", "--drop", "target", "--method", "otd"]
    costs = cost_matrix(3, {(0, 1): 3.0})
    assert main(["fit", "data.csv", *arguments, "--costs", write_costs("costs.csv", costs), *QUICK]) == 0
    lines = {line[2:42].strip(): line[42:].split() for line in capsys.readouterr().out.splitlines()}
    by_cost, usual = (
        float(lines[name][0]) for name in ("cost of a sample, decided by cost", "and by the most probable rank")
    )
    assert float(lines["saved, and its standard error"][0]) == pytest.approx(usual - by_cost, abs=1.01e-4)
    held_out = HeldOut.read(folder / "data-model")
    assert by_cost == pytest.approx(costs[held_out.labels, decide(held_out.predicted, costs)].mean(), abs=1e-4)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("ranks", ["--coverage", "0.99"], "--coverage: got 0.99 for 41 samples, expected at least 99"),
        ("ranks", ["--coverage", "1.5"], "--coverage: got 1.5"),
        ("ranks", ["--costs", "none.csv"], "--costs: none.csv cannot be read"),
        ("ranks", ["--costs", "new.csv"], "--costs: the first column of new.csv has"),
        ("target", ["--costs", "new.csv"], "--costs: is for ranks, and the label is continuous"),
    ],
)
def test_what_cannot_be_decided_is_one_line(model, arguments, message, models, capsys):
    assert main(["predict", str(models / model), "new.csv", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ordinate: {message}")
    assert err.count("\n") == 1


def test_a_model_without_its_held_out_samples_promises_nothing(models, folder, capsys):
    shutil.copytree(models / "ranks", folder / "bare")
    (folder / "bare" / "held_out.json").unlink()
    assert main(["predict", "bare", "new.csv", "--coverage", "0.9"]) == 2
    assert "holds no held_out.json, expected a model with its held-out samples" in capsys.readouterr().err


def test_a_report_tells_held_out_rows_apart_knows_its_target_and_shows_costs_and_suspects(models, folder, capsys):
    arguments = ["--target", "grade", "--order", "low,mid,high", "--drop", "target", "--folds", "2"]
    assert main(["suspects", str(models / "data.csv"), *arguments, "--out", "suspects.csv", *QUICK]) == 0
    capsys.readouterr()
    held_out = json.loads((models / "costs" / "split.json").read_text())["test"]
    suspects = pd.read_csv("suspects.csv")
    doubted = suspects["label"] != suspects["suggested"]
    first = suspects.index[doubted & suspects["row"].isin(held_out)][0]
    suspects["suspicion"] = np.where(doubted & (suspects.index != first), 0.4, 0.3)
    suspects.to_csv("suspects.csv", index=False)
    arguments = ["report", str(models / "costs"), str(models / "data.csv"), "--suspects", "suspects.csv"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "report on 41 samples: report.html" in said
    page = (folder / "report.html").read_text()
    assert "the rank of least expected cost" in page
    shown = int((doubted & suspects["row"].isin(held_out)).sum()) - 1
    assert shown > 2
    assert f"{int(doubted.sum()) - 1 - shown} labels of {int(doubted.sum()) - 1} to check belong to samples of" in said
    assert f"{shown} labels to check" in page


def test_suspects_of_other_data_are_refused(models, folder, capsys):
    names = {"label": ["low"], "suggested": ["high"], "suspicion": [3.0]}
    data = pd.read_csv(models / "data.csv")
    other = int(np.flatnonzero(data["grade"] != "low")[0])
    for row, problem in ((other, f"the label low for row {other}, and"), (10_000, "names row 10000, and")):
        pd.DataFrame({"row": [row], **names}).to_csv("others.csv", index=False)
        arguments = ["report", str(models / "costs"), str(models / "data.csv"), "--suspects", "others.csv"]
        assert main([*arguments, "--out", "others.html"]) == 2
        said = capsys.readouterr().err
        assert problem in said
        assert said.endswith("expected what `suspects` wrote for these data\n")
        assert not (folder / "others.html").exists()


def test_suspects_of_another_kind_are_one_line(models, folder, capsys):
    assert main(["report", str(models / "ranks"), str(models / "data.csv"), "--suspects", "new.csv"]) == 2
    assert capsys.readouterr().err.startswith("ordinate: --suspects: new.csv lacks label, row")


def test_models_are_evaluated_on_rows_that_none_has_seen(models, folder, capsys):
    assert main(["evaluate", str(models / "ranks"), str(models / "costs"), str(models / "data.csv")]) == 0
    assert "41 samples, on which no model was trained" in capsys.readouterr().out


def test_fit_leaves_a_report_that_says_how_to_get_it_again(models):
    page = (models / "costs" / "report.html").read_text()
    assert "--costs " in page
    assert "--drop target" in page
    assert "<title>Predicting grade: " in page


def test_predictions_that_are_not_the_most_probable_grade_are_counted(folder, capsys):
    """Of five unlike ranks; the note is missing where a decision was asked for."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=200), "b": random.normal(size=200)})
    grades = np.digitize(table["a"] + 2 * random.normal(size=200), [-2, -1, 0, 1])
    BlendClassifier(epochs=5, random_state=0).fit(table, grades).save("median")
    table.to_csv("new.csv", index=False)
    assert main(["predict", "median", "new.csv", "--out", "grades.csv"]) == 0
    found = pd.read_csv("grades.csv")
    others = (found["prediction"] != found.filter(like="probability").to_numpy().argmax(1)).sum()
    assert others > 1
    assert f"note: {others} predictions differ from the most probable grade" in capsys.readouterr().out
    assert main(["predict", "median", "new.csv", "--decision", "median", "--out", "same.csv"]) == 0
    assert "note" not in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_csv("same.csv"), found)
