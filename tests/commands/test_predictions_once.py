"""``ordinate fit`` embeds a held-out sample once, for its metrics, calibration and report together.

The importance of columns and the reasons for single predictions, which embed samples with other values, are left out.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.model.model import Model
from tests.data import pictures
from tests.estimators.examples import draw_table, ranks_of

N = 60
X, TARGET = draw_table(N)
RANKS = ranks_of(TARGET)
GIVEN = {
    "ranks of a table": (X, RANKS, ["--method", "cloc"]),
    "a target of a table, the method chosen": (X, TARGET, []),
    "images": (pictures.draw(RANKS), RANKS, ["--method", "otd", "--encoder", "test_resnet"]),
}


@pytest.fixture
def embedded(monkeypatch):
    """How often each sample was embedded, by its bytes as the encoder reads it."""
    counts = Counter()
    embed = Model.embed

    def count(self, x):
        counts.update(sample.numpy().tobytes() for sample in x)
        return embed(self, x)

    monkeypatch.setattr(Model, "embed", count)
    return counts


@pytest.mark.parametrize("given", GIVEN)
def test_a_held_out_sample_is_embedded_once(given, embedded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordinate.report.page.page.measure_importance", lambda *_: None)
    monkeypatch.setattr("ordinate.report.page.page.explain_cases", lambda *_: {})
    samples, label, options = GIVEN[given]
    np.savez("data.npz", X=samples, y=label)
    if samples.ndim == 2:
        pd.DataFrame(samples, columns=["a", "b", "c"]).assign(y=label).to_csv("data.csv", index=False)
    data = "data.csv" if samples.ndim == 2 else "data.npz"
    assert main(["fit", data, "--target", "y", "--epochs", "1", "--quiet", "--out", "model", *options]) == 0
    assert {"report.html", "held_out.json"} <= {path.name for path in Path("model").iterdir()}
    counts = Counter(embedded)
    model = ordinate.load("model")
    test = json.loads(Path("model/split.json").read_text())["test"]
    held_out = pd.read_csv(data).drop(columns="y").iloc[test] if samples.ndim == 2 else samples[test]
    assert [counts[sample.numpy().tobytes()] for sample in model.fitted.read(held_out)] == [1] * len(test)
