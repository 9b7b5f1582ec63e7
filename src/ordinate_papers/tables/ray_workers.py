"""Runs executed by the tasks of a Ray cluster; the process that started them keeps their results."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.training.ray_cluster import connect
from ordinate_papers.tables.outcomes import Execute, Outcome, perform
from ordinate_papers.tables.results import name_processes
from ordinate_papers.tables.run import Run


class RayWorkers:
    """Tasks of a Ray cluster, as many at a time as fit; all machines share the ``folder`` of the state folders.

    The address is the cluster's, "auto" for the one this machine is in, or "local" for one that is started here.
    """

    def __init__(self, address: str, execute: Execute, folder: Path, jobs: int | None, cpus: int, gpus: float) -> None:
        ray, self._ours = connect(address, num_cpus=None if jobs is None else jobs * cpus)
        self._ray = ray
        self._runs: dict[Any, Run] = {}
        total = ray.cluster_resources()
        fitting = int(min(total.get("CPU", 0) // cpus, total.get("GPU", 0) // gpus if gpus else float("inf")))
        self.slots = min(fitting, jobs or fitting)
        if self.slots == 0:
            self.close()
            raise OrdinateError("ray", f"a cluster with {total}", f"{cpus} CPUs and {gpus} GPUs for a run")
        environment = {"env_vars": {"OMP_NUM_THREADS": str(cpus)}}
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0, runtime_env=environment)(perform)
        self._name = name_processes(os.getpid())
        self._submit = lambda run: task.remote(execute, run, folder, self._name)

    def ready(self) -> Iterator[str]:
        while len(self._runs) < self.slots:
            yield self._name

    def start(self, worker: str, run: Run) -> None:
        self._runs[self._submit(run)] = run

    def outcomes(self, seconds: float) -> list[Outcome]:
        ended, _ = self._ray.wait(list(self._runs), num_returns=1, timeout=seconds)
        return [self._outcome(task, self._runs.pop(task)) for task in ended]

    def _outcome(self, task: Any, run: Run) -> Outcome:
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:  # it never came to execute the run
            return Outcome(run, self._name, error=str(error))
        except self._ray.exceptions.RayError as error:
            return Outcome(run, self._name, death=f"as Ray says: {error}")

    def names(self) -> list[str]:
        return [self._name]

    def close(self) -> None:
        for task in self._runs:
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(task, force=True)
        if self._ours:
            self._ray.shutdown()
