"""A csv is read as it is written: no cell moves to another column, and none is lost without a word."""

import csv
import gzip
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.data.csv_files import read_csv, read_csv_parts, without_formulas
from ordinate.data.csv_format import MISSING, Given, csv_given, marks_of, recognise
from ordinate.data.file_tree import FileTree
from ordinate.data.labels_file import read_labels_file
from ordinate.data.tables.files import read_labelled, read_table_samples
from ordinate.errors import OrdinateError

TRAILING = "grade,stage,a\n0,3,1.5,\n1,2,3.5,\n"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz"])
def test_lines_that_end_in_a_separator_keep_their_columns(tmp_path, ending):
    path, text = tmp_path / f"data{ending}", TRAILING.replace(",", "\t" if "tsv" in ending else ",")
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    X, y = read_labelled(path, "grade")
    assert y.tolist() == [0, 1]
    assert X.to_dict("list") == {"stage": [3, 2], "a": [1.5, 3.5]}
    assert read_table_samples(path)["grade"].tolist() == [0, 1]


def test_so_do_those_of_a_labels_csv(tmp_path):
    (tmp_path / "labels.csv").write_text("path,label\na.png,3,\nb.png,1,\n")
    frame = read_labels_file(FileTree.of(tmp_path), "images")
    assert frame.to_dict("list") == {"path": ["a.png", "b.png"], "label": [3, 1]}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,grade\n1,0,9\n2,1,8\n", "line 2 has 3 cells, expected 2, as the first has"),
        ("a,grade\n1,0,\n2,1,8\n", "line 3 has 3 cells, expected 2, as the first has"),
        ('a,grade\n"1\n",0\n2,1,8\n', "line 4 has 3 cells"),
        ("a,grade\n1,0\n2,1,8\n", "line 3 has 3 cells"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_with_more_cells_than_columns_is_named(tmp_path, text, line, packed):
    path = tmp_path / ("data.csv.gz" if packed else "data.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(OrdinateError, match=line):
        read_table_samples(path)


def test_a_table_without_a_header_is_noted(tmp_path, capsys):
    from ordinate.data.modality import Request
    from ordinate.data.tables.modality import MODALITY

    path, told = tmp_path / "data.csv", []
    path.write_text("5.1,3.5,0\n4.9,3.0,1\n4.7,3.2,2\n")
    MODALITY.read_labelled(path, Request("0", say=told.append))
    assert told == [f"note: all column names of {path} are numbers; if the file has no header, its first row is lost"]
    path.write_text("0,1,2\n5.1,3.5,0\n4.9,3.0,1\n")  # as pandas writes an array
    MODALITY.read_labelled(path, Request("2", say=told.append))
    assert len(told) == 1


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_compute_begins_with_an_apostrophe(mark):
    frame = pd.DataFrame({f"{mark}name": [f"{mark}cmd|' /C calc'!A0", "plain", None], "x": [-1.5, 2.0, 3.0]})
    for dtype in (object, "string", "category"):
        written = without_formulas(frame.astype({f"{mark}name": dtype}))
        assert written.columns[0] == f"'{mark}name"
        assert written.iloc[:2, 0].tolist() == [f"'{mark}cmd|' /C calc'!A0", "plain"]
        assert written.iloc[2:, 0].isna().all()
        assert written["x"].tolist() == [-1.5, 2.0, 3.0]


def test_numbers_stay_numbers_even_as_text():
    frame = pd.DataFrame({"-1": ["-1", "+2.5", "-inf"]})
    pd.testing.assert_frame_equal(without_formulas(frame), frame)


def test_ranks_of_signs_alone_stay_as_they_are():
    frame = pd.DataFrame({"--": ["--", "-", "++"]})
    pd.testing.assert_frame_equal(without_formulas(frame), frame)


@pytest.mark.parametrize("last", ["2,b", "2,b,0\n3"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_cut_off_is_named(tmp_path, last, packed):
    path = tmp_path / ("table.csv.gz" if packed else "table.csv")
    text = f"x,name,grade\n1,a,0\n{last}".encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    number = 2 + last.count("\n") + 1
    for read in (lambda: read_csv(path, path), lambda: list(read_csv_parts(path, 1, recognise(path, path)))):
        with pytest.raises(OrdinateError, match=rf"line {number} has \d cells?, expected 3.*it may be cut off"):
            read()
    with pytest.raises(OrdinateError, match="it may be cut off"):
        read_csv(io.BytesIO(text), "a.zip/labels.csv")


@pytest.mark.parametrize("header", ["x,name", "x,name,"])
def test_lines_that_end_in_an_empty_cell_are_whole(tmp_path, header):
    path = tmp_path / "table.csv"
    path.write_text(header + '\n1,\n2,"b\nc"\n\n3,\n')
    assert len(read_csv(path, path)) == sum(map(len, read_csv_parts(path, 2, recognise(path, path)))) == 3


def test_a_small_file_that_unpacks_to_more_than_memory_holds_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"x,grade\n" + b"1,2\n" * 10**6))
    assert path.stat().st_size < 10**5
    monkeypatch.setattr("ordinate.data.memory.available_memory", lambda: 10**6)
    monkeypatch.setattr("ordinate.data.csv_files.available_memory", lambda: 10**6)
    with pytest.raises(OrdinateError, match="GiB of memory"):
        read_csv(path, path)


GRADED = pd.DataFrame({"größe": [1.5, 0.25, 3.125], "stufe": [1, 0, 2], "name": ["a", "b; c", "d"]})
PLAIN = GRADED.to_csv(index=False)
EXCEL = GRADED.to_csv(index=False, sep=";", decimal=",")
FORMATS = {
    "plain": (PLAIN, "utf-8-sig", None),
    "Excel in Europe": (EXCEL, "cp1252", "reads semicolons, decimal commas and Windows-1252 (Latin-1)"),
    "UTF-16": (GRADED.to_csv(index=False, sep="\t"), "utf-16", "reads tabs and UTF-16"),
    "pipes": (PLAIN.replace(",", "|"), "utf-8", "reads vertical bars"),
    "quoted decimal commas": (GRADED.to_csv(index=False, decimal=","), "utf-8", "reads decimal commas"),
    "comments": (f"# from a, b\n#\n\n{PLAIN}", "utf-8", "reads the header after 3 lines"),
    "a declared separator": (
        f"sep=;\n{EXCEL}",
        "utf-8",
        "reads semicolons, decimal commas and the header after 1 line",
    ),
}


@pytest.mark.parametrize(("text", "encoding", "note"), FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_format_of_a_csv_is_recognised_and_said(tmp_path, text, encoding, note, packed):
    path, said = tmp_path / ("data.csv.gz" if packed else "data.csv"), []
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if packed else content)
    pd.testing.assert_frame_equal(read_csv(path, path, said.append), GRADED)
    pd.testing.assert_frame_equal(pd.concat(read_csv_parts(path, 3, recognise(path, path))), GRADED)
    assert said == ([] if note is None else [f"{path}: {note}"])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('x,y\n"1,234",a\n"12,500",b\n', [1234, 12500]),
        ('x,y\n"1,234.5",a\n7,b\n', [1234.5, 7]),
        ("x;y\n1.234,5;a\n7;b\n", [1234.5, 7]),
        ("x;y\n1,234;a\n0,5;b\n", [1.234, 0.5]),
        ("x;y\n1,234;0.5\n2;0.5\n", [1234, 2]),
        ("x;y\n01.02.2020;0,5\n03.02.2020;1,5\n", ["01.02.2020", "03.02.2020"]),
        ('x,y\n"1,5",0.5\n"2,5",0.7\n', ["1,5", "2,5"]),
        ("#,y\n1,a\n2,b\n", [1, 2]),
        ("#x,y\n1,a\n2,b\n", [1, 2]),
        ("# x,y\n1,a\n2,b\n", [1, 2]),
        ("# of a, b\nx,y\n1,a\n2,b\n", [1, 2]),
        ("x\n1;2\n3\n", ["1;2", "3"]),
        ('x,y\n"a;b",1\n"c;d",2\n', ["a;b", "c;d"]),
    ],
)
def test_marks_in_numbers_and_hashes_are_read_as_they_are_meant(text, values):
    assert read_csv(io.BytesIO(text.encode()), "a.csv", say=lambda _: None).iloc[:, 0].tolist() == values


