import numpy as np
import pytest
import torch
from scipy.special import erf, expit
from torch import nn

from ordinate.encoders import MLP

X = torch.randn(7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * expit(x),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
}


@pytest.mark.parametrize("widths", [(), (4,), (6, 3, 8)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_hidden_layers_have_an_activation_each_and_the_end_is_linear(widths, activation):
    encoder = MLP(5, embedding_dim=3, widths=widths, activation=activation).double()
    *hidden, last = [layer for layer in encoder if isinstance(layer, nn.Linear)]
    x = X.numpy()
    for layer in hidden:
        x = ACTIVATIONS[activation](x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy())
    expected = x @ last.weight.detach().numpy().T + last.bias.detach().numpy()
    np.testing.assert_allclose(encoder(X).detach().numpy(), expected, rtol=0, atol=1e-12)
    assert [layer.out_features for layer in hidden] == list(widths)


def test_dropout_acts_in_training_alone():
    encoder = MLP(5, embedding_dim=3, widths=(64, 64), dropout=0.5).double()
    assert not torch.equal(encoder(X), encoder(X))
    encoder.eval()
    assert torch.equal(encoder(X), encoder(X))
    assert not any(isinstance(layer, nn.Dropout) for layer in MLP(5, embedding_dim=3))


def test_an_unknown_activation_is_an_error_that_names_those_it_takes():
    with pytest.raises(ValueError, match=r"activation: got 'softplus', expected .*'relu'"):
        MLP(5, embedding_dim=3, activation="softplus")
