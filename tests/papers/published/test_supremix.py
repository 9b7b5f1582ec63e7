"""The loss against one loop per anchor, with every mixture a vector and every label in a list."""

import itertools
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from ordinate.errors import OrdinateError
from ordinate.functional import supremix
from ordinate_papers.published.supremix import projection_head, supremix_loop, supremix_loss
from tests.functional.brute_force import embeddings
from tests.papers.published.toy import toy

LABELS = {
    "distinct": torch.tensor([3.0, 1.5, 3.25, 2.0, 0.0, 1.75, 4.5]),
    "ties": torch.tensor([0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 5.0]),
    "whole": torch.tensor([10, 12, 11, 13, 15, 14, 19]),
}
ERRORS = list(itertools.product([True, False], repeat=2))


def two_views(labels):
    """Embeddings and labels of two views, and the shares of all Mix-neg."""
    n = 2 * len(labels)
    shares = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return embeddings(n, d=4), torch.cat([labels, labels]), shares


def brute_force(x, labels, window, temperature, neg_mix, scrambled_labels, separate_shifts):
    z, y, n = normalize(x), labels.tolist(), len(labels)
    fixed = z.detach()  # No gradient passes into mixtures.
    mixtures = []  # Of each anchor: (vector, label, whether it is a positive).
    for i in range(n):
        negatives = [k for k in range(n) if y[k] != y[i]]
        own = [(share * fixed[i] + (1 - share) * fixed[k], float(share * y[i] + (1 - share) * y[k]), False)
               for k in negatives for share in [neg_mix[i, k]]]  # fmt: skip
        for j, k in itertools.product(range(n), range(n)):
            if y[i] - window < y[j] < y[i] < y[k] < y[i] + window:
                share = (y[k] - y[i]) / (y[k] - y[j])
                own.append((share * fixed[j] + (1 - share) * fixed[k], y[i], True))
        mixtures.append(own)
    most, losses = max(map(len, mixtures)), []
    for i in range(n):
        vectors = [vector for vector, _, _ in mixtures[i]]
        own_labels = [label for _, label, _ in mixtures[i]]
        if scrambled_labels:
            own_labels = sorted(own_labels)
        real = [z[i] @ z[k] / temperature for k in range(n)]
        mixed = [z[i] @ vector / temperature for vector in vectors]
        if separate_shifts:
            filled = [*mixed, z[i] @ -torch.ones(4, dtype=torch.float64) / temperature] if len(mixed) < most else mixed
            real_shift, mixed_shift = (max(logit.item() for logit in logits) for logits in (real, filled))
            real, mixed = [logit - real_shift for logit in real], [logit - mixed_shift for logit in mixed]
        denominator = sum((1 + abs(y[i] - y[k])) * real[k].exp() for k in range(n) if k != i)
        denominator += sum(
            (1 + abs(y[i] - label)) * logit.exp() for logit, label in zip(mixed, own_labels, strict=True)
        )
        positives = [real[k] for k in range(n) if k != i and y[k] == y[i]]
        of_mixtures = zip(mixed, mixtures[i], strict=True)
        positives += [logit for logit, (_, _, is_positive) in of_mixtures if is_positive]
        losses.append(denominator.log() - sum(positives) / len(positives))
    return sum(losses) / n


def assert_same(ours, theirs, x):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)
    (gradient,), (their_gradient,) = torch.autograd.grad(ours, x), torch.autograd.grad(theirs, x)
    torch.testing.assert_close(gradient, their_gradient, rtol=0, atol=1e-11)
    assert gradient.norm() > 1e-3


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("window", [1.0, 2.0, 100.0])
@pytest.mark.parametrize(("scrambled_labels", "separate_shifts"), ERRORS)
def test_the_loss_is_that_of_loops_with_either_error(labels, window, scrambled_labels, separate_shifts):
    x, y, shares = two_views(labels)
    errors = {"scrambled_labels": scrambled_labels, "separate_shifts": separate_shifts}
    ours = supremix_loss(x, y, window, temperature=0.4, neg_mix=shares, **errors)
    assert_same(ours, brute_force(x, y, window, 0.4, shares, **errors), x)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_without_its_errors_it_is_the_loss_of_ordinate_without_gradient_and_norm_of_mixtures(labels):
    x, y, shares = two_views(labels)
    ours = supremix_loss(x, y, 1.9, temperature=0.4, neg_mix=shares, scrambled_labels=False, separate_shifts=False)
    options = {"label_range": 1.0, "renormalize": False, "detach_mixtures": True, "reduction": "mean"}
    assert_same(ours, supremix(x, y, window=1.9, temperature=0.4, neg_mix=shares, **options), x)