CLINICAL = [
    "#Patient\tAge\tMarker\tStage",
    "#Who it is\tAge at diagnosis\tA marker\tThe stage",
    "#STRING\tNUMBER\tNUMBER\tSTRING",
    "#1\t1\t1\t1",
]
PATIENTS = ["PATIENT_ID\tAGE\tMARKER #\tSTAGE", "P1\t61.5\tNA\tII", "P2\t48.0\t-0.3\tIII", "P3\t70\t1.2\tII"]
COMMENTS = {
    "as many cells": CLINICAL,
    "three lines": CLINICAL[:3],
    "one line": CLINICAL[:1],
    "numbers alone": CLINICAL[3:],
    "prose": ["# exported 2020, by the registry", "#", "# of 3 patients"],
    "quoted": ['"# exported 2020\tagain"', '"#Patient"\t"Age"\t"Marker"\t"Stage"'],
    "padded by a spreadsheet": ["# exported 2020\t\t\t", "#\t\t\t"],
    "an open quote": ['# exported, 2020, "again, and again'],
    "indented": ["  # exported 2020"],
    "blank lines between": [CLINICAL[0], "", CLINICAL[3], ""],
}


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt"])
@pytest.mark.parametrize("comments", COMMENTS.values(), ids=COMMENTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_above_the_header_are_skipped_whatever_they_look_like(tmp_path, comments, ending, end):
    path, said = tmp_path / f"data{ending}", []
    text = end.join([*comments, *PATIENTS, ""])
    path.write_bytes((text if ending == ".tsv" else text.replace("\t", ",")).encode())
    frame = read_csv(path, path, said.append)
    assert list(frame.columns) == ["PATIENT_ID", "AGE", "MARKER #", "STAGE"]
    assert frame["AGE"].tolist() == [61.5, 48, 70]
    pd.testing.assert_frame_equal(frame, pd.concat(read_csv_parts(path, 5, recognise(path, path))))
    assert len(said) == 1
    assert "the header after" in said[0]


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("#chrom\tstart\nchr1\t100\nchr2\t250\n", ["#chrom", "start"], 2),
        ("##fileformat=VCF\n##by=a,b\n#CHROM\tPOS\tID\nchr1\t100\t.\nchr2\t250\trs1\n", ["#CHROM", "POS", "ID"], 2),
        ("# chrom\tstart\nchr1\t\nchr1\t100\nchr2\t250\n", ["# chrom", "start"], 3),
        ('"#","score"\n"1","a"\n"2","b"\n', ["#", "score"], 2),
        ("#date,kind\n2020-01-31,a\n2020-02-01,b\n", ["#date", "kind"], 2),
        ("#dose,kind\n$5,a\n<$3,b\n", ["#dose", "kind"], 2),
        ("#size\n3\n4\n", ["#size"], 2),
        ("#size,kind\n3,a\n", ["#size", "kind"], 1),
        ("#name,kind\nann,cat\nben,dog\neve,cat\n", ["#name", "kind"], 3),
        ("#1,#2\n3,4\n5,6\n", ["#1", "#2"], 2),
        ("country#,2019,2020\nFR,1,2\nDE,3,4\n", ["country#", "2019", "2020"], 2),
        ("#Country,first,second\ncountry,2019,total\nFR,1,2\nDE,3,4\n", ["country", "2019", "total"], 2),
        ("sep=,\n#Size,Kind\nsize,kind\n1,a\n", ["size", "kind"], 1),
        ("#\nx\n1\n2\n", ["x"], 2),
    ],
)
def test_a_line_with_a_hash_is_the_header_where_data_follow_at_once(text, names, rows):
    frame = read_csv(io.BytesIO(text.encode()), "a.txt", say=lambda _: None)
    assert list(frame.columns) == names
    assert len(frame) == rows


