"""Training on the machines of a Ray cluster."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.checks import check_whole
from ordinate.errors import OrdinateError
from ordinate.optional import optional

FAILURES = 3  # Workers may fail this often in a row without a new checkpoint.


def connect(address: str, **local: Any) -> tuple[Any, bool]:
    """Return Ray, connected to a cluster, and whether the connection was made here.

    Args:
        address: Address of the cluster, "auto" for the one that this machine is in, "local" for one that is started
            here.
        local: Options of a cluster that is started here.

    Raises:
        OrdinateError: Ray is not installed, or there is no such cluster.
    """
    ray = optional("ray", "cluster", "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if ray.is_initialized():
        return ray, False
    options = {"include_dashboard": False, **local} if address == "local" else {"address": address}
    try:
        ray.init(log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OrdinateError("ray", repr(address), f"a running cluster's address: {error}") from error
    return ray, True


@dataclass(frozen=True)
class RayCluster:
    """Workers of a Ray cluster, which share every batch of a training as ``devices`` of one machine do.

    When a worker or a machine is lost, all workers start again from the last checkpoint, as soon as the cluster has
    room for them. The data travel to the workers once; the checkpoints are in a folder that all machines share.

    Args:
        address: Address of the cluster, such as ``"10.0.0.5:6379"``, which this machine belongs to; "auto" finds it,
            "local" starts one here.
        workers: Number of workers; each has a CPU, and a GPU where the cluster has as many.

    Raises:
        OrdinateError: no address, or no whole number of workers.

    Example:
        >>> from ordinate import Training
        >>> cluster = RayCluster("10.0.0.5:6379", workers=4)
        >>> Training(cluster=cluster, checkpoint_dir="/shared/run").cluster.workers
        4
    """

    address: str
    workers: int

    def __post_init__(self) -> None:
        if not isinstance(self.address, str) or not self.address:
            raise OrdinateError("ray", repr(self.address), "the address of a cluster, 'auto' or 'local'")
        check_whole(self.workers, "workers")

    def run(self, work: Callable[..., Any], folder: Path, trainer: dict[str, Any]) -> None:
        """Call ``work(trainer=options)`` in every worker, until it returns in all of them.

        Args:
            work: Training that continues from its checkpoint in the folder.
            folder: Folder for checkpoints, shared by all machines.
            trainer: Options of Lightning's Trainer, completed by those of a distributed run.

        Raises:
            OrdinateError: what a worker refused, or workers that failed again and again without a new checkpoint.
        """
        ray, ours = connect(self.address, num_cpus=self.workers)
        gpus = trainer["accelerator"] != "cpu" and ray.cluster_resources().get("GPU", 0) >= self.workers
        options = {**trainer, "accelerator": "gpu" if gpus else "cpu", "devices": 1, "num_nodes": 1}
        records = folder / "ray"
        records.mkdir(parents=True, exist_ok=True)
        try:
            self._until_done(folder, {"work": ray.put((work, options)), "records": str(records)}, gpus)
        finally:
            shutil.rmtree(records, ignore_errors=True)
            if ours:
                ray.shutdown()

    def _until_done(self, folder: Path, config: dict[str, Any], gpus: bool) -> None:
        """Start the workers, and start them again where some were lost."""
        train, torch = (optional(f"ray.{name}", "cluster", "ray") for name in ("train", "train.torch"))
        scaling = train.ScalingConfig(num_workers=self.workers, use_gpu=gpus, placement_strategy="SPREAD")
        storage, failures = train.RunConfig(storage_path=config["records"]), 0
        while failures < FAILURES:
            before = _newest(folder)
            training = torch.TorchTrainer(_work, train_loop_config=config, scaling_config=scaling, run_config=storage)
            try:
                training.fit()
            except train.TrainingFailedError as error:
                causes = list(getattr(error, "worker_failures", {}).values()) or [error]
                for cause in causes:
                    if isinstance(cause, OrdinateError):
                        raise cause from error
                last = f"{type(causes[0]).__name__}: {causes[0]}"
                failures = 1 if _newest(folder) > before else failures + 1
            else:
                return
        raise OrdinateError("ray", problem=f"the workers failed {FAILURES} times without a new checkpoint, by {last}")


def _work(config: dict[str, Any]) -> None:
    """Train in one of the workers, which has joined their process group."""
    import ray
    from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment

    if not Path(config["records"]).is_dir():
        raise OrdinateError("checkpoint_dir", problem="is not on storage that all machines of the cluster share")
    work, options = ray.get(config["work"])
    work(trainer={**options, "strategy": RayDDPStrategy(), "plugins": [RayLightningEnvironment()]})


def _newest(folder: Path) -> float:
    """Return when the last checkpoint was written."""
    return max((path.stat().st_mtime for path in folder.glob("*.ckpt")), default=0.0)