def test_a_label_difference_as_large_as_the_window_lies_outside_of_it():
    x, y, shares = two_views(LABELS["whole"])
    four, almost, five = (supremix_loss(x, y, window, neg_mix=shares).item() for window in (4.0, 3.5, 5.0))
    assert four == almost != five


@pytest.mark.parametrize("error", ["scrambled_labels", "separate_shifts"])
def test_either_error_changes_the_gradient(error):
    x, y, shares = two_views(LABELS["distinct"])
    gradients = []
    for has_error in (True, False):
        loss = supremix_loss(x, y, 2.0, neg_mix=shares, **{error: has_error})
        gradients.append(torch.autograd.grad(loss, x)[0])
    assert (gradients[0] - gradients[1]).norm() > 1e-3 * gradients[0].norm()


def test_shares_are_drawn_from_beta_2_8():
    x, y = embeddings(40, d=4), torch.arange(20.0).repeat(2)
    drawn = [supremix_loss(x, y, 1.5).item() for _ in range(20)]
    shares = torch.full((40, 40), 0.2, dtype=torch.float64)
    assert abs(sum(drawn) / 20 - supremix_loss(x, y, 1.5, neg_mix=shares).item()) < 0.02
    assert len(set(drawn)) == 20


def test_an_anchor_without_a_positive_makes_the_loss_nan():
    assert math.isnan(supremix_loss(embeddings(3), torch.tensor([0.0, 1.0, 9.0]), 2.0).item())


def test_negative_labels_are_an_error():
    with pytest.raises(OrdinateError, match=r"labels: got -1.0, expected labels of at least 0"):
        supremix_loss(embeddings(3), torch.tensor([-1.0, 1.0, 2.0]), 2.0)


def test_the_projection_head_ends_in_batch_normalisation():
    embedded = projection_head(6, 5)(embeddings(50, d=6).detach().float())
    torch.testing.assert_close(embedded.mean(0), torch.zeros(5), rtol=0, atol=1e-6)
    torch.testing.assert_close(embedded.std(0, correction=0), torch.ones(5), rtol=0, atol=1e-2)


def train(seed=0):
    x, y, x_val, y_val = toy()
    encoder = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for layer in encoder[::2]:
            layer.reset_parameters()
    return supremix_loop(
        encoder, x, y, x_val, y_val, window=2, epochs=(20, 20), batch_size=20, projection_dim=8, seed=seed
    )


def test_the_loop_learns():
    trained = train()
    of_encoder, of_probe = ([epoch for epoch in trained.history if epoch.stage == s] for s in ("encoder", "probe"))
    assert (len(of_encoder), len(of_probe)) == (20, 20)
    assert of_encoder[-1].loss < of_encoder[0].loss - 0.1
    y_val = toy()[3]
    assert of_probe[-1].error < 0.6 * float(y_val.var())


def test_the_probe_has_the_weights_of_the_last_epoch():
    trained = train()
    _, _, x_val, y_val = toy()
    with torch.no_grad():
        error = (trained.probe(trained.encoder(x_val))[:, 0] - y_val).square().mean()
    assert error.item() == pytest.approx(trained.history[-1].error, rel=1e-6)


def test_the_loop_reproduces_from_its_seed():
    first, again, other = train(), train(), train(seed=1)
    assert first.history == again.history != other.history
