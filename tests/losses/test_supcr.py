import pytest
import torch

from ordinate.functional import supcr
from ordinate.losses import SupCRLoss
from tests.functional.brute_force import embeddings

Z, LABELS = (
    embeddings(9),
    torch.tensor([[0.0, 2.0], [1.0, 0.5], [1.1, 0.4]]).repeat(3, 1) + torch.arange(9)[:, None] / 8,
)
OPTIONS = [
    {"temperature": 0.5},
    {"similarity": "cosine"},
    {"similarity": "neg_l1"},
    {"label_distance": "l2"},
    {"label_distance": lambda a, b: torch.cdist(a, b).square()},
    {"num_positives": 2},
    {"tie_tolerance": 0.6},
    {"reduction": "sum"},
    {"reduction": "none"},
    {"temperature": 0.1, "similarity": "cosine", "label_distance": "angular", "num_positives": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_the_module_is_the_formula_with_its_options(options):
    value = SupCRLoss(**options)(Z, LABELS)
    assert torch.equal(value, supcr(Z, LABELS, **options))
    assert not torch.equal(value, supcr(Z, LABELS))
