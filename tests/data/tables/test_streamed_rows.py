"""Rows of parquet files that are decoded when batches need them, against the matrix of all."""

import multiprocessing
import os
import pickle
import sys
import threading
import warnings
from concurrent.futures import wait
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.data.samplers import LabelSpreadBatches, PooledBatches, RankBatches, ShuffledBatches
from ordinate.data.tables import features, streamed_rows
from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.tables.row_groups import RowGroups
from ordinate.data.tables.streamed_rows import StreamedRows
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_frame

N = 300
FRAME, TARGET = draw_frame(n=N)
RANKS = np.repeat([0, 1, 2], [200, 97, 3])  # sorted


@pytest.fixture(autouse=True)
def _small_pools(monkeypatch):
    """Blocks of four rows, of which a pool has eight."""
    monkeypatch.setattr(streamed_rows, "KEPT_BYTES", 0)
    monkeypatch.setattr(streamed_rows, "POOL_BYTES", 0)
    monkeypatch.setattr(streamed_rows, "FEWEST_ROWS", 4)


def write_groups(folder):
    FRAME.to_parquet(folder / "a.parquet", row_group_size=37)
    return folder / "a.parquet"


def write_one_group(folder):
    FRAME.to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def write_files(folder):
    (folder / "table").mkdir()
    for place in range(3):
        FRAME.iloc[100 * place : 100 * place + 100].to_parquet(folder / "table" / f"{place}.parquet", row_group_size=30)
    return folder / "table"


