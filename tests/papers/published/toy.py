"""A small set on which loops learn in a second: two numbers, and a target that is a curve of them."""

import torch


def toy():
    """Return samples and targets to train and to validate on."""
    x = torch.rand(100, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = 5 + 3 * torch.tanh(2 * x[:, 0]) + x[:, 1]
    return x[:80], y[:80], x[80:], y[80:]
