"""Label distribution smoothing against SciPy's convolutions and the formula."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import convolve1d
from scipy.signal.windows import gaussian, triang

from ordinate.errors import OrdinateError
from ordinate_papers.methods.label_density import LabelBins, kernel_window, label_weights

ages = st.lists(st.integers(1, 101), min_size=2, max_size=200).map(np.array)


def by_convolution(labels, weighting, size=5, sigma=2.0):
    """Weights of whole labels of one or more dimensions, from SciPy's histogram, kernel and convolution."""
    steps = (labels - labels.min(axis=0)).reshape(len(labels), -1)
    counts, _ = np.histogramdd(steps, [np.arange(steps[:, d].max() + 2) - 0.5 for d in range(steps.shape[1])])
    if weighting == "inverse":
        counts = np.clip(counts, 5, 1000)
    for axis in range(counts.ndim):
        counts = convolve1d(counts, gaussian(size, sigma), axis=axis, mode="constant")
    density = counts[tuple(steps.T)]
    weights = 1 / (density if weighting == "inverse" else np.sqrt(density))
    return weights / weights.mean()


@pytest.mark.parametrize("weighting", ["inverse", "sqrt_inverse"])
@given(labels=ages)
def test_weights_are_one_over_the_convolved_histogram(weighting, labels):
    expected = by_convolution(labels, weighting)
    np.testing.assert_allclose(label_weights(labels, weighting, bin_size=1), expected, rtol=1e-12)


@pytest.mark.parametrize("weighting", ["inverse", "sqrt_inverse"])
def test_weights_of_several_dimensions_smooth_their_joint_histogram(weighting):
    labels = np.random.default_rng(0).integers(0, 9, (400, 2)) ** 2 // 6
    expected = by_convolution(labels, weighting, size=3, sigma=0.8)
    found = label_weights(labels, weighting, bin_size=1, kernel_size=3, sigma=0.8)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(labels=ages, scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_units_of_the_labels_do_not_matter(labels, scale, shift):
    expected = label_weights(labels, bin_size=1)
    np.testing.assert_allclose(label_weights(scale * labels + shift, bin_size=scale), expected, rtol=1e-9)


@given(labels=ages, weighting=st.sampled_from(["inverse", "sqrt_inverse"]))
def test_weights_are_above_zero_with_mean_one_and_no_larger_than_200_times_another(labels, weighting):
    weights = label_weights(labels, weighting)
    assert weights.min() > 0
    assert weights.mean() == pytest.approx(1, rel=1e-12)
    assert weights.max() <= 200 * weights.min() * (1 + 1e-12)


def test_counts_are_clipped_as_the_authors_clip_them_for_inverse_weights():
    labels = np.repeat([0.0, 10.0, 20.0, 30.0], [3000, 1000, 5, 1])
    weights = label_weights(labels, "inverse", bin_size=1.0, kernel_size=1)
    ratios = weights[[0, 3000, 4000, 4005]] / weights[0]
    np.testing.assert_allclose(ratios, [1, 1, 200, 200], rtol=1e-12)


def test_balanced_labels_weigh_the_same_but_for_the_ends():
    weights = label_weights(np.tile(np.arange(20), 30), bin_size=1)[:20]
    np.testing.assert_allclose(weights[2:-2], weights[2], rtol=1e-12)


def test_kernels_are_those_of_scipy():
    np.testing.assert_allclose(kernel_window("gaussian", 9, 1.5), gaussian(9, 1.5) / gaussian(9, 1.5).sum(), rtol=1e-12)
    np.testing.assert_allclose(kernel_window("triangular", 7), triang(7) / triang(7).sum(), rtol=1e-12)
    laplace = np.exp(-np.abs(np.arange(-2, 3)) / 3)
    np.testing.assert_allclose(kernel_window("laplace", 5, 3.0), laplace / laplace.sum(), rtol=1e-12)


# bins


@given(labels=ages, bin_size=st.sampled_from([1, 2, 5]))
def test_a_label_is_in_the_bin_whose_centre_is_nearest(labels, bin_size):
    bins = LabelBins.over(torch.from_numpy(labels), bin_size)
    centres = labels.min() + bin_size * np.arange(bins.counts[0])
    distance = np.abs(centres[bins.index(torch.from_numpy(labels))] - labels)
    np.testing.assert_array_equal(distance, np.abs(centres - labels[:, None]).min(axis=1))


def test_automatic_bins_are_the_steps_of_the_labels_or_a_hundredth_of_their_range():
    years = torch.tensor([1.0, 2.0, 40.0, 101.0]) - 44.958798  # as an estimator centres them, in float32
    assert LabelBins.over(years).counts == (101,)
    assert LabelBins.over(torch.tensor([1, 2, 5])).counts == (5,)
    assert LabelBins.over(torch.linspace(-3, 7, 5000)).counts == (101,)
    assert LabelBins.over(torch.rand(500, 3, generator=torch.manual_seed(0))).counts == (11, 11, 11)


def test_equal_labels_share_one_bin():
    bins = LabelBins.over(torch.full((4, 2), 7.5))
    assert bins.counts == (1, 1)
    assert bins.index(torch.full((4, 2), 7.5)).tolist() == [0] * 4


def test_joint_bins_are_counted_with_the_last_dimension_fastest():
    bins = LabelBins((0.0, 10.0), (1.0, 5.0), (3, 4))
    labels = torch.tensor([[0.0, 10.0], [0.0, 15.0], [2.0, 25.0], [1.4, 12.4]])
    assert bins.index(labels).tolist() == [0, 1, 11, 4]
    assert bins.total == 12


def test_labels_beyond_the_bins_count_to_the_outermost():
    bins = LabelBins.over(torch.tensor([0.0, 1.0, 2.0]))
    assert bins.index(torch.tensor([-50.0, 1.2, 50.0])).tolist() == [0, 1, 2]


# what cannot be


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([1.0, np.nan], {}, "labels: got NaN or infinity"),
        ([1.0, 2.0], {"weighting": "none"}, "lds: got 'none', expected one of 'inverse', 'sqrt_inverse'"),
        ([1.0, 2.0], {"bin_size": 0}, "bin_size: got 0, expected a finite number above 0"),
        ([1.0, 2.0], {"bin_size": (1.0, 1.0)}, "bin_size: got 2 sizes, expected one or 1"),
        ([0.0, 1e9], {"bin_size": 1}, r"bin_size: got 1, makes 1e\+09 bins, expected at most 1,000,000"),
        ([1.0, 2.0], {"kernel": "box"}, "kernel: got 'box', expected one of"),
        ([1.0, 2.0], {"kernel_size": 4}, "kernel_size: got 4, expected an odd number of bins"),
        ([1.0, 2.0], {"sigma": -1.0}, "sigma: got -1.0, expected a finite number above 0"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_it(labels, options, message):
    with pytest.raises(OrdinateError, match=message):
        label_weights(labels, **options)
