import pytest
import torch

from ordinate.functional import angular_triangle
from ordinate.losses import AngularTriangleLoss
from tests.functional.brute_force import embeddings

Z, RANKS = embeddings(9), torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 1])
TRIPLETS = torch.tensor([[1, 0, 3], [2, 4, 7], [5, 2, 3]])


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_the_module_is_the_formula_with_its_reduction(reduction):
    value = AngularTriangleLoss(4, reduction=reduction)(Z, RANKS)
    assert torch.equal(value, angular_triangle(Z, RANKS, 4, reduction=reduction))
    assert not torch.equal(value, angular_triangle(Z, RANKS, 4))


def test_the_number_of_ranks_sets_the_angles():
    assert AngularTriangleLoss(4)(Z, RANKS) == angular_triangle(Z, RANKS, 4)
    assert AngularTriangleLoss(4)(Z, RANKS) != AngularTriangleLoss(6)(Z, RANKS, triplets=TRIPLETS)


def test_triplets_may_be_given():
    value = AngularTriangleLoss(4)(Z, RANKS, triplets=TRIPLETS)
    assert value == angular_triangle(Z, RANKS, 4, triplets=TRIPLETS)
    assert value != AngularTriangleLoss(4)(Z, RANKS)
