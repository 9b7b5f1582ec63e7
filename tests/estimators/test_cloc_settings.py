"""The settings of CLOC's margin loss: they reach it, change the training, and what cannot be is refused."""

import numpy as np
import pytest

from ordinate import load
from ordinate.errors import OrdinateError
from tests.estimators.examples import cloc, draw_table, ranks_of

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)


def test_eq_2s_sum_is_the_pair_mean_times_the_pairs_of_an_anchor():
    """CLOC, eq. 2, in the first batch, in which the networks are the same."""
    losses = {}
    for reduction in ("sum", "pair_mean", "published"):
        model = cloc(reduction=reduction, batch_size=48, epochs=(1, 1)).fit(X, RANKS)
        losses[reduction] = model.history_[0]["train_mmnp"]
        assert model.method_.mmnp.reduction == reduction
    (count,) = set(np.bincount(RANKS))  # all ranks have as many samples
    assert losses["sum"] / losses["pair_mean"] == pytest.approx((count - 1) * (len(RANKS) - count), rel=1e-5)
    assert losses["pair_mean"] / losses["published"] == pytest.approx(len(RANKS) - count, rel=1e-5)


def test_without_weight_the_margin_loss_has_no_part_in_the_training(tmp_path):
    free, fixed = (cloc(mmnp_weight=0.0, reduction=kind, epochs=(1, 1)).fit(X, RANKS) for kind in ("sum", "pair_mean"))
    np.testing.assert_array_equal(free.transform(X), fixed.transform(X))
    weighed = cloc(mmnp_weight=1.0, epochs=(1, 1)).fit(X, RANKS)
    assert (weighed.transform(X) != free.transform(X)).any()
    free.save(tmp_path / "model")
    assert load(tmp_path / "model").get_params()["reduction"] == "sum"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reduction": "none"}, "reduction: got 'none', expected one of 'pair_mean', 'published', 'sum'"),
        ({"mmnp_weight": -1.0}, "mmnp_weight: got -1.0"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        cloc(**options).fit(X, RANKS)


def test_one_number_of_epochs_is_divided_between_the_phases():
    assert [epoch["stage"] for epoch in cloc(epochs=10).fit(X, RANKS).history_].count(1) == 9
    with pytest.raises(OrdinateError, match=r"epochs: got \(1, 2, 3\), expected a whole number, or two such as"):
        cloc(epochs=(1, 2, 3)).fit(X, RANKS)
