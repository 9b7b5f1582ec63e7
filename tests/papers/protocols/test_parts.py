"""Parts that are kept: computed once, and whole or not there."""

import pytest

from ordinate_papers.protocols.parts import KeptParts, compute


def test_a_part_is_computed_once(tmp_path):
    keep = KeptParts(tmp_path / "new" / "folder")
    assert keep("a", lambda: {"mae": 0.1, "errors": [1, float("inf")]}) == {"mae": 0.1, "errors": [1, float("inf")]}
    assert keep("a", lambda: pytest.fail("computed again")) == {"mae": 0.1, "errors": [1, float("inf")]}
    assert keep("b", lambda: {"mae": 2.0}) == {"mae": 2.0}


def test_a_part_that_fails_is_not_kept(tmp_path):
    keep = KeptParts(tmp_path)
    with pytest.raises(ZeroDivisionError):
        keep("a", lambda: {"mae": 1 / 0})
    assert keep("a", lambda: {"mae": 1.0}) == {"mae": 1.0}


def test_figures_that_cannot_be_written_leave_no_part(tmp_path):
    keep = KeptParts(tmp_path)
    with pytest.raises(TypeError):
        keep("a", lambda: {"mae": object()})
    assert list(tmp_path.glob("*.json")) == []


def test_computing_keeps_nothing():
    assert compute("a", lambda: {"mae": 1.0}) == {"mae": 1.0}
    assert compute("a", lambda: {"mae": 2.0}) == {"mae": 2.0}
