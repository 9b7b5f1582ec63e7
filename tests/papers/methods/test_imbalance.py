"""LDS, FDS and RankSim in training: where each enters the loss of every regression method."""

import numpy as np
import pytest
import torch

from ordinate import functional
from ordinate.data.samplers import ShuffledBatches
from ordinate.errors import OrdinateError
from ordinate.methods import Optimization, SupCR, SupReMix
from ordinate.methods.regression import EndToEnd
from ordinate.training import loop as training
from ordinate.training.loop import ArrayBatches
from ordinate_papers.methods.imbalance import FeatureSmoothing, Imbalance, rank_similarity
from ordinate_papers.methods.label_density import LabelBins, label_weights
from tests import processes
from tests.methods.examples import DIM, encoder, targets, train

FAST = Optimization("adam", 0.01, 0.0)


def draw(dims=1):
    """Samples whose whole targets are rare at one end."""
    data = targets(dims=dims)
    return ArrayBatches(data.x, (data.y - data.y.min(0).values).square().mul(2).round())


DATA = draw()


def method(kind, data=DATA, imbalance=None, **options):
    torch.manual_seed(0)
    balance = None if imbalance is None else imbalance.build(data.y, DIM)
    options = {"optimization": FAST, "balance": balance, **options}
    if kind is EndToEnd:
        built = EndToEnd(encoder(), DIM, data.y.shape[1], **{"epochs": 3, **options})
    else:
        own = {"target_dim": data.y.shape[1]} if kind is SupCR else {"window": 4.0, "mix_negatives": False}
        built = kind(encoder(), DIM, **{"epochs": (3, 4), "head_optimization": FAST, **own, **options})
    built.head.standardise(data.y)
    return built


def head_loss(method, embeddings, weights=1.0):
    """The L1 loss of standardised targets, by hand."""
    errors = (method.head(embeddings) - DATA.y).abs()[:, 0] / DATA.y.std(correction=0)
    return (weights * errors).mean()


def weights_of(weighting):
    return torch.from_numpy(label_weights(DATA.y.numpy(), weighting)).float()


for_every_method = pytest.mark.parametrize("kind", [SupCR, SupReMix, EndToEnd], ids=lambda kind: kind.__name__)


@for_every_method
def test_without_options_the_loss_is_the_same(kind):
    plain, idle = method(kind), method(kind, imbalance=Imbalance())
    assert torch.equal(idle.batch_loss(DATA.x, DATA.y), plain.batch_loss(DATA.x, DATA.y))


@pytest.mark.parametrize("weighting", ["inverse", "sqrt_inverse"])
def test_lds_weighs_the_samples_of_the_head_and_the_anchors_of_the_contrastive_loss(weighting):
    imbalance, weights = Imbalance(lds=weighting), weights_of(weighting)
    end_to_end, supcr, supremix = (method(kind, imbalance=imbalance) for kind in (EndToEnd, SupCR, SupReMix))
    embeddings = end_to_end.encoder(DATA.x)  # the three encoders are the same
    projected = supremix.projection(embeddings)
    expected = [
        (end_to_end, head_loss(end_to_end, embeddings, weights)),
        (supcr, functional.supcr(embeddings, DATA.y, weights=weights)),
        (supremix, functional.supremix(projected, DATA.y, temperature=0.2, window=4.0, mix_negatives=False,
                                       weights=weights, reduction="mean")),
    ]  # fmt: skip
    for found, loss in expected:
        torch.testing.assert_close(found.batch_loss(DATA.x, DATA.y), loss, rtol=1e-5, atol=0)
    for found in (supcr, supremix):
        found.stage_index = 1
        torch.testing.assert_close(
            found.batch_loss(DATA.x, DATA.y), head_loss(found, embeddings, weights), rtol=1e-5, atol=0
        )


@pytest.mark.parametrize("scheme", ["linear_probe", "fine_tune", "regularise"])
def test_ranksim_is_in_the_loss_of_every_stage_that_trains_the_encoder(scheme):
    options = {"scheme": scheme, "contrast_weight": 0.3}
    with_ranks = method(SupCR, imbalance=Imbalance(ranksim=7.0, interpolation=3.0), **options)
    plain = method(SupCR, **options)
    for stage in range(len(plain.stages)):
        with_ranks.stage_index = plain.stage_index = stage
        torch.manual_seed(1)
        loss = with_ranks.batch_loss(DATA.x, DATA.y)
        torch.manual_seed(1)
        ranks = rank_similarity(plain.encoder(DATA.x), DATA.y, interpolation=3.0)
        added = 0 if plain.trains_head_only else 7 * ranks
        torch.testing.assert_close(loss, plain.batch_loss(DATA.x, DATA.y) + added, rtol=1e-6, atol=0)


