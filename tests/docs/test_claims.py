"""docs/claims.md is what its script makes of the results, and verdicts follow its rule."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

SCRIPT = Path(__file__).parents[2] / "docs" / "claims" / "make.py"
specification = importlib.util.spec_from_file_location("claims_page", SCRIPT)
claims = importlib.util.module_from_spec(specification)
specification.loader.exec_module(claims)


def test_the_committed_page_is_what_the_script_makes():
    assert claims.PAGE.read_text("utf-8") == claims.page(), "python docs/claims/make.py writes it anew"


@pytest.mark.parametrize(
    ("gain", "half", "same", "verdict"),
    [
        (2, 1, True, "reproduced"),
        (2, 1, False, "direction only"),
        (1, 2, True, "not reproduced"),
        (1, 2, False, "not reproduced"),
        (-1, 2, True, "not reproduced"),
        (-2, 1, True, "contradicted"),
        (-2, 1, False, "contradicted in another setting"),
    ],
)
def test_a_verdict_follows_from_the_interval(gain, half, same, verdict):
    assert claims.verdict(gain, half, in_the_papers_setting=same) == verdict


LOWER = {"figure": "mae", "better": "lower", "where": {"set": "a"}, "ours": {"model": "x"}, "other": {"model": "y"}}


def test_runs_are_compared_in_pairs_by_seed():
    errors = {"x": [1.0, 2.0, 4.0, 9.0], "y": [2.0, 2.5, 5.5]}
    runs = [
        {"set": "a", "model": model, "seed": seed, "mae": error}
        for model, found in errors.items()
        for seed, error in enumerate(found)
    ]
    found = claims.in_pairs(LOWER, runs)
    interval = ttest_rel(errors["y"], errors["x"][:3]).confidence_interval()
    assert found.count == 3
    assert (found.ours, found.other, found.gain) == pytest.approx((7 / 3, 10 / 3, 1))
    assert found.half == pytest.approx((interval.high - interval.low) / 2)
    with pytest.raises(ValueError, match="two runs of seed 0"):
        claims.in_pairs(LOWER, [*runs, runs[0]])


def test_rows_of_a_table_are_compared_by_welchs_interval():
    errors = {"x": [1.0, 2.0, 4.0, 9.0], "y": [2.0, 2.5, 5.5]}
    rows = [
        {
            "set": "a",
            "model": model,
            "metric": "mae",
            "mean": np.mean(found),
            "deviation": np.std(found),
            "seeds": len(found),
        }
        for model, found in errors.items()
    ]
    found = claims.of_two_rows(LOWER, rows)
    interval = ttest_ind(errors["y"], errors["x"], equal_var=False).confidence_interval()
    assert (found.gain, found.count) == pytest.approx((10 / 3 - 4, 3))
    assert found.half == pytest.approx((interval.high - interval.low) / 2)
