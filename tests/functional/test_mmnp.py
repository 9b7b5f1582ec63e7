import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.reducers import MeanReducer
from pytorch_metric_learning.utils.loss_and_miner_utils import get_all_triplets_indices

from ordinate.functional import mmnp
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.brute_force import assert_agrees, embeddings

RANKS = {
    "all": [0, 1, 2, 3, 0, 1, 2, 3, 3],
    "a_rank_missing": [0, 0, 0, 3, 3, 1, 1, 1, 3],
    "two_ranks": [1, 2, 2, 1, 2, 1, 1, 1, 1],
    "single_samples": [0, 1, 1, 1, 2, 3, 1, 1, 1],
}
REFERENCE_RANKS = {"all": [0, 1, 2, 3, 1, 1], "two_ranks": [1, 3, 3, 1, 3, 3]}
WEIGHTS = torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0, 0.75])


def margins_of(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.mark.pairwise
@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
@pytest.mark.parametrize("references", [None, *REFERENCE_RANKS.values()], ids=["batch", *REFERENCE_RANKS])
@pytest.mark.parametrize("reduction", ["pair_mean", "published", "sum", "none"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("scale", [0.02, 0.5, 4.0])
def test_the_loss_is_eq_2(ranks, references, reduction, weights, scale):
    options = {"reduction": reduction, "weights": weights}
    if references is not None:
        options |= {"ref_emb": embeddings(6, seed=1), "ref_labels": torch.tensor(references)}
    margins = margins_of(0.7 * scale, 1.3 * scale, 0.9 * scale)
    assert_agrees(mmnp, embeddings(9), torch.tensor(ranks), margins, **options)


@pytest.mark.parametrize("reduction", ["pair_mean", "published", "sum", "none"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_the_loss_is_eq_2_over_the_triplets_given(reduction, weights):
    options, ranks, margins = (
        {"reduction": reduction, "weights": weights},
        torch.tensor(RANKS["all"]),
        margins_of(0.7, 1.3, 0.9),
    )
    triplets = torch.tensor([[0, 4, 1], [0, 4, 3], [4, 0, 8], [3, 7, 0], [0, 4, 1], [8, 3, 2]])
    assert_agrees(mmnp, embeddings(9), ranks, margins, triplets=triplets, **options)
    references = {"ref_emb": embeddings(6, seed=1), "ref_labels": torch.tensor(REFERENCE_RANKS["all"])}
    triplets = torch.tensor([[0, 4, 1], [4, 1, 0], [3, 8, 5], [3, 3, 0], [4, 1, 0]])
    assert_agrees(mmnp, embeddings(9), ranks, margins, triplets=triplets, **references, **options)


def test_all_triplets_given_are_all_that_the_batch_offers():
    ranks, margins = torch.tensor(RANKS["all"]), margins_of(0.7, 1.3, 0.9)
    anchor, positive, negative = get_all_triplets_indices(ranks)
    triplets = torch.stack([positive, anchor, negative], 1)
    given = mmnp(embeddings(9), ranks, margins, triplets=triplets)
    torch.testing.assert_close(given, mmnp(embeddings(9), ranks, margins), rtol=0, atol=1e-14)


def test_an_anchor_without_a_pair_has_no_loss_and_is_not_counted():
    ranks, margins = torch.tensor([0, 0, 1]), margins_of(0.9)
    values = mmnp(embeddings(3), ranks, margins, reduction="none")
    assert values[2] == 0
    assert bool((values[:2] > 0).all())
    torch.testing.assert_close(mmnp(embeddings(3), ranks, margins), values[:2].mean(), rtol=0, atol=1e-14)


def test_ranks_apart_by_more_than_their_margin_have_no_loss_and_no_gradient():
    z = torch.tensor([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [-1.0, 0.1]], requires_grad=True)
    margins = margins_of(1.5)
    loss = mmnp(z, torch.tensor([0, 0, 1, 1]), margins)
    gradients = torch.autograd.grad(loss, [z, margins])
    assert loss == 0
    assert all(not gradient.any() for gradient in gradients)


def test_the_gradient_of_a_margin_has_its_dtype_and_the_loss_that_of_the_embeddings():
    margins = margins_of(0.5, 0.7)
    loss = mmnp(embeddings(4).float(), torch.tensor([0, 0, 1, 2]), margins)
    assert loss.dtype == torch.float32
    assert torch.autograd.grad(loss, margins)[0].dtype == torch.float64


def test_two_ranks_are_the_triplet_margin_loss_of_pytorch_metric_learning():
    triplet_loss = TripletMarginLoss(0.4, distance=CosineSimilarity(), reducer=MeanReducer())
    ranks = torch.arange(10) % 2
    ours = mmnp(embeddings(10), ranks, margins_of(0.4))
    torch.testing.assert_close(ours, triplet_loss(embeddings(10), ranks), rtol=0, atol=1e-12)


def test_margins_from_one_on_have_the_same_gradient_if_no_component_is_negative():
    ranks = torch.tensor(RANKS["all"])
    gradients = []
    for margin in (1.0, 1.5, 2.0):
        emb = embeddings(9).detach().abs().requires_grad_()
        mmnp(emb, ranks, margins_of(0.7, margin, 0.6), reduction="sum").backward()
        gradients.append(emb.grad)
    assert gradients[0].abs().max() > 0
    torch.testing.assert_close(gradients[1:], gradients[:1] * 2, rtol=0, atol=1e-12)
