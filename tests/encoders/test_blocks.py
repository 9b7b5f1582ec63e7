"""The last blocks of a network are trained; what comes before keeps its weights and its mode."""

import pytest
import torch
from torch import nn

from ordinate.encoders import TextEncoder
from ordinate.encoders.network import NetworkEncoder, blocks_of, freeze, network_parameters
from ordinate.errors import OrdinateError
from ordinate_papers.words.networks import BiLSTM

timm = pytest.importorskip("timm")
transformers = pytest.importorskip("transformers")
SMALL = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}


def timm_network(name, **options):
    return timm.create_model(name, num_classes=0, **options)


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


NETWORKS = {
    "residual": (lambda: timm_network("resnet18"), 8, {"layer4.1"}),
    "one block a stage": (lambda: timm_network("resnet10t"), 4, {"layer4.0"}),
    "vision transformer": (lambda: timm_network("test_vit"), 6, {"blocks.5", "norm"}),
    "convnext": (lambda: timm_network("test_convnext"), 4, {"stages.3", "head.norm"}),
    "efficientnet": (lambda: timm_network("test_efficientnet"), None, None),
    "bert": (
        lambda: transformers.BertModel(transformers.BertConfig(vocab_size=9, **SMALL)),
        3, {"encoder.layer.2", "pooler.dense"},
    ),
    "dinov2": (
        lambda: transformers.Dinov2Model(transformers.Dinov2Config(image_size=16, patch_size=4, **SMALL)),
        3, {"encoder.layer.2", "layernorm"},
    ),
    "layers": (mlp, 3, {"4"}),
    "a network in a list": (lambda: nn.Sequential(timm_network("resnet18"), nn.Linear(512, 4)), 8, {"0.layer4.1", "1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_the_last_block_and_what_follows_is_trained(name):
    make, count, last = NETWORKS[name]
    network = make()
    blocks = blocks_of(network)
    freeze(network, 1)
    trained = [key for key, parameter in network.named_parameters() if parameter.requires_grad]
    assert trained
    assert len(trained) < len(list(network.parameters()))
    if count is not None:
        assert len(blocks) == count
        assert {next((part for part in last if key.startswith(f"{part}.")), key) for key in trained} == last


def test_more_blocks_than_there_are_is_an_error():
    with pytest.raises(OrdinateError, match=r"train_encoder: got 4, expected .*at most 3, the encoder's blocks"):
        freeze(mlp(), 4)


def test_frozen_statistics_and_dropout_stay_as_in_prediction():
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 4), nn.BatchNorm1d(4))
    encoder = NetworkEncoder(network, 4, 2).train_only(2)
    assert [module.training for module in network] == [False, False, False, True, True]
    before = network[1].running_mean.clone(), network[4].running_mean.clone()
    encoder(torch.randn(8, 3))
    assert torch.equal(network[1].running_mean, before[0])
    assert not torch.equal(network[4].running_mean, before[1])
    encoder.eval()
    encoder.train()
    assert [module.training for module in network] == [False, False, False, True, True]
    assert encoder.embedding.training


def test_parameters_of_the_network_are_those_below_the_embedding():
    encoder = NetworkEncoder(mlp(), 2, 5)
    assert len(network_parameters(encoder)) == 6
    assert len(network_parameters(mlp())) == 6
    assert network_parameters(TextEncoder(None, 3, 1, 2)) == []


def test_a_bilstm_has_no_weights_to_keep():
    encoder = TextEncoder(BiLSTM(torch.randn(4, 3), 2), 4, 1, 2)
    with pytest.raises(OrdinateError, match="train_encoder: got 'none', expected 'all' for a network"):
        encoder.train_only("none")
