"""Estimators on tables in parquet files: bit for bit what they make of the DataFrame of the same file."""

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.data.tables import features
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.errors import OrdinateError
from ordinate.estimators import samples
from ordinate.training.staged_method import StagedMethod
from tests import processes
from tests.estimators.examples import cloc, draw_frame, labels_for, supcr

TARGET = "target"


@pytest.fixture
def path(tmp_path):
    frame, target = draw_frame()
    frame.assign(target=target).to_parquet(tmp_path / "table.parquet", row_group_size=10)
    return tmp_path / "table.parquet"


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    """Where the numbers of a parquet table lie."""
    monkeypatch.setattr(features, "IN_MEMORY", 0 if request.param == "file" else 2**27)


def both(path):
    """The table, the same as a DataFrame, and the target."""
    whole = pd.read_parquet(path)
    return ParquetTable(path, drop=[TARGET]), whole.drop(columns=TARGET), whole[TARGET]


def assert_same_model(actual, expected):
    weights, wanted = actual.method_.state_dict(), expected.method_.state_dict()
    assert weights.keys() == wanted.keys()
    assert [name for name in wanted if not torch.equal(weights[name], wanted[name])] == []
    assert actual.reader_.to_dict() == expected.reader_.to_dict()
    assert actual.history_ == expected.history_
    assert actual.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert actual.n_features_in_ == expected.n_features_in_


@pytest.mark.parametrize("make", [cloc, supcr], ids=["cloc", "supcr"])
def test_the_model_is_that_of_the_frame(path, place, make):
    table, frame, target = both(path)
    actual, expected = (make().fit(X, labels_for(make, target)) for X in (table, frame))
    assert_same_model(actual, expected)
    rows = np.array([40, 3, 17])
    assert actual.predict(table[rows]).tolist() == expected.predict(frame.iloc[rows]).tolist()
    assert actual.transform(table).tobytes() == expected.transform(frame).tobytes()
    assert actual.score(table, labels_for(make, target)) == expected.score(frame, labels_for(make, target))


def test_the_label_may_be_a_column_and_validation_a_part(path, place):
    table, frame, target = both(path)
    rows, others = np.arange(30), np.arange(30, 48)
    y = ParquetTable(path)[TARGET]
    actual = supcr().fit(table[rows], y[rows], validation=(table[others], y[others]))
    expected = supcr().fit(frame.iloc[rows], target[rows], validation=(frame.iloc[others], target[others]))
    assert_same_model(actual, expected)


def test_codes_are_categories(path):
    _, frame, target = both(path)
    coded = ParquetTable(path, drop=[TARGET], categorical=["whole"])
    assert_same_model(supcr().fit(coded, target), supcr().fit(frame.astype({"whole": "category"}), target))


def test_a_saved_model_predicts_both(path, tmp_path):
    from ordinate import load

    table, frame, target = both(path)
    supcr().fit(table, target).save(tmp_path / "model")
    model = load(tmp_path / "model")
    assert model.predict(table).tolist() == model.predict(frame).tolist()


def fit_and_die(path, folder, batch):
    features.IN_MEMORY = 0
    step = StagedMethod.training_step

    def step_and_die(method, *data):
        loss = step(method, *data)
        if (method.current_epoch, method.step) == (1, batch):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    table, _, target = both(path)
    supcr(checkpoint_dir=folder, head="linear").fit(table, target)


def test_a_fit_that_was_killed_continues_on_either_and_leaves_no_file(path, tmp_path, monkeypatch):
    monkeypatch.setattr(features, "IN_MEMORY", 0)
    table, frame, target = both(path)
    (tmp_path / "whole").mkdir()
    whole = supcr(checkpoint_dir=tmp_path / "whole", head="linear").fit(frame, target)
    for X in (table, frame):
        folder = tmp_path / type(X).__name__
        assert processes.run(fit_and_die, path, folder, 1) == -9
        assert [file.name for file in folder.iterdir()] == ["last.ckpt"]
        resumed = supcr(checkpoint_dir=folder, head="linear").fit(X, target)
        assert_same_model(resumed.set_params(training__checkpoint_dir=None), whole)
        assert [file.name for file in folder.iterdir()] == ["last.ckpt"]


def test_an_error_leaves_no_file(path, tmp_path, monkeypatch):
    monkeypatch.setattr(features, "IN_MEMORY", 0)
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: 1 / 0)
    table, _, target = both(path)
    with pytest.raises(ZeroDivisionError):
        supcr(checkpoint_dir=tmp_path / "folder").fit(table, target)
    assert list((tmp_path / "folder").iterdir()) == []


def test_columns_other_than_in_training_are_an_error(path):
    table, _, target = both(path)
    model = supcr(epochs=(1, 1)).fit(table, target)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["number", "text"]])


def test_a_table_without_rows_or_columns_is_an_error(path):
    table, _, target = both(path)
    with pytest.raises(OrdinateError, match=r"X: got a ParquetTable of shape \(0, 7\)"):
        supcr().fit(table[:0], target[:0])
    with pytest.raises(OrdinateError, match=r"y: got 20 labels for 48 samples"):
        supcr().fit(table, target[:20])


@pytest.mark.parametrize(("make", "stratified"), [(cloc, True), (supcr, False)])
def test_no_more_than_so_many_samples_are_held_out_for_validation(make, stratified, monkeypatch):
    monkeypatch.setitem(samples.hold_out_samples.__kwdefaults__, "most", 4)
    seen, step = [], StagedMethod.validation_step
    monkeypatch.setattr(StagedMethod, "validation_step", lambda method, x, y: seen.append(len(y)) or step(method, x, y))
    X, target = draw_frame(n=90)
    make(validation_fraction=0.2).fit(X, labels_for(make, target))
    assert set(seen) == ({3} if stratified else {4})  # of three ranks a third of four each
