"""Labels biased at a boundary: which are relabelled, and that the test labels are not."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ordinate.metrics import adjacent_error_rates
from ordinate_papers.protocols.label_bias import bias_labels, label_bias
from ordinate_papers.protocols.parts import KeptParts
from tests.estimators.examples import cloc, draw_table, ranks_of

RANKS = np.repeat([0, 1, 2, 3], [7, 50, 40, 9])


def test_the_shares_of_table_3_are_relabelled_and_no_others():
    biased = bias_labels(RANKS, (1, 2))
    moved = biased != RANKS
    assert (moved & (RANKS == 1)).sum() == 30
    assert (moved & (RANKS == 2)).sum() == 12
    assert moved.sum() == 42
    assert set(biased[moved & (RANKS == 1)]) == {2}
    assert set(biased[moved & (RANKS == 2)]) == {1}


def test_the_scores_are_on_clean_labels():
    X = np.arange(len(RANKS))[:, None]
    words = np.array(["none", "mild", "severe", "worst"])
    ordered = {"class_order": words.tolist()}
    estimator = type("Nearest", (KNeighborsClassifier,), ordered)(1)
    [row] = label_bias(estimator, X, words[RANKS], X, words[RANKS], boundary=("mild", "severe"), seed=5)["rows"]
    biased = bias_labels(RANKS, (1, 2), seed=5)
    assert row["relabelled"] == 42
    assert row["accuracy"] == pytest.approx(1 - 42 / len(RANKS), rel=1e-12)
    assert row["mae"] == pytest.approx(42 / len(RANKS), rel=1e-12)
    assert row["critical_error"] == adjacent_error_rates(RANKS, biased, 4)[1]


def test_cloc_is_trained_with_learned_and_with_fixed_margins(tmp_path):
    X, target = draw_table(60)
    y = ranks_of(target)
    rows = [
        label_bias(estimator, X, y, X, y, boundary=(1, 2), keep=KeptParts(tmp_path / name))["rows"][0]
        for name, estimator in {"learned": cloc(), "fixed": cloc(critical_margins={(1, 2): 1.5})}.items()
    ]
    assert rows[0]["relabelled"] == rows[1]["relabelled"] == 18
    assert all(0 <= row["accuracy"] <= 1 for row in rows)