VISITS = "size,kind,grade\n1.5,a,0\n2.5,b,1\n4.0,a,2\n"
TITLES = {
    "apart": "Report of 2021\n\n",
    "not apart": "Report of 2021\n",
    "of several cells": "Report of 2021, Berlin\n\n",
    "of several lines": "Report\nof 2021\n\n\n",
    "below a comment": "# exported\nReport of 2021\n\n",
    "padded by a spreadsheet": "Report of 2021,,\n,,\n",
}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("behind", ["", ","])
def test_a_title_above_the_header_is_left_out_with_a_note(tmp_path, title, separator, end, behind):
    path, said = tmp_path / "data.csv", []
    header, rows = VISITS.split("\n", 1)
    table = (header + "\n" + rows.replace("\n", f"{behind}\n")).replace(",", separator)
    if separator != "," and "padded" not in title:
        title = title.replace(",,", separator * 2)
    path.write_bytes((title + table).replace("\n", end).encode())
    frame = read_csv(path, path, said.append)
    pd.testing.assert_frame_equal(frame, pd.read_csv(io.StringIO(VISITS)))
    pd.testing.assert_frame_equal(frame, pd.concat(read_csv_parts(path, 5, recognise(path, path))))
    assert len(said) == 1
    assert "the header after" in said[0]


def test_years_are_names_below_a_title_that_is_apart():
    text = "Report\n\ncountry,2019,2020\nFR,1,2\nDE,3,4\n"
    assert list(read_csv(io.BytesIO(text.encode()), "a.csv", lambda _: None)) == ["country", "2019", "2020"]


