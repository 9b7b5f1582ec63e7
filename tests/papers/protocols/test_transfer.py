"""Encoders taken over: the probe is one on frozen embeddings, fine-tuning starts from them, the model stays."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from sklearn.metrics import mean_absolute_error

from ordinate.errors import OrdinateError
from ordinate.heads import LinearHead
from ordinate_papers.protocols.transfer import transfer
from tests.estimators.examples import draw_frame, draw_series, draw_table, otd, ranks_of, supcr


@pytest.fixture(scope="module")
def source():
    X, y = draw_table(96)
    return supcr(epochs=(20, 2), batch_size=64).fit(X, y)


@pytest.fixture(scope="module")
def target():
    (X, y), (X_test, y_test) = draw_table(64, seed=1), draw_table(64, seed=2)
    return X, 30 * y + 7 * X[:, 2], X_test, 30 * y_test + 7 * X_test[:, 2]


def test_the_linear_probe_is_the_best_linear_layer_on_frozen_embeddings(target):
    """On the samples that it is trained on, with embeddings that do not yet lie along one line."""
    X, y, *_ = target
    source = supcr(epochs=(1, 1), batch_size=64, learning_rate=1e-3).fit(*draw_table(96))
    [row] = transfer(source, X, y, X, y, schemes=["linear_probe"], epochs=200, learning_rate=0.05)["rows"]
    exact = QuantileRegressor(quantile=0.5, alpha=0).fit(source.transform(X), y)
    wanted = mean_absolute_error(y, exact.predict(source.transform(X)))
    assert row["mae"] == pytest.approx(wanted, rel=0.02)


def test_the_probe_of_ranks_is_logistic_regression_on_the_embeddings():
    X, y = draw_table(96)
    model = otd(epochs=20, batch_size=64).fit(X, ranks_of(y, 3))
    (X_2, y_2), (X_test, y_test) = draw_table(64, seed=1), draw_table(64, seed=2)
    words = np.array(["a", "b", "c", "d"])
    labels, test_labels = words[ranks_of(y_2, 4)], words[ranks_of(y_test, 4)]
    settings = {"schemes": ["linear_probe"], "epochs": 60, "learning_rate": 0.05, "class_order": words.tolist()}
    [row] = transfer(model, X_2, labels, X_test, test_labels, **settings)["rows"]
    exact = LogisticRegression(C=100).fit(model.transform(X_2), labels)
    assert abs(row["accuracy"] - exact.score(model.transform(X_test), test_labels)) < 0.1


def test_fine_tuning_starts_from_the_encoder(source, target):
    """With steps next to nothing it predicts as a new layer on the model's embeddings."""
    _, y, X_test, y_test = target
    [row] = transfer(source, *target, schemes=["fine_tune"], epochs=1, learning_rate=1e-9, seed=5)["rows"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        head = LinearHead(source.embedding_dim)
    head.standardise(torch.from_numpy(y)[:, None])
    predicted = head.double()(torch.from_numpy(source.transform(X_test)))[:, 0].detach().numpy()
    assert row["mae"] == pytest.approx(mean_absolute_error(y_test, predicted), rel=1e-4)


def test_the_model_stays_as_it_is(source, target):
    before = source.transform(target[0])
    weights = {name: value.clone() for name, value in source.method_.state_dict().items()}
    transfer(source, *target, epochs=2)
    assert all(torch.equal(value, weights[name]) for name, value in source.method_.state_dict().items())
    assert (source.transform(target[0]) == before).all()


def test_tables_with_categories_and_series_are_taken_over():
    frame, y = draw_frame(64)
    model = supcr().fit(frame, y)
    assert len(transfer(model, frame[:20], y[:20], frame[20:], y[20:], epochs=2)["rows"]) == 2
    X, y = draw_series()
    model = supcr(encoder="resnet1d").fit(X, y)
    assert len(transfer(model, X[:16], y[:16], X[16:], y[16:], epochs=2)["rows"]) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schemes": ["freeze"]}, "schemes: got 'freeze'"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"learning_rate": 0}, "learning_rate: got 0"),
        ({"X": np.zeros((4, 2)), "y": np.arange(4.0)}, "X: "),
        ({"X": np.zeros((4, 1, 8, 8), np.uint8), "y": np.arange(4.0)}, "X: got images"),
    ],
)
def test_what_cannot_be_taken_over_is_an_error(source, target, given, message):
    X, y, X_test, y_test = target
    with pytest.raises(OrdinateError, match=f"^{message}"):
        transfer(source, **{"X": X, "y": y, "X_test": X_test, "y_test": y_test, **given})
