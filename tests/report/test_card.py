"""The card of a model holds what was measured, and escapes nothing that Markdown shows as it is."""

import numpy as np

from ordinate import OTDClassifier, SupCRRegressor
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
    assert "some of which it may have been trained on" in limits(9, ", some of which it may have been trained on")[0]


def test_save_writes_a_card_of_what_the_model_knows(tmp_path):
    X = np.linspace(0, 1, 40)[:, None]
    OTDClassifier(epochs=2, random_state=5).fit(X, np.repeat([2, 1, 3], [10, 25, 5])).save(tmp_path / "ranks")
    SupCRRegressor(epochs=2, random_state=5).fit(X, 3 + X[:, 0]).save(tmp_path / "targets")
    ranks, targets = ((tmp_path / name / "MODEL_CARD.md").read_text() for name in ("ranks", "targets"))
    for line in ("- Method: OTD", "- Seed: 5", "- Samples: 40 samples of training", "- Ranks: 1 (25), 2 (10), 3 (5)"):
        assert line in ranks.splitlines()
    assert "- Mean of the label in training: 3.5" in targets.splitlines()
    assert "How good" not in ranks
