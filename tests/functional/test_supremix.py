import importlib
import itertools
import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from pytorch_metric_learning.losses import SupConLoss
from scipy import stats

from ordinate.functional import supremix
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.brute_force import assert_agrees, embeddings

LABELS = {
    "distinct": torch.tensor([0.0, 1.5, 3.25, 2.0, -1.0, 1.75, 4.5, 5.5]),
    "ties": torch.tensor([0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 5.0]),
    "two_views": torch.tensor([4, 4, 0, 0, 2, 2, 1, 1]),
    "one_label": torch.full((8,), 2.5),
    "bytes": torch.tensor([0, 1, 3, 1, 0, 2, 255, 254], dtype=torch.uint8),
}
FLAGS = ["mix_negatives", "mix_positives", "distance_magnifying", "renormalize", "detach_mixtures"]
WEIGHTS = torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0])
REFERENCES = {"ref_emb": embeddings(6, seed=1), "ref_labels": torch.tensor([0.0, 1.0, 2.0, 3.0, 3.0, 4.5])}


def shares(n, m, seed=2):
    return torch.rand(n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.pairwise
@pytest.mark.parametrize("references", [{}, REFERENCES], ids=["batch", "references"])
@pytest.mark.parametrize(FLAGS, list(itertools.product([True, False], repeat=5)))
def test_the_loss_is_eq_6_whatever_the_parts(
    mix_negatives, mix_positives, distance_magnifying, renormalize, detach_mixtures, references
):
    flags = (mix_negatives, mix_positives, distance_magnifying, renormalize, detach_mixtures)
    options = dict(zip(FLAGS, flags, strict=True)) | references | {"reduction": "sum"}
    neg_mix = shares(8, 6 if references else 8)
    assert_agrees(supremix, embeddings(8), LABELS["ties"], temperature=0.4, window=2.0, neg_mix=neg_mix, **options)


@pytest.mark.pairwise
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("window", [0.5, 1.0, 2.5, 1000.0])
@pytest.mark.parametrize("renormalize", [True, False])
def test_the_loss_is_eq_6_whatever_the_labels_and_the_window(labels, window, renormalize):
    options = {"temperature": 0.4, "window": window, "renormalize": renormalize, "reduction": "sum"}
    assert_agrees(supremix, embeddings(8), labels, neg_mix=shares(8, 8), **options)
    assert_agrees(supremix, embeddings(8), labels, neg_mix=shares(8, 6), **REFERENCES, **options)


@pytest.mark.pairwise
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("label_range", [None, 0.3, 40.0])
@pytest.mark.parametrize("references", [{}, REFERENCES], ids=["batch", "references"])
def test_the_loss_is_eq_6_whatever_the_reduction(reduction, weights, label_range, references):
    options = {"reduction": reduction, "weights": weights, "label_range": label_range} | references
    neg_mix = shares(8, 6 if references else 8)
    labels = torch.tensor([0.0, 1.0, 1.0, 2.0, 9.0, 3.0, 3.0, 5.0])  # one has no positive
    assert_agrees(supremix, embeddings(8), labels, temperature=0.4, window=1.0, neg_mix=neg_mix, **options)


def with_zeros(x, *rows):
    """A copy in which some rows are zero, as those of a network with ReLU may be."""
    x = x.detach().clone()
    x[list(rows)] = 0
    return x.requires_grad_()


@pytest.mark.pairwise
@pytest.mark.parametrize("labels", ["ties", "distinct", "one_label"])
@pytest.mark.parametrize("references", [False, True], ids=["batch", "references"])
@pytest.mark.parametrize("zeros", [(3,), (0, 1, 5), range(6)], ids=len)
@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("detach_mixtures", [True, False])
def test_an_embedding_of_zero_has_a_cosine_of_zero_with_itself_too(
    labels, references, zeros, renormalize, detach_mixtures
):
    options = {
        "renormalize": renormalize, "detach_mixtures": detach_mixtures, "temperature": 0.4, "window": 2.0,
        "reduction": "sum",
    }  # fmt: skip
    if references:
        ref_emb = with_zeros(REFERENCES["ref_emb"], *zeros)
        options |= {**REFERENCES, "ref_emb": ref_emb}
    neg_mix = shares(8, 6 if references else 8)
    assert_agrees(supremix, with_zeros(embeddings(8), *zeros), LABELS[labels], neg_mix=neg_mix, **options)


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("temperature", [1e-3, 1e-6, 1e-9])
def test_a_cold_denominator_holds_its_largest_term(temperature, renormalize):
    options = {"window": 2.0, "renormalize": renormalize, "reduction": "none", "neg_mix": shares(8, 8)}
    x, y = embeddings(8).detach(), torch.tensor([0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 5.0])
    values = [supremix(x, y, temperature=t, **options) * t for t in (temperature, 1e-4)]  # tau -> 0: differences alone
    assert values[0].isfinite().all()
    torch.testing.assert_close(*values, rtol=0, atol=max(temperature, 1e-4) * 10)


def test_the_size_of_a_block_of_mixtures_does_not_change_the_loss(monkeypatch):
    for block in (1, 7):
        monkeypatch.setattr(importlib.import_module("ordinate.functional.mixtures"), "MAX_MIXTURES_AT_ONCE", block)
        options = {"temperature": 0.4, "window": 2.0, "neg_mix": shares(8, 8), "reduction": "none"}
        assert_agrees(supremix, embeddings(8), LABELS["ties"], **options)


def test_the_label_range_moves_the_value_and_not_the_gradient():
    z, options = embeddings(8), {"temperature": 0.3, "window": 2.0, "neg_mix": shares(8, 8), "reduction": "mean"}
    near, far = (supremix(z, LABELS["ties"], label_range=width, **options) for width in (2.0, 10.0))
    torch.testing.assert_close(near - far, torch.tensor(math.log(5), dtype=torch.float64), rtol=0, atol=1e-13)
    torch.testing.assert_close(torch.autograd.grad(near, z), torch.autograd.grad(far, z), rtol=0, atol=1e-15)


def draws(beta, generator):
    return supremix(embeddings(8), LABELS["ties"], temperature=0.3, window=1.0, beta=beta, generator=generator).item()


def test_a_generator_fixes_the_drawn_shares():
    first, again, other = (draws((2.0, 8.0), torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.typical("compiled")
def test_drawn_shares_follow_the_beta_distribution():
    generator = torch.Generator().manual_seed(0)
    drawn = torch.tensor([draws((2.0, 8.0), generator) for _ in range(300)])
    scipy_shares = torch.tensor(stats.beta(2, 8).rvs((300, 8, 8), random_state=0))
    options = {"temperature": 0.3, "window": 1.0}
    z = embeddings(8).detach()
    expected = torch.stack([supremix(z, LABELS["ties"], neg_mix=neg_mix, **options) for neg_mix in scipy_shares])
    standard_error = math.hypot(drawn.std(), expected.std()) / math.sqrt(300)
    assert abs(drawn.mean() - expected.mean()) < 4 * standard_error
    assert 0.8 < drawn.std() / expected.std() < 1.25


def test_without_its_three_parts_the_loss_is_supcon_of_pytorch_metric_learning():
    plain = {"mix_negatives": False, "mix_positives": False, "distance_magnifying": False}
    labels = LABELS["two_views"]
    ours = supremix(embeddings(8), labels, temperature=0.3, window=1.0, reduction="mean", **plain)
    torch.testing.assert_close(ours, SupConLoss(temperature=0.3)(embeddings(8), labels), rtol=0, atol=1e-12)


# Theorem 1, Lemma 1 and Theorem 2


@given(seed=st.integers(0, 999), labels=st.lists(st.integers(-9, 9), min_size=2, max_size=7, unique=True))
def test_farther_negatives_are_pushed_harder_than_without_magnifying(seed, labels):
    labels = torch.tensor([0, *labels])  # of the references; the first is the anchor's positive
    assume(int((labels == 0).sum()) == 1)
    anchor, refs = embeddings(1, seed=seed), embeddings(len(labels), seed=seed + 1)
    plain = {"temperature": 0.5, "window": 1.0, "mix_negatives": False, "mix_positives": False}
    plain |= {"ref_emb": refs, "ref_labels": labels}
    unit = anchor.detach()[0] / anchor.detach().norm()
    push = []
    for magnify in (True, False):
        loss = supremix(anchor, torch.tensor([0]), distance_magnifying=magnify, **plain)
        (gradient,) = torch.autograd.grad(loss, refs)
        norm = refs.detach().norm(dim=1)
        cosine = refs.detach() @ unit / norm
        push.append((gradient @ unit * norm / (1 - cosine**2))[1:])  # d loss / d similarity
    assert bool((push[0] > 0).all())
    assert bool((push[1] > 0).all())
    far = labels[1:].abs().double() + 1
    torch.testing.assert_close((push[0] / push[0][0]) / (push[1] / push[1][0]), far / far[0], rtol=1e-6, atol=0)


def lower_bound(labels, window):
    """L* of Lemma 1, whose k - 1 is how many positives, real and mixed, an anchor has."""
    labels = labels.tolist()
    bound = 0.0
    for y in labels:
        below = sum(0 < y - other <= window for other in labels)
        above = sum(0 < other - y <= window for other in labels)
        positives = labels.count(y) - 1 + below * above
        if positives:
            bound += positives * math.log(positives / ((max(labels) - min(labels)) or 1)) / labels.count(y)
    return bound


@given(
    labels=st.lists(st.integers(0, 6), min_size=3, max_size=8).filter(lambda y: len(set(y)) < len(y)),
    window=st.integers(1, 4),
    seed=st.integers(0, 99),
    temperature=st.floats(0.02, 2),
)
def test_the_sum_is_never_below_its_lower_bound(labels, window, seed, temperature):
    labels, n = torch.tensor(labels), len(labels)
    options = {"temperature": temperature, "window": float(window), "neg_mix": shares(n, n, seed), "reduction": "sum"}
    assert supremix(embeddings(n, seed=seed), labels, **options).item() >= lower_bound(labels, window) - 1e-10


def test_embeddings_ordered_on_an_arc_reach_the_lower_bound_as_the_temperature_falls():
    labels = torch.arange(5).repeat_interleave(2)
    arc = torch.stack([(0.4 * labels).cos(), (0.4 * labels).sin()], dim=1).double()
    gaps = [
        supremix(
            arc, labels, temperature=temperature, window=1.0, neg_mix=torch.full((10, 10), 0.2), reduction="sum"
        ).item()
        - lower_bound(labels, 1)
        for temperature in (0.1, 0.02, 0.002)
    ]
    assert gaps[0] > gaps[1] > 1e-3
    assert abs(gaps[2]) < 1e-5
