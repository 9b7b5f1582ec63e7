"""What a page says of the columns of a table."""

import numpy as np
import pandas as pd

from ordinate.report.page.overview import describe_columns


def test_every_kind_of_column_is_described():
    table = pd.DataFrame(
        {
            "age": [18, 40, np.nan, 62],
            "kind": ["a", "b", "a", None],
            "seen": pd.to_datetime(["2020-01-02", "2021-03-04", "2020-05-06", "2020-01-02"]),
            "smokes": [True, False, False, False],
            "empty": [None] * 4,
        }
    )
    assert list(describe_columns(table)) == [
        ["age", "number", "25%", "18 to 62, median 40"],
        ["kind", "text", "25%", "a (67%), b (33%)"],
        ["seen", "date", "0%", "2020-01-02 to 2021-03-04"],
        ["smokes", "text", "0%", "False (75%), True (25%)"],
        ["empty", "text", "100%", "none"],
    ]


def test_many_columns_and_long_texts_are_cut():
    table = pd.DataFrame(np.zeros((3, 50)))
    assert len(list(describe_columns(table))) == 40
    ((_, _, _, values),) = describe_columns(pd.DataFrame({"text": ["x" * 90, "b", "c", "d"]}))
    assert values.startswith("x" * 39 + "… (25%)")
    assert values.endswith("and 1 more")
