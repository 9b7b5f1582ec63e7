"""LDS, FDS and RankSim in the training of CLOC and OTD: where each enters the loss."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from ordinate import functional
from ordinate.data.label_density import LabelBins, label_weights
from ordinate.errors import OrdinateError
from ordinate.methods import CLOC, OTD, Optimization
from ordinate.methods.imbalance import Balance, FeatureSmoothing, Imbalance, rank_similarity
from ordinate.training.loop import ArrayBatches
from tests.methods.examples import DIM, encoder, ranks, train

CLASSES = 4
FAST = Optimization("adam", 0.01, 0.0)


def draw():
    """Samples of ranks that get rarer from the lowest to the highest."""
    data = ranks(80, CLASSES)
    kept = torch.cat([(data.y == rank).nonzero()[: 20 // (rank + 1), 0] for rank in range(CLASSES)])
    return ArrayBatches(data.x[kept], data.y[kept])


DATA = draw()


def method(kind, imbalance=None, **options):
    torch.manual_seed(0)
    balance = None
    if imbalance is not None:
        balance = Balance(imbalance, LabelBins((0.0,), (1.0,), (CLASSES,)), DIM)
        balance.fit(DATA.y)
    if kind is CLOC:
        return CLOC(encoder(), DIM, CLASSES, phase_epochs=(3, 3), optimization=FAST, balance=balance, **options)
    return OTD(encoder(), CLASSES, epochs=4, optimization=FAST, balance=balance, **options)


def loss_of(found):
    found.log_mean = lambda *_: None  # there is no Trainer
    return found.batch_loss(DATA.x, DATA.y)


def weights_of(weighting):
    return torch.from_numpy(label_weights(DATA.y.numpy().astype(float), weighting, bin_size=1.0)).float()


@pytest.mark.parametrize("kind", [CLOC, OTD])
def test_without_options_the_loss_is_the_same(kind):
    assert torch.equal(loss_of(method(kind, Imbalance())), loss_of(method(kind)))


@pytest.mark.parametrize("weighting", ["inverse", "sqrt_inverse"])
def test_lds_weighs_the_samples_of_clocs_classifier_and_the_anchors_of_its_contrast(weighting):
    found, weights = method(CLOC, Imbalance(lds=weighting)), weights_of(weighting)
    assert weights.max() > 1.4 * weights.min()
    embeddings = found.encoder(DATA.x)
    errors = cross_entropy(found.classifier(embeddings), DATA.y, reduction="none")
    expected = (weights * errors).mean() + functional.mmnp(embeddings, DATA.y, found.mmnp.margins, weights=weights)
    torch.testing.assert_close(loss_of(found), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("weighting", ["inverse", "sqrt_inverse"])
def test_lds_weighs_the_anchors_of_otd_in_place_of_equal_ranks(weighting):
    found, weights = method(OTD, Imbalance(lds=weighting), by_rank=True), weights_of(weighting)
    values = functional.angular_triangle(found.encoder(DATA.x), DATA.y, CLASSES, reduction="none")
    torch.testing.assert_close(loss_of(found), (weights * values).sum() / weights.sum(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("kind", [CLOC, OTD])
def test_weights_are_for_training_alone(kind):
    weighted, plain = method(kind, Imbalance(lds="inverse")).eval(), method(kind).eval()
    embeddings = plain.encoder(DATA.x)
    assert torch.equal(
        weighted.validate_embeddings(embeddings, DATA.y)["val_loss"],
        plain.validate_embeddings(embeddings, DATA.y)["val_loss"],
    )


@pytest.mark.parametrize("kind", [CLOC, OTD])
def test_ranksim_is_added(kind):
    found, plain = method(kind, Imbalance(ranksim=7.0, interpolation=3.0)), method(kind)
    torch.manual_seed(1)
    loss = loss_of(found)
    torch.manual_seed(1)
    ranks = rank_similarity(plain.encoder(DATA.x), DATA.y, interpolation=3.0)
    torch.testing.assert_close(loss, loss_of(plain) + 7 * ranks, rtol=1e-6, atol=0)


def test_fds_calibrates_what_clocs_classifier_sees_from_its_second_epoch_on():
    found = method(CLOC, Imbalance(fds=True, kernel_size=3, momentum=0.5))
    alone = FeatureSmoothing(LabelBins((0.0,), (1.0,), (CLASSES,)), DIM, kernel_size=3, momentum=0.5)
    embeddings = found.encoder(DATA.x)
    contrast = functional.mmnp(embeddings, DATA.y, found.mmnp.margins)
    for epoch in range(3):
        seen = alone(embeddings.detach(), DATA.y)
        assert torch.equal(seen, embeddings) == (epoch == 0)
        expected = cross_entropy(found.classifier(seen), DATA.y) + contrast
        torch.testing.assert_close(loss_of(found), expected, rtol=1e-5, atol=0)
        found.balance.end_epoch()
        alone.end_epoch()


def test_otd_has_no_head_that_fds_could_act_on():
    with pytest.raises(OrdinateError, match="fds: got True, OTD trains no head"):
        method(OTD, Imbalance(fds=True))


@pytest.mark.parametrize(
    ("kind", "imbalance"),
    [(CLOC, Imbalance(lds="inverse", fds=True, ranksim=0.1)), (OTD, Imbalance(lds="inverse", ranksim=0.1))],
)
def test_training_brings_the_loss_down(kind, imbalance):
    history = train(method(kind, imbalance), DATA)
    losses = [entry["train_loss"] for entry in history]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
