"""How parameters move: optimizer, learning rate and its schedule, in stages."""

import functools
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import nn

from ordinate.checks import check_choice, check_positive, check_share
from ordinate.option_group import Settings
from ordinate.options import OptimizerName, Schedule

MakesOptimizer = Callable[..., torch.optim.Optimizer]  # It is called with parameter groups and lr.
OPTIMIZERS: dict[str, MakesOptimizer] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": functools.partial(torch.optim.SGD, momentum=0.9),
}


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
        if not callable(self.optimizer):
            check_choice(self.optimizer, get_args(OptimizerName), "optimizer")
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
    ) -> torch.optim.Optimizer:
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
        on_cpu = all(parameter.device.type == "cpu" and parameter.is_floating_point() for parameter in every)
        if not on_cpu or self.optimizer == "sgd":  # The fused form of SGD takes no sparse gradients.
            return OPTIMIZERS[self.optimizer](groups, lr=self.learning_rate)
        # The fused form runs one loop instead of a dozen.
        optimizer: Any = OPTIMIZERS[self.optimizer](groups, lr=self.learning_rate, fused=True)
        optimizer._step_supports_amp_scaling = False  # Lightning does not clip gradients where a step unscales them.
        return optimizer

    def learning_rate_at(self, progress: float) -> float:
        """Return the learning rate at ``progress``, from 0 at the start of the stage to 1 at its end."""
        if progress < self.warmup:
            return self.learning_rate * progress / self.warmup
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (progress - self.warmup) / (1 - self.warmup)))


@dataclass(frozen=True)
class Stage:
    """One stage of training.

    Args:
        name: Name in the progress bar and the log.
        epochs: Largest number of epochs.
        optimization: Optimization of the parameters that it trains.
        patience: The stage ends after this many epochs without a lower
            :attr:`~ordinate.training.stages.StagedMethod.monitor`, with the weights of the lowest; None
            trains to the end and keeps the last.

    Example:
        >>> Stage("encoder", epochs=100, optimization=Optimization("adam", 1e-3), patience=10).epochs
        100
    """

    name: str
    epochs: int
    optimization: Optimization
    patience: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", int(self.epochs))  # A whole number of NumPy is none for Lightning.


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
