"""``ordinate evaluate``: the metrics of models on the same samples, beside simple models."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate import BlendClassifier
from ordinate.commands.evaluate import evaluate, names_of
from ordinate.commands.report import report
from ordinate.errors import OrdinateError
from ordinate.metrics import accuracy, mae, quadratic_weighted_kappa
from ordinate.model.evaluation import evaluate as metrics_of
from ordinate.model.held_out import HeldOut
from ordinate.report.text import METRICS
from tests.commands.test_report import FRAME, RANKS, TARGET, X, folder, write_split  # noqa: F401  # folder: a fixture.
from tests.estimators.examples import cloc, otd, supcr


def read(path="metrics.csv"):
    return pd.read_csv(path).set_index(["model", "metric"])["value"]


def test_the_metrics_are_those_of_the_predictions(capsys):
    model = cloc().fit(FRAME, RANKS)
    model.save("model")
    evaluate(["model"], "data.csv", "grade", "metrics.csv")
    found, predicted = read(), model.predict(FRAME)
    for formula in (accuracy, mae, quadratic_weighted_kappa):
        assert found["model", formula.__name__] == pytest.approx(formula(RANKS, predicted), rel=1e-12)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "48 samples, all of the file; 95% intervals"
    assert lines[4].split()[:2] == ["model", f"{accuracy(RANKS, predicted):.3f}"]


def test_models_are_evaluated_on_the_same_rows(capsys):
    cloc().fit(FRAME, RANKS).save("one")
    otd().fit(FRAME[["a", "b"]], RANKS).save("two")
    evaluate(["one", "two"], "data.csv", "grade", None)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[4:6]] == ["one", "two"]


@pytest.mark.parametrize("models", [["one", "two"], ["two", "one"]])
def test_the_difference_of_two_models_is_that_of_their_errors_on_the_same_samples(models, capsys):
    fitted = {"one": supcr(epochs=(20, 20)).fit(FRAME, TARGET), "two": supcr().fit(FRAME, TARGET + 50)}
    FRAME.assign(target=TARGET).to_csv("data.csv", index=False)
    for name, model in fitted.items():
        model.save(name)
    evaluate(models, "data.csv", "target", None)
    first, second = (np.abs(fitted[name].predict(FRAME) - TARGET) for name in models)
    line = capsys.readouterr().out.splitlines()[-1]
    difference, low, high = map(float, re.findall(r"-?\d+\.\d{3}", line))
    assert difference == pytest.approx((second - first).mean(), abs=5e-4)
    half = 1.96 * (second - first).std() / np.sqrt(len(first))
    assert [low, high] == pytest.approx([difference - half, difference + half], abs=half / 3)
    assert line.startswith(f"MAE, {models[1]} minus {models[0]}: ")
    assert line.endswith("; one is better")


def test_what_models_are_compared_with_is_listed_for_each_where_it_differs(folder):  # noqa: F811
    for model, first in (("one", 20), ("two", 30)):
        BlendClassifier(members=2, folds=2, epochs=3, random_state=0).fit(FRAME[:first], RANKS[:first]).save(model)
        write_split(folder, model, first)
    evaluate(["one", "two"], "data.csv", "grade", "metrics.csv")
    names = read().index.get_level_values("model").unique()
    assert names[:2].tolist() == ["one", "two"]
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith("two: ")]


def test_models_that_predict_the_same_do_not_differ(capsys):
    for name in ("one", "two"):
        supcr().fit(FRAME, TARGET).save(name)
    FRAME.assign(target=TARGET).to_csv("data.csv", index=False)
    evaluate(["one", "two"], "data.csv", "target", None)
    assert capsys.readouterr().out.endswith("MAE, two minus one: 0.000 [0.000, 0.000]; no clear difference\n")


def test_models_are_evaluated_on_rows_that_none_was_trained_on(folder, capsys):  # noqa: F811
    for model, first in (("one", 20), ("two", 30)):
        cloc().fit(FRAME[:first], RANKS[:first]).save(model)
        write_split(folder, model, first)
    evaluate(["one", "two"], "data.csv", "grade", "metrics.csv")
    assert capsys.readouterr().out.startswith("18 samples, on which no model was trained; 95% intervals\n")
    assert "random forest" in read().index.get_level_values("model")


def test_simple_models_are_trained_on_the_training_samples_of_another_file(folder, capsys):  # noqa: F811
    cloc().fit(FRAME[:30], RANKS[:30]).save("model")
    write_split(folder, "model", 30)
    (folder / "model" / "run.toml").write_text('data = "data.csv"\n')
    FRAME[30:].assign(grade=RANKS[30:]).to_csv("new.csv", index=False)
    evaluate(["model"], "data.csv", "grade", "same.csv")
    evaluate(["model"], "new.csv", "grade", "new-metrics.csv")
    pd.testing.assert_series_equal(read("new-metrics.csv"), read("same.csv"))
    (folder / "data.csv").unlink()
    capsys.readouterr()
    evaluate(["model"], "new.csv", "grade", "without.csv")
    assert "random forest" not in read("without.csv").index.get_level_values("model")
    assert "note: data.csv is gone or has changed" in capsys.readouterr().out


def test_samples_of_groups_that_were_trained_on_are_counted(folder, capsys):  # noqa: F811
    cloc().fit(FRAME[:30], RANKS[:30]).save("model")
    patients = np.arange(48) // 2
    data = FRAME.assign(grade=RANKS, patient=[f"P{each}" for each in patients])
    data.to_csv("data.csv", index=False)
    write_split(folder, "model", 30)
    (folder / "model" / "run.toml").write_text('data = "data.csv"\n')
    split = json.loads(Path("model/split.json").read_text())
    Path("model/split.json").write_text(json.dumps({**split, "group": "patient"}))
    known = [*range(10), *range(40, 48)]
    data.iloc[known].assign(a=0).to_csv("new.csv", index=False)
    evaluate(["model"], "new.csv", "grade", None)
    assert "note: 10 of 18 rows are of a 'patient' that the model was trained on" in capsys.readouterr().out
    evaluate(["model"], "data.csv", "grade", None)
    assert "trained on;" not in capsys.readouterr().out


def test_targets_have_a_row_each():
    both = np.column_stack([TARGET, 10 * X[:, 0]])
    model = supcr().fit(FRAME, both)
    model.save("model")
    FRAME.assign(east=both[:, 0], north=both[:, 1]).to_csv("two.csv", index=False)
    evaluate(["model"], "two.csv", ["east", "north"], "metrics.csv")
    expected = np.abs(model.predict(FRAME) - both).mean(0)
    assert [read()[f"{name}, model", "mae"] for name in ("east", "north")] == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("models", "target", "named"),
    [
        (["one"], "grade", ["verdict"]),
        (["one", "two"], "grade", ["one", "two"]),
        (["both"], ["east", "north"], ["east", "north"]),
        (["one", "two"], ["east", "north"], ["one, east", "one, north", "two, east", "two, north"]),
    ],
)
def test_it_ends_with_a_verdict_on_every_model_and_target(models, target, named, capsys):
    both = np.column_stack([TARGET, 10 * X[:, 0]])
    FRAME.assign(grade=RANKS, east=both[:, 0], north=both[:, 1]).to_csv("data.csv", index=False)
    of_ranks = target == "grade"
    for name in models:
        model = cloc().fit(FRAME, RANKS) if of_ranks else supcr().fit(FRAME, both)
        model.save(name)
    evaluate(models, "data.csv", target, None)
    verdicts = capsys.readouterr().out.split("\n\n")[2 : 2 + len(named)]
    assert [verdict.partition(":")[0] for verdict in verdicts] == named
    assert all(re.search("off by .* on average; .*(better|worse) than ", verdict) for verdict in verdicts)


def test_metrics_have_one_name_in_python_and_in_files(capsys):
    ranks, targets = cloc().fit(FRAME, RANKS), supcr().fit(FRAME, TARGET)
    FRAME.assign(grade=TARGET).to_csv("targets.csv", index=False)
    for place, (model, y, data) in enumerate([(ranks, RANKS, "data.csv"), (targets, TARGET, "targets.csv")]):
        model.save(f"model{place}")
        evaluate([f"model{place}"], data, "grade", "metrics.csv")
        metrics = metrics_of(model.fitted, FRAME, y)
        found = read()[f"model{place}"]
        assert found.to_dict() == pytest.approx({name: metrics[name] for name in found.index})
        lines = capsys.readouterr().out.splitlines()
        assert all(METRICS[name] in lines[2] for name in found.index)


def test_a_note_that_concerns_several_models_is_printed_once(capsys):
    for name in ("one", "two"):
        cloc().fit(FRAME, RANKS).save(name)
    FRAME.assign(grade=[None, *RANKS[1:]]).to_csv("gap.csv", index=False)
    evaluate(["one", "two"], "gap.csv", "grade", None)
    assert capsys.readouterr().out.count("left out: 1 of 48 rows") == 1


def test_models_of_other_labels_are_not_evaluated_together():
    cloc().fit(FRAME, RANKS).save("one")
    otd(class_order=[2, 1, 0]).fit(FRAME, RANKS).save("two")
    with pytest.raises(OrdinateError, match="models: two predicts 2 < 1 < 0, and one 0 < 1 < 2, expected models of"):
        evaluate(["one", "two"], "data.csv", "grade", None)


def test_names_of_models_tell_them_apart():
    assert names_of(["x/cloc", "y/otd"]) == ["cloc", "otd"]
    assert names_of(["x/cloc", "y/cloc"]) == ["x/cloc", "y/cloc"]


def test_baselines_of_every_command_are_those_of_training(folder):  # noqa: F811
    """Most of the new samples have another rank than most of those of training."""
    seen = np.flatnonzero(np.isin(np.arange(48), np.arange(30)) | (RANKS == 1))
    commonest = np.bincount(RANKS[seen]).argmax()
    new = np.flatnonzero(commonest != RANKS)
    model = cloc().fit(FRAME.iloc[seen], RANKS[seen])
    model.save("model")
    split = {"train": seen.tolist(), "test": np.setdiff1d(np.arange(48), seen).tolist()}
    digest = hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()
    (folder / "model" / "split.json").write_text(json.dumps({"data": digest, **split}))
    (folder / "model" / "run.toml").write_text('data = "data.csv"\n')
    FRAME.iloc[new].assign(grade=RANKS[new]).to_csv("new.csv", index=False)
    for place, has_training in enumerate((True, False)):
        evaluate(["model"], "new.csv", "grade", f"{place}.csv")
        report("model", "new.csv", "grade", f"{place}.html")
        names = pd.read_csv(f"{place}.csv")["model"].unique().tolist()[1:]
        page = (folder / f"{place}.html").read_text()
        assert names[0] == f"always {commonest}, the commonest"
        assert all(f">{name}<" in page for name in names)
        assert ("random forest" in names) == has_training
        assert ("5 nearest neighbours among these samples" in names) == (not has_training)
        (folder / "data.csv").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", [otd, supcr])
@pytest.mark.parametrize("shift", [False, True])
def test_errors_that_are_clearly_larger_than_at_fit_are_named(kind, shift, capsys):
    labels = RANKS if kind is otd else TARGET
    model = kind(epochs=20 if kind is otd else (20, 20)).fit(FRAME, labels)
    model.save("model")
    HeldOut.measure(model.fitted, FRAME, labels).write("model")
    shown = FRAME[::-1].assign(grade=labels if shift else labels[::-1])  # As at fit, or labels of other rows.
    shown.to_csv("new.csv", index=False)
    evaluate(["model"], "new.csv", "grade", None)
    line = next((line for line in capsys.readouterr().out.splitlines() if "held out at fit" in line), None)
    assert (line is not None) == shift
    report("model", "new.csv", "grade", "page.html")
    assert ("Larger errors than at fit" in Path("page.html").read_text(encoding="utf-8")) == shift
    if line is not None:
        errors = [np.abs(model.predict(FRAME) - each).mean() for each in (labels[::-1], labels)]
        assert [float(number) for number in re.findall(r"\d+\.?\d*(?=[,:])", line)] == pytest.approx(errors, rel=0.01)
