"""The picture of mean ranks: names at their ranks, and a bar across those that do not differ."""

import matplotlib.pyplot as plt
import pytest

from ordinate_papers.figures.critical_difference import critical_difference
from ordinate_papers.leaderboards.standings import Ranking


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_names_stand_at_their_ranks_and_bars_cross_what_does_not_differ():
    ranks = {"blend": 1.2, "forest": 2.0, "ridge": 3.9, "mean": 4.9}
    ranking = Ranking("mae", ["set"] * 20, ranks)
    axes = critical_difference([ranking]).axes[0]
    shown = " ".join(text.get_text() for text in axes.texts)
    for name, rank in ranks.items():
        assert f"{name}" in shown
        assert f"{rank:.2f}" in shown
        assert any(line.get_xdata()[0] == rank for line in axes.lines)
    bars = [line.get_xdata() for line in axes.lines if line.get_linewidth() > 3]
    assert ranking.groups == [("blend", "forest"), ("ridge", "mean")]
    assert [(round(low, 2), round(high, 2)) for low, high in bars] == [(1.16, 2.04), (3.86, 4.94)]
