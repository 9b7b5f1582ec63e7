"""``ordinate.fit``: what the command trains, in Python."""

import html
import json
import re
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

import ordinate
import ordinate.commands.report  # Before its function is replaced, which it would keep.
from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.metrics import mae

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(120, 2)), columns=["size", "age"])
NAMES = np.array(["mild", "moderate", "severe"])
TABLE["site"] = pd.Categorical(RANDOM.choice(["north", "south"], 120))
TABLE["grade"] = NAMES[np.digitize(TABLE["size"], [-0.5, 0.5])]
NEW = TABLE[:9].drop(columns="grade")
QUICK = {"method": "cloc", "epochs": 3, "order": NAMES.tolist()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordinate.report.page.page.write_report", lambda *_, **__: None)
    return tmp_path


def test_it_is_the_model_of_the_command(folder, capsys):
    TABLE.to_parquet("data.parquet", index=False)
    command = (
        "fit data.parquet --target grade --method cloc --epochs 3 --order mild,moderate,severe --no-report --quiet"
    )
    assert main(command.split()) == 0
    said = capsys.readouterr().out
    model = ordinate.fit(TABLE, "grade", **QUICK)
    shown = capsys.readouterr().out
    new = TABLE.drop(columns="grade")
    expected = ordinate.load("data-model").predict_proba(new)
    np.testing.assert_array_equal(model.predict_proba(new), expected)
    metrics = [line for line in said.splitlines() if "accuracy" in line or "error" in line]
    assert all(line in shown for line in metrics)
    assert "data-model" not in shown
    assert sorted(path.name for path in folder.iterdir()) == ["data-model", "data.parquet"]


def test_its_intervals_are_calibrated_and_it_knows_its_target(capsys):
    model = ordinate.fit(TABLE, target="grade", verbose=0, **QUICK)
    assert capsys.readouterr().out == ""
    lower, upper = model.predict_interval(TABLE[["size", "age", "site"]], 0.7)
    assert set(lower) | set(upper) <= set(NAMES)
    found = model.evaluate(TABLE)
    predicted = model.predict(TABLE[["size", "age", "site"]])
    places = {name: place for place, name in enumerate(NAMES)}
    assert found["mae"] == mae([places[name] for name in TABLE["grade"]], [places[name] for name in predicted])
    np.testing.assert_array_equal(model.predict(TABLE), predicted)
    assert list(model.explain(TABLE[:1], TABLE).columns) == ["baseline", "size", "age", "site"]
    with pytest.raises(OrdinateError, match="X: no column 'grade'"):
        model.evaluate(TABLE.drop(columns="grade"))
    with pytest.warns(UserWarning, match="left out: 1 of 120 rows, which have no label"):
        some = model.evaluate(TABLE.assign(grade=[None, *TABLE["grade"][1:]]))
    assert some["mae"] == model.evaluate(TABLE[1:])["mae"]


def test_a_folder_keeps_the_model_and_its_metrics(folder):
    model = ordinate.fit(TABLE, "grade", out="kept", verbose=0, time_limit=60, **QUICK)
    metrics = json.loads((folder / "kept" / "metrics.json").read_text())
    assert metrics["method"] == "cloc"
    again = ordinate.load("kept")
    new = TABLE.drop(columns="grade")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict_interval(new, 0.7), model.predict_interval(new, 0.7))


