"""Estimators on parquet tables that stream: decoded as batches need them, resumed, and of sorted files."""

import signal

import lightning.pytorch as lightning
import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.data import large_labels
from ordinate.data.tables import parquet_table, streamed_rows
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.tables.streamed_rows import StreamedRows
from ordinate.errors import OrdinateError
from ordinate.estimators import samples
from ordinate.estimators.data_module import DataModule
from ordinate.training import loop as training
from ordinate.training.stages import StagedMethod
from tests import processes
from tests.estimators.examples import (
    CLASSIFIERS,
    cloc,
    draw_frame,
    for_every_estimator,
    labels_for,
    ranks_of,
    supcr,
)

FRAME, TARGET = draw_frame(n=240)
SGD = {"optimizer": "sgd", "batch_size": 24}


def small_pools():
    streamed_rows.KEPT_BYTES = streamed_rows.POOL_BYTES = 0
    streamed_rows.FEWEST_ROWS = 8


@pytest.fixture(autouse=True)
def _small_pools(monkeypatch):
    for name in ("KEPT_BYTES", "POOL_BYTES", "FEWEST_ROWS"):
        monkeypatch.setattr(streamed_rows, name, getattr(streamed_rows, name))
    small_pools()


@pytest.fixture
def path(tmp_path):
    FRAME.assign(target=TARGET, rank=ranks_of(TARGET)).to_parquet(tmp_path / "table.parquet", row_group_size=50)
    return tmp_path / "table.parquet"


def table_of(path, **options):
    return ParquetTable(path, drop=["target", "rank"], **options)


@for_every_estimator
def test_a_streamed_table_trains_a_model_that_predicts_as_it_does_of_the_frame(make, path):
    y = labels_for(make, TARGET)
    model = make(validation_fraction=0.2).fit(table_of(path, stream=True), y)
    assert isinstance(model.read(table_of(path, stream=True)), StreamedRows)
    assert model.transform(table_of(path, stream=True)).tobytes() == model.transform(FRAME).tobytes()
    rows = np.array([200, 3, 17])
    assert model.predict(table_of(path, stream=True)[rows]).tolist() == model.predict(FRAME.iloc[rows]).tolist()
    assert model.notes_[0].startswith("192 rows are decoded as they are needed") or make in CLASSIFIERS


def test_tables_stream_from_so_many_values_on(path, monkeypatch):
    assert not table_of(path).streams
    monkeypatch.setattr(parquet_table, "STREAMED_FROM", 240 * 7 - 1)
    assert table_of(path).streams
    assert not table_of(path)[:-1].streams
    assert not table_of(path, stream=False).streams
    data = DataModule(supcr(validation_fraction=0.2), table_of(path), TARGET)
    assert isinstance(data.training_data.x, StreamedRows)
    assert isinstance(data.validation_data.x, StreamedRows)  # whose rows lie all over the file


def test_batches_of_a_file_sorted_by_its_label_hold_two_ranks(tmp_path):
    order = np.argsort(TARGET)
    FRAME.iloc[order].to_parquet(tmp_path / "sorted.parquet")
    ranks = ranks_of(TARGET)[order]
    data = DataModule(cloc(), ParquetTable(tmp_path / "sorted.parquet", stream=True), ranks)
    for _, y in data.train_dataloader():
        assert (torch.bincount(y) >= 2).sum() >= 2


def fit(path, **options):
    return supcr(epochs=(2, 1), batch_size=16, validation_fraction=0.2, **options).fit(
        table_of(path, stream=True), TARGET
    )


def fit_and_die(path, folder):
    small_pools()
    training.CHECKPOINT_SECONDS = 0.0
    step = StagedMethod.training_step

    def step_and_die(method, data, batch_idx):
        loss = step(method, data, batch_idx)
        if (method.current_epoch, batch_idx) == (1, 7):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    fit(path, checkpoint_dir=folder)


