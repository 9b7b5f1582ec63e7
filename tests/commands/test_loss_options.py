"""``ordinate fit`` with settings of the loss: they reach the estimator, or the method has none and says so."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main

NOISE = np.random.default_rng(0).normal(size=(48, 2))
FLAGS = {
    "--label-distance": "l2", "--similarity": "cosine", "--temperature": "0.5", "--num-positives": "7",
    "--tie-tolerance": "0.1",
}  # fmt: skip


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
    table["grade"] = np.digitize(table["target"], [4, 6])
    table.to_csv("table.csv", index=False)


def fit(label, *arguments):
    other = "target" if label == "grade" else "grade"
    common = ["--target", label, "--drop", other, "--epochs", "2", "--quiet", "--out", "model"]
    return main(["fit", "table.csv", *common, *arguments])


def settings():
    return json.loads(Path("model/config.json").read_text())["params"]


def test_options_of_the_loss_reach_the_estimator():
    assert fit("target", "--method", "supcr", *(word for pair in FLAGS.items() for word in pair)) == 0
    found = settings()
    names = ("label_distance", "similarity", "temperature", "num_positives", "tie_tolerance")
    assert [found[name] for name in names] == ["l2", "cosine", 0.5, 7, 0.1]


def test_a_temperature_is_of_both_continuous_methods():
    assert fit("target", "--temperature", "0.7") == 0
    assert settings()["temperature"] == 0.7


def test_without_them_the_estimators_own_are_kept():
    assert fit("target", "--method", "supcr") == 0
    found = settings()
    assert (found["label_distance"], found["similarity"], found["temperature"]) == ("l1", "neg_l2", 2.0)
    assert found["num_positives"] is None


@pytest.mark.parametrize(
    ("label", "method", "flag", "without"),
    [
        *(("grade", method, flag, method) for method in ("cloc", "otd", "cross_entropy") for flag in FLAGS),
        *(("target", method, "--similarity", method) for method in ("supremix", "l1", "supcon")),
        ("target", "supremix", "--num-positives", "supremix"),
        ("target", "auto", "--label-distance", "supremix"),
        ("grade", "auto", "--temperature", "cloc"),
    ],
)
def test_a_method_without_the_setting_is_named(label, method, flag, without, capsys):
    assert fit(label, "--method", method, flag, FLAGS[flag]) == 2
    assert f"{flag}: {without} has no such setting" in capsys.readouterr().err
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--temperature", "-1", "--temperature: got -1.0"),
        ("--num-positives", "0", "--num-positives: got 0"),
        ("--tie-tolerance", "-1", "--tie-tolerance: got -1.0"),
        ("--label-distance", "angular", "y: got 1 target(s) per sample, expected (pitch, yaw)"),
    ],
)
def test_a_value_that_cannot_be_is_refused(flag, value, message, capsys):
    assert fit("target", "--method", "supcr", flag, value) == 2
    assert message in capsys.readouterr().err


def test_clocs_margin_loss_is_summed_and_weighed_as_told():
    assert fit("grade", "--method", "cloc", "--reduction", "sum", "--mmnp-weight", "0.25") == 0
    assert (settings()["reduction"], settings()["mmnp_weight"]) == ("sum", 0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mmnp-weight", "-1"], "--mmnp-weight: got -1.0"),
        (["--reduction", "sum", "--method", "otd"], "--reduction: otd has no such setting"),
        (["--head-learning-rate", "0.1"], "--head-learning-rate: cloc has no such setting"),
    ],
)
def test_what_is_not_for_it_is_refused(arguments, message, capsys):
    assert fit("grade", *arguments) == 2
    assert message in capsys.readouterr().err
