"""Heads that are solved on a frozen encoder are not trained; the same heads stand behind plain losses."""

import numpy as np
import pytest
import torch

from ordinate import Head
from ordinate.errors import OrdinateError
from ordinate.estimators import EndToEndRegressor
from ordinate.estimators.registry import build
from ordinate.heads.neighbours import NeighbourMean
from tests.estimators.examples import draw_table, supcr, supremix

X, TARGET = draw_table(80)


def stages(model):
    return {epoch["stage"] for epoch in model.history_}


@pytest.mark.parametrize("make", [supcr, supremix])
def test_no_head_is_trained_by_default(make):
    model = make(refit=0, validation_fraction=0.2).fit(X, TARGET)
    assert stages(model) == {0.0}
    assert set(model.head_scores_) == {"ridge", "neighbours"}
    assert make(refit=0, validation_fraction=0.0).fit(X, TARGET).head_name_ == "ridge"


@pytest.mark.parametrize(
    "options",
    [{"head": "linear"}, {"head": Head(loss="or")}, {"scheme": "fine_tune"}],
    ids=["linear", "bins", "fine_tune"],
)
def test_a_head_is_trained_where_it_has_to_be(options):
    model = supcr(refit=0, **options).fit(X, TARGET)
    assert stages(model) == {0.0, 1.0}
    assert "linear" in model.head_scores_ or model.head_name_ == "linear"


def test_a_head_that_is_trained_needs_epochs():
    with pytest.raises(
        OrdinateError, match="epochs: got 0 of the head, expected at least 1 for a head that is trained"
    ):
        supcr(epochs=(3, 0), head="linear").fit(X, TARGET)
    assert stages(supcr(epochs=(3, 0), refit=0).fit(X, TARGET)) == {0.0}


def test_the_candidates_of_a_plain_loss_are_its_own_head_and_the_solved_ones():
    model = EndToEndRegressor(epochs=5, random_state=0).fit(X, TARGET)
    assert set(model.head_scores_) == {"linear", "ridge", "neighbours"}
    alone = build("l1", "continuous", epochs=5, random_state=0, training__validation_fraction=0.0)
    assert alone.fit(X, TARGET).head_name_ == "linear"


def test_neighbours_by_cosine_do_not_see_lengths():
    random = np.random.default_rng(0)
    points, queries = (torch.from_numpy(random.normal(size=(n, 3))) for n in (30, 7))
    targets = torch.from_numpy(random.normal(size=30))
    mean = NeighbourMean(points, targets, 4, similarity="cosine")
    units = points / points.norm(dim=1, keepdim=True)
    expected = []
    for query in queries / queries.norm(dim=1, keepdim=True):
        apart = (units - query).norm(dim=1)
        nearest = apart.argsort()[:4]
        weights = 1 / apart[nearest]
        expected.append(float((weights * targets[nearest]).sum() / weights.sum()))
    np.testing.assert_allclose(mean(5 * queries)[:, 0].numpy(), expected, rtol=1e-9)
