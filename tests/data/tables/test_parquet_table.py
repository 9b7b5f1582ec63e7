"""A table in parquet files against the DataFrame that pandas reads from them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.parquet_table import ParquetTable, holds_parquet
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_frame

FRAME, _ = draw_frame()
ROWS = np.array([40, 3, 3, 0])


def write_file(folder):
    FRAME.to_parquet(folder / "a.parquet", row_group_size=7)
    return folder / "a.parquet"


def write_with_index(folder):
    FRAME.set_index(pd.Index(range(100, 148), name="key")).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def write_numbered_columns(folder):
    FRAME.set_axis(range(FRAME.shape[1]), axis=1).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def write_as_spark(folder):
    (folder / "a.parquet").mkdir()
    for place in range(3):
        FRAME.iloc[16 * place : 16 * place + 16].to_parquet(folder / "a.parquet" / f"part-{place}.snappy.parquet")
    (folder / "a.parquet" / "_SUCCESS").touch()
    return folder / "a.parquet"


def write_partitions(folder):
    FRAME.assign(year=np.repeat([2023, 2024], 24)).to_parquet(folder / "table", partition_cols=["year"])
    return folder / "table"


for_every_layout = pytest.mark.parametrize(
    "write", [write_file, write_with_index, write_numbered_columns, write_as_spark, write_partitions]
)


def read_whole(path):
    """What pandas reads, its columns named by text and its rows numbered from 0."""
    frame = pd.read_parquet(path)
    return frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)


@pytest.fixture
def path(tmp_path):
    return write_file(tmp_path)


@for_every_layout
def test_it_holds_what_pandas_reads(tmp_path, write):
    path = write(tmp_path)
    table, whole = ParquetTable(path), read_whole(path)
    assert list(table) == list(table.columns) == list(whole)
    assert (len(table), table.shape) == (len(whole), whole.shape)
    assert_frame_equal(table.to_pandas(), whole)
    for name in whole:
        assert_series_equal(table[name], whole[name])


@for_every_layout
@pytest.mark.parametrize("n", [10, 100])
def test_its_head_is_that_of_the_frame(tmp_path, write, n):
    path = write(tmp_path)
    table, whole = ParquetTable(path), read_whole(path)
    assert_frame_equal(table.head(n), whole.head(n))
    some = list(whole.columns[[3, 1]])
    assert_frame_equal(table[some][ROWS].head(n), whole[some].iloc[ROWS].reset_index(drop=True).head(n))


@for_every_layout
@pytest.mark.parametrize("rows", [1, 10, 16, 48, 100])
def test_its_batches_are_parts_of_the_frame(tmp_path, write, rows):
    path = write(tmp_path)
    table, whole = ParquetTable(path), read_whole(path)
    parts = [whole.iloc[start : start + rows].reset_index(drop=True) for start in range(0, len(whole), rows)]
    batches = list(table.batches(rows))
    assert len(batches) == len(parts)
    for batch, part in zip(batches, parts, strict=True):
        assert_frame_equal(batch, part, check_dtype=False)  # of whole numbers that miss some in another part alone
    some = list(whole.columns[[3, 1]])
    expected = whole[some].iloc[ROWS].reset_index(drop=True)
    assert_frame_equal(pd.concat(table[some][ROWS].batches(rows), ignore_index=True), expected)


@for_every_layout
@pytest.mark.parametrize(
    "rows", [ROWS, np.arange(48) % 5 == 2, slice(4, 30, 3), []], ids=["index", "mask", "slice", "none"]
)
def test_rows_are_those_of_the_frame(tmp_path, write, rows):
    path = write(tmp_path)
    part, expected = ParquetTable(path)[rows], read_whole(path).iloc[rows].reset_index(drop=True)
    assert len(part) == len(expected)
    assert_frame_equal(part.to_pandas(), expected)
    assert_frame_equal(part[::-2].to_pandas(), expected[::-2].reset_index(drop=True))


def test_columns_are_chosen_dropped_and_taken_as_codes(path):
    table = ParquetTable(path, drop=["noise", "text"], categorical=["whole"])
    whole = read_whole(path)
    assert list(table.columns) == [name for name in whole if name not in ("noise", "text")]
    assert_series_equal(table["whole"], whole["whole"].astype("category"))
    part = table[["other", "number"]][ROWS]
    assert_frame_equal(part.to_pandas(), whole.loc[ROWS, ["other", "number"]].reset_index(drop=True))
    assert list(table[pd.Index(["number"])].columns) == ["number"]


def test_rows_and_columns_are_taken_without_reading(path, monkeypatch):
    table = ParquetTable(path)
    monkeypatch.setattr(pd, "read_parquet", lambda *_, **__: pytest.fail("was read"))
    view = table[["number", "text"]][ROWS][:2]
    assert (view.shape, len(table)) == ((2, 2), 48)


def test_columns_are_learned_one_at_a_time_and_then_read_together(path, monkeypatch):
    table, whole = ParquetTable(path), read_whole(path)
    asked, read = [], pq.read_table
    monkeypatch.setattr(pq, "read_table", lambda path, columns: asked.append(columns) or read(path, columns=columns))
    monkeypatch.setattr("ordinate.data.tables.features.ROWS_AT_ONCE", 10)
    features = TableFeatures.fit(table)
    assert asked == [[name] for name in table.columns]
    for rows in (slice(None), ROWS, slice(30, None, 4), []):
        assert features.transform(table[rows]).tobytes() == features.transform(whole.iloc[rows]).tobytes()
    assert len(asked) == len(table.columns)


def test_values_never_seen_are_named_once(path, tmp_path, monkeypatch):
    monkeypatch.setattr("ordinate.data.tables.features.ROWS_AT_ONCE", 10)
    FRAME.assign(text=np.repeat(["red", "white", "black"], 16)).to_parquet(tmp_path / "new.parquet")
    with pytest.warns(UserWarning, match="column 'text': black, white not seen in training") as warned:
        TableFeatures.fit(ParquetTable(path)).transform(ParquetTable(tmp_path / "new.parquet"))
    assert len(warned) == 1


@pytest.mark.filterwarnings("ignore:column .* not seen in training")
@for_every_layout
def test_its_numbers_are_those_of_the_frame(tmp_path, write):
    path = write(tmp_path)
    table, whole = ParquetTable(path), read_whole(path)
    for rows in (slice(None), ROWS):
        ours, theirs = TableFeatures.fit(table[rows]), TableFeatures.fit(whole.iloc[rows])
        assert ours.to_dict() == theirs.to_dict()
        assert ours.transform(table).tobytes() == theirs.transform(whole).tobytes()


def test_numbers_are_written_where_they_are_asked_for(path):
    table = ParquetTable(path)
    features = TableFeatures.fit(table)
    out = np.full((48, features.width), np.nan, dtype=np.float32)
    assert features.transform(table, out) is out
    assert out.tobytes() == features.transform(table).tobytes()


def test_files_that_changed_are_an_error(path):
    table = ParquetTable(path)
    FRAME.iloc[:9].to_parquet(path)
    with pytest.raises(OrdinateError, match=r"a\.parquet: holds 9 rows, and 48 when it was opened"):
        table["number"]


def test_files_that_are_damaged_or_gone_when_they_are_read_are_an_error(path):
    table = ParquetTable(path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    with pytest.raises(OrdinateError, match=r"a\.parquet: could not be read"):
        table["number"]
    path.unlink()
    with pytest.raises(OrdinateError, match=r"a\.parquet: could not be read"):
        table["number"]


@pytest.mark.parametrize(("name", "damaged"), [(b'"kind"', b'"kinf"')])
def test_metadata_of_which_a_bit_is_flipped_are_an_error(path, name, damaged):
    table = pa.Table.from_pandas(FRAME)
    written = table.schema.metadata[b"pandas"]
    pq.write_table(table.replace_schema_metadata({b"pandas": written.replace(name, damaged)}), path)
    with pytest.raises(OrdinateError, match=r"a\.parquet: could not be read"):
        ParquetTable(path).to_pandas()


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: ParquetTable(p, drop=["nmber"]),
        lambda p: ParquetTable(p)["nmber"],
        lambda p: ParquetTable(p)[["nmber"]],
        lambda p: ParquetTable(p, drop=["number"])["number"],
    ],
)
def test_a_column_that_is_not_there_is_an_error(path, ask):
    with pytest.raises(OrdinateError, match=r"a\.parquet: no column '(nmber'; did you mean 'number'|number')"):
        ask(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", None, "no such file"),
        ("a.parquet", b"", "could not be read"),
        ("a.parquet", b"PAR1" + bytes(40), "could not be read"),
        ("a.csv", b"a,b\n1,2\n", "could not be read"),
    ],
)
def test_a_file_that_is_no_parquet_is_an_error(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(OrdinateError, match=rf"{name}: {message}"):
        ParquetTable(tmp_path / name)


def test_a_table_without_rows_is_an_error(tmp_path):
    FRAME.iloc[:0].to_parquet(tmp_path / "a.parquet")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "a.parquet", tmp_path / "empty"):
        with pytest.raises(OrdinateError, match="holds no rows, expected a table with samples"):
            ParquetTable(path)


@for_every_layout
def test_it_is_known_by_its_files(tmp_path, write):
    assert holds_parquet(write(tmp_path))


def test_other_files_and_folders_are_not_taken_for_it(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").touch()
    (tmp_path / "a.csv").touch()
    assert not any(map(holds_parquet, (tmp_path, tmp_path / "images", tmp_path / "a.csv", tmp_path / "absent")))
