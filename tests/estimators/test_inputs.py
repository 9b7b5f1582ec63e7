"""Tables with every kind of column, series, and ranks in an order: what X and y may be."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.errors import OrdinateError
from tests.estimators.examples import (
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    for_every_classifier,
    for_every_estimator,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

X, TARGET = draw_table()
FRAME, FRAME_TARGET = draw_frame()


@for_every_estimator
def test_a_frame_with_every_kind_of_column_and_missing_values_is_fitted(make):
    model = make().fit(FRAME, labels_for(make, FRAME_TARGET))
    assert list(model.feature_names_in_) == list(FRAME.columns)
    assert model.n_features_in_ == 7
    assert np.isfinite(model.transform(FRAME)).all()
    assert np.isfinite(model.predict(draw_frame(seed=1)[0])).all()


@pytest.fixture(scope="module")
def frame_model():
    return supcr(validation_fraction=0.0).fit(FRAME, FRAME_TARGET)


SAME_TABLES = {
    "another index": lambda frame: frame.set_axis(range(100, 148)),
    "the same index for all": lambda frame: frame.set_axis([0] * 48),
    "text as category": lambda frame: frame.astype({"text": "category"}),
    "categories in another order": lambda frame: frame.assign(
        category=frame["category"].cat.set_categories(["high", "low"], ordered=True)
    ),
    "booleans as objects": lambda frame: frame.astype({"boolean": object}),
    "whole numbers as floats": lambda frame: frame.astype({"whole": float}),
    "numbers as objects": lambda frame: frame.astype({"number": object, "whole": object}),
    "strings of pandas": lambda frame: frame.astype({"text": "string"}),
}


@pytest.mark.parametrize("change", SAME_TABLES.values(), ids=SAME_TABLES)
def test_the_same_table_in_another_form_has_the_same_predictions(frame_model, change):
    assert (frame_model.predict(change(FRAME)) == frame_model.predict(FRAME)).all()


@pytest.mark.parametrize("column", FRAME.columns)
def test_every_kind_of_column_counts(frame_model, column):
    shuffled = FRAME.assign(**{column: FRAME[column].to_numpy()[::-1]})
    assert (frame_model.predict(shuffled) != frame_model.predict(FRAME)).any()


def test_a_missing_value_is_told_from_the_median_where_training_had_some(frame_model):
    frame = FRAME.dropna().iloc[:4]
    filled, missing = frame.assign(other=FRAME["other"].median()), frame.assign(other=np.nan)
    assert (frame_model.predict(filled) != frame_model.predict(missing)).all()
    median = frame.assign(number=FRAME["number"].median())
    assert (frame_model.predict(frame.assign(number=np.nan)) == frame_model.predict(median)).all()


def test_a_category_not_seen_in_training_is_taken_as_missing_with_a_warning(frame_model):
    frame = FRAME.dropna().iloc[:4]
    with pytest.warns(UserWarning, match="column 'text': violet not seen in training, treated as missing"):
        unseen = frame_model.predict(frame.assign(text="violet"))
    assert (unseen == frame_model.predict(frame.assign(text=None))).all()


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        (
            {"number": 100 * FRAME["number"] + 1000},
            "'number': values lie outside the range of training, .* \\(48 of 48 rows\\)",
        ),
        ({"number": np.nan}, "'number': all values are missing, though training had values; replaced by the median"),
        ({"text": None}, "'text': all values are missing, though training had values"),
    ],
)
def test_a_column_unlike_that_of_training_is_warned_of(frame_model, change, warned):
    with pytest.warns(UserWarning, match=f"column {warned}"):
        frame_model.predict(FRAME.assign(**change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"number": "nummber"},
            "X: lacks the column number, expected those that the model was trained on; did you mean 'nummber'?",
        ),
        ({"number": "x", "text": "y"}, "X: lacks the columns number, text, expected those that the model was trained"),
        ({}, "X: lacks the column number, expected those that the model was trained on; in the words"),
    ],
)
def test_columns_that_lack_are_named_in_one_way_for_every_question(frame_model, change, said):
    other = FRAME.rename(columns=change) if change else FRAME.drop(columns="number")
    for question in (frame_model.predict, frame_model.transform, lambda X: frame_model.evaluate(X, FRAME_TARGET)):
        with pytest.raises(OrdinateError) as caught:
            question(other)
        assert str(caught.value).startswith(said)
        assert "The feature names should match those that were passed during fit.\n" in str(caught.value)


def test_an_array_has_the_columns_of_the_frame_in_training_in_their_order(frame_model):
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Model was fitted with"):
        predicted = frame_model.predict(FRAME.to_numpy(dtype=object))
    assert (predicted == frame_model.predict(FRAME)).all()


@pytest.mark.parametrize("codes", [[1, 2, 3], [94103, 94104, 94105], [10000001, 10000002, 10000003]], ids=str)
def test_codes_given_as_numbers_are_those_declared_categories_in_training(codes):
    drawn = np.array(codes)[ranks_of(TARGET)]
    frame = pd.DataFrame({"number": X[:, 2], "code": pd.Categorical(drawn)})
    model = supcr(learning_rate=0.01).fit(frame, TARGET)
    plain = frame.assign(code=drawn)
    assert (model.predict(plain) == model.predict(frame)).all()
    assert (model.predict(plain.assign(code=drawn.astype(float))) == model.predict(frame)).all()


@pytest.mark.parametrize("make", [otd, supcr], ids=["otd", "supcr"])
def test_an_array_and_a_frame_of_the_same_numbers_have_the_same_embedding(make):
    labels = labels_for(make, TARGET)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    embedding = make().fit(X, labels).transform(X)
    assert (make().fit(frame, labels).transform(frame) == embedding).all()
    assert (make().fit(torch.from_numpy(X), labels).transform(torch.from_numpy(X)) == embedding).all()
    assert (make().fit(X.tolist(), labels.tolist()).transform(X.tolist()) == embedding).all()


@for_every_estimator
def test_the_scale_of_a_column_does_not_matter(make):
    labels = labels_for(make, TARGET)
    scaled = X * [1e-6, 1.0, 1e6] + [0.0, 50.0, -1e8]
    np.testing.assert_allclose(
        make().fit(scaled, labels).transform(scaled), make().fit(X, labels).transform(X), rtol=0, atol=1e-4
    )


def test_series_are_scaled_channel_by_channel_and_missing_points_are_the_mean():
    series, target = draw_series()
    model = otd(epochs=1).fit(series, ranks_of(target))
    assert "points missing, set to the mean of their channel" in model.notes_[0]
    filled = np.where(np.isnan(series), np.nanmean(series, axis=(0, 2))[:, None], series)
    np.testing.assert_allclose(model.transform(filled), model.transform(series), rtol=0, atol=1e-5)
    again = otd(epochs=1).fit(series * [[1e3], [1e-3]] + 5, ranks_of(target))
    np.testing.assert_allclose(
        again.transform(series * [[1e3], [1e-3]] + 5), model.transform(series), rtol=0, atol=1e-3
    )


def test_series_of_another_length_are_embedded_too():
    series, target = draw_series()
    assert otd(epochs=1).fit(series, ranks_of(target)).transform(series[:, :, :13]).shape == (32, 8)


@for_every_classifier
def test_the_order_of_text_is_that_of_class_order(make):
    names = np.array(["mild", "grave", "bad"])
    ordered = make(class_order=["mild", "grave", "bad"]).fit(X, names[ranks_of(TARGET)])
    numbered = make().fit(X, ranks_of(TARGET))
    assert ordered.ordered_classes_.tolist() == ["mild", "grave", "bad"]
    assert (ordered.transform(X) == numbered.transform(X)).all()
    assert (ordered.predict(X) == names[numbered.predict(X)]).all()


@for_every_classifier
@pytest.mark.parametrize("form", [pd.Series, pd.Categorical], ids=["series", "categorical"])
def test_an_ordered_categorical_brings_its_order(make, form):
    grades = pd.Categorical.from_codes(ranks_of(TARGET), ["small", "mid", "big"], ordered=True)
    model = make().fit(X, form(grades))
    assert model.ordered_classes_.tolist() == ["small", "mid", "big"]
    assert (model.transform(X) == make().fit(X, ranks_of(TARGET)).transform(X)).all()


@pytest.mark.parametrize(
    ("names", "suggestion"),
    [(["c", "b", "a"], "['lowest', ..., 'highest']"), (["low", "mid", "high"], "['low', 'mid', 'high']")],
)
def test_text_without_an_order_is_refused_with_a_suggestion(names, suggestion):
    message = "y: holds text without an order: .*; give class_order=" + re.escape(suggestion)
    with pytest.raises(OrdinateError, match=message):
        cloc().fit(X, np.array(names)[ranks_of(TARGET)])


def test_digits_as_text_are_in_the_order_of_their_numbers():
    model = cloc().fit(X, np.array(["2", "10", "9.5"])[ranks_of(TARGET)])
    assert model.ordered_classes_.tolist() == ["2", "9.5", "10"]


HALVES = np.array([1, 1.5, 2])[ranks_of(TARGET)]


@for_every_classifier
def test_half_grades_with_an_order_are_ranks(make):
    models = [make(class_order=[1, 1.5, 2]).fit(X, HALVES)]
    models.append(make().fit(X, pd.Categorical(HALVES, categories=[1, 1.5, 2], ordered=True)))
    for model in models:
        assert model.classes_.tolist() == [1.0, 1.5, 2.0]
        assert (model.predict_proba(X) == make().fit(X, ranks_of(TARGET)).predict_proba(X)).all()
        assert model.score(X, HALVES) == np.mean(model.predict(X) == HALVES)


def test_half_grades_without_an_order_are_refused_with_the_way_out():
    with pytest.raises(OrdinateError, match=re.escape("class_order=[1.0, 1.5, 2.0] takes them as ranks")):
        cloc().fit(X, HALVES)


@for_every_classifier
def test_ranks_with_gaps_are_counted_without_them(make):
    gaps = np.array([-3, 10, 1000])
    model = make().fit(X, gaps[ranks_of(TARGET)])
    assert model.classes_.tolist() == [-3, 10, 1000]
    assert (model.predict(X) == gaps[make().fit(X, ranks_of(TARGET)).predict(X)]).all()


@for_every_classifier
def test_a_rank_of_class_order_without_samples_is_kept(make):
    model = make(class_order=[0, 1, 2, 3]).fit(X, ranks_of(TARGET))
    assert model.predict_proba(X).shape == (48, 4)