def test_fds_calibrates_the_embeddings_that_the_head_is_trained_on_from_its_second_epoch_on():
    found = method(EndToEnd, imbalance=Imbalance(fds=True, bin_size=3.0, kernel_size=3, momentum=0.5))
    alone = FeatureSmoothing(LabelBins.over(DATA.y, 3.0), DIM, kernel_size=3, momentum=0.5)
    embeddings = found.encoder(DATA.x)
    for _ in range(3):
        calibrated = alone(embeddings, DATA.y)
        torch.testing.assert_close(found.batch_loss(DATA.x, DATA.y), head_loss(found, calibrated), rtol=1e-6, atol=0)
        found.balance.end_epoch()
        alone.end_epoch()
    assert not torch.allclose(calibrated, embeddings)
    found.eval()
    assert torch.equal(found.predict(DATA.x), found.head(embeddings))


@pytest.mark.parametrize(("scheme", "epochs"), [("linear_probe", 4), ("fine_tune", 4), ("regularise", 3)])
def test_fds_counts_the_epochs_of_the_stage_that_trains_the_head(scheme, epochs):
    found = method(SupReMix, imbalance=Imbalance(fds=True), scheme=scheme)
    train(found, DATA)
    assert int(found.balance.smoothing.epochs) == epochs
    assert found.balance.smoothing.seen.sum() == len(DATA.y.unique())


def test_targets_of_several_dimensions_have_joint_bins():
    data = draw(dims=2)
    found = method(SupCR, data, Imbalance(lds="inverse", fds=True, ranksim=0.1, bin_size=(4.0, 6.0)))
    train(found, data)
    weights = label_weights(data.y.numpy(), "inverse", bin_size=(4.0, 6.0))
    torch.testing.assert_close(found.balance.weights(data.y).double(), torch.from_numpy(weights), rtol=1e-6, atol=0)
    assert found.balance.smoothing.seen.sum() == len(found.balance.bins.index(data.y).unique())


class InTurn(ShuffledBatches):
    """Batches in the order of the samples, each shared out in turn."""

    def split(self, random):
        return np.split(np.arange(self.size), len(self))


def trained_by(*_):
    """The weights after training in all processes there are, which share every batch."""
    found = method(
        EndToEnd, imbalance=Imbalance(lds="inverse", fds=True, ranksim=0.1), optimization=Optimization("sgd")
    )
    unique = ArrayBatches(DATA.x, DATA.y + torch.linspace(0, 0.4, 48)[:, None])  # RankSim has nothing to draw
    training.train(found, unique, InTurn(48, 16), accelerator="cpu", progress=False)
    return found.state_dict()


def test_two_processes_end_with_the_weights_and_the_statistics_of_one(tmp_path):
    alone = trained_by()
    for state in processes.together(2, trained_by, tmp_path / "meeting"):
        for name, value in alone.items():
            torch.testing.assert_close(state[name], value, rtol=1e-4, atol=1e-5, msg=name)


# the options


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lds": "linear"}, "lds: got 'linear', expected one of 'inverse', 'sqrt_inverse'"),
        ({"ranksim": -1.0}, "ranksim: got -1.0, expected a finite number of at least 0"),
        ({"bin_size": (1.0, 0.0)}, "bin_size: got 0.0, expected a finite number above 0"),
        ({"kernel": "box"}, "kernel: got 'box', expected one of"),
        ({"kernel_size": 2}, "kernel_size: got 2, expected an odd number of bins"),
        ({"momentum": 1.5}, "momentum: got 1.5, expected a share from 0 to below 1"),
        ({"start_epoch": 0}, "start_epoch: got 0, expected a whole number of at least 1"),
        ({"interpolation": 0.0}, "interpolation: got 0.0, expected a finite number above 0"),
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once(option, message):
    with pytest.raises(OrdinateError, match=message):
        Imbalance(**option)
