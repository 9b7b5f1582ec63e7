"""``ordinate fit --method auto --time-limit MINUTES``: candidates, order, what is said, and going on where it was."""

import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.commands.fit import choose as module
from ordinate.commands.fit import command, image_plan
from ordinate.commands.fit.choose import last_training
from ordinate.commands.fit.command import fit
from ordinate.commands.fit.image_plan import ImagePlanner, Wanted, plan_images
from ordinate.commands.fit.time_limit import TimeLimit
from ordinate.commands.fit_options import FitOptions
from ordinate.data.images.pixels import Preprocessing
from ordinate.errors import OrdinateError
from ordinate.estimators.choice import Choice
from ordinate.training.time_budget import TimeBudget

NOISE = np.random.default_rng(0).normal(size=(60, 2))
FRAME = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
FRAME["grade"] = np.digitize(FRAME["target"], [4, 6])
IN_ORDER = {
    "grade": ["blend", "cloc", "otd", "cross_entropy", "orcnn", "corn_ranks"],
    "target": ["blend", "supcr", "supremix", "l1", "mse", "huber"],
}


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("table.csv", index=False)


def train(label, **options):
    other = "target" if label == "grade" else "grade"
    settings = {"data": "table.csv", "target": label, "drop": other, "epochs": 3, "out": "model", "quiet": True,
                "no_report": True}  # fmt: skip
    fit(FitOptions(**{**settings, **options}))
    return json.loads(Path("model/metrics.json").read_text())["method"]


@pytest.mark.typical("grade")
@pytest.mark.parametrize("label", IN_ORDER)
def test_methods_come_first_and_heads_after_them_and_the_lowest_error_is_trained(label, capsys):
    chosen = train(label, time_limit=30)
    said = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("trying ") for line in said if line.startswith("trying")] == IN_ORDER[label]
    errors = next(line for line in said if line.startswith("validation MAE: ")).removeprefix("validation MAE: ")
    errors = {name: float(error) for name, error in (part.split() for part in errors.split(", "))}
    assert list(errors) == IN_ORDER[label]
    found = json.loads(Path("model/metrics.json").read_text())["candidates"]
    assert [round(found[name]["mae"], 4) for name in errors] == list(errors.values())
    assert errors[chosen] == min(errors.values())
    assert f"training {chosen}" in said
    assert not Path("model.partial").exists()


@pytest.mark.parametrize("label", IN_ORDER)
def test_a_limit_in_which_no_trial_can_end_still_leaves_a_model(label, capsys):
    first = IN_ORDER[label][0]
    assert train(label, time_limit=1e-3, epochs=None) == first
    said = capsys.readouterr().out
    assert f"0.001 minutes are too short to compare methods: trains {first}, the first" in said
    assert "the time limit ended the training after " in said
    model = ordinate.load("model")
    assert len(model.predict(FRAME[["a", "b"]])) == len(FRAME)
    assert [epoch["stage"] for epoch in model.history_] == [0, 1]  # an epoch of each stage


def test_without_time_to_train_on_all_samples_the_best_trial_is_the_model(monkeypatch, capsys):
    monkeypatch.setattr(module, "last_training", partial(module.last_training, least_share=1e9))
    chosen = train("grade", time_limit=30)
    assert f"no time to train {chosen} on all samples: the model of its trial is kept" in capsys.readouterr().out
    rows = json.loads(Path("model/split.json").read_text())["train"]
    assert json.loads(Path("model/metrics.json").read_text())["training_samples"] == len(rows) == 38
    assert ordinate.load("model").predict(FRAME[["a", "b"]]).shape == (60,)


def test_a_limited_run_says_how_to_train_its_model_again(monkeypatch, capsys):
    monkeypatch.setitem(ordinate.CLOCClassifier.__init__.__kwdefaults__, "epochs", (5, 5))
    train("grade", time_limit=30, epochs=None, method="cloc")
    again = json.loads(Path("model/metrics.json").read_text())["command"]
    assert again == "ordinate fit table.csv --target grade --method cloc --drop target"
    assert f"the same model again: {again}" in capsys.readouterr().out
    train("grade", method="cloc", out="again", epochs=None)
    assert Path("again/weights.safetensors").read_bytes() == Path("model/weights.safetensors").read_bytes()


@pytest.mark.thorough
def test_the_time_before_reading_counts_and_so_does_that_of_a_run_that_was_stopped(monkeypatch):
    seen = []
    choose = command.choose

    def stop(training, limit):
        seen.append(limit.budget.spent)
        if len(seen) == 1:
            raise KeyboardInterrupt
        return choose(training, limit)

    monkeypatch.setattr(command, "choose", stop)
    options = FitOptions("table.csv", target="grade", drop="target", time_limit=30, epochs=1, out="model", quiet=True)
    with pytest.raises(KeyboardInterrupt):
        fit(options, started=time.monotonic() - 100)
    fit(options, started=time.monotonic() - 5)
    assert 100 < seen[0] < 130
    assert 105 < seen[1] < 140


