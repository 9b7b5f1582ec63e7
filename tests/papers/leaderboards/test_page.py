"""A leaderboard in words: the best first, digits that tell models apart, published models without splits."""

from ordinate_papers.leaderboards.page import as_markdown, of_ranks, of_set, rankings
from tests.papers.leaderboards.test_standings import BOARD, standings


def test_the_best_model_of_a_set_comes_first_with_its_splits():
    header, rows = of_set(standings(), "b")
    assert list(header) == ["model", "splits", "MAE", "accuracy", "seconds"]
    assert [row[0] for row in rows] == ["y", "x", "z"]
    assert rows[0] == ["y", "2", "0.1000", "0.9000", "1.5"]


def test_small_errors_have_digits_that_tell_them_apart():
    few = standings()
    few.means["b"]["y"] = {"mae": 0.00123, "accuracy": 1.0}
    _, rows = of_set(few, "b")
    assert rows[0] == ["y", "2", "0.00123", "1.0000", ""]


def test_ranks_say_how_often_the_first_model_of_the_board_is_ahead():
    header, rows = of_ranks(standings(), rankings(standings()))
    assert list(header) == ["model", "MAE", "accuracy", "x ahead / level / behind"]
    assert {row[0]: row[-1] for row in rows} == {"x": "", "y": "2 / 0 / 1", "z": "1 / 1 / 0"}


def test_the_page_has_a_heading_per_set_and_names_the_sets_of_the_ranks():
    text = as_markdown(standings(), level=3)
    assert text.startswith(f"### {BOARD.title}")
    assert [line for line in text.splitlines() if line.startswith("####")] == [
        "#### Mean ranks", "#### a", "#### b", "#### c",
    ]  # fmt: skip
    assert "MAE and accuracy over a, b. Two models differ" in text
