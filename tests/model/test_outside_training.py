"""Warnings of predict about rows that lie outside what training had seen."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate import BlendRegressor
from ordinate.data.findings import MoreThan
from ordinate.data.rows import BatchedSamples
from ordinate.model.batches import map_batches
from ordinate.model.model import Model
from tests.estimators.examples import otd, ranks_of, supcr


def draw(n, seed):
    random = np.random.default_rng(seed)
    days = pd.to_timedelta(random.integers(0, 1000, n), unit="D")
    frame = pd.DataFrame(
        {
            "size": random.standard_normal(n),
            "weight": random.lognormal(size=n),
            "site": random.choice(["Ulm", "Bonn", "Kiel"], n),
            "day": pd.Timestamp("2015-01-01") + days,
        }
    )
    return frame, frame["size"] + frame["weight"] + (frame["site"] == "Ulm")


TRAINING, TARGET = draw(300, seed=0)


@pytest.fixture(scope="module")
def model():
    return supcr(head="neighbours", epochs=(10, 1)).fit(TRAINING, TARGET, validation=draw(150, seed=1))


def warnings_of(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    return [str(each.message) for each in caught]


CHANGES = {
    "a unit": (lambda frame: frame.assign(size=1000 * frame["size"]), r"column 'size': values lie outside"),
    "dates": (
        lambda frame: frame.assign(day=frame["day"] + pd.Timedelta(days=700)),
        r"column 'day': dates lie outside those of training, 2015-01-03 to 2017-09-24 \(\d+ of 200 rows\)",
    ),
    "a category in 12 rows": (
        lambda frame: frame.assign(site=["Rome"] * 12 + frame["site"].tolist()[12:]),
        r"column 'site': Rome not seen in training, treated as missing \(12 of 200 rows\)",
    ),
    "a missing column": (lambda frame: frame.assign(weight=np.nan), r"column 'weight': all values are missing"),
    "31 large values": (
        lambda frame: frame.assign(weight=[1e4] * 31 + [1.0] * 169),
        r"column 'weight': values lie outside the range of training, .*\(31 of 200 rows\)",
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changed_data_are_warned_of_once_with_counts(model, change, expected):
    (message,) = warnings_of(model.predict, change(draw(200, seed=2)[0]))
    assert message.startswith("rows outside what training had seen: ")
    assert re.search(expected, message)


def test_data_like_those_of_training_are_not_warned_of(model):
    for seed in range(3, 43):
        assert warnings_of(model.predict, draw(200, seed)[0]) == []


@pytest.mark.parametrize("make", [otd, lambda: supcr(head="neighbours", epochs=(10, 1))])
def test_embeddings_far_from_those_of_training_are_warned_of_and_that_is_saved(make, tmp_path):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (400, 2))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]  # The numbers lie on a line.
    y = X[:, 0] if make is not otd else ranks_of(X[:, 0])
    model = make().fit(X[:200], y[:200], validation=(X[200:300], y[200:300]))
    model.save(tmp_path / "model")
    off_the_line = X[300:] * [1, -1]  # Each number is in its range.
    for each in (model, ordinate.load(tmp_path / "model")):
        assert warnings_of(each.predict, X[300:]) == []
        (message,) = warnings_of(each.predict, off_the_line)
        assert "embeddings lie farther from those of training than 99% of held-out samples" in message


def test_a_blend_keeps_no_embeddings_and_compares_the_columns():
    blend = BlendRegressor(members=2, folds=2, epochs=2, random_state=0).fit(TRAINING, TARGET)
    assert not hasattr(blend, "novelty_")
    (message,) = warnings_of(blend.predict, draw(200, seed=2)[0].assign(site="Rome"))
    assert "Rome not seen in training, treated as missing (200 of 200 rows)" in message


def test_counts_of_batches_are_added(model):
    frame = draw(200, seed=2)[0].assign(site=["Rome"] * 12 + ["Ulm"] * 188)
    parts = [frame[start : start + 50] for start in range(0, 200, 50)]
    (message,) = warnings_of(lambda: list(map_batches(model.fitted, Model.predict, parts)))
    assert "Rome not seen in training, treated as missing (12 of 200 rows)" in message


def test_more_rows_than_usual_are_those_that_random_draws_rarely_have():
    random = np.random.default_rng(0)
    training, new = random.random((20_000, 50)), random.random((20_000, 100))
    outside = (new < training.min(1, keepdims=True)) | (new > training.max(1, keepdims=True))
    counts = outside.sum(1)
    least = next(count for count in range(101) if MoreThan(2, 49)(count, 100))
    assert np.mean(counts >= least) < 5e-4
    assert np.mean(counts >= least // 2) > 1e-3


def test_a_single_value_far_outside_is_named_with_its_row(model):
    """Of batches, the row counts from the first one; of a table, it is that of the index."""
    frame, _ = draw(60, seed=3)
    frame.loc[[37, 41], "size"] = [4000.0, -5000.0]
    said = r"column 'size': -5000, 4000 far from the other values of training, .* \(2 of {} rows, the first is row 37\)"
    (warning,) = warnings_of(model.predict, frame)
    assert re.search(said.format(60), warning)
    batches = BatchedSamples(frame, 25)
    (warning,) = warnings_of(lambda: list(map_batches(model.fitted, Model.predict, batches)))
    assert re.search(said.format(60), warning)
    (warning,) = warnings_of(model.predict, frame[30:])
    assert re.search(said.format(30), warning)
    frame["size"] = 1.0
    assert warnings_of(model.predict, frame) == []
