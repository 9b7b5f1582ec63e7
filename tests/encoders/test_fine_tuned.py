"""Images that are scaled for fine-tuned networks, against PyTorch's own and a sum written out."""

import pytest
import torch
from torch.nn.functional import interpolate

from ordinate.encoders.fine_tuned import FineTunedNetworks, scaled


@pytest.mark.parametrize("size", [(12, 20), (37, 53), (1, 1), (36, 52), (37, 20), (50, 60)])
def test_images_are_scaled_as_pytorch_does_with_antialiasing(size):
    images = torch.randint(0, 256, (2, 3, 37, 53), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    expected = interpolate(images.double(), size=size, mode="bilinear", antialias=True, align_corners=False)
    torch.testing.assert_close(scaled(images, size).double(), expected, atol=5e-3, rtol=0)


def test_a_pixel_is_the_mean_of_those_below_its_triangle():
    """Of five pixels two: triangles of 2.5 pixels to both sides of 1.25 and 3.75."""
    pixels = torch.tensor([3.0, 50.0, 7.0, 200.0, 90.0])
    for place, centre in enumerate((1.25, 3.75)):
        weights = torch.tensor([max(0.0, 1 - abs(pixel + 0.5 - centre) / 2.5) for pixel in range(5)])
        expected = (weights * pixels).sum() / weights.sum()
        assert scaled(pixels[None, None, None], (1, 2))[0, 0, 0, place] == pytest.approx(float(expected), rel=1e-5)


class Doubled(torch.nn.Module):
    """A network of which the embedding is known: the first pixel, and its double."""

    embedding_dim = 2

    def forward(self, images):
        return images[:, 0, 0, :1] * torch.tensor([[1.0, 2.0]])


def test_embeddings_stand_side_by_side():
    networks = FineTunedNetworks([Doubled(), Doubled()], (1, 1))
    found = networks(torch.full((3, 1, 4, 4), 5, dtype=torch.uint8))
    assert networks.out_features == 4
    torch.testing.assert_close(found, torch.tensor([[5.0, 10.0, 5.0, 10.0]] * 3))