def test_a_fit_killed_within_an_epoch_continues_there_and_ends_as_one_that_was_not(path, tmp_path, monkeypatch):
    whole = fit(path)
    assert processes.run(fit_and_die, path, tmp_path / "state") == -signal.SIGKILL
    trained, step = [], StagedMethod.training_step
    monkeypatch.setattr(
        StagedMethod, "training_step",
        lambda method, data, place: trained.append((method.current_epoch, place)) or step(method, data, place),
    )  # fmt: skip
    resumed = fit(path, checkpoint_dir=tmp_path / "state")
    assert trained[0] == (1, 7)
    assert resumed.history_ == whole.history_
    for name, value in whole.method_.state_dict().items():
        assert torch.equal(value, resumed.method_.state_dict()[name]), name


def test_other_files_are_another_fit(path, tmp_path):
    fit(path, checkpoint_dir=tmp_path / "state")
    pd.read_parquet(path).iloc[::-1].to_parquet(path)
    with pytest.raises(OrdinateError, match="of a fit with other data or settings"):
        fit(path, checkpoint_dir=tmp_path / "state")


@for_every_estimator
def test_large_labels_of_a_file_are_those_of_an_array(make, path, monkeypatch):
    column = "rank" if make in CLASSIFIERS else "target"
    y = pd.read_parquet(path)[column]
    expected = DataModule(make(), table_of(path, stream=True), y)
    monkeypatch.setattr(large_labels, "IN_MEMORY", 100)
    monkeypatch.setattr(large_labels, "AT_ONCE", 70)
    data = DataModule(make(), table_of(path, stream=True), ParquetTable(path)[[column]])
    torch.testing.assert_close(data.training_data.y, expected.training_data.y, rtol=1e-6, atol=1e-6)
    assert [*data.batches] == [*expected.batches]


def test_labels_in_a_table_are_one_column_without_gaps(path, monkeypatch):
    with pytest.raises(OrdinateError, match="y: got a table of 2 columns, expected one column"):
        supcr().fit(table_of(path, stream=True), ParquetTable(path)[["target", "rank"]])
    monkeypatch.setattr(large_labels, "IN_MEMORY", 100)
    with pytest.raises(OrdinateError, match="'other' has missing labels"):
        supcr().fit(table_of(path, stream=True), ParquetTable(path)[["other"]])


@pytest.mark.parametrize(("make", "column"), [(cloc, "rank"), (supcr, "target")])
def test_samples_held_out_of_many_are_drawn_from_a_part(make, column, path, monkeypatch):
    monkeypatch.setitem(samples.divide.__kwdefaults__, "drawn_from", 100)
    y = pd.read_parquet(path)[column]
    data = DataModule(make(validation_fraction=0.2), table_of(path, stream=True), y)
    seen, unseen = data.training_data.x.table, data.validation_data.x.table
    rows, held_out = (part.in_files(np.arange(len(part))) for part in (seen, unseen))
    assert sorted([*rows, *held_out]) == list(range(240))
    assert 40 <= len(held_out) <= 49
    shift = getattr(data.estimator.labels_, "offset", 0)
    for labels, part in ((data.training_data.y, rows), (data.validation_data.y, held_out)):
        np.testing.assert_allclose(labels.numpy().ravel() + shift, y[part], atol=1e-6)


def train_among(_, count, path):
    small_pools()
    torch.set_num_threads(1)
    column = {"rank": cloc, "target": supcr}
    found = {}
    for name, make in column.items():
        y = pd.read_parquet(path)[name]
        data = DataModule(make(**SGD, validation_fraction=0.2), table_of(path, stream=True), y)
        method = data.new_method()
        lightning.Trainer(
            max_epochs=2, devices=count, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
        ).fit(method, data)  # fmt: skip
        found[name] = method.state_dict(), method.history
    return found


@pytest.mark.filterwarnings("ignore:::lightning")
def test_two_processes_end_with_the_weights_of_one(path, tmp_path):
    (alone,) = processes.together(1, train_among, tmp_path / "one", 1, path)
    for outcome in processes.together(2, train_among, tmp_path / "two", 2, path):
        for name, (weights, history) in alone.items():
            for key, weight in weights.items():
                torch.testing.assert_close(outcome[name][0][key], weight, rtol=1e-6, atol=1e-6)
            for epoch, other in zip(outcome[name][1], history, strict=True):
                assert epoch == pytest.approx(other, rel=1e-5, abs=1e-6)
