"""What the options of training mean on this machine: devices, Lightning's Trainer, and the stages of a method."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ordinate.checks import check_choice
from ordinate.errors import OrdinateError
from ordinate.torchrun import joined_processes, processes_here
from ordinate.training.devices import check_accelerator
from ordinate.training.options import Training
from ordinate.training.time_budget import training_end

if TYPE_CHECKING:
    from ordinate.training.stages import Stage


def check_machine(training: Training, random_state: Any) -> None:
    """Raise an error if this machine cannot train as the options say."""
    check_accelerator(training.accelerator)
    if isinstance(training.strategy, str):
        from lightning.pytorch.strategies import StrategyRegistry  # Lightning takes seconds to import.

        check_choice(training.strategy, ("auto", *StrategyRegistry.available_strategies()), "strategy")
    if training.cluster is not None and training_end() is not None:
        raise OrdinateError("time_limit", problem="is for one machine", hint="give epochs for a cluster")
    if starts_scripts(training) and random_state is None:
        raise OrdinateError(
            "random_state", f"None with the strategy {training.strategy!r}", "a number, for all processes"
        )


def starts_scripts(training: Training) -> bool:
    """Return whether the strategy runs the script again for each device, each of which draws for itself."""
    strategy = training.strategy
    if not isinstance(strategy, str) or not strategy.startswith(("ddp", "fsdp", "deepspeed")):
        return False
    if any(kind in strategy for kind in ("spawn", "fork", "notebook")):
        return False
    return joined_processes() == 1 and training.devices not in (None, 1)


def trainer_options(training: Training) -> dict[str, Any]:
    """Return options of Lightning's Trainer."""
    devices: Any = processes_here() if training.devices is None else training.devices
    nodes = training.num_nodes
    if nodes is None:
        nodes = joined_processes() // processes_here()
    devices = list(map(int, devices)) if isinstance(devices, Sequence) else int(devices)
    count = len(devices) if isinstance(devices, list) else devices
    strategy = training.strategy
    if strategy is None:
        spawns = (nodes > 1 or count > 1) and joined_processes() == nodes == 1
        strategy = "ddp_spawn" if spawns else "auto"
    clip = training.gradient_clip_val
    return {
        "accelerator": training.accelerator,
        "devices": devices,
        "num_nodes": int(nodes),
        "strategy": strategy,
        "precision": training.precision,
        "gradient_clip_val": None if clip is None else float(clip),
        "accumulate_grad_batches": int(training.accumulate_grad_batches),
        "logger": False if training.logger is None else training.logger,
        "callbacks": list(training.callbacks or ()),
    }


def optimized(training: Training, stages: "tuple[Stage, ...]") -> "tuple[Stage, ...]":
    """Return the stages of a method with the options of training instead of their own."""
    given = {name: getattr(training, name) for name in ("optimizer", "schedule", "warmup")}
    given = {name: value for name, value in given.items() if value is not None}
    first = stages[0].optimization
    factor = 1.0 if training.learning_rate is None else training.learning_rate / first.learning_rate
    changed = []
    for number, stage in enumerate(stages):
        usual = stage.optimization
        decay = usual.weight_decay
        if usual == first and training.weight_decay is not None:
            decay = training.weight_decay
        rate = factor * usual.learning_rate
        if number > 0 and training.head_learning_rate is not None:
            rate = training.head_learning_rate
        changed.append(replace(stage, optimization=replace(usual, learning_rate=rate, weight_decay=decay, **given)))
    return tuple(changed)
