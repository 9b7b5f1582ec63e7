"""The card of a model holds what was measured, and escapes nothing that Markdown shows as it is."""

from ordinate.report.card import limits, model_card
from ordinate.report.page.verdict import Compared, Verdict
from ordinate.report.page.words import Caution


def test_a_card_has_results_limits_and_where_the_model_comes_from():
    verdict = Verdict("46% right", "worse than a random forest", "worse")
    compared = Compared([], {"grade": verdict}, [Caution("Few samples", "Look at the intervals.")])
    card = model_card(["grade"], compared, 80, {"Data": "knees.csv"}, ["left out: column 'id'"], {"Seed": "0"})
    assert card.startswith("# Model card: grade\n")
    for line in (
        "On 80 held-out samples:", "- grade: 46% right; worse than a random forest", f"- {limits(80)[0]}",
        "- Few samples. Look at the intervals.", "- Data: knees.csv", "- left out: column 'id'", "- Seed: 0",
    ):  # fmt: skip
        assert line in card.splitlines()


def test_without_a_comparison_it_claims_no_quality():
    assert "How good" not in model_card(["grade"], None, 2, {}, [], {})
    assert "some of which it may have been trained on" in limits(9, is_unseen=False)[0]
