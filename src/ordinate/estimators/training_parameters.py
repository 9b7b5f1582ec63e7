"""How an estimator trains: the optimizer, and what runs it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from ordinate.checks import check_choice, check_positive, check_share, check_whole
from ordinate.errors import OrdinateError
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.methods.devices import check_accelerator
from ordinate.methods.optimization import MakesOptimizer, Optimization
from ordinate.methods.ray_cluster import RayCluster
from ordinate.methods.time_budget import training_end
from ordinate.options import OptimizationName, OptimizerName, Precision, Schedule
from ordinate.torchrun import joined_processes, processes_here

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.loggers import Logger
    from lightning.pytorch.strategies import Strategy

    from ordinate.methods.staged import Stage

RUNTIME = (  # no part of what is trained
    "accelerator", "devices", "num_nodes", "strategy", "logger", "callbacks", "cluster",
)  # fmt: skip


@estimator_dataclass
class TrainingParameters:
    """Parameters of training that all estimators share.

    Args:
        optimization: ``"usual"`` is AdamW with a cosine after a warm-up; ``"paper"`` is what the method's paper trains
            with, as the constructors of :mod:`ordinate.methods` have it. What follows changes either.
        optimizer: ``"adamw"``, ``"adam"``, ``"sgd"`` (momentum 0.9), or what makes one of parameter groups and ``lr``,
            such as ``torch.optim.RAdam``.
        learning_rate: the highest one, of the first stage; those of others keep their ratio to it. By default 1e-3.
        weight_decay: of the optimizer, where it trains the encoder; on its matrices alone.
        schedule: ``"cosine"`` falls to 0 at the end of each stage, ``"constant"`` stays.
        warmup: share of each stage in which the learning rate rises linearly; by default 0.1.
        gradient_clip_val: largest norm of the gradient; None does not clip.
        accumulate_grad_batches: batches whose gradients make a step; samples are contrasted within each.
        precision: ``"32-true"``, ``"bf16-mixed"`` or ``"16-mixed"`` (GPU), of training.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        devices: how many to train the joined batch on, or a list of GPUs. Several start that many processes, so that a
            script needs ``if __name__ == "__main__":``. By default 1, and under ``torchrun`` all of its processes.
        num_nodes: machines, under ``torchrun`` or a cluster's scheduler.
        strategy: of Lightning, such as ``"ddp"``; by default ``"ddp_spawn"`` where there are several devices.
        logger: of Lightning, such as ``TensorBoardLogger("runs")``, or a list of them. It is not saved with the model.
        callbacks: of Lightning, beside ours, with their state from fit to fit. They are not saved with the model.
        cluster: ``RayCluster("auto", workers=8)`` trains on the machines of a Ray cluster, in place of ``devices``,
            with a ``checkpoint_dir`` on storage that they share. It is not saved with the model.
    """

    optimization: OptimizationName = "usual"
    optimizer: OptimizerName | MakesOptimizer | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    schedule: Schedule | None = None
    warmup: float | None = None
    gradient_clip_val: float | None = None
    accumulate_grad_batches: int = 1
    precision: Precision = "32-true"
    accelerator: str = "auto"
    devices: int | Sequence[int] | None = None
    num_nodes: int | None = None
    strategy: "str | Strategy | None" = None
    logger: "Logger | Sequence[Logger] | None" = None
    callbacks: "Sequence[Callback] | None" = None
    cluster: RayCluster | None = None

    def _check_training(self) -> None:
        check_choice(self.optimization, get_args(OptimizationName), "optimization")
        if self.optimizer is not None and not callable(self.optimizer):
            check_choice(self.optimizer, get_args(OptimizerName), "optimizer")
        if self.schedule is not None:
            check_choice(self.schedule, get_args(Schedule), "schedule")
        for name in ("learning_rate", "gradient_clip_val", "weight_decay"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name, or_zero=name == "weight_decay")
        if self.warmup is not None:
            check_share(self.warmup, "warmup")
        check_whole(self.accumulate_grad_batches, "accumulate_grad_batches")
        check_choice(self.precision, get_args(Precision), "precision")
        check_accelerator(self.accelerator)
        if isinstance(self.strategy, str):
            from lightning.pytorch.strategies import StrategyRegistry  # on first use, as Lightning takes seconds

            check_choice(self.strategy, ("auto", *StrategyRegistry.available_strategies()), "strategy")
        if self.num_nodes is not None:
            check_whole(self.num_nodes, "num_nodes")
        if isinstance(self.devices, list | tuple) and self.devices:
            if self.accelerator not in ("gpu", "cuda"):
                raise OrdinateError("devices", repr(self.devices), "a whole number, or accelerator='gpu' beside a list")
            for device in self.devices:
                check_whole(device, "devices", least=0)
        elif self.devices is not None:
            check_whole(cast(int, self.devices), "devices")  # which refuses all else
        self._check_cluster()

    def _check_cluster(self) -> None:
        if self.cluster is None:
            return
        if not isinstance(self.cluster, RayCluster):
            raise OrdinateError("cluster", repr(self.cluster), "RayCluster(address, workers) or None")
        for name in ("devices", "num_nodes", "strategy"):
            if getattr(self, name) is not None:
                raise OrdinateError(name, repr(getattr(self, name)), "None beside a cluster, which has its workers")
        if training_end() is not None:
            raise OrdinateError("time_limit", problem="is for one machine", hint="give epochs for a cluster")

    @property
    def _starts_scripts(self) -> bool:
        """Whether the strategy runs the script again for each device, each of which draws for itself."""
        told = isinstance(self.strategy, str) and self.strategy.startswith(("ddp", "fsdp", "deepspeed"))
        here = any(kind in str(self.strategy) for kind in ("spawn", "fork", "notebook"))
        return told and not here and joined_processes() == 1 and self.devices not in (None, 1)

    def _usual_optimization(self, weight_decay: float, factor: float = 1.0) -> Optimization:
        """Return AdamW at ``factor`` times the learning rate."""
        rate = 1e-3 if self.learning_rate is None else self.learning_rate
        return Optimization("adamw", factor * rate, weight_decay)

    def _optimized(self, stages: "tuple[Stage, ...]") -> "tuple[Stage, ...]":
        """Return the stages of a method with the parameters that were given in the place of theirs."""
        given = {name: getattr(self, name) for name in ("optimizer", "schedule", "warmup")}
        given = {name: value for name, value in given.items() if value is not None}
        first = stages[0].optimization
        factor = 1.0 if self.learning_rate is None else self.learning_rate / first.learning_rate
        changed = []
        for stage in stages:
            usual = stage.optimization
            decay = usual.weight_decay if usual != first or self.weight_decay is None else self.weight_decay
            rate = factor * usual.learning_rate
            changed.append(replace(stage, optimization=replace(usual, learning_rate=rate, weight_decay=decay, **given)))
        return tuple(changed)

    def _trainer_options(self) -> dict[str, Any]:
        """Return options of Lightning's Trainer."""
        devices, nodes = self.devices, self.num_nodes
        if devices is None:
            devices = processes_here()
        if nodes is None:
            nodes = joined_processes() // processes_here()
        devices = list(map(int, devices)) if isinstance(devices, Sequence) else int(devices)
        several = nodes > 1 or (devices if isinstance(devices, int) else len(devices)) > 1
        usual = "ddp_spawn" if several and joined_processes() == nodes == 1 else "auto"
        return {
            "accelerator": self.accelerator,
            "devices": devices,
            "num_nodes": int(nodes),
            "strategy": usual if self.strategy is None else self.strategy,
            "precision": self.precision,
            "gradient_clip_val": None if self.gradient_clip_val is None else float(self.gradient_clip_val),
            "accumulate_grad_batches": int(self.accumulate_grad_batches),
            "logger": False if self.logger is None else self.logger,
            "callbacks": list(self.callbacks or ()),
        }
