"""The time of ``ordinate fit``: defaults, shares of training runs, what is said, and going on where it was."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.commands.fit import choose, command, plan
from ordinate.commands.fit.command import fit
from ordinate.commands.fit.plan import planned_images
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.samples import LabelledData
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import ImagePreprocessing
from ordinate.errors import OrdinateError
from ordinate.training.time_budget import TimeBudget

NOISE = np.random.default_rng(0).normal(size=(60, 2))
FRAME = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
FRAME["grade"] = np.digitize(FRAME["target"], [4, 6])
FIRST = {"grade": "blend", "target": "blend"}


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


def of_table(rows, **options):
    """The time limit of a table, and what it is when the table is fitted."""
    seen = []

    def stop(training, limit):
        seen.append(limit)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "choose", stop)
        pd.concat([FRAME] * (rows // 60 + 1))[:rows].to_csv("table.csv", index=False)
        with pytest.raises(KeyboardInterrupt):
            train("grade", **{"epochs": None, "out": "other", **options})
    budget = seen[0].budget
    return None if budget is None else budget.seconds / 60


@pytest.mark.parametrize(
    ("rows", "options", "minutes"),
    [
        (60, {}, 2), (20_001, {}, 5), (60, {"time_limit": 3.5}, 3.5), (60, {"method": "cloc"}, None),
        (60, {"method": "blend"}, None), (60, {"epochs": 3}, None),
        (60, {"margin": ["0,1=0.8"]}, None), (60, {"set": ["training.learning_rate=0.1"]}, 10),
        (60, {"set": ["class_weight=balanced"]}, 2),
    ],
)  # fmt: skip
def test_a_table_whose_training_is_left_open_has_minutes(rows, options, minutes, capsys):
    assert of_table(rows, **options) == minutes
    said = capsys.readouterr().out
    assert ("plan: " in said) == (minutes is not None)
    assert ("without the blend" in said) == ("plan: cloc" in said)


def test_the_plan_is_what_is_trained(capsys):
    train("target", epochs=None, time_limit=1.5)
    said = capsys.readouterr().out.splitlines()
    assert "plan: blend, in at most 90 seconds (--time-limit)" in said
    assert [line for line in said if line.startswith("trying")] == ["trying blend"]


def test_training_runs_share_the_time(monkeypatch, capsys):
    """Three parts of three candidates, and one on all samples: each has its share of what is left."""
    budget = TimeBudget(1000, clock=lambda: 0.0, start=0.0)
    shares = []
    share = RunLimit.share

    def seen(limit, runs):
        shares.append(runs)
        return share(limit, runs)

    monkeypatch.setattr(RunLimit, "share", seen)
    train("grade", folds=3, time_limit=30)
    assert shares[:5] == [8, 7, 6, 5, 4]  # Later ones may be given up.
    assert RunLimit(budget, start=0.0).share(4).until == 250
    assert RunLimit(budget, start=0.0).share(1).until == 1000
    assert RunLimit(None).share(4) is None


def test_with_folds_the_blend_and_the_two_methods_are_tried(capsys):
    train("grade", folds=1)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("trying")] == ["trying blend", "trying cloc", "trying otd"]


@pytest.mark.parametrize("label", FIRST)
def test_a_limit_in_which_no_trial_can_end_still_leaves_a_model(label, capsys):
    first = FIRST[label]
    assert train(label, time_limit=1e-3, epochs=None) == first
    said = capsys.readouterr().out
    assert f"no time to compare methods: trains {first}, the first" in said
    assert "the time limit ended the training after " in said
    model = ordinate.load("model")
    assert len(model.predict(FRAME[["a", "b"]])) == len(FRAME)
    stages = [epoch["stage"] for epoch in model.history_]
    assert stages == sorted(stages)
    assert set(stages) == {0, 1}  # An epoch of each stage, or as many as the least time holds.


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
    limit = RunLimit(TimeBudget(60, clock=lambda: 0.0, start=0.0), start=3.0)
    assert limit.projections(3000) == ("pca",)
    assert limit.projections(1000) == ("pca", "tsne")
    assert RunLimit(None).projections(3000) == ("pca", "tsne")


def test_the_importance_of_columns_takes_a_tenth_of_the_time_so_far_and_leaves_time_for_the_report():
    started = time.monotonic() - 100
    assert RunLimit(None, started=started).for_importance == pytest.approx(10, abs=1)
    budget = TimeBudget(60, clock=lambda: 50.0, start=0.0)
    limit = RunLimit(budget, start=3.0, started=started)
    assert limit.for_importance == pytest.approx(10 - 0.8 * 3)


@pytest.mark.parametrize("spent", [1.0, 50.0])
def test_a_plan_does_not_depend_on_what_the_machine_has_done_so_far(spent, monkeypatch):
    def plan_of(clock):
        monkeypatch.setattr(plan, "own_size", lambda *_: (96, 128))
        images, y = ImageFiles([f"{place}.png" for place in range(300)]), pd.Series([1, 2, 3] * 100, name="grade")
        opened = LabelledData(images, y, "grade", "", preprocessing=ImagePreprocessing((96, 128), 3))
        limit = RunLimit(TimeBudget(400, clock=lambda: clock, start=0.0))
        return planned_images(FitOptions("pictures", out="new"), opened, limit.for_plan)

    assert plan_of(spent) == plan_of(0.0)
    assert plan_of(spent).seconds <= 0.85 * 400 - 25 + 15


@pytest.mark.thorough
def test_a_stopped_choice_continues_to_the_same(monkeypatch, capsys):
    tried = []
    predictions = choose.Training.predictions

    def stop_at_the_second(training, name, *rest):
        tried.append(name)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return predictions(training, name, *rest)

    monkeypatch.setattr(choose.Training, "predictions", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        train("grade", time_limit=30, folds=2)
    monkeypatch.setattr(choose.Training, "predictions", predictions)
    capsys.readouterr()
    resumed = train("grade", time_limit=30, folds=2)
    assert "continuing the run that was stopped" in capsys.readouterr().out
    assert train("grade", time_limit=30, folds=2, out="other") == resumed
    weights = [Path(folder, "weights.safetensors").read_bytes() for folder in ("model", "other")]
    assert weights[0] == weights[1]


def test_the_limit_is_part_of_the_command_that_gives_the_same():
    assert FitOptions("t.csv", target="y", time_limit=2.5).command == "ordinate fit t.csv --target y --time-limit 2.5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0.0}, "--time-limit: got 0.0, expected a finite number above 0"),
        ({"time_limit": float("inf")}, "--time-limit: got inf"),
        ({"time_limit": 1.0, "recipe": "cloc-koa"}, "--time-limit: a recipe has its own epochs"),
    ],
)
def test_limits_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        train("grade", **options)


@pytest.mark.parametrize(("after", "kept"), [(0.0, 0.0), (30.0, 30.0), (500.0, 240.0)])
def test_trainings_on_images_leave_time_for_their_embeddings(after, kept):
    budget = TimeBudget(600, clock=lambda: 10.0, start=0.0)
    alone = RunLimit(budget)
    assert 300 < alone.until < 600  # Metrics and report take the rest.
    limit = RunLimit(budget, after=after)
    assert limit.until == alone.until - kept
