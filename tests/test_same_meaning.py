"""The same data in another form has the same answer, and what has no answer is one clear error.

Values in a csv and in memory, labels of costs in any order, columns that said nothing in training, settings through a
saved model; dates, intervals and lists where numbers or labels belong.
"""

import datetime

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate import BlendClassifier
from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.model.held_out import HeldOut
from tests.estimators.examples import cloc, draw_table, for_every_classifier, for_every_regressor, otd, ranks_of, supcr

X, TARGET = draw_table(60)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
RANKS = ranks_of(TARGET)
LABELS = ["low", "mid", "high"]
DAYS = pd.date_range("2026-01-01", periods=60)

pytestmark = pytest.mark.usefixtures("few_trees")


def by_command(model, data, folder, *options):
    out = folder / f"{len(list(folder.iterdir()))}.csv"
    assert main(["predict", str(model), str(data), "--out", str(out), *options]) == 0
    return pd.read_csv(out, float_precision="round_trip")


# numbers in files


def test_csv_keeps_small_differences_of_large_targets(tmp_path):
    target = TARGET * 1000 + 1.7e9
    model = supcr(epochs=(20, 5)).fit(TABLE[:40], target[:40])
    held_out = HeldOut.measure(model.fitted, TABLE[40:], target[40:])
    model.save(tmp_path / "model")
    held_out.write(tmp_path / "model")
    TABLE.to_csv(tmp_path / "new.csv", index=False)
    found = by_command(tmp_path / "model", tmp_path / "new.csv", tmp_path, "--coverage", "0.8")
    np.testing.assert_allclose(found["prediction"], model.predict(TABLE), rtol=1e-11)
    lower, upper = held_out.sets(model, model.predict(TABLE), held_out.calibrate(0.8))
    np.testing.assert_allclose(found["lower"], lower, rtol=1e-11)
    np.testing.assert_allclose(found["upper"], upper, rtol=1e-11)


# columns


@pytest.mark.parametrize(
    ("make", "value"),
    [(cloc, 2023), (otd, np.nan), (supcr, np.nan), (lambda: BlendClassifier(members=2, folds=2, epochs=2), 2023)],
)
def test_a_column_of_one_value_in_training_changes_no_prediction(make, value, tmp_path):
    model = make().fit(TABLE.assign(year=value), TARGET if make is supcr else RANKS)
    expected = model.transform(TABLE.assign(year=value))
    with pytest.warns(UserWarning, match="column 'year': 2123 not seen in training, treated as missing"):
        found = model.transform(TABLE.assign(year=2123))
    if not np.isnan(value):
        np.testing.assert_array_equal(found, expected)
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="2123 not seen"):
        np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(TABLE.assign(year=2123)), found)


@pytest.mark.parametrize(
    ("seen", "as_given"),
    [
        (["01", "02", "none"], {"01": "01", "02": "02"}),
        (["01", "02", "none"], {"01": 1, "02": 2}),
        (["1.50", "2", "x"], {"1.50": 1.5, "2": 2.0}),
        (["true", "false", "unknown"], {"true": True, "false": False}),
        (["True", "False", "unknown"], {"True": "true", "False": "false"}),
        ([True, False], {True: 1, False: 0}),
        ([True, False], {True: 1.0, False: 0.0}),
        ([True, False], {True: "true", False: "false"}),
    ],
)
@pytest.mark.filterwarnings("error:column")
def test_a_category_written_in_another_way_is_the_same(seen, as_given, tmp_path):
    values = pd.Series([seen[place] for place in np.arange(60) % len(seen)], dtype=object)
    table = TABLE.assign(code=values.infer_objects())
    model = otd().fit(table, (np.arange(60) % len(seen) == 0).astype(int))
    some = table[values.isin(list(as_given))].reset_index(drop=True)
    other = some.assign(code=pd.Series([as_given[value] for value in some["code"]]))
    np.testing.assert_array_equal(model.transform(other), model.transform(some))
    model.save(tmp_path / "model")
    for number, form in enumerate((some, other)):
        form.to_csv(tmp_path / f"new{number}.csv", index=False)
        found = by_command(tmp_path / "model", tmp_path / f"new{number}.csv", tmp_path)
        np.testing.assert_array_equal(found["prediction"], model.predict(some))


