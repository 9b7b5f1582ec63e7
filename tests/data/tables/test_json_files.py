import io

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from ordinate.data.tables.features import unusable_columns
from ordinate.data.tables.files import read_table_samples
from ordinate.data.tables.json_files import read_json
from ordinate.errors import OrdinateError

TABLE = pd.DataFrame({"a": [1.5, None, 3.0] * 4, "g": ["low", "high", "mid"] * 4, "n": range(12)})


@pytest.mark.parametrize("form", ["columns", "records"])
def test_what_pandas_writes_is_read(tmp_path, form):
    TABLE.to_json(tmp_path / "a.json", orient=form)
    read = read_json(tmp_path / "a.json")
    assert_frame_equal(read[["a", "g", "n"]], TABLE, check_dtype=False)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "g": "x"}\n{"a": 2, "g": "y", "b": {"c": 1}}\n\n \n{"a": 3, "b": {}}',
        '\ufeff{"a": 1, "g": "x"}\r\n\r\n{"a": 2, "g": "y", "b": [1]}\r\n{"a": 3, "b": [2, 3]}\r\n',
    ],
)
def test_blank_lines_are_skipped_and_nested_values_are_unusable_columns(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    read = read_table_samples(tmp_path / "a.jsonl")
    assert read["a"].tolist() == [1, 2, 3]
    assert list(unusable_columns(read)) == ["b"]


LINES = '{"a": 1, "g": "x"}\n{"a": 2, "g": "y"}\n\n{"a": 3, "g": "zz"}\n'


@pytest.mark.parametrize("place", [len(LINES) - cut for cut in (2, 3, 4, 6, 8, 10, 12, 15)])
def test_a_last_line_that_is_cut_off_is_named(tmp_path, place):
    (tmp_path / "a.jsonl").write_text(LINES[:place])
    with pytest.raises(OrdinateError, match=r"a\.jsonl: could not be read: .*line 4.*"):
        read_json(tmp_path / "a.jsonl")


def test_json_that_ends_early_is_cut_off(tmp_path):
    (tmp_path / "a.json").write_text(TABLE.to_json(indent=1)[:-40])
    with pytest.raises(OrdinateError, match=r"could not be read: it is cut off in line \d+; write the file anew"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1, "g": "x"}, {"a": 2, "g": "y"}]',
        '{"a": 1, "g": "x"}\n\n{"a": 2, "g": "y"}\n',
        '{"a": [1, 2], "g": ["x", "y"]}',
        '{"a": {"0": 1, "1": 2}, "g": {"0": "x", "1": "y"}}',
        '\ufeff[{"a": 1, "g": "x"},\n {"a": 2, "g": "y"}]',
    ],
)  # fmt: skip
def test_rows_and_columns_are_read(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert read_json(tmp_path / "a.json").to_dict("list") == {"a": [1, 2], "g": ["x", "y"]}


def test_one_object_is_one_row(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "g": "x"}')
    assert read_json(tmp_path / "a.json").to_dict("list") == {"a": [1], "g": ["x"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n[1]\n', r"row 2 is \[1\], expected a JSON object"),
        ("[1, 2]", "row 1 is 1, expected a JSON object"),
        ("[[1, 2], [1, 3]]", r"row 1 is \[1, 2\], expected a JSON object"),
        ('{"p1": {"a": 1}, "p2": {"a": 3}}', "is an object of 'p1', 'p2', expected one object per line"),
        ('{"a": 1}\n{"a": 2\n{"a": 3}', r"line 2 is no JSON|cut off in line 2"),
        ('{"a": 1}\n{"a": two}\n{"a": 3}', r"could not be read: line 2 is no JSON \(Expecting value at column 7\)"),
        ("3", "holds 3, expected one object per line, a list of objects"),
        ('{"a": [1, 2], "b": [1]}', "is an object of 'a', 'b', expected one object per line"),
        ('{"columns": ["a", "b"], "data": [[1]]}', "is an object of 'columns', 'data'"),
        ('{"results": {"rows": 1}, "next": 3}', "is an object of 'results', 'next'"),
    ],
)
def test_another_form_is_an_error_that_names_those_that_are_read(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(OrdinateError, match=message):
        read_json(tmp_path / "a.json")


def test_names_of_columns_keep_their_order(tmp_path):
    frame = pd.read_json(io.StringIO('{"b": {"0": 1}, "a": {"0": 2}}'))
    frame.to_json(tmp_path / "a.json")
    assert list(read_json(tmp_path / "a.json")) == ["b", "a"]
