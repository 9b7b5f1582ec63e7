"""Unseen targets: what is left out of training, and what is measured where."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsRegressor

from ordinate.metrics import continuous_report
from ordinate_papers.protocols.unseen_targets import draw_modes, in_ranges, unseen_targets

RANGES = [(20, 25), (50, 55)]
AGES = np.arange(0.0, 80.0)


class Witness(RegressorMixin, BaseEstimator):
    """Keeps what it was trained on."""

    seen: list = []  # noqa: RUF012 -- of all clones

    def fit(self, X, y):
        Witness.seen = np.asarray(y).tolist()
        return self

    def predict(self, X):
        return X[:, 0] + 1


def test_training_sees_no_target_of_the_ranges_ends_included():
    figures = unseen_targets(Witness(), AGES[:, None], AGES, AGES[:, None], AGES, ranges=RANGES)
    assert Witness.seen == [age for age in AGES if not (20 <= age <= 25 or 50 <= age <= 55)]
    assert figures["left_out"] == 12


def test_the_scores_are_those_of_each_side():
    model = KNeighborsRegressor(1).fit(AGES[~in_ranges(AGES, RANGES), None], AGES[~in_ranges(AGES, RANGES)])
    rows = unseen_targets(KNeighborsRegressor(1), AGES[:, None], AGES, AGES[:, None], AGES, ranges=RANGES)["rows"]
    predicted, unseen = model.predict(AGES[:, None]), in_ranges(AGES, RANGES)
    assert [(row.pop("targets"), row.pop("samples")) for row in rows] == [("all", 80), ("seen", 68), ("unseen", 12)]
    assert rows == [continuous_report(AGES[side], predicted[side]) for side in (np.ones(80, bool), ~unseen, unseen)]
    assert rows[1]["mae"] == 0
    assert rows[2]["mae"] == 2  # 1, 2, 3, 3, 2, 1


# samples in Gaussian modes (SupCR, Table 6)

MANY = np.random.default_rng(0).integers(0, 100, 40_000).astype(float)
LEFT_OUT = [(0, 15), (45, 60), (85, 99)]


def test_drawn_samples_lie_in_gaussian_modes_between_the_ranges():
    drawn = MANY[draw_modes(MANY, LEFT_OUT, 4000)]
    assert len(drawn) == 4000
    assert not in_ranges(drawn, LEFT_OUT).any()
    for low, high in ((15, 45), (60, 85)):
        mode = drawn[(drawn > low) & (drawn < high)]
        assert len(mode) == pytest.approx(2000, rel=0.06)
        assert mode.mean() == pytest.approx((low + high) / 2, abs=0.5)
        assert mode.std() == pytest.approx((high - low) / 6, rel=0.06)
        shares = np.mean(np.abs(mode - mode.mean()) < (high - low) / 6)
        assert shares == pytest.approx(0.68, abs=0.07)  # within one deviation, of whole years


def test_a_protocol_trains_on_the_samples_drawn_and_says_how_their_targets_are_distributed():
    figures = unseen_targets(Witness(), MANY[:, None], MANY, AGES[:, None], AGES, ranges=LEFT_OUT, drawn=500, seed=3)
    assert len(Witness.seen) == 500
    assert figures["counts"] == [Witness.seen.count(age) for age in figures["centres"]]
    assert (figures["centres"][0], figures["centres"][-1], figures["width"]) == (0.0, 99.0, 1.0)
    other = unseen_targets(Witness(), MANY[:, None], MANY, AGES[:, None], AGES, ranges=LEFT_OUT, drawn=500, seed=4)
    assert other["counts"] != figures["counts"]
