"""Standings from records: means, ranks, Nemenyi's critical difference, wins, and the file of runs."""

import numpy as np
import pytest
from scipy.stats import rankdata

from ordinate.errors import OrdinateError
from ordinate_papers.leaderboards.boards import BOARDS, Board, board
from ordinate_papers.leaderboards.standings import Ranking, Record, Standings, read_records

BOARD = Board("tabular-ordinal", "Ranks", "ranks", {"a": 2, "b": 2, "c": 2}, ("x", "y", "z"), ("mae", "accuracy"), "")
FIGURES = {  # set: model: (mae, accuracy), of two splits one above and one below
    "a": {"x": (0.1, 0.9), "y": (0.2, 0.8), "z": (0.3, 0.8)},
    "b": {"x": (0.2, 0.7), "y": (0.1, 0.9), "z": (0.2, 0.5)},
    "c": {"x": (0.5, 0.6), "y": (0.6, 0.6)},
}


def standings():
    return Standings(BOARD, [
        Record(name, model, split, {"mae": mae + shift, "accuracy": accuracy - shift, "seconds": 1.0 + split})
        for name, models in FIGURES.items()
        for model, (mae, accuracy) in models.items()
        for split, shift in enumerate((0.01, -0.01))
    ])  # fmt: skip


def test_means_are_over_the_splits():
    means = standings().means
    assert means["b"]["y"] == pytest.approx({"mae": 0.1, "accuracy": 0.9, "seconds": 1.5})
    assert list(means["c"]) == ["x", "y"]


def test_ranks_are_over_the_sets_on_which_every_model_has_a_figure():
    ranking = standings().ranking("mae")
    assert ranking.sets == ["a", "b"]
    places = np.mean([rankdata([0.1, 0.2, 0.3]), rankdata([0.2, 0.1, 0.2])], axis=0)
    assert ranking.ranks == dict(sorted(zip("xyz", places.tolist(), strict=True), key=lambda item: item[1]))


def test_a_higher_accuracy_is_a_lower_rank():
    assert standings().ranking("accuracy").ranks == {"x": 1.5, "y": 1.75, "z": 2.75}


def test_the_critical_difference_is_that_of_the_published_table():
    """Demšar (2006), Table 5a: q = 2.343 for three models, 2.728 for five, 3.164 for ten, at 0.05."""
    for count, quantile in ((3, 2.343), (5, 2.728), (10, 3.164)):
        ranks = {f"m{place}": float(place) for place in range(count)}
        found = Ranking("mae", ["set"] * 14, ranks).critical_difference
        assert found == pytest.approx(quantile * np.sqrt(count * (count + 1) / (6 * 14)), rel=1e-3)


def test_groups_are_the_longest_runs_that_do_not_differ():
    ranks = {"a": 1.0, "b": 1.5, "c": 2.4, "d": 5.0}
    ranking = Ranking("mae", ["set"] * 20, ranks)
    assert 1.0 < ranking.critical_difference < 1.4
    assert ranking.groups == [("a", "b"), ("b", "c")]


def test_wins_are_counted_on_the_sets_that_both_have():
    assert standings().wins("x", "y", "mae") == (2, 0, 1)
    assert standings().wins("x", "z", "mae") == (1, 1, 0)
    assert standings().wins("x", "y", "accuracy") == (1, 1, 1)


def test_the_file_of_runs_holds_every_digit():
    before = standings()
    assert Standings(BOARD, read_records(before.as_csv())).means == before.means
    with pytest.raises(OrdinateError, match="what ordinate leaderboard wrote"):
        read_records("set,model,seed\na,b,1\n")


def test_published_figures_are_of_known_sets_and_measures():
    for found in BOARDS.values():
        assert set(found.published) <= set(found.sets)
        for models in found.published.values():
            for figures in models.values():
                assert set(figures) <= set(found.measures)
    assert board("tabular-ordinal").published["car"]["EBANO (published)"]["mae"] == 0.001
    assert board("tabular-regression").published["boston"]["deep ensembles (published)"] == {"rmse": 3.28}
    assert len(board("tabular-ordinal").published["esl"]) == 8
