"""Heads refuse targets that would broadcast against their predictions."""

import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.heads import NeighbourMean
from ordinate.heads.build import build_head
from ordinate.heads.linear import fit_ridge
from ordinate.options import head_losses
from ordinate_papers.heads.binned import dex_losses, dldl_v2_losses
from ordinate_papers.heads.thresholds import corn_losses, extended_binary_losses

EMBEDDINGS = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
TARGETS = torch.arange(12.0)
for_every_head = pytest.mark.parametrize("name", head_losses())


def head_of(name, dimensions, targets):
    torch.manual_seed(0)
    head = build_head(name, 4, dimensions)
    head.standardise(targets)
    return head


@for_every_head
def test_a_vector_of_targets_is_a_column_of_them(name):
    by_vector, by_column = head_of(name, 1, TARGETS), head_of(name, 1, TARGETS[:, None])
    expected = by_column.loss(EMBEDDINGS, TARGETS[:, None])
    assert torch.equal(by_vector.loss(EMBEDDINGS, TARGETS[:, None]), expected)
    assert torch.equal(by_column.loss(EMBEDDINGS, TARGETS), expected)
    assert torch.equal(by_column.loss(EMBEDDINGS, TARGETS.long()), by_column.loss(EMBEDDINGS, TARGETS.double()))


@for_every_head
@pytest.mark.parametrize(
    ("dimensions", "wrong"),
    [(1, (12, 2)), (1, (1, 12)), (1, (1,)), (1, (12, 1, 1)), (2, (12,)), (2, (12, 1)), (2, (2, 12))],
)
def test_targets_of_another_shape_are_refused(name, dimensions, wrong):
    head = head_of(name, dimensions, TARGETS[:, None].repeat(1, dimensions))
    with pytest.raises(OrdinateError, match="labels: got shape"):
        head.loss(EMBEDDINGS, torch.zeros(wrong))


@for_every_head
def test_a_head_is_not_standardised_by_targets_of_another_dimension(name):
    with pytest.raises(OrdinateError, match=r"labels: got shape \(12,\), expected \(12, 2\)"):
        build_head(name, 4, 2).standardise(TARGETS)


@pytest.mark.parametrize("losses", [corn_losses, dex_losses, dldl_v2_losses, extended_binary_losses])
@pytest.mark.parametrize("shape", [(12, 1), (1,), (11,)])
def test_losses_on_bins_refuse_positions_that_would_broadcast(losses, shape):
    with pytest.raises(OrdinateError, match=r"positions: got shape .*expected \(12,\)"):
        losses(EMBEDDINGS, torch.ones(shape))


def test_neighbours_and_ridge_regression_see_a_vector_of_targets_as_a_column():
    by_vector, by_column = NeighbourMean(EMBEDDINGS, TARGETS, k=3), NeighbourMean(EMBEDDINGS, TARGETS[:, None], k=3)
    assert torch.equal(by_vector(EMBEDDINGS), by_column(EMBEDDINGS))
    by_vector, by_column = (fit_ridge(EMBEDDINGS, targets) for targets in (TARGETS, TARGETS[:, None]))
    assert torch.equal(by_vector(EMBEDDINGS), by_column(EMBEDDINGS))
