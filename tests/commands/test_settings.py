"""``ordinate fit --set NAME=VALUE``: settings reach the estimator, or an error says why they cannot."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from ordinate import ImageOptions, load
from ordinate.cli import main
from ordinate.commands.fit_help import setting_texts
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import flag
from ordinate.commands.settings import converted
from ordinate.estimators.head_options import Head
from ordinate.training.options import Training
from ordinate_papers.methods.imbalance import Imbalance

NOISE = np.random.default_rng(0).normal(size=(48, 2))
LOSS = {
    "label_distance": "l2",
    "similarity": "cosine",
    "temperature": "0.5",
    "num_positives": "7",
    "tie_tolerance": "0.1",
}


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
    table["grade"] = np.digitize(table["target"], [4, 6])
    table.to_csv("table.csv", index=False)


def fit(label, *arguments):
    other = "target" if label == "grade" else "grade"
    common = ["--target", label, "--drop", other, "--epochs", "2", "--no-report", "--quiet", "--out", "model"]
    return main(["fit", "table.csv", *common, *arguments])


def given(**settings):
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def settings():
    return json.loads(Path("model/config.json").read_text())["params"]


def test_options_of_the_loss_reach_the_estimator():
    assert fit("target", "--method", "supcr", *given(**LOSS)) == 0
    found = settings()
    names = ("label_distance", "similarity", "temperature", "num_positives", "tie_tolerance")
    assert [found[name] for name in names] == ["l2", "cosine", 0.5, 7, 0.1]


def test_a_temperature_is_of_both_continuous_methods():
    assert fit("target", *given(temperature=0.7)) == 0
    assert settings()["temperature"] == 0.7


def test_without_them_the_estimators_own_are_kept():
    assert fit("target", "--method", "supcr") == 0
    found = settings()
    assert (found["label_distance"], found["similarity"], found["temperature"]) == ("l1", "neg_l2", 2.0)
    assert found["num_positives"] is None


@pytest.mark.parametrize(
    ("label", "method", "name", "message"),
    [
        *(
            ("grade", method, name, "there is no setting")
            for method in ("cloc", "otd", "cross_entropy")
            for name in LOSS
        ),
        *(("target", method, "similarity", "there is no setting") for method in ("supremix", "l1", "supcon")),
        ("target", "supremix", "num_positives", "there is no setting 'num_positives'"),
        ("target", "auto", "label_distance", "label_distance: supremix has no such setting, expected another --method"),
        ("grade", "auto", "temperature", "--set temperature: cloc has no such setting"),
    ],
)
def test_a_setting_that_a_method_lacks_is_refused(label, method, name, message, capsys):
    assert fit(label, "--method", method, *given(**{name: LOSS[name]})) == 2
    assert message in capsys.readouterr().err
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("temperature", "-1", "--set temperature: got -1"),
        ("temperature", "hot", "--set temperature: got 'hot', expected a number"),
        ("num_positives", "0", "--set num_positives: got 0"),
        ("num_positives", "1.5", "--set num_positives: got '1.5', expected a whole number or none"),
        ("tie_tolerance", "-1", "--set tie_tolerance: got -1"),
        ("similarity", "cosin", "--set similarity: got 'cosin', expected neg_l2, neg_l1 or cosine"),
        ("label_distance", "angular", "y: got 1 target(s) per sample, expected (pitch, yaw)"),
        ("temprature", "1", "--set: there is no setting 'temprature'; did you mean temperature?"),
        (
            "training.learning_rat",
            "1",
            "there is no setting 'training.learning_rat'; did you mean training.learning_rate?",
        ),
        ("training.warmup", "2", "--set training.warmup: got 2.0, expected a share from 0 to below 1"),
        (
            "training.callbacks",
            "[print]",
            "--set training.callbacks: got '[print]', expected Sequence[Callback]",
        ),
        ("training.checkpoint_dir", "here", "--set: got training.checkpoint_dir, expected --out, which sets it"),
        ("random_state", "1", "--set: got random_state, expected --seed, which sets it"),
        ("optimizer.lr", "1", "--set: got 'optimizer.lr', expected a name, or one in training, head, imbalance, data"),
        ("training", "paper", "--set: got 'training', expected one of its settings, as in training.NAME=VALUE"),
        ("head.kind", "tree", "--set head.kind: got 'tree', expected auto, linear, ridge or neighbours"),
    ],
)
def test_a_value_or_a_name_that_cannot_be_is_refused(name, value, message, capsys):
    assert fit("target", "--method", "supcr", *given(**{name: value})) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("batch_size", "many", "a whole number or none"),
        ("embedding_dim", "1.5", "a whole number or none"),
        ("data.size", "large", "a whole number, tuple[int, int, int], none or tuple[int, int]"),
        ("imbalance.sigma", "-1", "a finite number above 0"),
    ],
)
def test_a_value_of_another_type_is_refused_before_the_data_are_read(name, value, expected, capsys, monkeypatch):
    monkeypatch.setattr("ordinate.commands.fit.command.read", lambda *_: pytest.fail("the data were read"))
    assert fit("target", *given(**{name: value})) == 2
    error = capsys.readouterr().err
    assert f"--set {name}: got" in error
    assert f"expected {expected}" in error


def test_a_setting_without_a_value_is_refused(capsys):
    assert fit("target", "--method", "supcr", "--set", "temperature") == 2
    assert "--set: got 'temperature', expected NAME=VALUE" in capsys.readouterr().err


def test_settings_of_every_group_reach_the_estimator():
    typed = {
        "training.learning_rate": "3e-4", "training.patience": "none", "training.optimizer": "sgd",
        "head.kind": "linear", "head.loss": "huber", "imbalance.lds": "inverse", "scheme": "regularise",
        "embedding_dim": "8", "epochs": "(3, 1)",
    }  # fmt: skip
    common = [
        "fit", "table.csv", "--target", "target", "--drop", "grade", "--method", "supcr", "--no-report", "--quiet",
    ]  # fmt: skip
    assert main([*common, *given(**typed), "--out", "model"]) == 0
    model = load("model")
    training = model.training
    assert (training.learning_rate, training.patience, training.optimizer) == (3e-4, None, "sgd")
    assert (model.head, model.imbalance) == (Head("linear", loss="huber"), Imbalance(lds="inverse"))
    assert (model.scheme, model.embedding_dim, model.epochs) == ("regularise", 8, (3, 1))


def test_a_setting_and_an_option_of_the_same_meaning_are_refused(capsys):
    common = ["fit", "table.csv", "--target", "target", "--drop", "grade"]
    assert main([*common, "--epochs", "3", "--set", "epochs=(3, 1)"]) == 2
    assert "--epochs: got 3 and --set epochs, expected one of the two" in capsys.readouterr().err
    assert main([*common, "--image-size", "8", "--set", "data.size=9"]) == 2
    assert "--set: got data.size and --image-size, which are the same" in capsys.readouterr().err


def test_clocs_margin_loss_is_summed_and_weighed_as_the_settings_say():
    assert fit("grade", "--method", "cloc", *given(reduction="sum", mmnp_weight=0.25)) == 0
    assert (settings()["reduction"], settings()["mmnp_weight"]) == ("sum", 0.25)


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("3", int, 3),
        ("3", float, 3.0),
        ("3", int | Literal["auto"] | None, 3),
        ("3", str, "3"),
        ("none", int | None, None),
        ("none", int | str | None, "none"),
        ("None", int | str | None, None),
        ("true", bool | str, True),
        ("False", bool, False),
        ("auto", float | Literal["auto"], "auto"),
        ("[2, 8]", tuple[float, float], (2, 8)),
        ("[0, 1]", int | Sequence[int] | None, (0, 1)),
        ("{0: 2.0}", str | Mapping[str, float] | None, {0: 2.0}),
        ("'a b'", str, "a b"),
    ],
)
def test_a_text_stands_for_the_value_that_fits(text, annotation, value):
    found = converted(text, annotation)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "annotation"),
    [("1.5", int), ("true", int), ("1", bool), ("x", float | None), ("[1]", tuple[int, int])],
)
def test_a_text_that_stands_for_no_such_value_is_an_error(text, annotation):
    with pytest.raises(ValueError, match=r"\S"):
        converted(text, annotation)


def test_the_help_is_short_and_the_whole_one_names_every_setting(capsys):
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["fit", option])
    short, whole = capsys.readouterr().out.split("usage: ")[1:]
    assert len(short.splitlines()) <= 80
    assert len(re.findall(r"^  (?:-h, )?--", short, re.MULTILINE)) <= 29
    assert "--skip-unreadable" not in short
    declared = [each.name for each in fields(FitOptions) if each.name != "data"]
    assert all(flag(name) in whole for name in declared)
    for group, kind in (("training", Training), ("head", Head), ("data", ImageOptions), ("imbalance", Imbalance)):
        for name, text in setting_texts(kind, group):
            assert f"  {name}" in whole
            assert text


def test_a_setting_of_the_blend_alone_names_the_blend(capsys):
    assert fit("grade", "--method", "auto", *given(members="4")) == 2
    said = capsys.readouterr().err
    assert "--set members: cloc has no such setting, expected another --method; --method blend has it" in said
