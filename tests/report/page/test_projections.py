"""Projections show what is there: equal embeddings in one place, and neighbours only where samples differ."""

import numpy as np
import pytest

from ordinate.report.page.projections import project

RANDOM = np.random.default_rng(0)
ONE = RANDOM.normal(size=16)
FEW = {
    "equal": np.tile(ONE, (4500, 1)),
    "equal up to rounding": np.tile(ONE, (4500, 1)) * (1 + 1e-9 * RANDOM.normal(size=(4500, 16))),
    "zero": np.zeros((4500, 16)),
    "nine places": np.repeat(RANDOM.normal(size=(9, 16)), 500, axis=0),
    "all but one equal": np.vstack([np.tile(ONE, (4499, 1)), ONE + 1]),
    "one sample": ONE[None],
}
ENOUGH = {
    "ten places": np.repeat(RANDOM.normal(size=(10, 16)), 45, axis=0),
    "a line": RANDOM.normal(size=(450, 1)) * ONE,
    "far from 0": 1e6 + RANDOM.normal(size=(200, 16)),
    "huge": 1e300 * RANDOM.normal(size=(200, 16)),
    "tiny": 1e-200 * RANDOM.normal(size=(200, 16)),
    "more directions than samples": RANDOM.normal(size=(12, 64)),
    "one direction": RANDOM.normal(size=(200, 1)),
}


PLACES = {"nine places": 9, "all but one equal": 2}


@pytest.mark.parametrize(("name", "embeddings"), FEW.items(), ids=FEW)
def test_of_few_different_samples_only_the_principal_components_are_drawn(name, embeddings):
    (drawn,) = project(embeddings)
    assert drawn.key == "pca"
    assert np.isfinite(drawn.points).all()
    assert len(np.unique(drawn.points.round(5), axis=0)) == PLACES.get(name, 1)  # and no rounding made visible


@pytest.mark.parametrize("embeddings", ENOUGH.values(), ids=ENOUGH)
def test_others_are_drawn_in_every_way(embeddings):
    drawn = project(embeddings)
    assert [one.key for one in drawn] == ["pca", "tsne"]
    for one in drawn:
        assert np.isfinite(one.points).all()
        assert np.ptp(one.points, axis=0).max() == pytest.approx(1, abs=1e-5)