@pytest.mark.parametrize(
    "text",
    [
        "country\nFR,1,2\nDE,3,4\n",
        "Report\ncountry,2019,2020\nFR,1,2\nDE,3,4\n",
        "text\nhello, world\nfoo, bar\n",
        "a,b\nr1,1,2\nr2,3,4\n",
        "Report\n\na,b\n1,2\n3\n",
    ],
)
def test_what_may_be_no_title_is_an_error(text):
    with pytest.raises(OrdinateError, match=r"a\.csv: line \d has \d cells, expected"):
        read_csv(io.BytesIO(text.encode()), "a.csv", lambda _: None)


CARS = """18.0   8   307.0  1,5\t"chevrolet chevelle"
 9.5   12  98.25  0,75\t"ford  pinto"
15.0   8   350.0  2,5 \t"chevrolet chevelle"
"""
OF_CARS = [[18, 9.5, 15], [8, 12, 8], [307, 98.25, 350], ["1,5", "0,75", "2,5"]]


@pytest.mark.parametrize("ending", [".txt", ".dat", ".data", ".txt.gz"])
@pytest.mark.parametrize(
    "header", ["", "  mpg cylinders   size ratio\tname  \n", "Cars of 1970\n\nmpg cylinders size ratio name\n"]
)
def test_blanks_separate_the_cells_of_a_text_file(tmp_path, ending, header):
    path, said = tmp_path / f"cars{ending}", []
    text = (header + CARS).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    frame = read_csv(path, path, said.append)
    names = ["mpg", "cylinders", "size", "ratio", "name"] if header else ["0", "1", "2", "3", "4"]
    assert list(frame) == names
    assert [frame[name].tolist() for name in names[:4]] == OF_CARS
    assert frame[names[4]].tolist() == ["chevrolet chevelle", "ford  pinto", "chevrolet chevelle"]
    pd.testing.assert_frame_equal(frame, pd.concat(read_csv_parts(path, 5, recognise(path, path))))
    assert len(said) == 1
    assert "reads blanks" in said[0]
    assert ("no header (columns are numbered from 0)" in said[0]) == (not header)


def test_a_cut_line_of_a_file_of_blanks_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a  b\n" + "1  2\n" * 200 + "3\n")
    with pytest.raises(OrdinateError, match="line 202 has 1 cell, expected 2"):
        read_csv(path, path, lambda _: None)


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("a.txt", "review\nvery good\nnot bad\n", ["review"]),
        ("a.txt", "a, b\n1, 2\n3, 4\n", ["a", "b"]),
        ("a.txt", "city\tpeople\nSan Jose\t5\nNew York\t6\n", ["city", "people"]),
        ("a.csv", "a b\n1 2\n3 4\n", ["a b"]),
        ("a.data", "5.1,3.5,x\n4.9,3.0,x\n4.7,3.2,y\n", ["0", "1", "2"]),
        ("a.data", "size,kind\n5,x\n4,x\n", ["size", "kind"]),
    ],
)
def test_blanks_within_cells_are_no_separators(name, text, names):
    assert list(read_csv(io.BytesIO(text.encode()), name, lambda _: None)) == names


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_blanks_that_are_given_separate_cells(name):
    content = io.BytesIO(b"a  b\nx  y\nu v \n")
    with csv_given(Given(sep=" ")):
        assert read_csv(content, name, lambda _: None).to_dict("list") == {"a": ["x", "u"], "b": ["y", "v"]}


def test_columns_that_blanks_may_separate_are_an_error_that_names_sep(tmp_path):
    (tmp_path / "a.txt").write_text("a   b\n1 x y\n2 x\n")
    with pytest.raises(OrdinateError, match="has the one column 'a   b', expected separators; sep= names them, such"):
        read_table_samples(tmp_path / "a.txt")


def test_a_hash_in_the_header_alone_is_a_name():
    assert recognise(io.BytesIO(b"# exported\n#size,kind\n"), "a.csv").names == ("#size", "kind")


def test_what_is_given_overrules_what_is_recognised():
    content = io.BytesIO("x\ty;z\n1,234\t5;6\n".encode("utf-16-le"))
    with csv_given(Given("tab", ",", "utf-16-le")):
        frame = read_csv(content, "a.csv", say=lambda _: None)
    assert frame.to_dict("list") == {"x": [1.234], "y;z": ["5;6"]}
    for wrong in ({"sep": ";;"}, {"encoding": "klingon"}):
        with pytest.raises(OrdinateError, match=f"^{next(iter(wrong))}: got"):
            Given(**wrong)
    with csv_given(Given(encoding="ascii")), pytest.raises(OrdinateError, match="encoding: got 'ascii', and "):
        read_csv(io.BytesIO("größe\n1".encode()), "a.csv")


