"""The imbalance protocol: what is reported, and what the synthetic set holds."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.drawn_ages import LABELS
from ordinate_papers.protocols.imbalance import ImbalancedSet, draw_imbalanced, evaluate_shots
from ordinate_papers.protocols.shots import shot_report

AGES = np.concatenate([np.repeat(np.arange(20, 60), 150), np.repeat(np.arange(60, 90), 5)])


@pytest.fixture
def labels(tmp_path):
    """A table of ages, the older ones rare."""
    frame = pd.DataFrame({"age": AGES, "split": np.resize(["train", "train", "val", "test"], len(AGES))})
    frame.to_csv(tmp_path / "ages.csv", index=False)
    return tmp_path / "ages.csv"


class Shift:
    """Predicts the first feature plus one, and keeps what it was fitted with."""

    def fit(self, X, y, validation):
        self.given = X, y, validation
        return self

    def predict(self, X):
        return X[:, 0] + 1


def test_it_fits_with_the_validation_part_and_reports_the_test_part_by_region():
    y_train, y_test = np.repeat([10.0, 20.0, 30.0], [150, 50, 5]), np.array([10.0, 10.0, 20.0, 30.0])
    data = ImbalancedSet((y_train[:, None], y_train), ("X", "y"), (y_test[:, None], y_test))
    regressor = Shift()
    report = evaluate_shots(regressor, data)
    assert report == shot_report(y_train, y_test, y_test + 1)
    assert [report[region]["samples"] for region in ("all", "many", "medium", "few")] == [4, 2, 1, 1]
    assert regressor.given[1] is data.train[1]
    assert regressor.given[2] == ("X", "y")


def test_the_labels_are_those_of_the_file_part_by_part(labels):
    data = draw_imbalanced(labels=labels)
    frame = pd.read_csv(labels)
    for part, (X, y) in {"train": data.train, "val": data.validation, "test": data.test}.items():
        np.testing.assert_array_equal(y, frame["age"][frame["split"] == part])
        assert X.shape == (len(y), 16)


@pytest.mark.skipif("ORDINATE_DATA" not in os.environ, reason="ORDINATE_DATA does not say where the real data is")
def test_agedb_dir_has_its_published_sizes_and_regions():
    data = draw_imbalanced()
    assert [len(y) for _, y in (data.train, data.validation, data.test)] == [12208, 2140, 2140]
    assert Path(os.environ["ORDINATE_DATA"], LABELS).is_file()
    report = shot_report(data.train[1], data.test[1], data.test[1])
    counts = pd.Series(data.train[1]).value_counts().reindex(data.test[1], fill_value=0)
    assert report["many"]["samples"] == (counts > 100).sum()
    assert report["few"]["samples"] == (counts < 20).sum()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "is not there"),
        ({"age": [1, 2]}, "lacks the column age or a part of split"),
        ({"age": [1, 2], "split": ["train", "test"]}, "lacks the column age or a part of split"),
    ],
)
def test_a_file_that_cannot_serve_is_an_error(tmp_path, frame, message):
    if frame is not None:
        pd.DataFrame(frame).to_csv(tmp_path / "ages.csv", index=False)
    with pytest.raises(OrdinateError, match=message):
        draw_imbalanced(labels=tmp_path / "ages.csv")