def test_the_report_has_no_tsne_when_there_is_no_time_for_it():
    limit = TimeLimit(TimeBudget(60, clock=lambda: 0.0, start=0.0), start=3.0)
    assert limit.projections(3000) == ("pca",)
    assert limit.projections(1000) == ("pca", "tsne")
    assert TimeLimit(None).projections(3000) == ("pca", "tsne")


def test_the_importance_of_columns_takes_a_tenth_of_the_time_so_far_and_leaves_time_for_the_report():
    started = time.monotonic() - 100
    assert TimeLimit(None, started=started).for_importance == pytest.approx(10, abs=1)
    budget = TimeBudget(60, clock=lambda: 50.0, start=0.0)
    limit = TimeLimit(budget, start=3.0, started=started)
    assert limit.for_importance == pytest.approx(10 - 0.8 * 3)


@pytest.mark.parametrize("reading", [0.0, 25.0, 95.0])
def test_time_for_reading_is_not_planned_for_training(reading, monkeypatch, capsys):
    monkeypatch.setattr(image_plan, "_measure", lambda *_, **__: (1e-3, 1e-4))
    limit = TimeLimit(TimeBudget(60, clock=lambda: 0.0, start=0.0))
    planner = ImagePlanner(Wanted, "auto", None, alone=False, test_share=0.2, time=limit, on_gpu=False)
    labels = pd.Series([1, 2, 3] * 100, name="grade")
    plan = planner.plan(labels, Preprocessing((160, 224), 3), reading)
    least = plan_images((160, 224), 3, 240, Wanted(), seconds=0.0, candidates=(1,)).seconds
    assert plan.seconds <= max(least, 60 - reading)
    assert ("reading 300 images takes about 95 seconds" in capsys.readouterr().out) == (reading == 95.0)


@pytest.mark.thorough
def test_a_stopped_choice_goes_on_with_the_next_candidate(monkeypatch, capsys):
    judge, judged = module.measure, []

    def stop_at_the_third(predictions, *weights):
        if len(judged) == 2:
            raise KeyboardInterrupt
        judged.append(predictions)
        return judge(predictions, *weights)

    monkeypatch.setattr(module, "measure", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        train("grade", time_limit=30)
    monkeypatch.setattr(module, "measure", judge)
    capsys.readouterr()
    resumed = train("grade", time_limit=30)
    said = capsys.readouterr().out.splitlines()
    assert "continuing the run that was stopped" in said
    assert [line.removeprefix("trying ") for line in said if line.startswith("trying")] == IN_ORDER["grade"][2:]
    assert train("grade", time_limit=30, out="other") == resumed


def test_the_limit_is_part_of_the_command_that_gives_the_same():
    assert FitOptions("t.csv", target="y", time_limit=2.5).command == "ordinate fit t.csv --target y --time-limit 2.5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0.0}, "--time-limit: got 0.0, expected a finite number above 0"),
        ({"time_limit": float("inf")}, "--time-limit: got inf"),
        ({"time_limit": 1.0, "recipe": "hci"}, "--time-limit: a recipe has its own epochs"),
    ],
)
def test_limits_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        train("grade", **options)


def test_what_follows_the_trials_is_decided_once(tmp_path):
    choice = Choice(errors={"cloc": 0.4}, epochs={"cloc": 10}, seconds={"cloc": 5.0}, chosen="cloc")
    first = last_training(tmp_path / "last.json", choice, "cloc", 60.0, 1.25, None)
    assert first["epochs"] > 10
    assert not first["trial"]
    # a run that was stopped continues with less time left, and with the epochs that its checkpoint is of
    assert last_training(tmp_path / "last.json", choice, "cloc", 1.0, 1.25, None) == first
    assert last_training(tmp_path / "new.json", choice, "cloc", 1.0, 1.25, None)["trial"]


@pytest.mark.parametrize(("after", "kept"), [(0.0, 0.0), (30.0, 30.0), (500.0, 240.0)])
def test_trainings_on_images_leave_time_for_their_embeddings(after, kept):
    budget = TimeBudget(600, clock=lambda: 10.0, start=0.0)
    alone = TimeLimit(budget)
    assert 300 < alone.until < 600  # Metrics and report take the rest.
    limit = TimeLimit(budget, after=after)
    assert limit.until == alone.until - kept
    assert limit.end.budget is budget
