import gzip
import sys
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pandas.testing import assert_frame_equal
from pyarrow import feather, parquet

from ordinate.commands.labels import understand_label
from ordinate.data.file_formats import require_packages
from ordinate.data.modality import Request
from ordinate.data.rows import BatchedSamples
from ordinate.data.tables.files import read_labelled, read_table_samples
from ordinate.data.tables.modality import MODALITY
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.typed import Reading
from ordinate.errors import OrdinateError

TABLE = pd.DataFrame(
    {"size": [1.5, np.nan, 3.0], "colour": ["red", None, "blue"], "zip": [7, 7, 8], "grade": [0, 2, 1]}
)
WRITERS = {
    "a.csv": lambda path: TABLE.to_csv(path, index=False),
    "a.tsv": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "a.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "a.tsv.gz": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "a.CSV": lambda path: TABLE.to_csv(path, index=False),
    "a.parquet": TABLE.to_parquet,
    "a.v2.parquet": lambda path: TABLE.set_index(pd.Index([4, 4, 9])).to_parquet(path),
    "a.xlsx": lambda path: TABLE.to_excel(path, index=False),
    "a.feather": TABLE.to_feather,
    "a.jsonl": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "a.json": lambda path: TABLE.to_json(path, orient="records"),
    "a.txt": lambda path: TABLE.to_csv(path, index=False),
    "a.dta": lambda path: TABLE.to_stata(path, write_index=False),
    "a.sav": partial(pyreadstat.write_sav, TABLE),
}


def write_stream(path):
    table = pa.Table.from_pandas(TABLE)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


WRITERS["a.arrow"] = write_stream

for_every_table = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture
def table(tmp_path, name):
    WRITERS[name](tmp_path / name)
    return tmp_path / name


@pytest.fixture
def csv(tmp_path):
    """Writes a file and returns its path."""

    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return write


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


# what is read


@for_every_table
def test_every_kind_of_table_is_read_alike(table):
    X, y = read_labelled(table, "grade")
    assert_frame_equal(X.reset_index(drop=True), TABLE.drop(columns="grade"), check_dtype=False)
    assert y.tolist() == [0, 2, 1]
    assert y.index.tolist() == [0, 1, 2]
    assert_frame_equal(read_table_samples(table).reset_index(drop=True), TABLE, check_dtype=False)


@pytest.mark.parametrize("name", ["a.dta", "a.sav"])
def test_labels_of_values_are_ordered_ranks(tmp_path, name):
    order = ["none", "mild", "severe"]
    if name == "a.dta":
        grades = pd.Categorical.from_codes(TABLE["grade"], order, ordered=True)
        TABLE.assign(grade=grades).to_stata(tmp_path / name, write_index=False)
    else:
        names = {"grade": dict(enumerate(order))}
        pyreadstat.write_sav(TABLE, tmp_path / name, variable_value_labels=names)
    y = read_labelled(tmp_path / name, "grade")[1]
    label = understand_label(y, "auto", None, "column 'grade'")
    assert label.classes == order
    assert label.values.tolist() == ["none", "severe", "mild"]


def test_the_path_may_be_text(csv):
    assert_frame_equal(read_table_samples(str(csv("a,b\n1,2\n"))), pd.DataFrame({"a": [1], "b": [2]}))


@for_every_table
def test_columns_are_dropped_and_codes_become_categories(table):
    X, _ = read_labelled(table, "grade", drop=["size"], categorical=["zip"])
    assert list(X) == ["colour", "zip"]
    assert X["zip"].dtype == "category"
    assert X["zip"].tolist() == [7, 7, 8]


def test_the_first_sheet_of_a_workbook_is_read_as_it_is_written(tmp_path):
    frame = pd.DataFrame(
        {"code": ["007", "010"], "stage": ["None", "NA"], "seen": pd.to_datetime(["2020-01-31", None])}
    )
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="cases", index=False, startrow=2, startcol=1)
        TABLE.to_excel(book, sheet_name="old", index=False)
    with pytest.warns(UserWarning, match=r"a\.xlsx: reads the first of 2 sheets, 'cases'$"):
        read = read_table_samples(path)
    assert_frame_equal(read, frame.assign(stage=["None", None]), check_dtype=False)
    assert read["seen"].dtype.kind == "M"


