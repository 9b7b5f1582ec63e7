"""Whatever a network gives becomes one vector per sample."""

import pytest
import torch
from torch import nn

from ordinate.encoders.given import build_given_encoder
from ordinate.encoders.network import pooled
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