def test_settings_and_groups_of_settings_are_those_of_the_command():
    model = ordinate.fit(TABLE, "grade", verbose=0, mmnp_weight=0.5, training={"learning_rate": 0.01}, **QUICK)
    assert model.mmnp_weight == 0.5
    assert model.training.learning_rate == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "grad"}, "data: no column 'grad'; did you mean 'grade'"),
        ({"target": "grade"}, "column 'grade': holds text without an order"),
        ({"target": "grade", "epochs": "3"}, "epochs: got '3', expected int"),
        ({"target": "grade", "task": "rank"}, "task: got 'rank', expected one of auto, ranks, continuous"),
        ({"target": "grade", "temprature": 1.0}, "there is no setting 'temprature'"),
        ({"target": "grade", "seeed": 3, **QUICK}, "there is no setting 'seeed'; did you mean seed"),
        ({"target": "grade", "time_limt": 9, **QUICK}, "there is no setting 'time_limt'; did you mean"),
        (
            {"target": "grade", "device": "cuda", **QUICK},
            r"no setting 'device'; did you mean training=\{'accelerator'",
        ),
        ({"data": TABLE["size"], "target": "grade"}, "data: got Series, expected a pandas DataFrame, or the path"),
        ({"data": "no.csv", "target": "grade"}, "no.csv: no such file"),
        ({"target": "grade", "group": "ages"}, "group: no column 'ages'; did you mean 'age'"),
        ({"target": "grade", "group": TABLE["age"]}, "group: got a Series, expected its name in the data, 'age'"),
        ({"target": "grade", "drop": TABLE.columns[:1]}, "drop: got a Index, expected the name of a column"),
        ({}, "target: got none, expected the column of the label, one of 'size', 'age'"),
    ],
)
def test_what_cannot_be_used_is_named(folder, arguments, message):
    with pytest.raises(OrdinateError, match=message):
        ordinate.fit(**{"data": TABLE, "verbose": 0, **arguments})
    assert list(folder.iterdir()) == []


