"""``ordinate fit --method auto --time-limit MINUTES``: candidates, order, what is said, and going on where it was."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.commands import choose as module
from ordinate.commands.fit import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.errors import OrdinateError

NOISE = np.random.default_rng(0).normal(size=(60, 2))
FRAME = pd.DataFrame({"a": NOISE[:, 0], "b": NOISE[:, 1], "target": NOISE[:, 0] * 2 + 5})
FRAME["grade"] = np.digitize(FRAME["target"], [4, 6])
IN_ORDER = {
    "grade": ["cloc", "otd", "cross_entropy", "orcnn", "corn_ranks"],
    "target": ["supcr", "supremix", "l1", "mse", "huber"],
}


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("table.csv", index=False)


def train(label, **options):
    other = "target" if label == "grade" else "grade"
    settings = {"data": "table.csv", "target": label, "drop": other, "epochs": 3, "out": "model", "quiet": True}
    fit(FitOptions(**{**settings, **options}))
    return json.loads(Path("model/metrics.json").read_text())["method"]


@pytest.mark.parametrize("label", IN_ORDER)
def test_methods_come_first_and_heads_after_them_and_the_lowest_error_is_trained(label, capsys):
    chosen = train(label, time_limit=30)
    said = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("trying ") for line in said if line.startswith("trying")] == IN_ORDER[label]
    errors = next(line for line in said if line.startswith("validation MAE: ")).removeprefix("validation MAE: ")
    errors = {name: float(error) for name, error in (part.split() for part in errors.split(", "))}
    assert list(errors) == IN_ORDER[label]
    assert errors[chosen] == min(errors.values())
    assert f"training {chosen}" in said
    assert not Path("model.partial").exists()


def test_without_a_limit_the_two_methods_alone_are_tried(capsys):
    train("grade")
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("trying")] == ["trying cloc", "trying otd"]


@pytest.mark.parametrize(("label", "first"), [("grade", "cloc"), ("target", "supcr")])
def test_a_limit_of_almost_nothing_gives_the_first_and_says_so(label, first, capsys):
    assert train(label, time_limit=1e-6) == first
    said = capsys.readouterr().out
    assert f"no time within 1e-06 minutes for {', '.join(IN_ORDER[label])}" in said
    assert f"none could be tried to its end: takes {first}, the first" in said


def test_a_stopped_choice_goes_on_with_the_next_candidate(monkeypatch, capsys):
    judge, judged = module.evaluate, []

    def stop_at_the_third(model, X, y):
        if len(judged) == 2:
            raise KeyboardInterrupt
        judged.append(model)
        return judge(model, X, y)

    monkeypatch.setattr(module, "evaluate", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        train("grade", time_limit=30)
    monkeypatch.setattr(module, "evaluate", judge)
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
        ({"time_limit": 0.0}, "--time-limit: got 0.0, takes minutes above 0"),
        ({"time_limit": float("inf")}, "--time-limit: got inf"),
        ({"time_limit": 1.0, "method": "cloc"}, "--time-limit: is for choosing a method, takes --method auto"),
    ],
)
def test_limits_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        train("grade", **options)
