import pytest
import torch

from ordinate.functional import supremix
from ordinate.losses import SupReMixLoss
from tests.functional.brute_force import embeddings

Z, LABELS = embeddings(8), torch.tensor([0.0, 1.0, 1.0, 2.0, 2.5, 3.0, 3.0, 5.0])
OPTIONS = [
    {"temperature": 0.3},
    {"window": 1.0},
    {"beta": (5.0, 1.0)},
    {"mix_negatives": False},
    {"mix_positives": False},
    {"distance_magnifying": False},
    {"label_range": 9.0},
    {"renormalize": False},
    {"reduction": "mean"},
    {"reduction": "none"},
]


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_module_is_the_formula_with_its_options(options):
    default = {"temperature": 0.5, "window": 2.0}
    value = SupReMixLoss(**default | options)(Z, LABELS, generator=seeded())
    assert torch.equal(value, supremix(Z, LABELS, generator=seeded(), **default | options))
    assert not torch.equal(value, supremix(Z, LABELS, generator=seeded(), **default))


def test_detached_mixtures_pass_no_gradient():
    options = {"temperature": 0.5, "window": 2.0}
    detached, attached = (
        torch.autograd.grad(SupReMixLoss(detach_mixtures=detach, **options)(Z, LABELS, generator=seeded()), Z)[0]
        for detach in (True, False)
    )
    formula = supremix(Z, LABELS, detach_mixtures=True, generator=seeded(), **options)
    assert torch.equal(detached, torch.autograd.grad(formula, Z)[0])
    assert not torch.equal(detached, attached)


def test_a_generator_fixes_the_shares_and_without_one_they_are_drawn_anew():
    loss = SupReMixLoss(temperature=0.5, window=2.0)
    assert loss(Z, LABELS, generator=seeded()) == loss(Z, LABELS, generator=seeded())
    assert loss(Z, LABELS) != loss(Z, LABELS)