def write_subfolders(folder):
    FRAME.assign(year=np.repeat([2023, 2024], N // 2)).to_parquet(folder / "table", partition_cols=["year"])
    return folder / "table"


for_every_layout = pytest.mark.parametrize("write", [write_groups, write_one_group, write_files, write_subfolders])


def streamed(path, rows=slice(None)):
    table = ParquetTable(path, stream=True)[rows]
    return StreamedRows(table, TableFeatures.fit(table))


@pytest.mark.typical("all-write_files", "some-write_one_group", "in any order-write_groups", "twice-write_subfolders")
@for_every_layout
@pytest.mark.parametrize(
    "rows", [slice(None), np.arange(5, N, 3), np.random.default_rng(0).permutation(N)[:80], np.array([7, 7, 2, 299])],
    ids=["all", "some", "in any order", "twice"],
)  # fmt: skip
def test_rows_are_those_of_the_matrix(tmp_path, write, rows):
    path = write(tmp_path)
    x, whole = streamed(path, rows), pd.read_parquet(path).iloc[rows]
    columns = TableFeatures.fit(whole)
    assert columns.to_dict()["columns"] == x.features.to_dict()["columns"]
    matrix = torch.from_numpy(columns.transform(whole))
    assert x.shape == matrix.shape
    drawn = np.random.default_rng(1).integers(0, len(x), 20)
    for asked in (drawn, drawn.tolist(), torch.from_numpy(drawn), slice(1, 30, 4)):
        assert torch.equal(x[asked], matrix[asked])
    assert torch.equal(torch.cat([*x.split(7)]), matrix)
    assert torch.equal(pickle.loads(pickle.dumps(x))[drawn], matrix[drawn])
    assert torch.equal(x.part(drawn)[:], matrix[drawn])


def test_a_table_without_some_rows_is_that_of_the_others(tmp_path):
    left_out = np.array([0, 5, 6, 120, 299])
    table = ParquetTable(write_groups(tmp_path), stream=True)
    others, again = table.without(left_out), table.without(left_out).without(np.array([1]))
    kept = np.delete(np.arange(N), left_out)
    assert others.in_files(np.arange(len(others))).tolist() == kept.tolist()
    assert again.in_files(np.arange(len(again))).tolist() == np.delete(kept, 1).tolist()
    x, matrix = StreamedRows(others, TableFeatures.fit(table)), TableFeatures.fit(FRAME).transform(FRAME.iloc[kept])
    assert x[:].numpy().tobytes() == matrix.tobytes()
    assert others["number"].tolist() == FRAME["number"].iloc[kept].tolist()


@for_every_layout
def test_every_row_comes_once_and_every_block_is_decoded_once_per_epoch(tmp_path, write, monkeypatch):
    x = streamed(write(tmp_path))
    batches = PooledBatches(ShuffledBatches(N, batch_size=16, seed=3), x.blocks)
    decoded, decode = [], StreamedRows._decode
    monkeypatch.setattr(StreamedRows, "_decode", lambda x, block: decoded.append(block) or decode(x, block))
    drawn = [*batches]
    for batch in drawn:
        x[batch]
    assert sorted(chain(*drawn)) == list(range(N))
    assert len(drawn) == len(batches)
    assert {len(batch) for batch in drawn} <= {N // len(batches), N // len(batches) + 1}
    assert sorted(decoded) == list(range(len(x.blocks)))
    assert [*batches] == drawn
    batches.set_epoch(1)
    assert [*batches] != drawn


@for_every_layout
def test_batches_hold_what_their_rule_demands_though_rows_are_sorted_by_label(tmp_path, write):
    x = streamed(write(tmp_path))
    for options in ({"distinct": 2}, {"distinct": 3}, {"required": {0: 1, 2: 2}}):
        drawn = [*PooledBatches(RankBatches(RANKS, batch_size=16, **options), x.blocks)]
        assert set(chain(*drawn)) == set(range(N))
        for batch in drawn:
            counts = np.bincount(RANKS[batch], minlength=3)
            assert (counts >= 2).sum() >= options.get("distinct", 0)
            assert all(counts[rank] >= count for rank, count in options.get("required", {}).items())
            assert len(set(batch)) == len(batch)
    labels = np.arange(N) / N
    for batch in PooledBatches(LabelSpreadBatches(labels, batch_size=16), x.blocks):
        assert np.ptp(labels[batch]) > 0.5


def test_columns_are_learned_from_rows_of_the_whole_table(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "LEARNED_FROM", 60)
    path = write_groups(tmp_path)
    table = ParquetTable(path, stream=True)
    part = table.spread(60)
    rows = part.in_files(np.arange(len(part)))
    assert 30 <= len(rows) <= 60 + 9  # each of them rounded up
    assert len(np.unique(rows // 37)) == 9  # row groups
    learned = TableFeatures.fit(table)
    assert learned.to_dict()["columns"] == TableFeatures.fit(FRAME.iloc[rows]).to_dict()["columns"]
    assert learned.notes[0].startswith("300 rows are decoded as they are needed; medians, scales, quantiles and categ")
    assert learned.notes[0].endswith(f"of {len(rows)} of them")


def test_a_category_that_was_not_learned_is_missing_and_said_once(tmp_path):
    known = TableFeatures.fit(FRAME)
    changed = FRAME.assign(text=["violet", *FRAME["text"][1:200], "black", *FRAME["text"][201:]])
    changed.to_parquet(tmp_path / "a.parquet", row_group_size=37)
    x = StreamedRows(ParquetTable(tmp_path / "a.parquet", stream=True), known)
    assert x.note is None
    with pytest.warns(UserWarning, match="column 'text': violet not seen in training, treated as missing") as warned:
        rows = x[:]
    assert len(warned) == 1
    assert x.note == "values of text that were not among the rows learned from are treated as missing"
    absent = FRAME.assign(text=changed["text"].where(~changed["text"].isin(["violet", "black"])))
    assert rows.numpy().tobytes() == known.transform(absent).tobytes()


def test_files_that_change_are_an_error(tmp_path):
    path = write_groups(tmp_path)
    x = streamed(path)
    x[:3]
    FRAME.iloc[:9].to_parquet(path)
    with pytest.raises(OrdinateError, match=r"a\.parquet: holds 9 rows, and 300 when it was opened"):
        x[[200]]
    FRAME.iloc[::-1].to_parquet(path)
    with pytest.raises(OrdinateError, match=r"a\.parquet: has changed since it was opened"):
        x[[250]]


def test_the_digest_tells_files_columns_and_rows(tmp_path):
    path = write_groups(tmp_path)
    table = ParquetTable(path, stream=True)
    known = TableFeatures.fit(table)
    tables = [table, table[::2], table.without(np.array([4])), table[["text"]]]
    digests = [StreamedRows(each, known).digest() for each in tables]
    assert len(set(digests)) == 4
    assert StreamedRows(ParquetTable(path, stream=True), known).digest() == digests[0]


def test_no_more_than_some_blocks_and_readers_are_kept(tmp_path, monkeypatch):
    x = streamed(write_one_group(tmp_path))
    opened, read = [], RowGroups.read
    monkeypatch.setattr(RowGroups, "read", lambda *given: opened.append(given[1]) or read(*given))
    for batch in PooledBatches(ShuffledBatches(N, batch_size=16), x.blocks):
        x[batch]
    assert x.blocks.at_once <= len(opened) <= x.blocks.at_once + 2  # small batches may skip a block
    assert len(x._readers) <= 9
    assert sum(map(len, x._decoded.values())) <= 4 * x.blocks.pool_rows
    for row in np.random.default_rng(0).integers(0, N, 60):
        x[[row]]
        assert len(x._ahead) <= 2 * x.blocks.at_once + 1


def decoding_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("ordinate-rows")]


def wait_for(x):
    wait(x._ahead.values())
    for thread in decoding_threads():
        thread.join(10)


def test_a_thread_decodes_the_blocks_that_follow_and_ends(tmp_path, monkeypatch):
    x, by_thread, decode = streamed(write_one_group(tmp_path)), set(), StreamedRows._decode
    monkeypatch.setattr(
        StreamedRows, "_decode",
        lambda x, block: (threading.current_thread() is not threading.main_thread() and by_thread.add(block))
        or decode(x, block),
    )  # fmt: skip
    matrix = TableFeatures.fit(FRAME).transform(FRAME)
    for batch in PooledBatches(ShuffledBatches(N, batch_size=16), x.blocks):
        assert x[batch].numpy().tobytes() == matrix[batch].tobytes()
        wait_for(x)
    assert not decoding_threads()
    assert by_thread <= x.blocks.following
    assert len(by_thread) >= 0.9 * len(x.blocks.following)  # small batches may skip a block


def test_an_error_in_the_thread_reaches_who_reads_the_rows(tmp_path, monkeypatch):
    x, fill = streamed(write_one_group(tmp_path)), TableFeatures.fill

    def fail_at_second_block(features, frame, out):
        if frame["number"].equals(FRAME["number"].iloc[4:8].reset_index(drop=True)):
            raise OrdinateError("column 'number'", "infinity", "finite numbers")
        return fill(features, frame, out)

    monkeypatch.setattr(TableFeatures, "fill", fail_at_second_block)
    x[[0]]
    wait_for(x)
    for _ in range(2):  # by whoever decodes it
        with pytest.raises(OrdinateError, match="column 'number': got infinity"):
            x[[5]]
    monkeypatch.undo()
    x[[5]]


def test_a_category_that_the_thread_finds_is_said_where_its_row_is_read(tmp_path):
    FRAME.assign(text=["violet" if row == 5 else text for row, text in enumerate(FRAME["text"])]).to_parquet(
        tmp_path / "a.parquet"
    )
    x = StreamedRows(ParquetTable(tmp_path / "a.parquet", stream=True), TableFeatures.fit(FRAME))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x[[0]]
        wait_for(x)
    assert x.note is None
    with pytest.warns(UserWarning, match="violet not seen in training"):
        x[[6]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only some systems fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_decodes_by_itself(tmp_path):
    x = streamed(write_one_group(tmp_path))
    expected = x[:]
    x[[0]]

    def read():
        sys.exit(0 if torch.equal(x[[7, 130]], expected[[7, 130]]) else 3)

    child = multiprocessing.get_context("fork").Process(target=read)
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_few_rows_are_decoded_once(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed_rows, "KEPT_BYTES", 2**20)
    x = streamed(write_groups(tmp_path))
    rows = x[[3, 1]]
    monkeypatch.setattr(RowGroups, "read", lambda *_: pytest.fail("was read"))
    assert torch.equal(x[[1, 3]].flip(0), rows)