def test_it_takes_the_table_that_it_was_fitted_to_with_what_was_left_out(folder, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    table = TABLE.assign(patient=[f"P{row:03}" for row in range(120)])
    model = ordinate.fit(table, "grade", **QUICK, verbose=0)
    assert "patient" not in model.feature_names_in_
    new, own = table[:5], TABLE.drop(columns="grade")[:5]
    np.testing.assert_array_equal(model.predict_proba(new[new.columns[::-1]]), model.predict_proba(own))
    np.testing.assert_array_equal(model.predict_interval(new)[0], model.predict_interval(own)[0])
    np.testing.assert_array_equal(model.similar(new, table, k=3)[1], model.similar(own, TABLE, k=3)[1])
    pd.testing.assert_frame_equal(model.explain(new[:1], table), model.explain(own[:1], TABLE.drop(columns="grade")))
    assert model.evaluate(table)["mae"] == model.evaluate(TABLE)["mae"]
    assert model.report("page.html", table, training=(table, table["grade"])).exists()
    with pytest.raises(OrdinateError, match="age"):
        model.predict(new.drop(columns="age"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the folder of a table, of new rows without labels, and of a model."""
    folder = tmp_path_factory.mktemp("files")
    TABLE.to_csv(folder / "data.csv", index=False)
    NEW.to_csv(folder / "new.csv", index=False)
    ordinate.fit(folder / "data.csv", "grade", out=folder / "model", verbose=0, no_report=True, **QUICK)
    return folder


def test_samples_of_the_fit_are_those_to_search_in_to_compare_with_and_to_report_on(files, tmp_path, monkeypatch):
    monkeypatch.undo()
    of_table = ordinate.fit(TABLE, "grade", verbose=0, **QUICK)
    for model in (of_table, ordinate.load(files / "model")):
        known = model.data_of_fit_.samples(model.fitted)
        assert np.isin(np.arange(120), np.concatenate([known.trained, known.held_out])).all()
        pd.testing.assert_frame_equal(model.explain(NEW[:2]), model.explain(NEW[:2], TABLE.iloc[known.trained]))
        np.testing.assert_array_equal(model.similar(NEW, k=3), model.similar(NEW, TABLE, k=3))
        page = model.report(tmp_path / "page.html").read_text()
        assert f"Of {len(known.held_out)} samples that it has not seen" in page
        assert "random forest" in page


def test_every_question_takes_the_path_of_a_file(files, tmp_path, monkeypatch):
    monkeypatch.undo()
    model = ordinate.load(files / "model")
    path = str(files / "new.csv")
    for name in ("predict", "predict_proba", "rank_probabilities", "transform", "predict_interval", "predict_set"):
        np.testing.assert_equal(getattr(model, name)(path), getattr(model, name)(NEW), err_msg=name)
    np.testing.assert_array_equal(model.similar(path, path, k=2), model.similar(NEW, NEW, k=2))
    pd.testing.assert_frame_equal(model.explain(path), model.explain(NEW))
    metrics = json.loads((files / "model" / "metrics.json").read_text())
    assert model.evaluate(files / "data.csv")["mae"] == metrics["mae"]
    TABLE[:30].to_csv(files / "later.csv", index=False)
    assert model.evaluate(files / "later.csv") == model.evaluate(TABLE[:30])
    assert model.report(tmp_path / "page.html", files / "later.csv").exists()
    with pytest.raises(OrdinateError, match="no column 'grade'"):
        model.evaluate(path)


def test_a_question_that_needs_samples_says_which_argument_gives_them(files, tmp_path):
    shutil.copytree(files / "model", tmp_path / "model")
    record = tmp_path / "model" / "run.toml"
    record.write_text(record.read_text().replace("data.csv", "gone.csv"))
    model = ordinate.load(tmp_path / "model")
    questions = {
        "background": lambda: model.explain(NEW),
        "among": lambda: model.similar(NEW),
        "X": lambda: model.report("r"),
    }
    for argument, question in questions.items():
        with pytest.raises(
            OrdinateError, match=rf"^{argument}: .*gone.csv, which this model was fitted to, is not there"
        ):
            question()


def test_a_loaded_model_does_not_know_the_data_frame_that_it_was_fitted_to(tmp_path):
    ordinate.fit(TABLE, "grade", verbose=0, out=tmp_path / "model", **QUICK)
    with pytest.raises(
        OrdinateError, match=r"^background: a saved model does not hold the DataFrame that it was fitted"
    ):
        ordinate.load(tmp_path / "model").explain(NEW)


def test_what_is_asked_with_the_wrong_arguments_is_named(files):
    model = ordinate.load(files / "model")
    with pytest.raises(OrdinateError, match=r"^path: got DataFrame, expected the path of the page, and then samples"):
        model.report(NEW)
    with pytest.raises(OrdinateError, match=r"^y: got a model, .*`ordinate evaluate` compares saved models"):
        model.compare(files / "data.csv", model)
    renamed = TABLE.rename(columns={"age": "agee"})
    with pytest.raises(OrdinateError, match=r"^X: lacks the column age, .*did you mean 'agee'\?"):
        model.predict(renamed)


def test_a_model_that_is_saved_keeps_what_it_knows(files, tmp_path):
    model = ordinate.load(files / "model")
    model.save(tmp_path / "copy")
    for name in ("MODEL_CARD.md", "split.json", "metrics.json", "held_out.json"):
        assert (tmp_path / "copy" / name).read_text() == (files / "model" / name).read_text()
    np.testing.assert_array_equal(ordinate.load(tmp_path / "copy").similar(NEW), model.similar(NEW))
    of_table = ordinate.fit(TABLE, "grade", verbose=0, **QUICK)
    of_table.save(tmp_path / "table")
    np.testing.assert_array_equal(
        ordinate.load(tmp_path / "table").predict_interval(NEW, 0.7), of_table.predict_interval(NEW, 0.7)
    )
    assert "- Data: DataFrame\n" in (tmp_path / "table" / "MODEL_CARD.md").read_text()
    of_table.fit(TABLE[["size", "age"]], TABLE["grade"])
    with pytest.raises(OrdinateError, match="keeps no predictions of held-out samples"):
        of_table.predict_interval(NEW)


def test_columns_are_given_as_a_list():
    left_out = ordinate.fit(TABLE, "grade", drop=["age", "site"], verbose=0, **QUICK)
    assert list(left_out.feature_names_in_) == ["size"]
    with pytest.raises(OrdinateError, match="drop: got 3, expected names of columns"):
        ordinate.fit(TABLE, "grade", drop=[3], **QUICK)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"target": TABLE["grade"]}, "target: got a Series, expected its name in the data, 'grade'"),
        ({"target": "grade", "time_limit": "60"}, "time_limit: got '60', expected a number of seconds above 0"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_trained(given, error):
    with pytest.raises(OrdinateError) as caught:
        ordinate.fit(TABLE, **given, **QUICK)
    assert str(caught.value) == error


def test_a_row_of_a_table_is_no_table():
    model = ordinate.fit(TABLE, "grade", verbose=0, **QUICK)
    with pytest.raises(OrdinateError, match=r"X: got a Series, expected a table; table\.iloc\[\[0\]\] is"):
        model.predict(NEW.iloc[0])


@pytest.mark.parametrize(
    "given",
    [
        {"order": ["mild", "severe"]},
        {"order": [*NAMES, ""]},
        {"order": {"mild": 0}},
        {"order": 3},
        {"order": None},
        {"order": None, "task": "continuous"},
        {"drop": "grade"},
        {"drop": {"age"}},
        {"drop": "height"},
        {"keep": ["age"], "drop": ["age"]},
        {"epochs": 0},
        {"epochs": 3, "test_fraction": 0.2, "split": "site"},
        {"test_fraction": 2},
        {"method": "supcr"},
        {"method": "otd", "margin": ["mild,moderate=1"]},
        {"missing": "agee=3"},
        {"folds": 3},
        {"recipe": "cloc-koa"},
        {"pretrained": True},
        {"temprature": 1.0},
        {"temperature": 1.0},
        {"mmnp_weight": "much"},
        {"training": {"learning_rat": 1}},
        {"learning_rate": 0.1},
        {"training": 3},
        {"training": ordinate.Training()},
        {"head": ordinate.Head()},
        {"target": 3},
        {"target": [3]},
        {"encoder": 3},
        {"random_state": 1},
        {"target": ["size", "age"]},
        {"target": ["size", "size"]},
        {"text": ["size"]},
        {"logger": "paper"},
        {"out": "."},
        {"time_limit": 0},
        {"time_limit": -60},
    ],
    ids=str,
)
@pytest.mark.parametrize("as_path", [False, True])
def test_a_message_of_a_mistake_names_arguments_as_python_has_them(given, as_path, folder, capsys):
    (folder / "used").touch()
    data = TABLE
    if as_path:
        data = str(folder / "data.csv")
        TABLE.to_csv(data, index=False)
    with pytest.raises(OrdinateError) as caught:
        ordinate.fit(data, **{"target": "grade", **QUICK, **given})
    shown = f"{caught.value} {capsys.readouterr().out}"
    assert "--" not in shown
    assert "/tmp" not in shown.replace(str(folder), "")
    assert caught.value.__cause__ is None


def test_notes_on_the_data_name_arguments_as_python_has_them(monkeypatch, folder, capsys):
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    table = TABLE.assign(
        patient=[f"P{row:03}" for row in range(120)],
        copy=TABLE["grade"].map(dict(zip(NAMES, range(3), strict=True))),
        code=np.where(np.arange(120) % 9 == 0, -999.0, TABLE["age"]),
    )
    ordinate.fit(table, "grade", out="kept", **QUICK)
    files = [(folder / "kept" / name).read_text() for name in ("MODEL_CARD.md", "metrics.json")]
    page = (folder / "kept" / "report.html").read_text()
    page = re.sub(r"<(style|script).*?</\1>|<[^>]*>", "", html.unescape(page), flags=re.DOTALL)
    shown = capsys.readouterr().out + "".join(files) + page
    for advice in ("keep='patient'", "drop='copy'", "missing="):
        assert advice in shown
    assert re.findall("--[a-z]+", shown) == []


def test_a_folder_of_a_table_in_memory_names_no_file_and_no_command_that_never_ran(monkeypatch, folder):
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    ordinate.fit(TABLE, "grade", out="kept", verbose=0, training={"learning_rate": 0.01}, mmnp_weight=0.5, **QUICK)
    call = json.loads((folder / "kept" / "metrics.json").read_text())["command"]
    for name in ("MODEL_CARD.md", "report.html"):
        assert call in html.unescape((folder / "kept" / name).read_text())
    for file in (folder / "kept").iterdir():
        content = file.read_bytes()
        assert b"ordinate fit " not in content
        assert b"/ordinate-" not in content
    again = eval(call, {"ordinate": ordinate, "data": TABLE})
    np.testing.assert_array_equal(again.predict_proba(NEW), ordinate.load("kept").predict_proba(NEW))


def test_arrays_and_numbers_of_numpy_are_options():
    given = {**QUICK, "order": NAMES, "epochs": np.int64(3), "test_fraction": np.float64(0.25)}
    model = ordinate.fit(TABLE, "grade", verbose=0, **given)
    assert model.ordered_classes_.tolist() == NAMES.tolist()


@pytest.mark.parametrize(("order", "is_named"), [([3, 1, 2], True), ([1, 2, 3], False), ([3, 2, 1], False)])
def test_an_order_of_numbers_that_neither_rise_nor_fall_is_named(order, is_named, capsys):
    table = TABLE.assign(grade=np.digitize(TABLE["size"], [-0.5, 0.5]) + 1)
    model = ordinate.fit(table, "grade", **{**QUICK, "order": order})
    assert model.ordered_classes_.tolist() == list(map(str, order))
    note = "note: the ranks are numbers that neither rise nor fall; their order is the given one, 3 < 1 < 2"
    assert (note in capsys.readouterr().out) == is_named


def test_what_is_no_argument_at_all_is_named(files):
    model = ordinate.load(files / "model")
    doubled = pd.concat([TABLE, TABLE[["age"]]], axis=1)
    mistakes = {
        "y: got 'grade', expected the labels of the samples": lambda: model.evaluate(TABLE, "grade"),
        "folder: got None, expected the folder of a model": lambda: ordinate.load(None),
        "data: several columns are named 'age'": lambda: ordinate.fit(doubled, "grade"),
        "training: got 3, expected a dict of its settings": lambda: ordinate.fit(TABLE, "grade", training=3, **QUICK),
        "did you mean training={'learning_rate': ...}": lambda: ordinate.fit(TABLE, "grade", learning_rate=1, **QUICK),
        "target: got 3, expected the name of a column": lambda: ordinate.fit(TABLE, 3),
    }
    for message, mistake in mistakes.items():
        with pytest.raises(OrdinateError, match=message):
            mistake()


def test_notes_on_a_data_frame_name_no_file(folder, capsys):
    table = TABLE.assign(grade=TABLE["grade"].mask(TABLE.index < 3, "don't know"))
    ordinate.fit(table, target="grade", verbose=1, **QUICK)
    said = capsys.readouterr().out
    assert "data: read as missing in grade: don't know in 3 rows" in said
    assert "parquet" not in said


def test_columns_of_new_rows_without_labels_are_explained_by_row(folder, capsys):
    TABLE.to_csv("data.csv", index=False)
    TABLE.drop(columns="grade").to_csv("new.csv", index=False)
    ordinate.fit("data.csv", target="grade", out="model", verbose=0, **QUICK)
    assert main(["explain", "model", "new.csv"]) == 2
    assert "no column 'grade'" in (said := capsys.readouterr().err)
    assert "--row explains predictions of rows without a label" in said


def test_rows_of_groups_that_were_trained_on_are_told_in_python_too(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(80, 2)), columns=["a", "b"])
    table["grade"], table["patient"] = np.digitize(table["a"], [-0.5, 0.5]), [f"P{row // 2}" for row in range(80)]
    model = ordinate.fit(table, "grade", method="cloc", group="patient", epochs=2, verbose=0, out=tmp_path / "model")
    with pytest.warns(UserWarning, match="of 80 rows are of a 'patient' that the model was trained on"):
        model.evaluate(table)
    table.assign(a=0.0).to_csv(tmp_path / "new.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate(table.assign(patient="new"))


def test_numbers_with_a_typing_error_in_the_label_are_named_with_their_row():
    table = pd.DataFrame({"a": np.arange(60.0), "age": [str(20 + row) for row in range(60)]})
    table.loc[12, "age"] = "7O"
    with pytest.raises(OrdinateError, match=r"holds numbers, and '7O' in 1 row; correct"):
        ordinate.fit(table, "age", method="supcr", epochs=1, verbose=0)
