"""Whatever a network gives becomes one vector per sample."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from ordinate.encoders.given import build_given_encoder
from ordinate.encoders.network import StageMoments, pooled
from ordinate.errors import OrdinateError

transformers = pytest.importorskip("transformers")
VECTORS, MAPS, TOKENS = torch.randn(2, 5), torch.randn(2, 5, 4, 3), torch.randn(2, 7, 5)
Output = transformers.modeling_outputs.BaseModelOutputWithPooling


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (VECTORS, VECTORS),
        (MAPS, MAPS.mean((2, 3))),
        (torch.randn(2, 5, 4, 3, 2).fill_(2.0), torch.full((2, 5), 2.0)),
        (TOKENS, TOKENS.mean(1)),
        ((TOKENS, VECTORS), TOKENS.mean(1)),
        (Output(last_hidden_state=TOKENS), TOKENS.mean(1)),
        (Output(last_hidden_state=TOKENS, pooler_output=VECTORS), VECTORS),
        (Output(last_hidden_state=MAPS, pooler_output=VECTORS[:, :, None, None]), VECTORS),
        ({"last_hidden_state": MAPS}, MAPS.mean((2, 3))),
    ],
    ids=["vectors", "maps", "volumes", "tokens", "tuple", "hidden states", "pooled", "pooled maps", "dictionary"],
)
def test_every_output_becomes_a_vector_per_sample(output, expected):
    torch.testing.assert_close(pooled(output), expected)


def test_three_dimensions_of_a_series_are_a_map():
    torch.testing.assert_close(pooled(TOKENS, of_series=True), TOKENS.mean(2))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (torch.zeros(3), r"torch.float32 of shape \(3,\)"),
        (torch.zeros(3, 2, dtype=torch.int64), r"torch.int64 of shape \(3, 2\)"),
        ({"logits": VECTORS}, "an output of logits, expected pooler_output or last_hidden_state"),
        (None, "an output that is NoneType"),
        ((), "an output that is tuple"),
    ],
)
def test_what_is_no_vector_per_sample_is_an_error(output, message):
    with pytest.raises(OrdinateError, match=f"encoder: got .*{message}"):
        pooled(output)


class Sees(nn.Module):
    """Keeps what it got."""

    def __init__(self, **attributes):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        vars(self).update(attributes)

    def forward(self, x):
        self.seen = x
        return self.scale * x.flatten(1)


def test_images_are_normalised_as_the_network_was_trained_or_else_by_the_samples():
    images = torch.tensor([0, 255], dtype=torch.uint8)[:, None, None, None].expand(2, 3, 2, 2)
    plain = build_given_encoder(Sees(), (3, 2, 2), 4, mean=[0.5] * 3, std=[0.25] * 3)
    plain(images)
    assert plain.backbone.seen.unique().tolist() == [-2.0, 2.0]
    trained = Sees(pretrained_cfg={"mean": (0.0, 0.0, 0.0), "std": (0.5, 0.5, 0.5)})
    encoder = build_given_encoder(trained, (3, 2, 2), 4, mean=[0.5] * 3, std=[0.25] * 3)
    encoder(images)
    assert encoder.backbone.seen.unique().tolist() == [0.0, 2.0]
    assert not hasattr(trained, "seen")  # a copy was tried


def test_a_table_is_given_without_its_normal_scores():
    encoder = build_given_encoder(Sees(), (4,), None, columns=[0, 3])
    encoder(torch.arange(8.0).reshape(2, 4))
    assert encoder.backbone.seen.tolist() == [[0.0, 3.0], [4.0, 7.0]]


def test_a_network_is_trained_whole_whatever_mode_it_comes_in():
    network = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)).eval()
    encoder = build_given_encoder(network, (3,), 2)
    assert all(module.training for module in encoder.modules())
    assert not network.training


def test_half_precision_comes_in_as_float32():
    assert build_given_encoder(nn.Linear(3, 4).half(), (3,), 2)(torch.zeros(2, 3)).dtype == torch.float32


def test_layers_of_unknown_width_are_made_for_the_samples():
    assert build_given_encoder(nn.LazyLinear(4), (3,), 2)(torch.zeros(2, 3)).shape == (2, 2)


def network_with(stages):
    """A network with a stem, stages of two layers each and a head, and what its stages give."""
    layers = [nn.Sequential(nn.Sequential(nn.Conv2d(c, c + 1, 3), nn.ReLU())) for c in range(3, 3 + stages)]
    return nn.Sequential(nn.Conv2d(3, 3, 1), nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1), nn.Flatten())


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_moments_of_stages_are_means_and_deviations_over_the_places_of_each_map(most):
    network, x = network_with(3), torch.randn(4, 3, 9, 9)
    expected, maps = [], network[0](x)
    for stage in network[1]:
        maps = stage(maps)
        expected.append((maps.mean((2, 3)), maps.flatten(2).std(2, correction=0)))
    expected = torch.cat([moment for moments in expected[-most:] for moment in moments], dim=1)
    torch.testing.assert_close(StageMoments(network, most)(x), expected)
    assert not any(module._forward_hooks for module in network.modules())


def test_moments_of_tokens_and_of_maps_whose_channels_come_last_are_over_all_but_the_channels():
    tokens = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, batch_first=True, dropout=0.0), 2).eval()
    x = torch.randn(3, 7, 6)
    last = tokens(x)
    found = StageMoments(tokens)(x)[:, -12:]
    torch.testing.assert_close(found, torch.cat([last.mean(1), last.std(1, correction=0)], dim=1))
    linear = [nn.Sequential(nn.Sequential(nn.Linear(c, c + 1), nn.ReLU())) for c in (3, 4)]
    network, images = nn.Sequential(nn.Sequential(*linear)), torch.randn(2, 8, 9, 3)
    network.output_fmt = "NHWC"
    last = network(images)
    torch.testing.assert_close(StageMoments(network)(images)[:, -10:-5], last.mean((1, 2)))


def test_threads_do_not_mix_their_maps():
    moments, batches = StageMoments(network_with(3).eval()), [torch.randn(8, 3, 24, 24) for _ in range(20)]
    with torch.no_grad(), ThreadPoolExecutor(4) as threads:
        expected = [moments(batch) for batch in batches]
        found = list(threads.map(torch.no_grad()(moments), batches))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_efficientnet", "vgg11"])
def test_networks_of_timm_have_moments_or_their_own_features(name):
    timm = pytest.importorskip("timm")
    network = timm.create_model(name, num_classes=0).eval()
    size = 160 if name == "test_vit" else 48
    with torch.no_grad():
        found = StageMoments(network)(torch.zeros(2, 3, size, size))
    assert found.dim() == len(found) == 2
    assert found.isfinite().all()
