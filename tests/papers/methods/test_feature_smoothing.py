"""Feature distribution smoothing against NumPy's means and variances, bin by bin."""

import numpy as np
import pytest
import torch
from scipy.signal.windows import gaussian

from ordinate.errors import OrdinateError
from ordinate_papers.methods.imbalance import FeatureSmoothing
from ordinate_papers.methods.label_density import LabelBins
from tests import processes

RANDOM = np.random.default_rng(0)
LABELS = torch.from_numpy(RANDOM.choice([0, 1, 2, 3, 5, 6], 90, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]))  # none at 4
EMBEDDINGS = torch.from_numpy(RANDOM.normal(size=(90, 4)) * RANDOM.uniform(0.2, 2, 4) + LABELS.numpy()[:, None])


def smoothing(labels=LABELS, bin_size=1, **options):
    torch.manual_seed(0)
    bins = LabelBins.over(labels, bin_size)
    return FeatureSmoothing(bins, EMBEDDINGS.shape[1], **options).double()


def epoch(module, embeddings=EMBEDDINGS, labels=LABELS, batches=4):
    """Pass an epoch in batches and return what came out of each."""
    out = [module(*batch) for batch in zip(embeddings.chunk(batches), labels.chunk(batches), strict=True)]
    module.end_epoch()
    return torch.cat(out)


def statistics(embeddings, labels):
    """Mean and unbiased variance of each bin, by NumPy."""
    mean, var = np.full((7, 4), np.nan), np.full((7, 4), np.nan)
    for label in np.unique(labels):
        own = embeddings[labels == label]
        mean[label], var[label] = own.mean(axis=0), own.var(axis=0, ddof=1)
    return mean, var


def kernel_mean(values, window):
    """Mean over the neighbouring bins that have samples, weighted by the window."""
    half = len(window) // 2
    smoothed = np.full_like(values, np.nan)
    for centre in range(len(values)):
        near = [b for b in range(len(values)) if abs(b - centre) <= half and not np.isnan(values[b, 0])]
        smoothed[centre] = np.average(values[near], axis=0, weights=[window[b - centre + half] for b in near])
    return smoothed


def calibrated(embeddings, labels, mean, var, window):
    target_mean, target_var = kernel_mean(mean, window)[labels], kernel_mean(var, window)[labels]
    ratio = np.clip(target_var / var[labels], 0.1, 10)
    return (embeddings - mean[labels]) * np.sqrt(ratio) + target_mean


@pytest.mark.parametrize("batches", [1, 4, 30])
def test_an_epoch_is_calibrated_by_the_smoothed_statistics_of_the_one_before(batches):
    module = smoothing(kernel_size=5, sigma=2.0)
    torch.testing.assert_close(epoch(module, batches=batches), EMBEDDINGS, rtol=0, atol=0)
    expected = calibrated(
        EMBEDDINGS.numpy(), LABELS.numpy(), *statistics(EMBEDDINGS.numpy(), LABELS.numpy()), gaussian(5, 2.0)
    )
    np.testing.assert_allclose(epoch(module, batches=batches).numpy(), expected, rtol=0, atol=1e-10)


def test_a_momentum_of_the_running_statistics_stays_from_epoch_to_epoch():
    module, second = smoothing(momentum=0.7), 2 * EMBEDDINGS + 1
    epoch(module)
    epoch(module, second)
    old, new = statistics(EMBEDDINGS.numpy(), LABELS.numpy()), statistics(second.numpy(), LABELS.numpy())
    mean, var = (0.7 * before + 0.3 * after for before, after in zip(old, new, strict=True))
    expected = calibrated(EMBEDDINGS.numpy(), LABELS.numpy(), mean, var, gaussian(5, 2.0))
    np.testing.assert_allclose(epoch(module).numpy(), expected, rtol=0, atol=1e-10)


