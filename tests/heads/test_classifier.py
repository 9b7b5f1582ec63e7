import numpy as np
import torch

from ordinate.heads import Classifier


def test_scores_are_linear_relu_linear():
    head = Classifier(4, num_classes=3).double()
    x = torch.randn(10, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    first, second = (
        (layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in head if hasattr(layer, "weight")
    )
    expected = np.maximum(x.numpy() @ first[0] + first[1], 0) @ second[0] + second[1]
    np.testing.assert_allclose(head(x).detach().numpy(), expected, rtol=0, atol=1e-14)
    assert first[0].shape == (4, 4)
    assert expected.shape == (10, 3)
