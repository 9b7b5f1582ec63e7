"""A csv file read in batches against what pandas reads from it at once."""

import gzip

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from ordinate.data.tables import csv_table
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.files import read_table_samples
from ordinate.errors import OrdinateError

COLUMNS = {  # each is of another type where only some of its rows are seen
    "whole": ["1", "2", "3", "4", "5", "6"],
    "number_later": ["1", "2", "3", "4", "5", "0.1"],
    "missing_later": ["1", "2", "3", "4", "", "9007199254740993"],
    "text_later": ["01", "02", "03", "1.50", "NA", "mild"],
    "text_first": ["mild", "", "", "", "01", "02"],
    "true_then_numbers": ["True", "False", "true", "1", "0", "2"],
    "true": ["True", "False", "true", "FALSE", "True", "True"],
    "true_or_missing": ["True", "", "", "", "False", "True"],
    "nothing_first": ["", "", "", "", "1", "2"],
    "nothing": ["", "", "", "", "", ""],
    "quoted": ['"a, b"', '"a\nb"', "", "7", " 8", "9"],
}


def write(path, separator=","):
    lines = [separator.join(row) for row in [COLUMNS, *zip(*COLUMNS.values(), strict=True)]]
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        file.write("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("rows", [1, 2, 4, 6, 9])
@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv.gz", "\t")])
def test_batches_hold_what_pandas_reads_at_once(tmp_path, monkeypatch, name, separator, rows):
    monkeypatch.setattr(csv_table, "LOOKED_AT", 2)
    table = CsvTable(write(tmp_path / name, separator))
    whole = read_table_samples(tmp_path / name)
    batches = list(table.batches(rows))
    assert [len(batch) for batch in batches] == [len(whole.iloc[start : start + rows]) for start in range(0, 6, rows)]
    assert (len(table), list(table.columns)) == (6, list(whole.columns))
    assert_frame_equal(pd.concat(batches, ignore_index=True).astype(object), whole.astype(object))


def test_columns_are_chosen(tmp_path):
    table = CsvTable(write(tmp_path / "a.csv"))[["text_later", "whole"]]
    (batch,) = table.batches(10)
    assert list(batch.columns) == ["text_later", "whole"]
    with pytest.raises(OrdinateError, match=r"a\.csv: no column 'hole'; did you mean 'whole'"):
        table[["hole"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("", "could not be read"),
        ("a,b\n", "holds no rows"),
        ("a;b\n1\n3\n", "has the one column 'a;b'"),
        ("a,b\n" + "1,2\n" * 9 + "1,2,3\n", "line 11 has 3 cells, expected 2"),
    ],
)
def test_what_cannot_be_read_is_said_before_the_first_batch(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(csv_table, "LOOKED_AT", 2)
    if content is not None:
        (tmp_path / "a.csv").write_text(content)
    with pytest.raises(OrdinateError, match=message):
        CsvTable(tmp_path / "a.csv")
