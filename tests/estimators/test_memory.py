"""A training that memory cannot hold is refused before it begins."""

import pytest

from ordinate.data import memory
from ordinate.errors import OrdinateError
from ordinate.estimators.pipeline import Fit
from tests.estimators.examples import cloc, draw_table, ranks_of

X, TARGET = draw_table()


def test_what_memory_cannot_hold_is_refused_before_the_first_epoch(monkeypatch):
    model = cloc(random_state=0)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr(Fit, "_train", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(OrdinateError, match=r"training: takes .* GiB of memory, expected at most .*; fewer columns"):
        model.fit(X, ranks_of(TARGET))
