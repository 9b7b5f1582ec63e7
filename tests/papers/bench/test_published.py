"""The published loops are the losses: a race against them is one to the same value and gradient."""

import pytest
import torch

from ordinate_papers.bench import published
from ordinate_papers.bench.contenders import CONTENDERS, LOSSES, draw, published_name


def assert_same(loss, n, **options):
    embeddings, labels = draw(n, 4, torch.float64, "cpu", ranks=CONTENDERS[loss].ranks)
    labels = labels if CONTENDERS[loss].ranks else labels.double()
    (ours, gradient), (theirs, their_gradient) = (
        (value, torch.autograd.grad(value, embeddings)[0])
        for value in (CONTENDERS[name].loss(embeddings, labels, **options) for name in (loss, published_name(loss)))
    )
    torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-9)
    torch.testing.assert_close(their_gradient, gradient, rtol=0, atol=1e-9)
    assert gradient.norm() > 1e-3


@pytest.mark.parametrize("n", [16, 33])
@pytest.mark.parametrize("loss", ["supcr", "mmnp", "angular_triangle"])
def test_a_published_loop_has_the_value_and_the_gradient_of_the_loss(loss, n):
    assert_same(loss, n)


@pytest.mark.parametrize("n", [16, 33])
def test_materialised_mixtures_have_the_value_and_the_gradient_of_the_loss(n):
    neg_mix = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert_same("supremix", n, neg_mix=neg_mix)


def test_published_mixtures_draw_their_own_shares():
    embeddings, labels = draw(16, 4, torch.float32, "cpu", ranks=False)
    first, second = (published.supremix(embeddings, labels, 0.5, 50.0) for _ in range(2))
    assert first != second
    assert abs(first - second) < 0.5


@pytest.mark.parametrize("loss", LOSSES)
def test_published_loops_run_in_the_dtype_of_the_embeddings(loss):
    embeddings, labels = draw(16, 4, torch.float32, "cpu", ranks=CONTENDERS[loss].ranks)
    assert CONTENDERS[published_name(loss)].loss(embeddings, labels).dtype == torch.float32
