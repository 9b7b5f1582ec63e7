import torch

from ordinate.losses import SupReMixLoss
from tests.functional.brute_force import embeddings

Z, LABELS = embeddings(8), torch.tensor([0.0, 1.0, 1.0, 2.0, 2.5, 3.0, 3.0, 5.0])


def seeded():
    return torch.Generator().manual_seed(0)


def test_a_generator_fixes_the_shares_and_without_one_they_are_drawn_anew():
    loss = SupReMixLoss(temperature=0.5, window=2.0)
    assert loss(Z, LABELS, generator=seeded()) == loss(Z, LABELS, generator=seeded())
    assert loss(Z, LABELS) != loss(Z, LABELS)
