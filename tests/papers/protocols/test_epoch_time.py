"""Time of an epoch: which epochs count, in turns, and what is refused."""

import time

import pytest

from ordinate.data.samplers import RankBatches
from ordinate.estimators.pipeline import Fit
from ordinate.methods.supcr import SupCR
from ordinate.methods.supremix import SupReMix
from ordinate_papers.protocols.epoch_time import epoch_time, pairing_time
from tests.estimators.examples import draw_table, otd, ranks_of, supcr, supremix


def test_the_times_are_those_of_the_first_stages_epochs(monkeypatch):
    """Every batch takes as long as is said; the batches of 48 samples are 2."""
    for method, seconds in ((SupCR, 0.02), (SupReMix, 0.01)):
        loss = method.batch_loss

        def slow(self, x, y, loss=loss, seconds=seconds):
            if self.stage_index == 0:
                time.sleep(seconds)
            return loss(self, x, y)

        monkeypatch.setattr(method, "batch_loss", slow)
    options = {"epochs": (4, 6), "head": "linear"}
    pair = {"SupCR": supcr(**options), "SupReMix": supremix(**options)}
    figures = epoch_time(pair, *draw_table(), rounds=2)
    assert [row["method"] for row in figures["rows"]] == ["SupCR", "SupReMix"]
    assert [row["epochs"] for row in figures["rows"]] == [6, 6]
    assert [len(figures["seconds"][name]) for name in pair] == [6, 6]
    assert min(figures["seconds"]["SupCR"]) >= 0.04
    assert min(figures["seconds"]["SupReMix"]) >= 0.02
    assert [len(row["stages"]) for row in figures["rows"]] == [2, 2]
    assert [row["stages"][0] for row in figures["rows"]] == [row["seconds"] for row in figures["rows"]]
    assert all(row["stages"][1] < row["stages"][0] for row in figures["rows"])  # whose batches take no longer
    first, second = (row["seconds"] for row in figures["rows"])
    assert figures["rows"][0]["ratio"] == pytest.approx(first / second, rel=1e-12)
    assert figures["rows"][1]["ratio"] == 1.0


def test_the_estimators_are_trained_in_turns(monkeypatch):
    order = []
    for kind in (type(supcr()), type(supremix())):
        fit = kind.fit

        def recorded(self, X, y, fit=fit):
            order.append(type(self).__name__)
            return fit(self, X, y)

        monkeypatch.setattr(kind, "fit", recorded)
    epoch_time({"a": supcr(epochs=(2, 1)), "b": supremix(epochs=(2, 1))}, *draw_table(), rounds=2)
    assert order == ["SupCRRegressor", "SupReMixRegressor"] * 2


def test_pairing_draws_the_batches_of_an_epoch_and_trains_nothing(monkeypatch):
    drawn = []
    build = RankBatches.complete
    monkeypatch.setattr(
        RankBatches, "complete", lambda self, *given: drawn.append(self.batch_size) or build(self, *given)
    )
    monkeypatch.setattr(Fit, "run", lambda *_: pytest.fail("it trains"))
    X, target = draw_table()
    small, large = otd(batch_size=12), otd(batch_size=48)
    seconds = pairing_time({"small": small, "large": large}, X, ranks_of(target), rounds=3)
    assert drawn.count(12) == 3 * 4
    assert drawn.count(48) == 3
    assert 0 < seconds["large"] < seconds["small"]
