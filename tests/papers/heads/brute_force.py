"""The losses of the heads on bins, one sample and one bin at a time, as their papers write them."""

import math

import torch


def softmax(logits):
    powers = [torch.exp(logit) for logit in logits]
    return [power / sum(powers) for power in powers]


def sigmoid(logit):
    return 1 / (1 + torch.exp(-logit))


def expectation(logits):
    return sum(index * p for index, p in enumerate(softmax(logits)))


def dex(logits, position):
    nearest = min(range(len(logits)), key=lambda index: abs(index - position))
    return -torch.log(softmax(logits)[nearest])


def dldl_v2(logits, position):
    position = min(max(position, 0.0), len(logits) - 1.0)
    density = [math.exp(-((index - position) ** 2) / (2 * 2**2)) for index in range(len(logits))]
    wanted = [value / sum(density) for value in density]
    divergence = sum(p * torch.log(p / q) for p, q in zip(wanted, softmax(logits), strict=True))
    return divergence + abs(expectation(logits) - position)


def extended_binary(logits, position):
    losses = [
        -torch.log(sigmoid(logit) if position > k + 0.5 else 1 - sigmoid(logit)) for k, logit in enumerate(logits)
    ]
    return sum(losses) / len(losses)


def corn(logits, position):
    total = 0.0
    for k, logit in enumerate(logits):
        above = position > k + 0.5
        total = total - torch.log(sigmoid(logit) if above else 1 - sigmoid(logit))
        if not above:
            break
    return total / len(logits)


def losses_and_gradients(formula, logits, positions):
    """Values (n,), and the gradient of their sum weighted by 1, 2, 3 and so on."""
    logits = logits.clone().requires_grad_()
    if formula.__module__ == __name__:
        values = torch.stack([formula(row, float(at)) for row, at in zip(logits, positions, strict=True)])
    else:
        values = formula(logits, positions)
    weights = torch.arange(1.0, len(values) + 1, dtype=values.dtype)
    (gradient,) = torch.autograd.grad((weights * values).sum(), logits)
    return values.detach(), gradient
