"""Multinomial logistic regression on embeddings, as a linear layer."""

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn


def fit_logistic(embeddings: Tensor, ranks: Tensor, num_classes: int, weights: Tensor | None = None) -> nn.Linear:
    """Return the multinomial logistic regression of ranks on embeddings (n, d) as a layer of one score per rank.

    Its penalty is scikit-learn's (C = 1), on embeddings divided by their deviation over all columns. A rank without a
    sample gets the score minus infinity. The losses of samples count by their weights (n,), of mean 1.
    """
    centre = embeddings.mean(0)
    scale = (embeddings - centre).square().mean().sqrt()
    scale = torch.where(scale > 0, scale, 1)
    counted = None if weights is None else weights.numpy()
    model = LogisticRegression(max_iter=1000)
    model.fit(((embeddings - centre) / scale).numpy(), ranks.numpy(), sample_weight=counted)
    coefficients, intercepts = torch.from_numpy(model.coef_), torch.from_numpy(model.intercept_)
    if len(coefficients) == 1:  # With two ranks, the coefficients are the second's relative to the first's.
        coefficients = torch.cat([torch.zeros_like(coefficients), coefficients])
        intercepts = torch.cat([torch.zeros_like(intercepts), intercepts])
    weight = torch.zeros(num_classes, embeddings.shape[1], dtype=torch.float64)
    bias = torch.full((num_classes,), -torch.inf, dtype=torch.float64)
    weight[model.classes_] = coefficients / scale
    bias[model.classes_] = intercepts - coefficients @ centre / scale
    return linear(weight.float(), bias.float())  # Saved models use float32.


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Return a layer of these weights in float64, which is not trained."""
    layer = nn.Linear(weight.shape[1], len(weight), dtype=torch.float64).requires_grad_(False)
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    return layer
