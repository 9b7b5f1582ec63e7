import math

import pytest
import torch
from torch import nn

from ordinate.errors import OrdinateError
from ordinate_papers.published.epochs import constant, cosine_by_epoch, tenth_after, trained_epochs


def batches_of(n, batch_size, **options):
    """The rows of all batches of two epochs, by epoch."""
    weight, seen = torch.zeros(1, requires_grad=True), []

    def loss(rows):
        seen.append(rows)
        return weight.sum()

    optimizer = torch.optim.SGD([weight])
    list(trained_epochs(loss, optimizer, n, epochs=2, batch_size=batch_size, rate=constant(1.0), **options))
    return seen[: len(seen) // 2], seen[len(seen) // 2 :]


def test_an_epoch_sees_every_sample_once_in_another_order():
    first, second = (torch.cat(rows) for rows in batches_of(10, 4))
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(10))
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize(("n", "sizes"), [(10, [4, 4]), (8, [4, 4])])
def test_incomplete_batches_are_dropped_if_asked_for(n, sizes):
    first, _ = batches_of(n, 4, drop_last=True)
    assert [len(rows) for rows in first] == sizes


def test_a_set_that_is_smaller_than_a_batch_has_no_complete_one():
    with pytest.raises(OrdinateError, match="batch_size: got 4, expected at most 3, the number of samples"):
        batches_of(3, 4, drop_last=True)


def test_the_rate_is_asked_for_at_every_step():
    weight, asked = nn.Parameter(torch.zeros(1)), []

    def rate(progress):
        asked.append(progress)
        return 0.5 ** len(asked)

    optimizer = torch.optim.SGD([weight])
    losses = list(trained_epochs(lambda rows: weight.sum(), optimizer, 4, epochs=2, batch_size=2, rate=rate))
    assert asked == [0, 0.5, 1, 1.5]
    assert weight.item() == -(0.5 + 0.25 + 0.125 + 0.0625)
    assert losses == [(0 - 0.5) / 2, (-0.75 - 0.875) / 2]


def test_the_cosine_starts_below_its_rate_and_ends_at_the_least():
    at = cosine_by_epoch(0.5, 400, 0.0005)
    assert at(0) == pytest.approx(0.0005 + 0.4995 * (1 + math.cos(math.pi / 400)) / 2, abs=1e-15)
    assert at(399.99) == pytest.approx(0.0005, abs=1e-15)
    assert at(199) == pytest.approx(0.25025, abs=1e-12)


def test_a_rate_falls_to_a_tenth_at_each_milestone():
    at = tenth_after(1.0, 60, 80)
    assert [at(progress) for progress in (0, 59.99, 60, 79.5, 80, 99)] == [1, 1, 0.1, 0.1, 0.01, 0.01]
