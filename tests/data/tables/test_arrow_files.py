import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ordinate.data.tables.arrow_files import as_pandas, read_arrow
from ordinate.data.tables.parquet_table import ParquetTable

LOW_HIGH = pd.Categorical(["low", "high", "low"], ["low", "high"], ordered=True)
ALL = pd.Categorical(["mid", None, "high"], ["low", "mid", "high"], ordered=True)
OTHER = pd.Categorical(["high", "low", "low"], ["high", "low"], ordered=True)


@pytest.fixture(params=["folder", "stream"])
def read(request, tmp_path):
    """Writes categories in parts, and returns the column that is read."""

    def of_parts(*parts):
        frames = [pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": part}) for part in parts]
        if request.param == "folder":
            for number, frame in enumerate(frames):
                frame.to_parquet(tmp_path / f"{number}.parquet", index=False)
            return ParquetTable(tmp_path)["g"]
        tables = [pa.Table.from_pandas(frame) for frame in frames]
        with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, tables[0].schema) as stream:
            for table in tables:
                stream.write_table(table)
        return read_arrow(tmp_path / "a.arrow")["g"]

    return of_parts


def test_parts_have_the_longest_order(read):
    values = read(LOW_HIGH, ALL)
    assert values.dtype == pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    assert values.astype(object).where(values.notna(), None).tolist() == ["low", "high", "low", "mid", None, "high"]


def test_parts_of_which_none_has_all_labels_have_no_order(read):
    assert not read(LOW_HIGH, pd.Categorical(["low", "mid", "mid"], ["low", "mid"], ordered=True)).dtype.ordered


def test_parts_that_contradict_each_other_have_no_order(read):
    values = read(LOW_HIGH, OTHER)
    assert not values.dtype.ordered
    assert values.tolist() == ["low", "high", "low", "high", "low", "low"]


def test_parts_that_agree_have_their_order(read):
    assert read(ALL, ALL).dtype == pd.CategoricalDtype(["low", "mid", "high"], ordered=True)


def test_types_of_arrow_that_pandas_cannot_restore_are_read(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": ALL})
    frame.to_parquet(tmp_path / "own.parquet", index=False)
    pd.read_parquet(tmp_path / "own.parquet", dtype_backend="pyarrow").to_parquet(tmp_path / "a.parquet", index=False)
    with pytest.raises(TypeError):
        pq.read_table(tmp_path / "a.parquet").to_pandas()
    values = ParquetTable(tmp_path / "a.parquet")["g"]
    assert values.dtype == pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    assert as_pandas(pq.read_table(tmp_path / "a.parquet"))["g"].equals(values)
