import numpy as np
import pandas as pd
import pytest

from ordinate import OrdinateError
from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import as_texts

SINGLE = ["a dog", "rain"]
PAIRS = [("a dog", "a cat"), ("rain", "sun")]


@pytest.mark.parametrize(
    "X",
    [PAIRS, [list(pair) for pair in PAIRS], np.array(PAIRS), pd.DataFrame(PAIRS), as_texts(PAIRS)],
    ids=["tuples", "lists", "array", "frame", "texts"],
)
def test_pairs_come_in_any_shape(X):
    texts = as_texts(X)
    assert (len(texts), texts.per_sample, texts.flat) == (2, 2, ["a dog", "a cat", "rain", "sun"])
    assert texts[np.array([1])].flat == ["rain", "sun"]


@pytest.mark.parametrize(
    "X",
    [SINGLE, np.array(SINGLE), pd.Series(SINGLE, index=[7, 9]), pd.DataFrame({"t": SINGLE})],
    ids=["list", "array", "series", "frame"],
)
def test_single_texts_come_in_any_shape(X):
    texts = as_texts(X)
    assert (len(texts), texts.per_sample, texts.flat) == (2, 1, ["a dog", "rain"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("a dog", "X: got 'a dog', expected n strings"),
        ([], r"X: got shape \(0, 1\), expected n strings"),
        ([("a", "b", "c")], r"X: got shape \(1, 3\)"),
        ([("a", "b"), ("c",)], r"X: sample 0 holds \('a', 'b'\), expected a string"),
        (["a", None], "X: sample 1 lacks a text"),
        (pd.DataFrame({"t": ["a", np.nan]}), "X: sample 1 lacks a text"),
        (pd.Series(["a", pd.NA]), "X: sample 1 lacks a text"),
        (["a", 3], "X: sample 1 holds 3, expected a string"),
    ],
)
def test_what_is_no_text_is_an_error_that_says_which(X, message):
    with pytest.raises(OrdinateError, match=message):
        as_texts(X)


@pytest.mark.parametrize(("name", "value"), [("word_vectors", 3), ("frozen", None), ("max_length", 2), ("hidden", 0)])
def test_an_option_that_cannot_be_is_an_error_that_names_it(name, value):
    with pytest.raises(OrdinateError, match=f"^{name}: got {value}"):
        TextOptions(**{name: value})