@pytest.mark.parametrize("name", ["NA", "None", "nan"])
def test_a_column_of_a_workbook_may_have_the_name_of_a_missing_value(tmp_path, name):
    frame = pd.DataFrame({name: [1.5, 2.5], "grade": ["NA", "low"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    assert_frame_equal(read_table_samples(tmp_path / "a.xlsx"), frame.assign(grade=[None, "low"]), check_dtype=False)


DOUBLED = pd.DataFrame([[1, "x", 0, "u"], [2, "y", 0, "v"], [4, "x", 1, "u"]], columns=["a", "b", "a", "b"])


def write_arff(frame, path):
    header = "".join(f"@attribute {name} {kind}\n" for name, kind in zip(frame, 2 * ["real", "string"], strict=True))
    path.write_text(f"@relation r\n{header}@data\n{frame.to_csv(header=False, index=False)}")


def as_arrow(frame):
    arrays = [pa.array(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return pa.Table.from_arrays(arrays, list(frame))


WRITERS_OF_DOUBLED = {
    "a.csv": lambda path: DOUBLED.to_csv(path, index=False),
    "a.xlsx": lambda path: DOUBLED.to_excel(path, index=False),
    "a.arff": partial(write_arff, DOUBLED),
    "a.feather": lambda path: feather.write_feather(as_arrow(DOUBLED), path),
}


@pytest.mark.parametrize("name", WRITERS_OF_DOUBLED)
def test_of_several_columns_of_a_name_the_first_is_read(tmp_path, name):
    path, first = tmp_path / name, {"a": [1, 2, 4], "b": ["x", "y", "x"]}
    WRITERS_OF_DOUBLED[name](path)
    with pytest.warns(UserWarning, match="several columns are named 'a', 'b'; the first of each is read"):
        read = read_table_samples(path)
    assert read.to_dict("list") == first
    with pytest.raises(OrdinateError, match="several columns are named 'b', expected one name per column"):
        MODALITY.read_labelled(path, Request("b", say=lambda _: None))
    with pytest.warns(UserWarning, match="several columns are named 'a', 'b'; the first of each is read"):
        unlabelled = MODALITY.read_unlabelled(path)
    assert pd.concat(list(BatchedSamples(unlabelled, 2))).to_dict("list") == first


def test_doubled_parquet_is_an_error(tmp_path):
    parquet.write_table(as_arrow(DOUBLED), tmp_path / "a.parquet")
    with pytest.raises(OrdinateError, match=r"several columns are named '[ab]', expected one name per column"):
        ParquetTable(tmp_path / "a.parquet")


def test_a_workbook_without_rows_is_an_error(tmp_path):
    pd.DataFrame().to_excel(tmp_path / "b.xlsx", index=False)
    with pytest.raises(OrdinateError, match=r"b\.xlsx: holds no rows"):
        read_table_samples(tmp_path / "b.xlsx")


@pytest.mark.parametrize(
    ("data", "extra"), [("a.xlsx", "excel"), ("b.ODS", "excel"), ("a.feather", "parquet"), ("a.sav", "surveys")]
)
def test_a_package_that_is_missing_is_named_with_its_extra(data, extra, monkeypatch):
    for package in ("python_calamine", "pyarrow", "pyreadstat"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OrdinateError, match=rf'^{data}: requires .*: pip install "ordinate\[{extra}\]"$'):
        require_packages(data)


def test_names_of_columns_are_text(tmp_path):
    pd.DataFrame({0: [1, 2], 1: [3, 4]}).to_parquet(tmp_path / "a.parquet")
    assert list(read_labelled(tmp_path / "a.parquet", "1")[0]) == ["0"]


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 5)])
def test_an_npz_holds_x_and_the_target(npz, shape):
    X = np.random.default_rng(0).normal(size=shape)
    path = npz(X=X, grade=np.array([2, 0, 1]), other=np.zeros(7))
    read, y = read_labelled(path, "grade")
    np.testing.assert_array_equal(read, X)
    np.testing.assert_array_equal(read_table_samples(path), X)
    assert y.tolist() == [2, 0, 1]


def test_a_ts_file_holds_series_and_one_target(tmp_path):
    path = tmp_path / "set.ts"
    path.write_text("@equalLength false\n@data\n1,2,3:0.5\n4:0.7\n")
    series, y = read_labelled(path, "target")
    np.testing.assert_array_equal(series, [[[1, 2, 3]], [[4, np.nan, np.nan]]])
    assert y.tolist() == [0.5, 0.7]
    np.testing.assert_array_equal(read_table_samples(path), series)


def test_reading_an_npz_runs_no_code_from_it(npz):
    path = npz(X=np.zeros((2, 1)), grade=np.array([print, print], dtype=object))
    with pytest.raises(OrdinateError, match=r"data\.npz: could not be read: Object arrays cannot be loaded"):
        read_labelled(path, "grade")


# what cannot be read


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("date.csv", r"; did you mean data\.csv\?"), ("data.tsv", r"; did you mean data\.csv\?"),
        ("d.csv", ""), ("xyzzy", ""), ("nowhere/data.csv", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "read", [read_table_samples, lambda path: read_labelled(path, "grade")], ids=["samples", "labelled"]
)
def test_a_missing_file_is_an_error_that_knows_the_near_name(csv, name, hint, read):
    path = csv("a,grade\n1,2\n").parent / name
    with pytest.raises(OrdinateError, match=f"{path}: no such file{hint}$"):
        read(path)


def test_a_folder_is_an_error_that_says_so(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(OrdinateError, match=r"data\.csv: .*(folder|directory)"):
        read_table_samples(tmp_path / "data.csv")


@pytest.mark.parametrize("column", ["target", "dropped", "categorical"])
@pytest.mark.parametrize(
    ("name", "hint"), [("colours", r"did you mean 'colour'\?"), ("xyzzy", "it has 'size', 'colour', 'zip', 'grade'")]
)
def test_a_missing_column_is_an_error_that_knows_the_near_name(tmp_path, column, name, hint):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    options = {"target": (name,), "dropped": ("grade", [name]), "categorical": ("grade", [], [name])}[column]
    with pytest.raises(OrdinateError, match=rf"a\.csv: no column '{name}'; {hint}"):
        read_labelled(tmp_path / "a.csv", *options)


def test_a_title_above_the_names_of_the_columns_is_an_error_that_says_so(tmp_path):
    title = pd.DataFrame([["Study 2024", None, None], ["size", "colour", "grade"], [1, "red", 2]])
    title.to_excel(tmp_path / "a.xlsx", header=False, index=False)
    with pytest.raises(OrdinateError, match=r"a\.xlsx: no column 'grade'; its first row, 'Study 2024', may be a title"):
        read_labelled(tmp_path / "a.xlsx", "grade")


GARBAGE = b"\xff\xfe\x00garbage\x80"
WHOLE_GZ = gzip.compress(b"a,grade\n" + b"1,2\n" * 50, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "could not be read: No columns"),
        ("a.csv", "\n\n", "could not be read: No columns"),
        ("a.csv", "a,grade\n", "holds no rows, expected a table with a header and samples"),
        ("a.tsv", "a\tgrade\n", "holds no rows"),
        ("a.csv", "grade\n1\n2\n", "no column is left in addition to the target"),
        ("a.csv", "a,grade\n1,\n2,\n4,\n", "no row has a label in 'grade', expected a label per row"),
        ("a.csv", "a,grade\n1,2\n1,2,3,4\n", "line 3 has 4 cells, expected 2, as the first has"),
        ("a.doc", "a,grade\n1,2\n", r"its ending names no known format, expected a table \(\.csv, .*\.npz"),
        ("a", "a,grade\n1,2\n", "its ending names no known format"),
        ("a.csv", GARBAGE, "is not text in UTF-8: it holds the byte 0xff"),
        ("a.csv.gz", GARBAGE, "could not be read: Not a gzipped file"),
        ("a.parquet", GARBAGE, "could not be read: "),
        ("a.parquet", "", "could not be read: "),
        ("a.xlsx", GARBAGE, "could not be read: "),
        ("a.xls", GARBAGE, "could not be read: "),
        ("a.feather", GARBAGE, "could not be read: "),
        ("a.dta", GARBAGE, "could not be read: "),
        ("a.sav", GARBAGE, "could not be read: "),
        ("a.arrow", "", "could not be read: "),
        ("a.jsonl", '{"a": 1}\n{"a": ', "could not be read: "),
        ("a.jsonl", "", "holds no rows"),
        ("a.jsonl", '{"a": 1}\n[1]\n', r"row 2 is \[1\], expected a JSON object"),
        ("a.npz", GARBAGE, "could not be read: "),
        ("a.npz", "", "could not be read: "),
        ("a.csv.gz", WHOLE_GZ[:-12], "could not be read: "),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_it(csv, name, content, message):
    path = csv(content, name)
    with pytest.raises(OrdinateError, match=rf"^{path}: {message}"):
        read_labelled(path, "grade")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"grade": np.zeros(3)}, r"holds no array 'X', expected 'X' and the target; it holds \['grade'\]"),
        ({"X": np.zeros((3, 2))}, r"holds no array 'grade', expected 'X' and the target; it holds \['X'\]"),
        (
            {"X": np.zeros((3, 2)), "grade": np.zeros(2)},
            "X holds 3 samples and 'grade' 2, expected one label per sample",
        ),
        ({"X": np.zeros((3, 2)), "grade": np.full(3, np.nan)}, "no row has a label in 'grade'"),
        ({"X": np.zeros((3, 2)), "grade": np.zeros((3, 2))}, ".*grade"),
        ({"X": np.zeros(()), "grade": np.zeros(3)}, ".*X"),
        ({"X": np.zeros((0, 2)), "grade": np.zeros(0)}, ".*no "),
    ],
)
def test_an_npz_that_cannot_be_used_is_an_error_that_names_it(npz, arrays, message):
    path = npz(**arrays)
    with pytest.raises(OrdinateError, match=rf"^{path}: {message}"):
        read_labelled(path, "grade")


