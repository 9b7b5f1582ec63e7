"""RankSim against ranks of SciPy and the formula of blackbox differentiation."""

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from ordinate.errors import OrdinateError
from ordinate_papers.methods.imbalance import rank_similarity
from tests import processes


def draw(n=12, d=5, p=1, seed=0):
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.normal(size=(n, d))), torch.from_numpy(random.normal(size=(n, p)))


def similarities(embeddings):
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    return unit @ unit.T


def ranks(scores):
    """1/m for the highest score of a row to 1."""
    return rankdata(-scores, method="ordinal", axis=1) / scores.shape[1]


def loss_of(embeddings, labels):
    distance = np.abs(labels[:, None] - labels[None]).sum(axis=2)
    return ((ranks(similarities(embeddings)) - ranks(-distance)) ** 2).mean(axis=1).sum()


@pytest.mark.parametrize("p", [1, 3])
def test_the_value_is_the_squared_difference_of_the_ranks(p):
    embeddings, labels = draw(p=p)
    assert rank_similarity(embeddings, labels).item() == pytest.approx(loss_of(embeddings.numpy(), labels.numpy()))


@pytest.mark.parametrize("interpolation", [0.5, 2.0, 50.0])
def test_the_gradient_of_the_similarities_is_the_change_of_ranks_over_lambda(interpolation):
    embeddings, labels = draw()
    scores, m = similarities(embeddings.numpy()), len(labels)
    distance = np.abs(labels.numpy() - labels.numpy().T)
    of_ranks = 10 * 2 * (ranks(scores) - ranks(-distance)) / m  # of ten times the loss
    of_scores = (ranks(scores + interpolation * of_ranks) - ranks(scores)) / interpolation

    embeddings.requires_grad_()
    (10 * rank_similarity(embeddings, labels, interpolation=interpolation)).backward()
    copy = embeddings.detach().clone().requires_grad_()
    unit = copy / copy.norm(dim=1, keepdim=True)
    (unit @ unit.T * torch.from_numpy(of_scores)).sum().backward()
    assert of_scores.any()
    torch.testing.assert_close(embeddings.grad, copy.grad, rtol=0, atol=1e-12)


def test_it_does_not_change_with_the_batch_order_the_embeddings_length_or_the_labels_units():
    embeddings, labels = draw()
    loss = rank_similarity(embeddings, labels)
    order = torch.from_numpy(np.random.default_rng(1).permutation(len(labels)))
    lengths = torch.linspace(0.1, 9, len(labels))[:, None].double()
    torch.testing.assert_close(rank_similarity(embeddings[order], labels[order]), loss, rtol=0, atol=1e-12)
    torch.testing.assert_close(rank_similarity(lengths * embeddings, 7 * labels - 3), loss, rtol=0, atol=1e-12)


def test_of_equally_distant_labels_the_larger_comes_first():
    labels = torch.tensor([5.0, 3.0, 4.0], dtype=torch.float64)  # to 4, both others are at 1
    embeddings = torch.tensor([[1.0, 0.7], [0.0, 1.0], [1.0, 2.0]], dtype=torch.float64)  # 3 is nearest to 4
    # only the row of 4 differs: ranks 2, 3 of 3 swapped
    assert rank_similarity(embeddings, labels).item() == pytest.approx(2 / 9 / 3, abs=1e-12)


def test_one_sample_of_each_label_takes_part_and_every_one_does_in_turn():
    embeddings, _ = draw(8)
    labels = torch.tensor([0.0, 1.0, 1.0, 2.5, 2.5, 2.5, 4.1, 6.0])
    subsets = [[0, i, j, 6, 7] for i in (1, 2) for j in (3, 4, 5)]
    possible = {round(loss_of(embeddings[rows].numpy(), labels[rows, None].double().numpy()), 9) for rows in subsets}
    torch.manual_seed(0)
    found = {round(rank_similarity(embeddings, labels).item(), 9) for _ in range(100)}
    assert len(possible) > 3
    assert found == possible


def value_and_gradient(process, count):
    """Of the loss for the rows of this process, every ``count``-th, as DistributedDataParallel averages gradients."""
    embeddings, labels = draw()
    own = embeddings[process::count].clone().requires_grad_()
    torch.manual_seed(process)
    loss = rank_similarity(own, labels[process::count].round(decimals=0))
    loss.backward()
    return loss.item(), own.grad / count


def test_processes_together_compute_the_loss_of_the_joined_batch(tmp_path):
    parts = processes.together(2, value_and_gradient, tmp_path / "meeting", 2)
    assert parts[0][0] == parts[1][0]
    embeddings, labels = draw()
    order = [*range(0, 12, 2), *range(1, 12, 2)]  # in which the processes join their rows
    joined = embeddings[order].requires_grad_()
    torch.manual_seed(0)
    loss = rank_similarity(joined, labels[order].round(decimals=0))
    loss.backward()
    assert parts[0][0] == pytest.approx(loss.item(), abs=1e-12)
    torch.testing.assert_close(torch.cat([gradient for _, gradient in parts]), joined.grad, rtol=0, atol=1e-12)


def test_labels_that_are_not_finite_and_a_lambda_of_zero_are_errors():
    embeddings, labels = draw()
    with pytest.raises(OrdinateError, match="labels: got NaN or infinity"):
        rank_similarity(embeddings, labels * torch.nan)
    with pytest.raises(OrdinateError, match="interpolation: got 0, expected a finite number above 0"):
        rank_similarity(embeddings, labels, interpolation=0)