def test_the_ratio_of_variances_is_clipped():
    labels = torch.tensor([0, 0, 1, 1])
    embeddings = torch.tensor([[-1e-3], [1e-3], [-9.0], [9.0]], dtype=torch.float64)
    module = FeatureSmoothing(LabelBins.over(labels), 1, kernel="triangular", kernel_size=3).double()
    epoch(module, embeddings, labels, batches=1)
    out = epoch(module, embeddings, labels, batches=1)
    np.testing.assert_allclose(out[:2, 0], np.array([-1e-3, 1e-3]) * np.sqrt(10), rtol=1e-12)


def test_a_bin_of_one_sample_is_left_as_it_is():
    labels = torch.cat([LABELS, torch.tensor([4])])
    embeddings = torch.cat([EMBEDDINGS, torch.full((1, 4), 3.3, dtype=torch.float64)])
    module = smoothing()
    epoch(module, embeddings, labels)
    out = epoch(module, embeddings, labels)
    torch.testing.assert_close(out[-1], embeddings[-1], rtol=0, atol=0)
    assert (out[:-1] != embeddings[:-1]).all()


def test_calibration_starts_with_the_epoch_asked_for():
    module = smoothing(start_epoch=3)
    changed = [not torch.equal(epoch(module), EMBEDDINGS) for _ in range(5)]
    assert changed == [False, False, False, True, True]


def test_nothing_changes_or_is_learned_outside_of_training():
    module = smoothing()
    epoch(module)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    module.eval()
    torch.testing.assert_close(epoch(module), EMBEDDINGS, rtol=0, atol=0)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_the_gradient_is_scaled_as_the_embedding_is():
    module = smoothing()
    epoch(module)
    embeddings = EMBEDDINGS.clone().requires_grad_()
    module(embeddings, LABELS).sum().backward()
    _, var = statistics(EMBEDDINGS.numpy(), LABELS.numpy())
    scale = np.sqrt(np.clip(kernel_mean(var, gaussian(5, 2.0)) / var, 0.1, 10))[LABELS.numpy()]
    np.testing.assert_allclose(embeddings.grad.numpy(), scale, rtol=1e-10)


def test_joint_bins_of_two_label_dimensions_are_smoothed_along_both():
    labels = torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0)).repeat(20, 1)
    embeddings = torch.randn(180, 4, dtype=torch.float64, generator=torch.manual_seed(0)) + labels.sum(1)[:, None]
    module = smoothing(labels, kernel="triangular", kernel_size=3)
    epoch(module, embeddings, labels)
    means = torch.stack([embeddings[(labels == cell).all(1)].mean(0) for cell in labels[:9]]).numpy().reshape(3, 3, 4)
    weight = np.outer([0.5, 1, 0.5], [0.5, 1, 0.5])
    centre = np.einsum("ij,ijd->d", weight, means) / weight.sum()
    corner = np.einsum("ij,ijd->d", weight[1:, 1:], means[:2, :2]) / weight[1:, 1:].sum()
    np.testing.assert_allclose(module.smoothed_mean[4], centre, rtol=0, atol=1e-10)
    np.testing.assert_allclose(module.smoothed_mean[0], corner, rtol=0, atol=1e-10)


def share_of_two_epochs(process, count):
    module = smoothing()
    for _ in range(2):
        epoch(module, EMBEDDINGS[process::count], LABELS[process::count], batches=2)
    return module.state_dict()


def test_processes_share_the_statistics_of_all_their_samples(tmp_path):
    alone = smoothing()
    for _ in range(2):
        alone.start_epoch = 9
        epoch(alone)
    for state in processes.together(2, share_of_two_epochs, tmp_path / "meeting", 2):
        for name, value in alone.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"momentum": 1.0}, "momentum: got 1.0, expected a share from 0 to below 1"),
        ({"start_epoch": 0}, "start_epoch: got 0, expected a whole number of at least 1"),
        ({"kernel": "box"}, "kernel: got 'box', expected one of"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_it(option, message):
    with pytest.raises(OrdinateError, match=message):
        smoothing(**option)
