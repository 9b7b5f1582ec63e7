"""``--logger``: what is logged and where, and what it requires."""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ordinate import load
from ordinate.cli import main
from tests.estimators.examples import draw_table, ranks_of

FIT = [
    "fit", "table.csv", "--target", "grade", "--method", "cloc", "--epochs", "3", "--no-report", "--quiet", "--out",
    "model",
]  # fmt: skip


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table(60)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "grade": ranks_of(target)}).to_csv("table.csv", index=False)


def test_csv_is_in_the_folder_of_the_model(tmp_path, capsys):
    assert main([*FIT, "--logger", "csv"]) == 0
    (log,) = (tmp_path / "model" / "logs").rglob("metrics.csv")
    assert len(pd.read_csv(log)["train_loss"].dropna()) == len(load("model").history_)
    assert "logs: model/logs" in capsys.readouterr().out


def test_events_of_tensorboard_are_in_the_folder_of_the_model(tmp_path):
    assert main([*FIT, "--logger", "tensorboard"]) == 0
    (events,) = (tmp_path / "model" / "logs").rglob("events.*")
    logged = EventAccumulator(str(events)).Reload().Scalars("train_loss")
    assert [event.value for event in logged] == pytest.approx([epoch["train_loss"] for epoch in load("model").history_])


class Client:
    """What a package offers, of which every call is kept."""

    def __init__(self, made, name=""):
        self.made, self.name = made, name

    def __getattr__(self, name):
        return Client(self.made, name)

    def __call__(self, *arguments, **options):
        self.made.append((self.name, arguments, options))
        return self


@pytest.mark.parametrize(
    ("package", "first", "last"),
    [
        ("wandb", ("init", (), {"name": "model/cloc-final"}), "finish"),
        ("mlflow", ("MlflowClient", (), {}), "set_terminated"),
    ],
)
def test_other_loggers_get_the_name_of_the_model_and_log_elsewhere(package, first, last, tmp_path, monkeypatch):
    made = []
    client = Client(made)
    client.__spec__ = SimpleNamespace(name=package)
    monkeypatch.setitem(sys.modules, package, client)
    assert main([*FIT, "--logger", package]) == 0
    assert made[0] == first
    assert made[-1][0] == last
    if package == "mlflow":
        assert ("get_experiment_by_name", ("model",), {}) in made
        values = [arguments[2] for name, arguments, _ in made if name == "log_metric" and arguments[1] == "train_loss"]
        assert ("create_run", "cloc-final") in {(name, options.get("run_name")) for name, _, options in made}
    else:
        values = [arguments[0]["train_loss"] for name, arguments, _ in made if name == "log"]
    assert values == pytest.approx([epoch["train_loss"] for epoch in load("model").history_])
    assert not (tmp_path / "model" / "logs").exists()


@pytest.mark.parametrize("command", ["fit", "tune"])
@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_package_that_is_missing_is_named_before_any_work(name, command, monkeypatch, capsys):
    monkeypatch.setattr(
        "ordinate.commands.fit_options.find_spec", lambda package: None if package == name else find_spec(package)
    )
    assert main([command, "table.csv", "--target", "grade", "--logger", name]) == 2
    out, err = capsys.readouterr()
    assert f"--logger: {name} requires the package {name}, which is not installed; pip install {name}" in err
    assert out == ""