def test_a_single_array_under_the_name_of_an_npz_is_an_error(tmp_path):
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.zeros((3, 2)))
    with pytest.raises(OrdinateError, match=r"a\.npz"):
        read_table_samples(tmp_path / "a.npz")


@pytest.mark.parametrize(("drop", "categorical"), [([], ["grade"]), (["zip"], ["zip"])], ids=["target", "dropped"])
def test_codes_in_a_column_that_is_not_kept_are_an_error(tmp_path, drop, categorical):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(OrdinateError, match=categorical[0]):
        read_labelled(tmp_path / "a.csv", "grade", drop, categorical)


def test_none_is_a_label_like_any_other(csv):
    path = csv("a,grade\n1,None\n2,Mild\n3,Severe\n")
    assert read_labelled(path, "grade")[1].tolist() == ["None", "Mild", "Severe"]


def test_identifiers_of_a_csv_keep_their_leading_zeros(tmp_path):
    text = "patient_id;zip;y\n00017;00501;1,5\n00024;10115;2,5\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    X, y = read_labelled(tmp_path / "a.csv", "y", say=lambda _: None)
    assert X["patient_id"].tolist() == ["00017", "00024"]
    assert (X["zip"].tolist(), y.tolist()) == ([501, 10115], [1.5, 2.5])  # A zip code is not named as an identifier.
    (tmp_path / "a.csv").write_text(text.replace("0001", "1001").replace("0002", "1002"), encoding="utf-8")
    assert read_labelled(tmp_path / "a.csv", "y", say=lambda _: None)[0]["patient_id"].tolist() == [10017, 10024]


@pytest.mark.parametrize("word", ["don't know", "k.A.", "refused"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_with_decimal_commas_and_a_word_for_no_answer_are_numbers(word, ending, tmp_path):
    table = pd.DataFrame({"x": range(4), "strength": ["10,03", word, "7,5", "8,25"]})
    path = tmp_path / f"a.{ending}"
    table.to_csv(path, sep=";", index=False) if ending == "csv" else table.to_parquet(path)
    how = Reading(missing=("k.A.",))  # An abbreviation may be a rank.
    y = read_labelled(path, "strength", say=lambda _: None, how=how)[1]
    np.testing.assert_array_equal(y, [10.03, np.nan, 7.5, 8.25])
