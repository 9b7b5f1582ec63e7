"""Adam and AdamW in one operation of PyTorch per step."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.option_group import Settings


class FusedAdam:
    """Adam or AdamW, with the steps of ``torch.optim.Adam(fused=True)`` and ``AdamW(fused=True)``, bit for bit.

    The optimizers of PyTorch import its compiler with their first step, which takes two seconds, and spend longer
    around a small step than in it.

    Args:
        groups: Groups of parameters: ``params`` (float, each on one device), ``weight_decay``.
        lr: Learning rate, the ``lr`` of every group without one.
        decoupled: Whether weight decay shrinks the weights, as in AdamW, or is a part of the gradient, as in Adam.
    """

    def __init__(self, groups: Iterable[Settings], lr: float, *, decoupled: bool) -> None:
        self.param_groups: list[Settings] = [{"lr": lr, **group} for group in groups]
        self.decoupled = decoupled
        self.state: dict[nn.Parameter, tuple[Tensor, Tensor, Tensor]] = {}  # Two means and the number of steps.

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self._parameters():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters that have a gradient against it."""
        for group in self.param_groups:
            moved = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not moved:
                continue
            for parameter in moved:
                if parameter not in self.state:
                    self.state[parameter] = _state_of(parameter)
            means, squares, steps = map(list, zip(*(self.state[parameter] for parameter in moved), strict=True))
            torch._foreach_add_(steps, 1)
            update = torch._fused_adamw_ if self.decoupled else torch._fused_adam_
            update(
                moved, [parameter.grad for parameter in moved], means, squares, [], steps, lr=group["lr"], beta1=0.9,
                beta2=0.999, weight_decay=group["weight_decay"], eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip

    def state_dict(self) -> dict[int, tuple[Tensor, Tensor, Tensor]]:
        """Return the state of each parameter that has one, by its place."""
        return {place: self.state[each] for place, each in enumerate(self._parameters()) if each in self.state}

    def load_state_dict(self, state: dict[int, tuple[Tensor, Tensor, Tensor]]) -> None:
        """Copy the state of another, which may lie on another device."""
        for place, parameter in enumerate(self._parameters()):
            if place in state:
                self.state[parameter] = _state_of(parameter)
                for own, other in zip(self.state[parameter], state[place], strict=True):
                    own.copy_(other)

    def _parameters(self) -> Iterable[Any]:
        return (parameter for group in self.param_groups for parameter in group["params"])


def _state_of(parameter: nn.Parameter) -> tuple[Tensor, Tensor, Tensor]:
    steps = torch.zeros((), dtype=torch.float32, device=parameter.device)
    return torch.zeros_like(parameter), torch.zeros_like(parameter), steps
