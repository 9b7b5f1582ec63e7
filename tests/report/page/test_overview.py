"""What a page says of the columns of a table."""

import numpy as np
import pandas as pd

from ordinate.data.tables.features import TableFeatures
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


def test_columns_are_what_the_model_has_learned_of_them():
    table = pd.DataFrame(
        {
            "seen": ["31.01.2020", "01.03.2021", None, "05.02.2020"] * 8,
            "mass": ["1,5", "0,75", "unknown", "2,25"] * 8,
            "sex": ["m", "f", "f", None] * 8,
            "note": [f"pain in the left knee since visit {place}" for place in range(32)],
            "at": ["10:30", "11:15", "9:00", "12:45"] * 8,
        }
    )
    columns = TableFeatures.fit(table).columns
    assert list(describe_columns(table, columns)) == [
        ["seen", "date", "25%", "2020-01-31 to 2021-03-01"],
        ["mass", "number", "0%", "0.75 to 2.25, median 1.5"],
        ["sex", "categories", "25%", "f (67%), m (33%)"],
        ["note", "text", "0%", ", ".join(f"pain in the left knee since visit {place} (3%)" for place in range(3)) +
         " and 29 more"],
        ["at", "time of day", "0%", "10:30 (25%), 11:15 (25%), 9:00 (25%) and 1 more"],
    ]  # fmt: skip
