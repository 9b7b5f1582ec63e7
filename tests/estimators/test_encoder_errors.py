"""What an encoder, its embedding or its training cannot be is refused before training, with the way out."""

import numpy as np
import pytest
import torch
from torch import nn

from ordinate import ImageOptions, OrdinateError
from ordinate_papers.estimators import POEClassifier
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr


def two_layers(embedding_dim):
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, embedding_dim))


class Fails(nn.Module):
    def forward(self, x):
        return x @ torch.ones(3, 2)


IMAGE = (np.zeros((12, 1, 8, 8), np.uint8), np.arange(12) % 3)
TABLE = (draw_table(24)[0], ranks_of(draw_table(24)[1]))
REFUSED = {
    "neither a name nor a network": ({"encoder": 3}, TABLE, "encoder: got 3, expected a name, a torch.nn.Module, or a"),
    "a near name": ({"encoder": "mpl"}, TABLE, "encoder: got 'mpl', expected .* did you mean 'mlp'"),
    "a network of images for a table": ({"encoder": "hf:owner/name"}, TABLE, "encoder: .*, expected images or text"),
    "an empty name": ({"encoder": "hf:"}, TABLE, "encoder: got 'hf:', expected a folder with a config.json"),
    "another width": ({"encoder": nn.Linear(4, 2)}, TABLE, r"encoder: Linear does not take samples of shape \(3,\)"),
    "channels": ({"encoder": nn.Conv2d(3, 2, 3)}, IMAGE, r"encoder: Conv2d .*; ImageOptions\(size=, channels=\)"),
    "scalars": ({"encoder": nn.Flatten(0)}, TABLE, r"encoder: got an output that is torch.float32 of shape \(6,\)"),
    "float32 alone": ({"encoder": Fails()}, TABLE, "encoder: Fails does not take samples .* in float64"),
    "a function of another width": (
        {"encoder": lambda d: nn.Linear(3, 2)}, TABLE, "encoder: got <lambda>, whose module gives 2 features, .* 8"
    ),
    "no module": ({"encoder": lambda d: d}, TABLE, "encoder: got <lambda>, which returned 8, expected a torch.nn.Mod"),
    "a part of new weights": ({"train_encoder": 2}, TABLE, "train_encoder: got 2 with the encoder 'auto', which"),
    "another word": ({"train_encoder": "last"}, TABLE, "train_encoder: got 'last', expected 'all', 'none' or the"),
    "too many blocks": (
        {"encoder": two_layers(4), "train_encoder": 3}, TABLE, "train_encoder: got 3, expected .* at most 2"
    ),
    "no embedding": ({"embedding_dim": 0}, TABLE, "embedding_dim: got 0"),
    "a rate of nothing": (
        {"encoder": two_layers(4), "train_encoder": "none", "encoder_learning_rate": 0.1}, TABLE,
        "encoder_learning_rate: got 0.1, expected None if the network is not trained",
    ),
    "views of features": (
        {"encoder": nn.Conv2d(1, 2, 3), "train_encoder": "none", "data": ImageOptions(augmentation="flip")}, IMAGE,
        "train_encoder: got 'none' with augmentation='flip'",
    ),
    "two pretrained networks": (
        {"encoder": nn.Conv2d(1, 2, 3), "data": ImageOptions(pretrained=True)}, IMAGE,
        "pretrained: got True, expected False for Conv2d, which brings its weights",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_before_training(name):
    options, (X, y), message = REFUSED[name]
    with pytest.raises(OrdinateError, match=message):
        cloc(**options).fit(X, y)


def test_nothing_to_train_is_refused():
    X, target = draw_table(24)
    with pytest.raises(OrdinateError, match="embedding_dim: got None with an encoder that is not trained"):
        supcr(encoder=two_layers(4), embedding_dim=None, train_encoder="none").fit(X, target)
    with pytest.raises(OrdinateError, match="embedding_dim: got 0"):
        POEClassifier(two_layers(4), embedding_dim=None).fit(X, ranks_of(target))


class TakesNothing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)


def test_the_class_of_a_network_is_no_network():
    message = r"encoder: got the class TakesNothing, and .*, expected a network, such as TakesNothing\(\.\.\.\), or a"
    with pytest.raises(OrdinateError, match=message):
        supcr(encoder=TakesNothing).fit(*draw_table())
