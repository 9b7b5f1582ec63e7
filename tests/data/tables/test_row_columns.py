"""Which columns of a table identify its rows, and which tell the label: measurements never do."""

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.tables.row_columns import find_label_columns, find_row_columns, find_row_order

N = 2500  # more than are looked at first
RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(N)
WITH_GAPS = np.sort(RNG.choice(50 * N, N, replace=False))
TEXTS = [f"{number:x}" for number in RNG.permutation(N)]

UNNAMED, NUMBERED, NAMED, TEXT = (
    "is an index that was saved without a name",
    "numbers the rows",
    "is named as an identifier, and no two rows share a value",
    "has a text of its own in every row",
)
IDENTIFY = {
    "index of pandas": ("Unnamed: 0", np.arange(N), UNNAMED),
    "index without a name": ("", SHUFFLED, UNNAMED),
    "index of a sample of rows": ("Unnamed: 0", RNG.permutation(WITH_GAPS), UNNAMED),
    "indices of files put together": ("Unnamed: 0.1", np.arange(N) % 100, UNNAMED),
    "index of parquet": ("__index_level_0__", WITH_GAPS, UNNAMED),
    "from 0": ("a", np.arange(N), NUMBERED),
    "from 1, shuffled": ("a", SHUFFLED + 1, NUMBERED),
    "backwards": ("a", np.arange(N)[::-1] + 1, NUMBERED),
    "from 10000": ("visit_no", np.arange(N) + 10_000, NUMBERED),
    "from elsewhere, shuffled, some rows left out": (
        "record",
        RNG.permutation(np.delete(np.arange(N + 50), np.arange(0, 2500, 50))) + 5000,
        NUMBERED,
    ),
    "nullable": ("a", pd.array(np.arange(N), dtype="Int64"), NUMBERED),
    "codes": ("patient_id", RNG.permutation(WITH_GAPS), NAMED),
    "camel case": ("sampleID", RNG.permutation(WITH_GAPS), NAMED),
    "named index": ("index", RNG.permutation(WITH_GAPS), NAMED),
    "text": ("code", TEXTS, TEXT),
    "text as categories": ("code", pd.Categorical(TEXTS), TEXT),
}
DESCRIBE = {
    "floats": ("frequency", RNG.normal(size=N)),
    "whole floats": ("time", np.arange(N, dtype=float)),
    "floats with the name of an identifier": ("id", RNG.normal(size=N)),
    "floats without a name": ("Unnamed: 3", RNG.normal(size=N)),
    "ages": ("age", RNG.integers(18, 90, N)),
    "different whole numbers": ("income", RNG.permutation(WITH_GAPS)),
    "different whole numbers in order": ("income", WITH_GAPS),
    "every other number from elsewhere, shuffled": ("weight", 2 * SHUFFLED + 1900),
    "categories that are measured": ("length", pd.Categorical(RNG.normal(size=N))),
    "a name that is a number": (7, RNG.normal(size=N)),
    "identifiers of groups": ("subject_id", np.arange(N) // 3),
    "a word that ends like an identifier": ("paid", RNG.permutation(WITH_GAPS)),
    "whole numbers that meet only at the end": ("a", [*range(N - 1), 0]),
    "texts that meet only at the end": ("a", [*TEXTS[:-1], TEXTS[0]]),
    "texts with a missing one": ("a", [*TEXTS[:-1], None]),
    "truth": ("a", RNG.random(N) < 0.5),
}


@pytest.fixture(params=["frame", "parquet"])
def table_of(request, tmp_path):
    """Turns a frame into a table as a command reads it."""

    def make(frame):
        if request.param == "frame":
            return frame
        frame.to_parquet(tmp_path / "table.parquet", index=False)
        return ParquetTable(tmp_path / "table.parquet")

    return make


@pytest.mark.parametrize("case", IDENTIFY)
def test_a_column_that_identifies_rows_is_found_and_explained(case, table_of):
    name, values, reason = IDENTIFY[case]
    X = table_of(pd.DataFrame({"length": RNG.normal(size=N), name: values}))
    assert find_row_columns(X) == {name: reason}


@pytest.mark.parametrize("case", DESCRIBE)
def test_a_column_that_describes_samples_is_none(case, table_of):
    name, values = DESCRIBE[case]
    assert find_row_columns(table_of(pd.DataFrame({name: values}))) == {}


def test_columns_of_floats_and_of_groups_are_not_read_to_their_end(tmp_path, monkeypatch):
    frame = pd.DataFrame({"length": RNG.normal(size=N), "group": np.arange(N) // 3, "patient": SHUFFLED})
    frame.to_parquet(tmp_path / "table.parquet")
    table, read = ParquetTable(tmp_path / "table.parquet"), []
    whole = ParquetTable._read
    monkeypatch.setattr(ParquetTable, "_read", lambda self, name: read.append(name) or whole(self, name))
    assert find_row_columns(table) == {"patient": NUMBERED}
    assert set(read) == {"patient"}


# the order of the rows


@pytest.mark.parametrize("label", ["numbers", "text", "continuous"])
def test_whole_numbers_in_order_are_suspicious_where_the_label_is_in_order_too(label, table_of):
    rank = np.repeat([0, 1, 2, 3, 4], N // 5)
    y = {"numbers": rank, "text": np.array(list("mlhxy"))[rank], "continuous": np.linspace(9, 1, N)}[label]
    X = table_of(pd.DataFrame({"row": WITH_GAPS, "length": np.sort(RNG.normal(size=N)), "age": RNG.integers(0, 9, N)}))
    assert find_row_order(X, pd.Series(y)) == ["row"]
    assert find_row_order(X, pd.Series(y).sample(frac=1, random_state=0)) == []


# the label


@pytest.mark.parametrize(
    ("values", "y"),
    [
        (np.arange(N) % 5, np.arange(N) % 5),
        (np.array(list("mlhxy"))[np.arange(N) % 5], np.arange(N) % 5),
        (3 - np.arange(N) // 500, np.arange(N) // 500),
        (np.arange(N) % 5, np.array(list("mlhxy"))[np.arange(N) % 5]),
        (np.log(1 + SHUFFLED), SHUFFLED / 7),
        (SHUFFLED / 7, SHUFFLED / 7),
    ],
    ids=["copy", "words", "sorted and turned round", "codes of words", "a function of a target", "copy of a target"],
)
def test_a_column_that_tells_the_label_is_found(values, y, table_of):
    assert find_label_columns(table_of(pd.DataFrame({"a": values, "b": RNG.normal(size=N)})), pd.Series(y)) == ["a"]


@pytest.mark.parametrize(
    ("values", "y"),
    [
        (np.arange(N) % 5, np.where(np.arange(N) == N - 1, 0, np.arange(N) % 5)),
        (RNG.normal(size=N), RNG.normal(size=N)),
        (RNG.normal(size=N), np.arange(N) % 5),
        (np.arange(N) % 10, np.arange(N) % 5),
    ],
    ids=["all rows but one", "other measurements", "measurement of ranks", "finer"],
)
def test_a_column_that_only_goes_along_with_the_label_is_none(values, y, table_of):
    assert find_label_columns(table_of(pd.DataFrame({"a": values})), pd.Series(y)) == []


def test_a_column_of_paths_of_images_says_how_they_are_trained_on():
    X = pd.DataFrame({"path": ["a/1.png", "a/2.JPG", "b/3.tif"], "age": [1.5, 2.5, 3.0]})
    assert find_row_columns(X)["path"].startswith("names image files; to train on images, these must lie where it says")


@pytest.mark.parametrize(("count", "first"), [(300, 1700), (12, 400)], ids=["years", "few"])
def test_years_and_few_numbers_that_run_on_may_be_measured(count, first):
    assert find_row_columns(pd.DataFrame({"year": np.arange(count) + first})) == {}
