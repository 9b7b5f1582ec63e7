"""``ordinate fit`` without ``--method``: which samples the candidates are measured on, and which one is trained."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.commands.division import Division, units_of
from ordinate.commands.fit.choose import _choose_by_errors, _print_reason
from ordinate.commands.fit.command import _again, fit
from ordinate.commands.fit.plan import FitPlan, make_plan
from ordinate.commands.fit.train import Trained, Trainer
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import Label
from ordinate.commands.samples import LabelledData
from ordinate.errors import OrdinateError
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.unseen_errors import UnseenErrors

NOISE = np.random.default_rng(0).normal(size=(60, 2))
FRAME = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
FRAME["grade"] = np.digitize(FRAME["target"], [4, 6])
FRAME["subject"] = np.arange(60) // 3


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("table.csv", index=False)


def train(label="grade", **options):
    drop = ",".join({"grade", "target", "subject"} - {label} - {options.get("group")})
    settings = {"data": "table.csv", "target": label, "drop": drop, "epochs": 2, "out": "model", "quiet": True,
                "no_report": True}  # fmt: skip
    fit(FitOptions(**{**settings, **options}))
    return json.loads(Path("model/metrics.json").read_text())


def training(folds=None, label="grade", groups=None, validation=()):
    samples = LabelledData(FRAME[["a", "b"]], FRAME[label], label, "", groups=groups)
    plan = make_plan(FitOptions("table.csv", target=label, folds=folds), samples)
    units, _ = units_of(plan.label, samples)
    division = Division(np.arange(50), np.array(validation, dtype=np.int64), np.arange(50, 60), units)
    return Trainer(plan, samples, division, Path("none"))


def give_up(monkeypatch, **limits):
    """Set when a candidate is given up."""
    choose = partial(_choose_by_errors, **limits)
    monkeypatch.setattr("ordinate.commands.fit.choose._choose_by_errors", choose)


@pytest.mark.parametrize("label", ["grade", "target"])
@pytest.mark.parametrize(("folds", "expected"), [(None, 5), (3, 3), (500, 50)])
def test_each_sample_is_measured_once_by_models_that_have_not_seen_it(folds, expected, label):
    parts = training(folds, label).parts()
    assert len(parts) == expected
    assert sorted(np.concatenate([unseen for _, unseen in parts])) == list(range(50))
    for part, unseen in parts:
        assert sorted([*part, *unseen]) == list(range(50))


@pytest.mark.parametrize("folds", [1, 4])
def test_no_subject_is_on_both_sides(folds):
    for part, unseen in training(folds, groups=FRAME["subject"]).parts():
        assert not set(FRAME["subject"][part]) & set(FRAME["subject"][unseen])


def test_more_samples_and_single_folds_are_measured_on_a_fifth():
    for one in (training().parts(few_samples=49), training(folds=1).parts()):
        [(part, unseen)] = one
        assert len(unseen) == 10
        assert sorted([*part, *unseen]) == list(range(50))


@pytest.mark.parametrize("label", ["grade", "target"])
def test_with_validation_samples_the_model_that_was_measured_is_the_model(label, monkeypatch, capsys):
    """It is that of the command with which the same model is trained again, and is trained once."""
    FRAME.assign(part=["train"] * 40 + ["validation"] * 10 + ["test"] * 10).to_csv("table.csv", index=False)
    monkeypatch.setattr("ordinate.commands.fit.plan._may_blend", lambda settings: False)
    folders = []
    run = Trainer.train

    def recorded(self, name, rows, folder, validation=None):
        folders.append(folder)
        return run(self, name, rows, folder, validation)

    monkeypatch.setattr(Trainer, "train", recorded)
    metrics = train(label, split="part")
    assert len(folders) == len(set(folders)) == 2
    assert f"training {metrics['method']}" not in capsys.readouterr().out
    train(label, split="part", method=metrics["method"], out="alone")
    assert json.loads(Path("alone/metrics.json").read_text())["mae"] == metrics["mae"]


@pytest.mark.parametrize("calibration", ["auto", "false"])
def test_the_trial_calibrates_the_model_that_is_trained_on_all(calibration, monkeypatch):
    monkeypatch.setattr("ordinate.commands.fit.plan._may_blend", lambda settings: False)
    slow = lambda of: replace(defaults_of(of), calibrates=False)  # noqa: E731
    monkeypatch.setattr("ordinate.estimators.rank_classifier.defaults_of", slow)
    metrics = train("grade", folds=1, set=[f"training.calibration={calibration}"])
    model = ordinate.load("model")
    scale = getattr(model.predictor_.temperature, "scale", 1.0)
    assert (scale != 1.0) == (calibration == "auto")
    assert any("not calibrated" in note for note in model.notes_) == (calibration == "false")
    assert metrics["method"] in ("cloc", "otd")


def test_samples_that_are_given_to_validate_on_are_all_that_is_measured_on():
    [(part, unseen)] = training(validation=range(50, 60)).parts()
    assert (list(part), list(unseen)) == (list(range(50)), list(range(50, 60)))


def test_a_part_of_one_rank_is_left_out(monkeypatch):
    monkeypatch.setitem(FRAME, "grade", [1] * 2 + [0] * 58)
    for part, _ in training(folds=25).parts():
        assert set(FRAME["grade"][part]) == {0, 1}


@pytest.mark.typical("grade")
@pytest.mark.parametrize("label", ["grade", "target"])
def test_candidates_and_simple_models_are_told_with_their_intervals(label, monkeypatch, capsys):
    give_up(monkeypatch, least_measured=49)  # none
    metrics = train(label, folds=2, no_report=False)
    said, tried = capsys.readouterr().out, metrics["candidates"]
    methods = ["cloc", "otd"] if label == "grade" else ["supcr", "supremix"]
    assert [name for name in tried if " " not in name] == ["blend", *methods]
    assert {"linear model", "random trees"} <= set(tried)
    for name, found in tried.items():
        assert 0 <= found["low"] <= found["mae"] <= found["high"]
        assert f"{name} {found['mae']:.4f} ({found['low']:.4f} to {found['high']:.4f})" in said
        assert f"{name} {found['mae']:.4f}" in Path("model/report.html").read_text()
    assert tried[metrics["method"]]["mae"] <= min(tried[name]["high"] for name in ["blend", *methods])


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ([0.9, 0.0, 0.9, 0.0], "the lowest, 0.0250 below that of cloc, which may be chance (standard error 0.5344)"),
        ([0.0, 0.0, 0.0, 0.0], "the lowest, 0.4750 below that of cloc"),
        ([0.0, 0.9, 0.0, 1.0], "that of cloc, and it was tried first"),
    ],
)
def test_a_sentence_says_what_was_chosen_and_why(errors, reason, capsys):
    found = UnseenErrors(of={"blend": np.array(errors), "cloc": np.array([0.0, 1.0, 0.0, 0.9])})
    _print_reason(found, found.lowest(found.of), list(found.of))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("chosen: blend, as its validation MAE is ")
    assert line.endswith(reason)


def test_the_blend_is_trained_once_on_all_and_is_the_same_as_when_it_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(UnseenErrors, "lowest", lambda *_: "blend")
    assert train(folds=1)["method"] == "blend"
    assert "training blend" not in capsys.readouterr().out
    train(method="blend", out="asked")
    assert Path("asked/weights.safetensors").read_bytes() == Path("model/weights.safetensors").read_bytes()


def test_another_is_trained_on_all_once_it_is_chosen(monkeypatch, capsys):
    monkeypatch.setattr(UnseenErrors, "lowest", lambda *_: "cloc")
    assert train(folds=1)["method"] == "cloc"
    assert "training cloc" in capsys.readouterr().out
    train(method="cloc", out="asked")
    assert Path("asked/weights.safetensors").read_bytes() == Path("model/weights.safetensors").read_bytes()


def test_a_candidate_far_behind_is_not_tried_on_further_parts(monkeypatch, capsys):
    give_up(monkeypatch, most_behind=-1e9)  # every other one than the best
    metrics = train(folds=4)
    said, tried = capsys.readouterr().out, metrics["candidates"]
    assert sum(f"trying {name}, 3 of 4" in said for name in ("cloc", "otd")) <= 1
    assert "given up after 2 of 4" in said
    assert "on 24 of 48 samples)" in said
    assert tried["blend"]["samples"] == 48  # it is measured on all of them in any case
    assert tried[metrics["method"]]["samples"] == 48


def test_a_few_samples_give_nothing_up(monkeypatch, capsys):
    give_up(monkeypatch, least_measured=49, most_behind=-1e9)
    train(folds=4)
    assert "given up" not in capsys.readouterr().out


def test_the_blend_stays_a_candidate_when_others_are_given_up(monkeypatch):
    seen = []
    give_up(monkeypatch, most_behind=-1e9)
    monkeypatch.setattr(UnseenErrors, "lowest", lambda _, names: seen.append(list(names)) or "blend")
    assert train(folds=4)["method"] == "blend"
    assert seen[0] == ["blend", "cloc", "otd"]
    assert ["blend"] in seen[1:]  # Of these it chooses.


def test_validation_samples_of_the_data_set_measure_the_blend_too(monkeypatch):
    monkeypatch.setattr(UnseenErrors, "lowest", lambda *_: "blend")
    FRAME.assign(part=["train"] * 40 + ["validation"] * 10 + ["test"] * 10).to_csv("table.csv", index=False)
    tried = train(split="part")["candidates"]
    errors = np.abs(ordinate.load("model").predict(FRAME[["a", "b"]][40:50]) - FRAME["grade"][40:50])
    assert tried["blend"]["mae"] == pytest.approx(errors.mean())


def test_a_blend_without_rivals_is_measured_on_all_samples_that_it_was_trained_on():
    pd.concat([FRAME] * 7).to_csv("table.csv", index=False)  # Rivals would be measured on a fifth of so many.
    metrics = train()
    assert {name: found["samples"] for name, found in metrics["candidates"].items()} == dict.fromkeys(
        ["linear model", "random trees", "boosted trees", "blend"], metrics["training_samples"]
    )
    assert metrics["training_samples"] == 336


def test_few_groups_are_measured_in_folds_however_many_samples_they_have():
    assert len(training(groups=FRAME["subject"]).parts(few_samples=10)) == 5
    assert len(training(groups=pd.Series(np.arange(60) // 2)).parts(few_samples=10)) == 1


def test_groups_that_leave_one_rank_to_train_on_are_an_error(monkeypatch):
    monkeypatch.setitem(FRAME, "grade", [0] * 30 + [1] * 30)
    with pytest.raises(OrdinateError, match="--group: all groups except one have the same single rank"):
        training(groups=pd.Series(np.arange(60) // 30)).parts()


@pytest.mark.parametrize(("sites", "limit"), [(2, {}), (4, {"time_limit": 5.0})])
def test_a_candidate_that_needs_more_groups_is_left_out(sites, limit, capsys):
    FRAME.assign(site=np.arange(60) % sites).to_csv("table.csv", index=False)
    candidates = train(group="site", drop="target,subject", **limit)["candidates"]
    assert "note: blend is left out, as it cannot be trained here: groups: got" in capsys.readouterr().out
    assert {"cloc", "otd"} <= set(candidates)
    assert "blend" not in candidates


def test_it_is_an_error_if_no_candidate_can_be_trained(monkeypatch):
    def fail(self, name, *_, **validation):
        raise OrdinateError(name, problem="fails")

    monkeypatch.setattr(Trainer, "train", fail)
    with pytest.raises(OrdinateError, match=r"^blend: fails"):
        train()


@pytest.mark.parametrize(
    ("options", "why"),
    [({"margin": ["0,1=0.8"]}, "cloc is the only candidate"), ({"split": "part"}, "--split says what to measure on")],
)
def test_folds_that_would_do_nothing_are_an_error(options, why):
    FRAME.assign(part=["train"] * 40 + ["validation"] * 10 + ["test"] * 10).to_csv("table.csv", index=False)
    with pytest.raises(OrdinateError, match=f"--folds: apply only to the choice of a method, and {why}"):
        train(folds=3, **options)


def test_the_command_that_repeats_a_choice_among_folds_is_one():
    options = FitOptions("pictures", target="grade", folds=2)
    trained = Trained("otd", None, np.arange(3), epochs=None, is_exact=True, tried=None)
    plan = FitPlan(replace(options, encoder="resnet18"), Label(np.arange(3), [0, 1, 2]), ("otd",))
    assert _again(options, plan, trained).method == "otd"


@pytest.mark.parametrize("other", [{"method": "cloc"}, {"recipe": "cloc-koa"}])
def test_folds_are_for_a_choice(other):
    with pytest.raises(OrdinateError, match="--folds: apply only to the choice of a method"):
        FitOptions("table.csv", target="grade", folds=3, **other)
