"""docs/claims.md is what its script makes of the results, and verdicts follow its rule."""

import importlib.util
from pathlib import Path

import pytest

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
        (1, 2, True, "direction only"),
        (1, 2, False, "not reproduced"),
        (-1, 2, True, "not reproduced"),
        (-2, 1, True, "contradicted"),
        (-2, 1, False, "contradicted, at small size"),
    ],
)
def test_a_verdict_follows_from_the_interval(gain, half, same, verdict):
    assert claims.verdict(gain, half, in_the_papers_setting=same) == verdict
