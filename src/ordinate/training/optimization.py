"""How parameters move: optimizer, learning rate and its schedule, in stages."""

import functools
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import torch
from torch import nn

from ordinate.checks import check_choice, check_positive, check_share
from ordinate.option_group import Settings
from ordinate.options import OptimizerName, Schedule, check_optimizer
from ordinate.training.adam import FusedAdam


class Optimizer(Protocol):
    """What training uses of an optimizer, such as one of ``torch.optim``."""

    param_groups: list[dict[str, Any]]

    def zero_grad(self) -> None: ...

    def step(self) -> Any: ...

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any, /) -> Any: ...


MakesOptimizer = Callable[..., Optimizer]  # It is called with parameter groups and lr.
OPTIMIZERS: dict[str, MakesOptimizer] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": functools.partial(torch.optim.SGD, momentum=0.9),
}
FUSED = ("cpu", "cuda")  # Devices on which Adam and AdamW take one operation per step.


@dataclass(frozen=True)
class Optimization:
    """An optimizer and its learning rate over a stage of training.

    Args:
        optimizer: ``"adam"``, ``"adamw"``, ``"sgd"`` (momentum 0.9), or what makes one of parameter groups and ``lr``,
            such as ``torch.optim.RAdam`` or ``functools.partial(torch.optim.SGD, nesterov=True, momentum=0.95)``.
        learning_rate: Highest learning rate.
        weight_decay: Weight decay of the optimizer, on the parameters that ``undecayed_parameters`` leaves to it.
        schedule: ``"cosine"`` falls to 0 at the end of the stage, ``"constant"`` stays.
        warmup: Share of the stage in which the learning rate rises linearly from 0.

    Example:
        >>> optimization = Optimization("adamw", learning_rate=0.01, warmup=0.1)
        >>> [round(optimization.learning_rate_at(progress), 4) for progress in (0, 0.05, 0.1, 0.55, 1)]
        [0.0, 0.005, 0.01, 0.005, 0.0]
    """

    optimizer: OptimizerName | MakesOptimizer = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    warmup: float = 0.1

    def __post_init__(self) -> None:
        check_optimizer(self.optimizer)
        check_choice(self.schedule, get_args(Schedule), "schedule")
        check_positive(self.learning_rate, "learning_rate")
        check_positive(self.weight_decay, "weight_decay", or_zero=True)
        check_share(self.warmup, "warmup")

    def build(
        self,
        parameters: Iterable[nn.Parameter],
        undecayed: Collection[nn.Parameter] = (),
        network: Collection[nn.Parameter] = (),
        network_learning_rate: float | None = None,
    ) -> Optimizer:
        """Return the optimizer over ``parameters``, of which those in ``undecayed`` have no weight decay.

        Those in ``network`` have a learning rate of their own, as a ``share`` of the others'.
        """
        kept, own = ({id(parameter) for parameter in some} for some in (undecayed, network))
        members: dict[tuple[bool, bool], list[nn.Parameter]] = {}
        for parameter in parameters:
            members.setdefault((id(parameter) in own, id(parameter) in kept), []).append(parameter)
        groups: list[Settings] = []
        for (is_own, is_kept), some in sorted(members.items(), key=lambda item: item[0]):
            decay = 0.0 if is_kept else self.weight_decay
            groups.append({"params": some, "weight_decay": decay})
            if is_own and network_learning_rate is not None:
                groups[-1] |= {"lr": network_learning_rate, "share": network_learning_rate / self.learning_rate}
        if callable(self.optimizer):
            return self.optimizer(groups, lr=self.learning_rate)
        every = [parameter for some in members.values() for parameter in some]
        kinds = {(parameter.device, parameter.dtype) for parameter in every}
        is_fused = len(kinds) == 1 and every[0].device.type in FUSED and every[0].is_floating_point()
        if self.optimizer in ("adam", "adamw") and is_fused:
            return FusedAdam(groups, self.learning_rate, decoupled=self.optimizer == "adamw")
        return OPTIMIZERS[self.optimizer](groups, lr=self.learning_rate)

    def learning_rate_at(self, progress: float) -> float:
        """Return the learning rate at ``progress``, from 0 at the start of the stage to 1 at its end."""
        if progress < self.warmup:
            return self.learning_rate * progress / self.warmup
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (progress - self.warmup) / (1 - self.warmup)))


def undecayed_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that weight decay does not belong to.

    These are biases, and whatever has fewer than two dimensions: gains of norms, and CLOC's margins, which would else
    drift towards one value whatever the data say. Modules may name others in ``no_weight_decay()``, as networks of timm
    do.
    """
    found = [
        parameter
        for name, parameter in module.named_parameters()
        if parameter.ndim < 2 or name.rpartition(".")[2] == "bias"
    ]
    for part in module.modules():
        named = getattr(part, "no_weight_decay", None)
        if callable(named):
            names = named()
            found += [parameter for name, parameter in part.named_parameters() if name in names]
    return found
