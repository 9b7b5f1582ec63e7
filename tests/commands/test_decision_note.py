"""``ordinate fit`` says where another decision is clearly better on validation samples, and only there."""

import numpy as np
import pandas as pd
import pytest
from skordinal.datasets import load_era

from ordinate.cli import main
from ordinate.commands.fit.train import decision_note, measured_note
from ordinate.decisions import compare_rules
from ordinate.model.predictions import Predictions
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr

X, TARGET = draw_table()


def scores(mode=0.0, median=0.0):
    return {
        "mode": {"accuracy": 0.52, "mae": 0.7, "gain": mode},
        "median": {"accuracy": 0.5, "mae": 0.61, "gain": median},
    }


def test_the_other_rule_is_named_with_both_figures_where_it_is_clearly_better():
    model = cloc(decision="mode").fit(X, ranks_of(TARGET))
    assert decision_note(model, scores(median=2.5)) == (
        "on validation samples the median of the probabilities has an MAE of 0.610, the mode 0.700: "
        "--decision median predicts by it"
    )
    model.set_params(decision="median")
    assert "the mode of the probabilities has an accuracy of 0.520, the median 0.500" in decision_note(
        model, scores(mode=2.5)
    )


@pytest.mark.parametrize("decision", ["mode", "median", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]], ids=str)
def test_nothing_is_said_of_what_may_be_chance_or_was_chosen_by_costs(decision):
    model = cloc(decision=decision).fit(X, ranks_of(TARGET))
    assert decision_note(model, scores(mode=1.9, median=1.9)) is None
    if not isinstance(decision, str):
        assert decision_note(model, scores(mode=9.0, median=9.0)) is None
    assert decision_note(model, None) is None


def test_a_continuous_target_has_no_decision():
    assert measured_note([Predictions.of(supcr().fit(X, TARGET).fitted, X, TARGET)]) is None


def test_what_is_measured_is_the_model_on_the_samples():
    ranks = ranks_of(TARGET + np.random.default_rng(0).normal(scale=2, size=len(TARGET)), 5)
    model = cloc(epochs=(20, 20)).fit(X, ranks)
    expected = decision_note(model, compare_rules(ranks, model.rank_probabilities(X)))
    assert measured_note([Predictions.of(model.fitted, X, ranks)]) == expected


def test_fit_says_it_before_it_measures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    era = load_era()  # nine ranks that people dealt out with much noise
    sides = np.random.default_rng(0).choice(["train", "validation", "test"], len(era.target), p=[0.4, 0.4, 0.2])
    frame = pd.DataFrame(np.asarray(era.data), columns=["a", "b", "c", "d"]).assign(grade=era.target, side=sides)
    frame.to_csv("era.csv", index=False)
    arguments = ["--target", "grade", "--split", "side", "--method", "cloc", "--epochs", "10", "--no-report", "--quiet"]
    assert main(["fit", "era.csv", *arguments, "--decision", "mode"]) == 0
    said = capsys.readouterr().out
    assert "note: on validation samples the median of the probabilities has an MAE of" in said
    assert "--decision median" in said
    assert main(["fit", "era.csv", *arguments, "--out", "by-median"]) == 0
    assert "--decision median predicts by it" not in capsys.readouterr().out
