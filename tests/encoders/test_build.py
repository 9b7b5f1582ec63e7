import re

import pytest
import torch

from ordinate.encoders import MLP, ImageEncoder, PeriodicEmbedding, ResNet1d, build_encoder
from ordinate.errors import OrdinateError


@pytest.mark.parametrize("name", ["auto", "mlp"])
def test_a_table_is_for_the_mlp(name):
    encoder = build_encoder(name, (4,), embedding_dim=8, widths=(6,))
    assert isinstance(encoder, MLP)
    assert encoder[0].weight.shape == (6, 4)
    assert encoder(torch.zeros(2, 4)).shape == (2, 8)


@pytest.mark.parametrize("name", ["auto", "resnet1d"])
def test_series_are_for_the_resnet(name):
    encoder = build_encoder(name, (3, 20), embedding_dim=8, blocks=(1,), width=6)
    assert isinstance(encoder, ResNet1d)
    assert encoder.stem[0].weight.shape[:2] == (6, 3)
    assert encoder(torch.zeros(2, 3, 20)).shape == (2, 8)


@pytest.mark.parametrize("name", ["auto", "resnet18"])
def test_images_are_for_the_networks_of_timm(name):
    options = {"layers": (1, 1, 1, 1), "channels": (4, 4, 4, 8)}
    encoder = build_encoder(name, (1, 32, 32), embedding_dim=8, mean=[0.25], **options)
    assert isinstance(encoder, ImageEncoder)
    assert encoder.mean.tolist() == [0.25]
    assert encoder.embedding.weight.shape == (8, 8)
    assert encoder(torch.zeros(2, 1, 32, 32)).shape == (2, 8)


def test_the_numbers_of_a_table_get_a_periodic_embedding():
    periodic, mlp = build_encoder("auto", (4,), embedding_dim=8, numeric=[1, 3], widths=(6,))
    assert isinstance(periodic, PeriodicEmbedding)
    assert isinstance(mlp, MLP)
    assert periodic.numeric.tolist() == [1, 3]
    assert mlp(periodic(torch.zeros(2, 4))).shape == (2, 8)


@pytest.mark.parametrize("sample_shape", [(4,), (3, 20)])
def test_the_seed_decides_the_weights(sample_shape):
    weights = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        encoder = build_encoder("auto", sample_shape, embedding_dim=2)
        weights.append(torch.cat([parameter.flatten() for parameter in encoder.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("sample_shape", [(4,), (3, 20), (3, 8, 8, 8)])
def test_a_network_for_images_takes_no_other_samples(sample_shape):
    known = (
        "encoder: got 'resnet18', expected 'auto', 'mlp', 'resnet1d', 'resnet1d24', 'resnet3d18', or a torch.nn.Module"
    )
    shape = f"networks for images take samples of shape (channels, height, width), these have {sample_shape}"
    with pytest.raises(OrdinateError, match=f"{re.escape(known)}; .*{re.escape(shape)}"):
        build_encoder("resnet18", sample_shape, embedding_dim=8)


@pytest.mark.parametrize(
    ("name", "sample_shape", "near"),
    [("mpl", (4,), "mlp"), ("resnet18", (3, 20), "resnet1d"), ("resnet3d", (1, 8, 8, 8), "resnet3d18")],
)
def test_an_unknown_name_is_an_error_with_the_near_one(name, sample_shape, near):
    with pytest.raises(OrdinateError, match=f"did you mean '{near}'"):
        build_encoder(name, sample_shape, embedding_dim=8)


@pytest.mark.parametrize(
    ("name", "sample_shape", "width", "options"),
    [
        ("mlp", (4,), 6, {"widths": (6,)}),
        ("resnet1d", (3, 20), 12, {"blocks": (1,), "width": 6}),
        ("resnet18", (1, 32, 32), 8, {"layers": (1, 1, 1, 1), "channels": (4, 4, 4, 8)}),
        ("resnet3d18", (1, 8, 8, 8), 6, {"widths": (2, 2, 2, 6)}),
    ],
)
def test_without_a_dimension_there_is_no_linear_layer(name, sample_shape, width, options):
    encoder = build_encoder(name, sample_shape, None, **options).eval()
    assert encoder(torch.zeros(2, *sample_shape)).shape == (2, width)


@pytest.mark.parametrize(
    ("name", "sample_shape"),
    [
        ("mlp", (3, 20)),
        ("mlp", (3, 8, 8)),
        ("resnet1d", (4,)),
        ("resnet1d", (3, 8, 8)),
        ("auto", (3, 8, 8, 8, 8)),
        ("resnet3d18", (3, 8, 8)),
        ("auto", ()),
        ("mlp", ()),
    ],
)
def test_samples_that_the_encoder_does_not_take_are_an_error(name, sample_shape):
    message = f"encoder: '{name}' does not take samples of shape {sample_shape}"
    with pytest.raises(OrdinateError, match=re.escape(message)):
        build_encoder(name, sample_shape, embedding_dim=8)
