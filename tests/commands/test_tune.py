"""``ordinate tune``: trials are kept through a kill; settings that are clearly better are taken, or the defaults."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator

optuna = pytest.importorskip("optuna", reason="optuna is not installed")
from ordinate.commands import tune as command  # noqa: E402  # It requires optuna.

TUNE = ["tune", "table.csv", "--target", "grade", "--epochs", "1", "--quiet"]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    grade = np.digitize(x[:, 0], [-0.4, 0.4])
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "grade": grade, "score": x.sum(1)}).to_csv("table.csv", index=False)


def measured(monkeypatch, error):
    """Trials whose errors are those of a function of their settings."""
    asked = []

    def errors(self, settings):
        asked.append(list(settings))
        return np.full(48, error(settings))

    monkeypatch.setattr(command.Tuning, "errors", errors)
    return asked


@pytest.mark.parametrize("target", ["grade", "score"])
def test_a_tuned_model_is_saved_with_its_settings(target, capsys):
    assert (
        main(["tune", "table.csv", "--target", target, "--epochs", "1", "--quiet", "--trials", "2", "--out", "m"]) == 0
    )
    out = capsys.readouterr().out
    assert "trial 2: " in out
    assert out.count(": the limit allows ") == 1
    saved = tomllib.loads(Path("m/run.toml").read_text())
    assert saved["method"] == "blend"
    assert ("training.learning_rate" in str(saved)) == ("the defaults are kept" not in out)


def test_settings_that_are_clearly_better_are_taken(monkeypatch, capsys):
    asked = measured(monkeypatch, lambda settings: 1.0 if not settings else 0.5)
    assert main([*TUNE, "--trials", "3", "--out", "m"]) == 0
    assert len(asked) == 5
    assert asked[3] == []  # The defaults are measured when the trials are over.
    assert "lower by 0.5000" in capsys.readouterr().out
    learning_rate = asked[4][0].partition("=")[2]
    assert str(float(learning_rate)) in Path("m/run.toml").read_text()


@pytest.mark.parametrize("method", ["auto", "cloc"])
def test_a_trial_that_was_better_by_chance_is_not_taken(method, monkeypatch, capsys):
    seeds = []

    def errors(self, settings):
        seeds.append(self.options.seed)
        return np.full(48, 0.5 if settings and self.options.seed == 0 else 1.0)

    monkeypatch.setattr(command.Tuning, "errors", errors)
    assert main([*TUNE, "--method", method, "--trials", "3", "--out", "m"]) == 0
    assert "the defaults are kept: the best trial has" in capsys.readouterr().out
    assert seeds == [0, 0, 0, 1, 1]
    assert "learning_rate" not in Path("m/run.toml").read_text()


@pytest.mark.parametrize(("method", "fits"), [("auto", 1), ("cloc", 5)])
def test_a_blend_measures_every_sample_in_one_run(method, fits, monkeypatch):
    trained = []
    fit = EmbeddingEstimator.fit

    def recorded(self, X, *args, **options):
        trained.append(len(X))
        return fit(self, X, *args, **options)

    monkeypatch.setattr(EmbeddingEstimator, "fit", recorded)
    options = command.FitOptions("table.csv", target="grade", method=method, epochs=1, quiet=True)
    tuning = command.Tuning.of(options)
    errors = tuning.errors(())
    assert len(trained) == fits
    assert len(errors) == 48
    assert np.isfinite(errors).all()


def test_the_defaults_are_kept_where_nothing_is_better(monkeypatch, capsys):
    measured(monkeypatch, lambda settings: 1.0)
    assert main([*TUNE, "--trials", "3", "--out", "m"]) == 0
    assert "the defaults are kept" in capsys.readouterr().out
    assert "learning_rate" not in Path("m/run.toml").read_text()


def test_a_run_that_was_stopped_continues(monkeypatch):
    asked = measured(monkeypatch, lambda settings: 1.0 if len(asked) < 3 else stop())

    def stop():
        raise KeyboardInterrupt

    assert main([*TUNE, "--trials", "4", "--out", "m"]) != 0
    assert len(asked) == 3
    again = measured(monkeypatch, lambda settings: 1.0)
    assert main([*TUNE, "--trials", "4", "--out", "m"]) == 0
    assert len(again) == 3  # A trial, and the defaults and the best trial again.
    assert not [settings for settings in again[:1] if settings in asked]


def test_a_setting_that_is_given_is_not_tuned(monkeypatch):
    asked = measured(monkeypatch, lambda settings: 1.0)
    assert main([*TUNE, "--set", "embedding_dim=8", "--trials", "1", "--out", "m"]) == 0
    assert asked[0]
    assert not [text for text in asked[0] if text.startswith("embedding_dim")]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--method", "orcnn"], "--method: got 'orcnn', expected auto, blend, cloc"),
        (["--trials", "0"], "--trials: got 0"),
        (["--method", "supcr"], "--method: supcr is not for ranks"),
    ],
)
def test_what_cannot_be_tuned_is_an_error_before_any_trial(options, error, capsys):
    assert main([*TUNE, *options]) == 2
    assert capsys.readouterr().err.startswith(f"ordinate: {error}")


def test_a_trial_that_fails_is_left_out(monkeypatch, capsys):
    def error(settings):
        if settings:
            raise OrdinateError("batch", "a bad one")
        return 1.0

    measured(monkeypatch, error)
    assert main([*TUNE, "--trials", "2", "--out", "m"]) == 0
    out = capsys.readouterr().out
    assert "trial 2: failed, batch: got a bad one" in out
    assert "the defaults are kept: every trial failed" in out


def test_a_command_that_was_stopped_in_its_last_training_takes_the_same_settings(monkeypatch, capsys):
    asked = measured(monkeypatch, lambda settings: 0.5 if settings else 1.0)
    monkeypatch.setattr(command, "fit", lambda options: Path("m.partial").mkdir())
    assert main([*TUNE, "--trials", "2", "--out", "m"]) == 0
    chosen = capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr(command, "fit", lambda options: None)
    asked.clear()
    assert main([*TUNE, "--trials", "9", "--out", "m"]) == 0
    assert asked == []
    assert capsys.readouterr().out.splitlines()[-1] == chosen


def test_images_are_not_tuned(capsys):
    np.savez("images.npz", X=np.zeros((20, 1, 8, 8), dtype=np.uint8), grade=np.arange(20) % 3)
    assert main(["tune", "images.npz", "--target", "grade"]) == 2
    assert "tune: is not for images" in capsys.readouterr().err


def test_a_trial_is_run_however_short_the_limit_is(monkeypatch, capsys):
    measured(monkeypatch, lambda settings: 1.0)
    assert main([*TUNE, "--time-limit", "0.00001", "--out", "m"]) == 0
    out = capsys.readouterr().out
    assert "trial 1: " in out
    assert "trial 2: " not in out
