"""Unseen targets: what is left out of training, and what is measured where."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report
from ordinate_papers.protocols.parts import KeptParts
from ordinate_papers.protocols.unseen_targets import draw_modes, in_ranges, unseen_targets
from tests.estimators.examples import draw_table, supremix

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


def test_an_estimator_is_trained_once(tmp_path):
    X, y = draw_table()
    ranges = [(-0.3, 0.3)]
    first = unseen_targets(supremix(), X, y, X, y, ranges=ranges, keep=KeptParts(tmp_path))
    assert unseen_targets(supremix(), X, y, X, y, ranges=ranges, keep=KeptParts(tmp_path)) == first


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([], "ranges: got \\[\\], which hold 0 of 80 training"),
        ([(100, 200)], "ranges: got .*which hold 0 of 80 training and 0 of 80 test"),
        ([(0, 80)], "ranges: got .*which hold 80 of 80"),
        ([(25, 20)], "ranges: got \\(25, 20\\), expected \\(lowest, highest\\)"),
    ],
)
def test_ranges_that_leave_nothing_are_an_error(ranges, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        unseen_targets(Witness(), AGES[:, None], AGES, AGES[:, None], AGES, ranges=ranges)


def test_a_classifier_is_refused():
    with pytest.raises(OrdinateError, match=r"^estimator: got a classifier"):
        unseen_targets(KNeighborsClassifier(), AGES[:, None], AGES, AGES[:, None], AGES, ranges=RANGES)


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


def test_the_modes_do_not_follow_how_often_a_target_occurs():
    rare = np.concatenate([MANY, np.repeat(np.arange(20.0, 26.0), 8000)])
    drawn, more = MANY[draw_modes(MANY, LEFT_OUT, 2000)], rare[draw_modes(rare, LEFT_OUT, 2000)]
    share, share_of_more = (np.mean((some > 19) & (some < 26)) for some in (drawn, more))
    assert share_of_more == pytest.approx(share, abs=0.03)


def test_a_protocol_trains_on_the_samples_drawn_and_says_how_their_targets_are_distributed():
    figures = unseen_targets(Witness(), MANY[:, None], MANY, AGES[:, None], AGES, ranges=LEFT_OUT, drawn=500, seed=3)
    assert len(Witness.seen) == 500
    assert figures["counts"] == [Witness.seen.count(age) for age in figures["centres"]]
    assert (figures["centres"][0], figures["centres"][-1], figures["width"]) == (0.0, 99.0, 1.0)
    other = unseen_targets(Witness(), MANY[:, None], MANY, AGES[:, None], AGES, ranges=LEFT_OUT, drawn=500, seed=4)
    assert other["counts"] != figures["counts"]


def test_more_than_there_are_cannot_be_drawn():
    with pytest.raises(OrdinateError, match="drawn: got 81, expected at most 68, the samples outside"):
        unseen_targets(Witness(), AGES[:, None], AGES, AGES[:, None], AGES, ranges=RANGES, drawn=81)