@pytest.mark.parametrize(
    ("form", "got"),
    [
        (pd.to_timedelta(TABLE["a"], unit="s"), "timedelta64"),
        (pd.Series(DAYS), "datetime64"),
        (pd.Series(DAYS).dt.to_period("D"), "period"),
        (pd.Series(DAYS.date), "object"),
    ],
    ids=["timedelta", "datetime", "period", "date"],
)
def test_times_are_no_numbers(form, got):
    for make, y in ((otd, RANKS), (supcr, TARGET)):
        with pytest.raises(OrdinateError, match=f"column 'a': got {got}.*, expected numbers, as in training"):
            make().fit(TABLE, y).predict(TABLE.assign(a=form))


def test_other_columns_are_one_clear_error():
    with pytest.raises(OrdinateError, match="X: its columns have names of several kinds"):
        otd().fit(pd.DataFrame(X, columns=[0, "a", 1]), RANKS)
    with pytest.raises(OrdinateError, match=r"column 'a': got \[1, 2\], expected a number or a category in every row"):
        otd().fit(TABLE.assign(a=[[1, 2]] * 60), RANKS)
    with pytest.raises(OrdinateError, match="the model was trained on a table and got an array"):
        otd().fit(pd.DataFrame(X), RANKS).predict(X)
    with (
        pytest.raises(OrdinateError, match=r"X has 2 features, but .* is expecting 3"),
        pytest.warns(UserWarning, match="X does not have valid feature names"),
    ):
        otd().fit(TABLE, RANKS).predict(X[:, :2])
    with (
        pytest.raises(OrdinateError, match=r"X has 2 features, but .* is expecting 3"),
        pytest.warns(UserWarning, match="X has feature names"),
    ):
        otd().fit(X, RANKS).predict(TABLE[TABLE.columns[:2]])


# labels and costs


def test_costs_in_a_table_go_by_its_labels(tmp_path):
    y = np.array(LABELS)[RANKS]
    costs = pd.DataFrame(1 - np.eye(3), LABELS, LABELS)
    costs.loc["high"] = [50, 40, 0]
    by_position = otd(class_order=LABELS, decision=costs.to_numpy()).fit(TABLE, y).predict(TABLE)
    shuffled = costs.loc[["high", "low", "mid"], ["mid", "high", "low"]]
    model = otd(class_order=LABELS, decision=shuffled).fit(TABLE, y)
    np.testing.assert_array_equal(model.predict(TABLE), by_position)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(TABLE), by_position)
    pd.testing.assert_frame_equal(loaded.decision, shuffled)
    plain = costs.set_axis(range(3)).set_axis(range(3), axis=1)
    np.testing.assert_array_equal(otd(class_order=LABELS, decision=plain).fit(TABLE, y).predict(TABLE), by_position)
    with pytest.raises(OrdinateError, match=r"decision: costs: got rows for \['low', 'mid', 'x'\]"):
        otd(class_order=LABELS, decision=costs.rename(index={"high": "x"})).fit(TABLE, y)


@pytest.mark.parametrize(
    ("weights", "y", "order"),
    [
        ({1: 2.0}, RANKS, None),
        ({np.int64(1): 2.0, np.int64(0): 1.0}, RANKS, None),
        ({True: 2.0}, RANKS == 1, None),
        ({"low": 3.0}, np.array(LABELS)[RANKS], LABELS),
    ],
    ids=["numbers", "of NumPy", "truths", "text"],
)
def test_class_weights_keep_their_labels_in_a_saved_model(weights, y, order, tmp_path):
    model = cloc(class_weight=weights, class_order=order).fit(TABLE, y)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.class_weight == weights
    np.testing.assert_array_equal(loaded.fit(TABLE, y).transform(TABLE), model.transform(TABLE))


@for_every_classifier
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (DAYS, "y: got dates or times, expected ranks"),
        (DAYS - DAYS[0], "y: got dates or times"),
        ([datetime.date(2026, 1, 1 + rank) for rank in RANKS], "y: got dates or times"),
        (pd.cut(pd.Series(TARGET), 3), r"y: got intervals, expected numbers or text; pd.cut\(..., labels=False\)"),
        (RANKS + 0.5, "y: Unknown label type: continuous.* a regressor, such as SupCRRegressor"),
        (pd.Series([0, "b"] * 30), "y: got text among other labels, expected labels of one kind"),
    ],
    ids=["dates", "spans", "days", "intervals", "fractions", "mixed"],
)
def test_what_is_no_label_is_one_clear_error(make, y, message):
    with pytest.raises(OrdinateError, match=message):
        make().fit(TABLE, y)


@for_every_regressor
@pytest.mark.parametrize("y", [DAYS, DAYS - DAYS[0], DAYS.to_period("D"), [day.date() for day in DAYS]])
def test_times_are_no_targets(make, y):
    with pytest.raises(OrdinateError, match="y: got dates or times, expected numbers"):
        make().fit(TABLE, y)
