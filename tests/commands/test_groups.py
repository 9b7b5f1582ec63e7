"""Wherever a command trains an estimator that holds samples out by itself, groups stay on one side."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.commands.division import split_label_rows
from ordinate.commands.labels import Label
from ordinate.data.splits import Units
from ordinate.estimators import samples as training_samples
from ordinate.estimators.samples import hold_out

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 2))
SUBJECTS = np.repeat([f"subject {i}" for i in range(30)], 4)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = X[:, 0] * 2 + 5
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "subject": SUBJECTS, "target": target}).to_csv("table.csv", index=False)


@pytest.fixture
def held_out(monkeypatch):
    """The groups of the samples that estimators trained on and held out."""
    found = []

    def record(targets, units, *arguments, **options):
        rows, others = hold_out(targets, units, *arguments, **options)
        found.append((set(units.codes[rows]), set(units.codes[others])))
        return rows, others

    monkeypatch.setattr(training_samples, "hold_out", record)
    return found


COMMANDS = {
    "fit, choosing a method": (["fit", "table.csv", "--folds", "2", "--out", "model"], 2),  # the blend has folds
    "fit": (["fit", "table.csv", "--method", "supcr", "--out", "model"], 1),
    "suspects": (["suspects", "table.csv", "--folds", "3", "--out", "suspects.csv"], 3),
}


@pytest.mark.typical("fit", "fit, choosing a method")
@pytest.mark.parametrize(("arguments", "fits"), COMMANDS.values(), ids=COMMANDS)
def test_no_group_is_on_both_sides(arguments, fits, held_out):
    assert (
        main([*arguments, "--target", "target", "--group", "subject", "--epochs", "2", "--no-report", "--quiet"]) == 0
    )
    assert len(held_out) == fits
    for trained, others in held_out:
        assert trained
        assert others
        assert not trained & others


@pytest.mark.parametrize("are_groups", [False, True], ids=["copies", "groups"])
@pytest.mark.parametrize("is_ranks", [False, True])
def test_rows_that_are_divided_once_more_keep_to_their_own_groups(is_ranks, are_groups):
    n = 120
    groups = np.random.default_rng(0).permutation(n) // 4
    units = Units(groups, are_groups)
    label = Label(np.arange(n) % 3 if is_ranks else np.arange(n) / 7, [0, 1, 2] if is_ranks else None)
    rows, test = split_label_rows(label, units, np.arange(n), 0.3, seed=0)
    part, validation = split_label_rows(label, units, rows, 0.3, seed=0)
    assert sorted([*part, *validation, *test]) == list(range(n))
    sides = [set(groups[side]) for side in (part, validation, test)]
    assert min(map(len, sides)) > 0
    assert sum(map(len, sides)) == len(set.union(*sides))


def test_a_column_of_text_that_repeats_may_be_a_group_and_groups_are_counted(capsys):
    table = pd.read_csv("table.csv").assign(subject=[f"P{place // 2:04}" for place in range(120)])
    table.to_csv("cases.csv", index=False)
    arguments = ["fit", "cases.csv", "--target", "target", "--method", "l1", "--epochs", "2", "--no-report", "--quiet"]
    assert main([*arguments, "--out", "one"]) == 0
    said = capsys.readouterr().out
    assert "if rows of one 'subject' belong together, --group subject keeps them on one side" in said
    assert main([*arguments, "--group", "subject", "--out", "two"]) == 0
    said = capsys.readouterr().out
    assert "60 groups, each on one side; 12 held out" in said
    assert "belong together" not in said
    assert "60 groups, each on one side; 12 held out" in Path("two/MODEL_CARD.md").read_text(encoding="utf-8")


def test_measuring_heeds_groups_and_says_where_errors_are_larger_than_at_fit_in_python_as_in_the_command(capsys):
    arguments = ["--target", "target", "--group", "subject", "--method", "l1", "--epochs", "20", "--quiet"]
    assert main(["fit", "table.csv", *arguments, "--out", "model", "--no-report"]) == 0
    new = pd.read_csv("table.csv")
    new["subject"], new["target"] = "new " + new["subject"], new["target"] + 9
    new.to_csv("new.csv", index=False)
    capsys.readouterr()
    assert main(["evaluate", "model", "new.csv", "--out", "metrics.csv"]) == 0
    said = capsys.readouterr().out
    assert "95% intervals by 'subject'" in said
    assert "larger than that of the 24 samples held out at fit" in said
    metrics = pd.read_csv("metrics.csv")
    model = ordinate.load("model")
    mae = metrics[metrics["metric"] == "mae"].iloc[0]
    for data in (new, "new.csv"):
        with pytest.warns(UserWarning, match="larger than that of the 24 samples held out at fit"):
            found = model.compare(data).iloc[0]
        assert found[["mae", "mae_low", "mae_high"]].tolist() == pytest.approx(mae[["value", "low", "high"]].tolist())
        with pytest.warns(UserWarning, match="larger than that"):
            assert model.evaluate(data)["mae"] == pytest.approx(mae["value"])
        page = model.report("page.html", data).read_text(encoding="utf-8")
        assert "larger than that of the 24 samples held out at fit" in page
    assert main(["evaluate", "model", "table.csv"]) == 0
    assert "larger than" not in capsys.readouterr().out


def test_an_order_that_is_not_the_usual_one_stands_in_the_report(capsys):
    names = np.array(["none", "severe", "mild"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    pd.DataFrame({"a": X[:, 0], "grade": names}).to_csv("order.csv", index=False)
    arguments = ["fit", "order.csv", "--target", "grade", "--method", "cloc", "--epochs", "2", "--quiet"]
    for order, is_unusual in {"none,severe,mild": True, "none,mild,severe": False}.items():
        assert main([*arguments, "--order", order, "--out", order]) == 0
        assert ("not the usual one" in capsys.readouterr().out) == is_unusual
        for name in ("report.html", "MODEL_CARD.md"):
            assert ("not the usual one" in Path(f"{order}/{name}").read_text(encoding="utf-8")) == is_unusual


def test_labels_that_differ_in_blanks_at_their_ends_are_one_rank(capsys):
    names = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    names[3] += " "
    names[7] = " " + names[7]
    pd.DataFrame({"a": X[:, 0], "grade": names}).to_csv("blanks.csv", index=False)
    arguments = ["--method", "cloc", "--epochs", "2", "--no-report", "--quiet", "--out", "model"]
    assert main(["fit", "blanks.csv", "--target", "grade", "--order", "low,mid,high", *arguments]) == 0
    assert "3 ranks, low < mid < high" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "explain"])
def test_a_model_is_asked_about_its_own_data_where_none_are_given(command, capsys):
    arguments = ["--method", "l1", "--epochs", "2", "--no-report", "--quiet", "--out", "model"]
    assert main(["fit", "table.csv", "--target", "target", *arguments]) == 0
    capsys.readouterr()
    said = []
    for data in ([], ["table.csv"]):
        assert main([command, "model", *data, "--overwrite"]) == 0
        said.append(re.sub(r", in \d+ s", "", capsys.readouterr().out))
    assert said[0] == said[1] != ""


def test_a_model_that_does_not_know_its_data_requires_some(capsys):
    from tests.estimators.examples import supcr

    supcr().fit(X, X[:, 0]).save("model")
    assert main(["explain", "model"]) == 2
    assert "data: is missing, and the model does not know those that it was fitted to" in capsys.readouterr().err
