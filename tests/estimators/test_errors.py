"""What an estimator cannot use is an error that begins with the argument's name, before an epoch is trained."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.training.staged_method import StagedMethod
from tests.estimators.examples import (
    ALL,
    cloc,
    draw_series,
    draw_table,
    for_every_classifier,
    for_every_estimator,
    for_every_regressor,
    labels_for,
    otd,
    ranks_of,
    supcr,
    supremix,
)

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)


@pytest.fixture(autouse=True)
def before_an_epoch_is_trained(monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))


SETTINGS = [
    (otd, "encoder", "vgg", "encoder: got 'vgg', expected 'auto', 'mlp', 'resnet1d'"),
    (otd, "encoder", "resnet1d", "encoder: 'resnet1d' does not take samples of shape"),
    (otd, "embedding_dim", 0, "embedding_dim: got 0, expected a whole number of at least 1"),
    (otd, "embedding_dim", 8.0, "embedding_dim: got 8.0"),
    (otd, "batch_size", 2, "batch_size: got 2, expected a whole number of at least 4"),
    (otd, "batch_size", True, "batch_size: got True"),
    *((make, "chunk_size", 0, "chunk_size: got 0, expected a whole number of at least 1") for make in ALL),
    (otd, "chunk_size", 8.0, "chunk_size: got 8.0"),
    (otd, "learning_rate", 0, "learning_rate: got 0, expected a finite number above 0"),
    (otd, "learning_rate", float("nan"), "learning_rate: got nan"),
    (otd, "learning_rate", float("inf"), "learning_rate: got inf"),
    (otd, "learning_rate", "fast", "learning_rate: got 'fast'"),
    (otd, "weight_decay", -1.0, "weight_decay: got -1.0"),
    (otd, "weight_decay", "much", "weight_decay: got 'much'"),
    (otd, "validation_fraction", 1.0, "validation_fraction: got 1.0, expected a share from 0 to below 1"),
    (supcr, "validation_fraction", 0.99, "validation_fraction: got 0.99"),
    (otd, "epochs", 0, "epochs: got 0"),
    (otd, "epochs", 2.5, "epochs: got 2.5"),
    (otd, "epochs", (2, 2), "epochs: got (2, 2)"),
    (supcr, "epochs", 0, "epochs: got 0"),
    (supcr, "epochs", (1, 2, 3), "epochs: got (1, 2, 3)"),
    (supcr, "epochs", (0, 3), "epochs: got 0 for the stage 'encoder'"),
    (cloc, "epochs", 0, "epochs: got 0"),
    (cloc, "epochs", (10,), "epochs: got (10,)"),
    (cloc, "epochs", (0, 10), "epochs: got"),
    (otd, "patience", 0, "patience: got 0"),
    (otd, "patience", "none", "patience: got 'none'"),
    (otd, "n_neighbors", 0, "n_neighbors: got 0"),
    (otd, "n_neighbors", -1, "n_neighbors: got -1"),
    (cloc, "target_accuracy", 1.5, "target_accuracy: got 1.5, expected a share above 0, up to 1"),
    (cloc, "margin_floor", -0.1, "margin_floor: got -0.1"),
    (cloc, "critical_margins", {(0, 2): 0.8}, "critical_margins: got boundary (0, 2), expected two adjacent labels"),
    (cloc, "critical_margins", {(2, 3): 0.8}, "critical_margins: got boundary (2, 3), expected two adjacent labels"),
    (cloc, "critical_margins", {("a", "b"): 0.8}, "critical_margins: got"),
    (cloc, "critical_margins", {(0, 1): -0.8}, "critical_margins"),
    (cloc, "critical_margins", [(0, 1, 0.8)], "critical_margins: got"),
    (cloc, "class_order", [0, 1, 1, 2], "class_order: got [0, 1, 1, 2], expected each class once"),
    (cloc, "class_order", [0, 1], "y: got unknown labels ['2'], expected [0, 1]"),
    (supcr, "head", "svm", "head: got 'svm', expected one of 'auto', 'linear', 'ridge', 'neighbours'"),
    (supcr, "head_loss", "l3", "loss: got 'l3', expected one of 'l1', 'mse', 'huber'"),
    (supcr, "scheme", "both", "scheme: got 'both', expected one of 'linear_probe', 'fine_tune', 'regularise'"),
    (supcr, "temperature", 0.0, "temperature: got 0.0"),
    (supcr, "label_distance", "l3", "label_distance: got 'l3', expected one of 'l1', 'l2', 'angular'"),
    (supremix, "temperature", -1.0, "temperature: got -1.0"),
    (supremix, "window", 0, "window: got 0, expected 'auto' or a label difference above 0"),
    (supremix, "window", "wide", "window: got 'wide'"),
    (supremix, "beta", (0.0, 8.0), "beta: got 0"),
    (supremix, "beta", 2.0, "beta: got 2.0"),
    (otd, "accelerator", "abacus", "accelerator: got 'abacus'"),
    (otd, "random_state", "zero", "'zero' cannot be used to seed"),
]


def begins(message):
    return f"^{re.escape(message)}"


@pytest.mark.parametrize(
    ("make", "name", "value", "message"),
    SETTINGS,
    ids=[f"{make.__name__}: {name}={value}" for make, name, value, _ in SETTINGS],
)
def test_a_setting_that_cannot_be_used_is_named(make, name, value, message):
    with pytest.raises(ValueError, match=begins(message)):
        make(**{name: value}).fit(X, labels_for(make, TARGET))


@for_every_estimator
def test_a_gpu_that_is_not_there_is_refused(make, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        OrdinateError, match="accelerator: got 'gpu', and this machine has no GPU, expected 'auto' or 'cpu'"
    ):
        make(accelerator="gpu").fit(X, labels_for(make, TARGET))


LABELS_OF_RANKS = [
    ("NaN", np.where(RANKS == 0, np.nan, RANKS), "y: Input contains NaN in 16 labels"),
    ("None", np.where(RANKS == 0, None, RANKS), "y: Input contains NaN in 16 labels"),
    ("NA", pd.Series(RANKS, dtype="Int64").mask(RANKS == 0), "y: Input contains NaN in 16 labels"),
    ("one class", RANKS * 0, "y: got 48 sample(s) of one class, 0, expected at least two classes"),
    ("fractions", TARGET, "y: Unknown label type: continuous"),
    ("too few", RANKS[:-1], "y: got 47 labels for 48 samples, expected one per sample"),
    ("two columns", np.stack([RANKS, RANKS], axis=1), "y should be a 1d array"),
    ("none at all", None, "y: "),
]
LABELS_OF_REGRESSION = [
    ("NaN", np.where(TARGET > 1, np.nan, TARGET), "Input y contains NaN"),
    ("infinity", np.where(TARGET > 1, np.inf, TARGET), "Input y contains infinity"),
    ("one value", np.full(48, 2.5), "y: got the one value 2.5 for every sample, expected targets that differ"),
    ("past float32", TARGET * 1e39, "y: got values beyond the range of float32"),
    ("too few", TARGET[:-1], "y: got 47 labels for 48 samples, expected one per sample"),
    ("three dimensions", np.zeros((48, 2, 2)), "Found array with dim 3"),
    ("text", ["mild", "severe"] * 24, "y: got 'mild', expected numbers; a classifier"),
    ("none at all", None, "y: "),
]


@for_every_classifier
@pytest.mark.parametrize(("y", "message"), [case[1:] for case in LABELS_OF_RANKS], ids=[c[0] for c in LABELS_OF_RANKS])
def test_labels_that_cannot_be_ranks_are_refused(make, y, message):
    with pytest.raises(ValueError, match=begins(message)):
        make().fit(X, y)


@for_every_regressor
@pytest.mark.parametrize(
    ("y", "message"), [case[1:] for case in LABELS_OF_REGRESSION], ids=[c[0] for c in LABELS_OF_REGRESSION]
)
def test_labels_that_cannot_be_targets_are_refused(make, y, message):
    with pytest.raises(ValueError, match=begins(message)):
        make().fit(X, y)


@for_every_regressor
@pytest.mark.parametrize("scale", [1e38, 1e-46])
def test_targets_that_float32_cannot_tell_apart_are_refused(make, scale):
    with pytest.raises(OrdinateError, match=r"^(y|labels)"):
        make().fit(X, TARGET * scale)


def test_supremix_takes_one_target_and_says_who_takes_several():
    with pytest.raises(
        OrdinateError, match="y: got 2 targets per sample, expected one; SupCRRegressor supports several"
    ):
        supremix().fit(X, np.stack([TARGET, TARGET], axis=1))


@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 0, 1, 2]], ids=["all alone", "one pair"])
def test_cloc_needs_two_ranks_with_two_samples_each(labels):
    with pytest.raises(OrdinateError, match="expected at least 2, for pairs of the same rank"):
        cloc().fit(X[:4], labels)


@for_every_estimator
def test_columns_by_name_that_are_no_table_are_refused(make):
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    with pytest.raises(OrdinateError, match=r"X: got dict, expected samples in rows; pandas.DataFrame\(X\)"):
        make().fit(columns, labels_for(make, TARGET))


@for_every_estimator
def test_one_sample_is_refused(make):
    with pytest.raises(ValueError, match=r"1 sample|one class"):
        make().fit(X[:1], labels_for(make, TARGET)[:1])


def with_infinity(values):
    values = values.copy()
    values[3, 1] = np.inf
    return values


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
DATA = [
    ("infinity", with_infinity(X), "Input X contains infinity"),
    ("infinity in a frame", pd.DataFrame(with_infinity(X), columns=["a", "b", "c"]), "column 'b': got infinity"),
    ("infinity in series", np.full((48, 2, 9), np.inf), "X: got infinity"),
    ("past what float64 can square", X * 1e200, "X|column"),
    ("one dimension", X[:, 0], "Expected 2D array, got 1D array"),
    ("four dimensions", np.zeros((48, 2, 5, 5)), "X: got shape (48, 2, 5, 5), expected images of 1 or 3 channels"),
    ("no rows", FRAME[:0], "X: got a DataFrame of shape (0, 3)"),
    ("no columns", FRAME[[]], "X: got a DataFrame of shape (48, 0)"),
    ("series without points", np.zeros((48, 2, 0)), "X: got series of shape (2, 0)"),
    ("a column twice", FRAME[["a", "b", "b"]], "X: |Expected unique column names"),
    ("an array of dates", np.arange(48).astype("datetime64[D]")[:, None], "X: got an array of dates or durations"),
    ("an array of durations", np.arange(48).astype("timedelta64[s]")[:, None], "X: got an array of dates or durations"),
    ("durations as objects", np.array([[pd.Timedelta(n, "s")] for n in range(48)]), "X: got an array of dates or dur"),
    ("identifiers", pd.concat([FRAME] * 2).assign(name=[f"n{i}" for i in range(96)]), "column 'name': got text"),
]


@for_every_estimator
@pytest.mark.parametrize(("data", "message"), [case[1:] for case in DATA], ids=[case[0] for case in DATA])
def test_data_that_cannot_be_read_is_refused(make, data, message):
    labels = np.resize(labels_for(make, TARGET), len(data))
    pattern = message if "|" in message else re.escape(message)
    with pytest.raises(ValueError, match=pattern):
        make().fit(data, labels)


@pytest.fixture(scope="module")
def fitted():
    series, target = draw_series()
    return {
        "array": supcr(epochs=(1, 1)).fit(X, TARGET),
        "frame": supcr(epochs=(1, 1)).fit(FRAME.assign(kind=np.resize(["u", "v"], 48)), TARGET),
        "series": otd(epochs=1).fit(series, ranks_of(target)),
    }


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("array", X[:, :2], "X has 2 features, but SupCR is expecting 3 features"),
        ("array", with_infinity(X), "Input X contains infinity"),
        ("array", X[0], "Expected 2D array, got 1D array"),
        ("array", np.zeros((4, 3, 9)), "X: got series, expected tables"),
        ("array", X * 1e300, "X|column"),
        ("frame", FRAME, "The feature names should match those that were passed during fit"),
        ("frame", FRAME.assign(kind="u")[["b", "a", "c", "kind"]], "Feature names must be in the same order"),
        ("frame", FRAME.assign(kind="u", a="text"), "column 'a': got "),
        ("frame", FRAME.assign(kind="u", a=-np.inf), "column 'a': got infinity"),
        ("series", X, "X"),
        ("series", np.zeros((4, 3, 20)), "X: got 3 channels, expected 2, those of the training data"),
        ("series", np.full((4, 2, 20), np.inf), "X: got infinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data_of_another_kind_than_the_model_was_fitted_on_is_refused(fitted, kind, data, message):
    with pytest.raises(ValueError, match=message if "|" in message else re.escape(message)):
        fitted[kind].predict(data)
