"""A file whose name does not say what it is gets an error that does."""

import gzip
import io
import lzma
import pickle
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pyreadstat
import pytest
import rdata

from ordinate.data.file_kinds import kind_of
from ordinate.data.modality import Request
from ordinate.data.tables.files import read_table_samples
from ordinate.data.tables.modality import MODALITY
from ordinate.errors import OrdinateError
from tests.data.tables.sas_table import write_iris

TABLE = pd.DataFrame({"A": [1.0, 2.0, 3.0], "B": ["x", "y", "z"]})
CSV = TABLE.to_csv(index=False).encode()


def write_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", CSV)


def write_database(path):
    with sqlite3.connect(path) as database:
        database.execute("create table a (b)")
    database.close()


WRITERS = {
    "an Excel workbook": (lambda path: TABLE.to_excel(path.with_suffix(".xlsx"), index=False), ".xlsx"),
    "a parquet file": (TABLE.to_parquet, ".parquet"),
    "a file of Arrow": (TABLE.to_feather, ".feather"),
    "a table of Stata": (lambda path: TABLE.to_stata(path.with_suffix(".dta"), write_index=False), ".dta"),
    "a table of SPSS": (lambda path: pyreadstat.write_sav(TABLE, path), ".sav"),
    "a portable table of SPSS": (lambda path: pyreadstat.write_por(TABLE, path), ".por"),
    "a transport file of SAS": (lambda path: pyreadstat.write_xport(TABLE, path), ".xpt"),
    "a table of SAS": (write_iris, ".sas7bdat"),
    "an npz archive of NumPy": (lambda path: np.savez(path.with_suffix(".npz"), X=np.zeros((2, 2))), ".npz"),
    "JSON": (TABLE.to_json, ".json"),
    "a table in ARFF": (lambda path: path.write_text("% c\n\n@RELATION r\n@attribute a real\n@data\n1\n"), ".arff"),
    "compressed with gzip": (lambda path: path.write_bytes(gzip.compress(CSV)), None),
    "compressed with xz": (lambda path: path.write_bytes(lzma.compress(CSV)), None),
    "a zip archive": (write_zip, None),
    "an HTML page": (lambda path: path.write_text("\ufeff <!DOCTYPE html>\n<html><table>"), None),
    "a file of IDL": (lambda path: path.write_bytes(b"SR\0\4\0\0\0\1" + bytes(50)), None),
    "a database of SQLite": (write_database, None),
    "a pickle of Python": (lambda path: path.write_bytes(pickle.dumps(TABLE)), None),
    "a PDF document": (lambda path: path.write_bytes(b"%PDF-1.7\n"), None),
}


WRONG = (".csv", ".txt", ".xlsx", ".sav", ".dta", ".parquet", ".json", ".rds")


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    """A file that a program wrote, with another name, what it is, and how it should end."""
    write, ending = WRITERS[request.param]
    name = tmp_path / f"right{ending or '.bin'}"
    write(name)
    return name, request.param, ending


def test_a_file_of_another_kind_is_named_with_the_way_out(tmp_path, written):
    path, kind, ending = written
    content = path.read_bytes()
    known = kind_of(content)
    assert known is not None
    wrong_endings = set(WRONG) - {ending, path.suffix, *known.endings}
    assert wrong_endings
    hint = f"; rename it to end in {ending}" if ending else "; "
    for wrong in wrong_endings:
        renamed = tmp_path / f"wrong{wrong}"
        renamed.write_bytes(content)
        with pytest.raises(OrdinateError, match=f"^{renamed}: is {kind}, whatever its name says{hint}"):
            read_table_samples(renamed)
        with pytest.raises(OrdinateError, match=f"is {kind}, whatever"):
            MODALITY.read_labelled(renamed, Request("A"))


def test_every_kind_is_recognised(written):
    path, kind, _ = written
    assert kind_of(path.read_bytes()).name == kind


@pytest.mark.parametrize("wrong", [".xls", ".sav", ".parquet", ".feather", ".npz", ".dta"])
def test_text_under_another_name_is_named(tmp_path, wrong):
    path = tmp_path / f"a{wrong}"
    path.write_bytes(CSV)
    with pytest.raises(OrdinateError, match=f"^{path}: is text, whatever its name says; rename it to end in .csv"):
        read_table_samples(path)


def test_what_is_compressed_gets_the_ending_that_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(CSV))
    with pytest.raises(OrdinateError, match=r"is compressed with gzip, .*; rename it to end in \.csv\.gz$"):
        read_table_samples(tmp_path / "a.csv")
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.gz")
    assert len(read_table_samples(tmp_path / "a.csv.gz")) == 3
    (tmp_path / "b.csv.gz").write_bytes(CSV)
    with pytest.raises(OrdinateError, match=r"remove \.gz from its name if it is not compressed"):
        read_table_samples(tmp_path / "b.csv.gz")


def test_tables_of_r_may_be_compressed(tmp_path):
    rdata.write_rds(tmp_path / "a.rds", TABLE[["A"]])
    plain = gzip.decompress((tmp_path / "a.rds").read_bytes())
    for content in (plain, gzip.compress(plain), lzma.compress(plain)):
        (tmp_path / "b.rds").write_bytes(content)
        assert read_table_samples(tmp_path / "b.rds")["A"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("header", ["PAR1,PAR2", "FEA1,x", "PK,y", "SR,x", "RDA,RDX2", "BZh9,x", "{,}", "qoi,x", "X,A"])
def test_tables_whose_first_name_looks_like_a_mark_are_read(header):
    frame = pd.read_csv(io.StringIO(f"{header}\n1,2\n"))
    assert kind_of(frame.to_csv(index=False).encode()) is None
