"""The numbers in the tables of README and of the pages of measurements follow from benchmarks/results."""

from itertools import chain

import pytest
from tools.figures import PAGES, Cell, cells, changed, check, derived, found


def test_every_number_of_a_table_follows_from_its_results():
    right, wrong, uncited, _ = check()
    assert wrong == []
    assert uncited == []
    assert len(right) > 350


def test_a_wrong_mean_beside_its_deviation_is_noticed():
    noticed = []
    for cell, cited in chain.from_iterable(map(cells, PAGES)):
        if cell.deviation is not None:
            known = tuple(sorted(chain.from_iterable(map(derived, cited))))
            noticed += [not found(other, known) for other in changed(cell)]
    assert len(noticed) > 300
    assert sum(noticed) >= 0.9 * len(noticed)


@pytest.mark.parametrize(("text", "deviation", "follows"), [
    ("0.67", None, True), ("67.3", None, True), ("0.68", None, False), ("0.67", "0.06", True), ("0.67", "0.05", False),
])  # fmt: skip
def test_numbers_are_rounded_as_shown(text, deviation, follows):
    known = ((0.6734, (0.0649, 0.0551)),) if deviation != "0.05" else ((0.6734, (0.0649,)),)
    assert found(Cell("a table", "a row", text, deviation), known) == follows
