"""The file of a training has every epoch, also where columns come later and where it was continued."""

import csv

import pytest

from ordinate.methods import SupCR
from ordinate.training.loggers import CSVLogger
from tests.methods.examples import DIM, StopBefore, encoder, targets, train


def method():
    return SupCR(encoder(), DIM, epochs=(3, 2))  # The second stage logs other values.


def rows_in(folder):
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_columns_that_come_later_are_empty_before(tmp_path):
    history = train(method(), targets(), targets(), callbacks=[CSVLogger(tmp_path / "log")])
    rows = rows_in(tmp_path / "log")
    assert len(rows) == len(history) == 5
    for row, logged in zip(rows, history, strict=True):
        assert {name: float(value) for name, value in row.items() if value and name != "learning_rate"} == logged
    assert [row["val_mae"] == "" for row in rows] == [True] * 3 + [False] * 2


def test_a_training_that_continues_appends_to_its_rows(tmp_path):
    options = {"folder": tmp_path / "state"}
    with pytest.raises(ConnectionError):
        train(method(), targets(), callbacks=[CSVLogger(tmp_path / "log"), StopBefore(2, 1)], **options)
    history = train(method(), targets(), callbacks=[CSVLogger(tmp_path / "log")], **options)
    assert [float(row["train_loss"]) for row in rows_in(tmp_path / "log")] == [epoch["train_loss"] for epoch in history]


def test_another_training_replaces_the_file(tmp_path):
    for _ in range(2):
        train(method(), targets(), callbacks=[CSVLogger(tmp_path)])
    assert len(rows_in(tmp_path)) == 5
