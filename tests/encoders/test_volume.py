"""The 3-D ResNet-18: its stages, its stems, what it does to voxels."""

import pytest
import torch

from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError

NARROW = (4, 8, 16, 32)


def test_the_weights_are_as_many_as_hara_et_als_network_has():
    encoder = ResNet3d18((1, 100, 100, 100), embedding_dim=128)
    stem = 64 * 7**3 + 2 * 64
    blocks, before = 0, 64
    for width in (64, 128, 256, 512):
        blocks += 27 * before * width + 3 * 27 * width**2 + 4 * 2 * width
        blocks += (before * width + 2 * width) if width != before else 0
        before = width
    assert sum(parameter.numel() for parameter in encoder.parameters()) == stem + blocks + 512 * 128 + 128


@pytest.mark.parametrize(("side", "stem", "smallest"), [(31, 3, 4), (32, 7, 1), (100, 7, 4)])
def test_small_volumes_keep_their_size_in_the_stem(side, stem, smallest):
    encoder = ResNet3d18((1, side, side, side), embedding_dim=4, widths=NARROW).eval()
    seen = []
    encoder.backbone.layer4.register_forward_hook(lambda *call: seen.append(call[-1].shape))
    with torch.no_grad():
        encoder(torch.zeros(1, 1, side, side, side))
    assert encoder.backbone.conv1.kernel_size == (stem,) * 3
    assert seen[0] == (1, 32, smallest, smallest, smallest)


def test_voxels_are_normalised_by_channel():
    encoder = ResNet3d18((2, 8, 8, 8), embedding_dim=4, mean=[0.2, 0.6], std=[0.1, 0.3], widths=NARROW).eval()
    seen = []
    encoder.backbone.register_forward_pre_hook(lambda *call: seen.append(call[-1][0]))
    voxels = torch.randint(0, 256, (1, 2, 8, 8, 8), dtype=torch.uint8)
    with torch.no_grad():
        encoder(voxels)
    shares = voxels.double() / 255
    expected = torch.stack([(shares[:, 0] - 0.2) / 0.1, (shares[:, 1] - 0.6) / 0.3], 1)
    torch.testing.assert_close(seen[0].double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((8, 8, 8), {}, r"sample_shape: got \(8, 8, 8\), expected \(channels, depth, height, width\)"),
        ((2, 8, 8, 8), {"mean": [0.5]}, "expected a number and one above 0 for each channel"),
        ((1, 8, 8, 8), {"std": [0.0]}, "expected a number and one above 0 for each channel"),
    ],
)
def test_what_it_does_not_take_is_said(shape, options, message):
    with pytest.raises(OrdinateError, match=message):
        ResNet3d18(shape, 4, widths=NARROW, **options)
