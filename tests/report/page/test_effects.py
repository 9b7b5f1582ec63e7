"""How predictions depend on columns: the direction is that of the data, and single samples are explained in time."""

import numpy as np
import pandas as pd
import pytest

from ordinate.model.contributions import column_contributions
from ordinate.model.labels import first_label
from ordinate.model.occlusion import expected_label
from ordinate.report.page import words
from ordinate.report.page.effects import Effect, explain_cases, measure_effect
from tests.estimators.examples import cloc
from tests.report.page.stand_ins import contents

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(90, 2)), columns=["signal", "noise"])
X["kind"] = np.where(X["signal"] > 0, "high", "low")
RANKS = np.digitize(X["signal"], [-0.5, 0.5])
OF_RANKS = contents(np.repeat([0, 1, 2, 3], 10), np.repeat([0, 1, 2, 3], 10))


@pytest.fixture(scope="module")
def model():
    return cloc(epochs=(8, 8), learning_rate=0.01).fit(X, RANKS).fitted


def test_an_effect_is_the_mean_prediction_with_the_same_value_for_all(model):
    found = measure_effect(model, X, "signal")
    low = X["signal"].quantile(0.1, interpolation="nearest")
    assert found.predictions[0] == pytest.approx(expected_label(model, model.read(X.assign(signal=low))).mean())
    assert found.predictions == sorted(found.predictions)
    assert found.are_ordered
    assert measure_effect(model, X, "kind").values == ["low", "high"]
    assert measure_effect(model, X.assign(noise=np.nan), "noise") is None


def test_dates_and_numbers_that_are_text_have_their_order():
    dates = pd.date_range("2020-01-25", periods=90).strftime("%d.%m.%Y").to_numpy()
    table = pd.DataFrame({"day": dates, "mass": [f"{place / 4:.2f}".replace(".", ",") for place in range(90)]})
    table.loc[3, "mass"] = "unknown"
    of_table = cloc(epochs=(8, 8), learning_rate=0.01).fit(table, np.arange(90) // 30).fitted
    of_day, of_mass = measure_effect(of_table, table, "day"), measure_effect(of_table, table, "mass")
    assert (of_day.values, of_day.are_ordered) == (["03.02.2020", "09.03.2020", "14.04.2020"], True)
    assert (of_mass.values, of_mass.are_ordered) == (["2,50", "11,25", "20,00"], True)
    assert of_day.predictions == sorted(of_day.predictions)
    assert measure_effect(of_table, table.assign(mass="unknown"), "mass") is None
    same_index = table.set_axis([0] * len(table))
    assert measure_effect(of_table, same_index, "mass").predictions == of_mass.predictions


@pytest.mark.parametrize(
    ("predictions", "are_ordered", "expected"),
    [
        ([0.5, 1.0, 2.0], True, "↗ rises: 0.5 at a, 1 at b, 2 at c"),
        ([2.0, 1.0, 0.5], True, "↘ falls: 2 at a, 1 at b, 0.5 at c"),
        ([1.0, 2.0, 0.5], True, "rises and falls: 1 at a, 2 at b, 0.5 at c"),
        ([1.0, 1.01, 1.02], True, "hardly any effect: 1 at a, 1.01 at b, 1.02 at c"),
        ([0.5, 1.0, 2.0], False, "differs: 0.5 at a, 1 at b, 2 at c"),
    ],
)
def test_the_direction_is_said_in_words(predictions, are_ordered, expected):
    assert words.describe_effect(Effect(["a", "b", "c"], predictions, are_ordered), OF_RANKS) == expected


@pytest.mark.parametrize(
    ("names", "first"), [(["3", "4", "5", "6"], 3), (["-1", "0", "1"], -1), (["1", "2", "4", "8"], 0)]
)
def test_ranks_count_from_their_lowest_name_where_names_are_consecutive_numbers(names, first):
    assert first_label(names) == first


def test_samples_are_explained_as_the_command_explains_rows(model):
    found = explain_cases(model, X, X, [4, 7], 1000, most_parts=2)
    assert list(found) == [4, 7]
    expected = column_contributions(model, X.iloc[[7]], X).iloc[0]
    assert found[7].baseline == pytest.approx(expected["baseline"])
    assert [name for name, _ in found[7].parts] == expected[1:].abs().sort_values(ascending=False).index[:2].tolist()
    assert explain_cases(model, X, X, [4, 7], 1e-9) == {}
