import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import batch_norm, conv2d, max_pool2d, relu

from ordinate import ImageOptions, OTDClassifier
from ordinate.errors import OrdinateError
from ordinate_papers.otd_convnet import OTDConvNet
from tests.data import pictures


def small(**options):
    """A small network with normalisations that do something, ready to predict."""
    torch.manual_seed(0)
    network = OTDConvNet(2, **{"width": 3, "hidden": 5} | options).double()
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            for values in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                nn.init.uniform_(values, 0.5, 1.5)
    return network.eval()


def images(n, height, width):
    return torch.randn(n, 2, height, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def by_hand(network, x, batch_norm_follows):
    """Appendix B's row for Busi and Finger, read from left to right."""
    parameters = iter(network.state_dict().values())

    def convolve(x):
        return relu(conv2d(x, next(parameters), next(parameters)))

    def normalise(x):
        if not batch_norm_follows:
            return x
        weight, bias, mean, variance, _ = (next(parameters) for _ in range(5))
        return batch_norm(x, mean, variance, weight, bias)

    x = max_pool2d(convolve(convolve(x)), kernel_size=2, stride=2)
    for _ in range(3):
        x = normalise(max_pool2d(convolve(convolve(x)), kernel_size=3, stride=1))
    x = x.flatten(2).mean(2)
    for _ in range(2):
        x = relu(x @ next(parameters).T + next(parameters))
    assert next(parameters, None) is None
    return x


@pytest.mark.parametrize("with_batch_norm", [True, False])
@pytest.mark.parametrize("size", [(42, 42), (47, 60)])
def test_the_features_are_those_of_the_papers_network(size, with_batch_norm):
    network, x = small(batch_norm=with_batch_norm), images(2, *size)
    expected = by_hand(network, x, with_batch_norm)
    assert expected.any()
    torch.testing.assert_close(network(x), expected, rtol=0, atol=1e-12)


def test_the_default_has_the_papers_widths():
    with torch.device("meta"):
        network = OTDConvNet(1)
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    assert [layer.weight.shape[0] for layer in layers] == [64, 64, 128, 128, 256, 256, 512, 512, 4096, 4096]
    assert sum(isinstance(layer, nn.BatchNorm2d) for layer in network.modules()) == 3
    assert network.out_channels == 4096


def test_images_of_the_smallest_side_leave_one_pixel_and_smaller_ones_none():
    convolutions = small().convolutions
    assert convolutions(images(1, 42, 42)).shape[2:] == (1, 1)
    with pytest.raises(RuntimeError, match="too small"):
        convolutions(images(1, 42, 41))


def test_images_that_are_too_small_for_the_network_are_refused():
    ranks = np.arange(12) % 3
    model = OTDClassifier(encoder="otd_convnet", epochs=1, data=ImageOptions(size=41))
    with pytest.raises(OrdinateError, match=r"encoder: OTDConvNet .*too small"):
        model.fit(pictures.draw(ranks), ranks)