def test_a_byte_far_down_in_another_encoding_is_an_error():
    content = io.BytesIO(b"x,y\n" + b"1,plain\n" * 20_000 + "1,größe\n".encode("cp1252"))
    with pytest.raises(OrdinateError, match=r"a\.csv: is not text in UTF-8: .*0xf6; .*encoding='latin-1'"):
        read_csv(content, "a.csv")


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("a;b\n1.234;7\n", (";", ","), (";", ",", ".")),
        ("a;b\n1.234;7\n", (";", "."), (";", ".", None)),
        ("a;b\n1,234;7\n", (";", "."), (";", ".", ",")),
        ("a;b\n1,234;7\n", (";", ","), (";", ",", None)),
        ("a;b\n1,5;7\n", (";", "."), (";", ",", None)),
        ("a;b\n0.5;7\n", (";", ","), (";", ".", None)),
        ("a,b\n1.234,7\n", (";", ","), (",", ".", None)),
        ("a;b\n7;8\n", (";", ","), (";", ".", None)),
        ("a;b\n1,234;7\n", (";", None), (";", ",", None)),
        ("a;b\n1,5;7\n", (";", None), (";", ",", None)),
        ("a;b\n0.5;7\n", (";", None), (";", ".", None)),
        ("a|b;c\n1|2;3\n", (";", "."), (";", ".", None)),
        ("a|b;c\n1|2;3\n", ("|", "."), ("|", ".", None)),
    ],
)
def test_the_format_of_the_training_data_decides_where_a_file_does_not(text, known, expected):
    with csv_given(Given(known=known)):
        found = recognise(io.BytesIO(text.encode()), "a.csv")
    assert (found.separator, found.decimal, found.thousands) == expected


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("a;b\n1;2\n-30;4\n", (";", None)),
        ("a,b\n1,x\n", (",", None)),
        ('a,b\n"1,234",7\n"12,500",8\n', (",", None)),
        ("a;b\n7;31.12.2020\n8;01.01.2021\n", (";", None)),
        ("a;b\n1,5;2\n", (";", ",")),
        ("a;b\n1.5;2\n", (";", ".")),
    ],
)
def test_whole_numbers_tell_no_decimal_mark(tmp_path, text, marks):
    (tmp_path / "data.csv").write_text(text)
    assert marks_of(tmp_path / "data.csv") == marks


CELLS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, width=32).map(str),
    st.sampled_from([*MISSING, "None", "007", "True", "false", "low, high", 'a "b"', " 7", "\t7", " a", "ä ö", "#1"]),
    st.text("ab 1.,;\t#", max_size=5),
)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8),
    spaces=st.sampled_from(["", " ", "  "]),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_cells_are_those_of_pandas_with_or_without_spaces(tmp_path_factory, rows, spaces, ending, quoting):
    text = io.StringIO()
    csv.writer(text, lineterminator=ending + spaces, quoting=quoting).writerows([("x", "y", "z"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().rstrip(" ").encode())
    options = {"skipinitialspace": True, "keep_default_na": False, "na_values": MISSING, "index_col": False}
    with csv_given(Given(sep=",", decimal=".")):
        found = recognise(path, path)
        expected = pd.read_csv(path, thousands=found.thousands, skiprows=found.skipped, **options)
        frame = read_csv(path, path, say=lambda _: None)
    pd.testing.assert_frame_equal(frame, expected)


@given(st.lists(st.sampled_from(["1,2,", "1,,", ",,", "1,2", "1", "", '"1\n",2,', '"a, b",2', " "]), max_size=6))
def test_lines_are_whole_as_they_are_to_the_csv_module(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text("\n".join(["x,y,z", "1,2,3", *lines]))
    rows = list(csv.reader(path.read_text().splitlines(keepends=True), skipinitialspace=True))
    if all(len(row) == 3 for row in rows if row):
        assert len(read_csv(path, path)) == sum(map(bool, rows)) - 1
    else:
        with pytest.raises(OrdinateError, match="it may be cut off; empty cells need their separators"):
            read_csv(path, path)


def test_a_csv_is_looked_at_once_in_a_command(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a;b\n1;2\n3;4\n")
    with csv_given(Given()):
        first = recognise(path, path)
        path.write_text("a,b\n1,2\n3,4\n")
        assert recognise(path, path) is first
    assert (first.separator, recognise(path, path).separator) == (";", ",")
