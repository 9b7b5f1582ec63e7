"""Columns of sentences beside other columns become numbers that tell what they say."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.free_text import fit_text
from ordinate.data.tables.row_columns import find_row_columns

RNG = np.random.default_rng(0)
GRADES = RNG.integers(0, 3, 300)
WORDS = [["calm", "easy", "fine"], ["sore", "stiff", "slow"], ["severe", "broken", "unbearable"]]
FILLING = ["the", "patient", "says", "that", "knee", "feels", "today", "again", "after", "walking", "left", "right"]
COMMENTS = [" ".join(RNG.permutation([*RNG.choice(FILLING, 6), *RNG.choice(WORDS[grade], 2)])) for grade in GRADES]
FRAME = pd.DataFrame({"age": RNG.normal(size=300), "comment": COMMENTS})


def test_a_text_tells_what_the_label_is():
    features = TableFeatures.fit(FRAME[:200])
    assert features.notes == ["comment: is free text, and is treated as 32 components of its words"]
    assert features.width == 2 + 32
    X = features.transform(FRAME)
    assert Ridge().fit(X[:200], GRADES[:200]).score(X[200:], GRADES[200:]) > 0.8


def test_components_of_the_training_texts_are_standardised():
    X = TableFeatures.fit(FRAME).transform(FRAME)[:, 2:]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(axis=0), 1, rtol=1e-4)


def test_similar_texts_do_not_become_rounding_errors():
    """Three sentences span two directions around their mean."""
    texts = ["no pain at all", "some pain when walking", "pain in every single step"] * 40
    column = fit_text("comment", pd.Series(texts))
    out = np.empty((121, column.width), dtype=np.float32)
    column.fill(pd.Series([*texts, "pain at night, and when she stands"]), out)
    assert 2 <= column.width <= 3
    assert np.isfinite(out).all()
    assert np.abs(out).max() < 100


def test_a_missing_text_is_the_mean_of_all_and_a_new_word_is_no_error():
    features = TableFeatures.fit(FRAME)
    new = features.transform(pd.DataFrame({"age": 0.0, "comment": ["zyx", None, "", 5]}))
    assert np.isfinite(new).all()
    assert not new[1, 2:].any()


def test_rows_are_the_same_however_many_at_once(monkeypatch):
    features = TableFeatures.fit(FRAME)
    expected = features.transform(FRAME)
    monkeypatch.setattr("ordinate.data.tables.free_text.ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(features.transform(FRAME), expected, rtol=1e-5, atol=1e-6)


def test_a_saved_column_is_the_same():
    features = TableFeatures.fit(FRAME)
    restored = TableFeatures.from_dict(json.loads(json.dumps(features.to_dict())))
    restored.restore(features.tensors())
    np.testing.assert_array_equal(restored.transform(FRAME), features.transform(FRAME))


@pytest.mark.parametrize("values", [["mild", "severe"] * 30, ["very mild pain", "no pain at all"] * 30])
def test_few_values_stay_categories(values):
    assert TableFeatures.fit(pd.DataFrame({"a": values})).categorical == ["a"]


def test_sentences_and_dates_do_not_identify_rows():
    dates = pd.Series(pd.date_range("2020", periods=300))
    frame = pd.DataFrame({
        "comment": [f"{text} {row}" for row, text in enumerate(COMMENTS)], "seen": dates.dt.strftime("%d.%m.%Y"),
        "name": [f"n{row}" for row in range(300)],
    })  # fmt: skip
    assert find_row_columns(frame) == {"name": "has a text of its own in every row"}
    unclear = pd.DataFrame({"seen": [f"{month:02}/{day:02}/2020" for month in range(1, 13) for day in range(1, 13)]})
    assert "are ambiguous" in find_row_columns(unclear)["seen"]
