"""Loggers of what every epoch logged and of its learning rate: csv, TensorBoard, Weights & Biases and MLflow.

Each is a callback, such as ``Training(callbacks=[TensorBoardLogger("runs")])``, and writes in the first process alone.
"""

import csv
import re
from abc import abstractmethod
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.training.callback import Callback

if TYPE_CHECKING:
    from ordinate.training.loop import Loop


class Logger(Callback):
    """A logger; subclasses start, write and end a run."""

    def __init__(self) -> None:
        self.run: Any = None

    def on_epoch_end(self, loop: "Loop") -> None:
        if not loop.is_first:
            return
        if self.run is None:
            self.run = self.begin()
        rates = [group["lr"] for group in loop.optimizer.param_groups]
        self.write({**loop.logs, "learning_rate": float(rates[-1])}, int(loop.logs["epoch"]))

    def on_end(self, loop: "Loop") -> None:
        if self.run is not None:
            self.end()
            self.run = None

    @abstractmethod
    def begin(self) -> Any:
        """Return what writes."""

    @abstractmethod
    def write(self, values: dict[str, float], epoch: int) -> None:
        """Write the values of an epoch."""

    def end(self) -> None:
        """Close what writes."""


class CSVLogger(Logger):
    """Log to the file ``metrics.csv`` of a folder, a row per epoch.

    Args:
        folder: Folder, which is created; an earlier file of another training is replaced.

    Example:
        >>> from ordinate import Training
        >>> training = Training(callbacks=[CSVLogger("runs/first")])
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.path = Path(folder) / "metrics.csv"
        self.rows: list[dict[str, float]] = []

    def begin(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.path

    def write(self, values: dict[str, float], epoch: int) -> None:
        known = {name for row in self.rows for name in row}
        self.rows.append(values)
        if self.path.exists() and len(self.rows) > 1 and known.issuperset(values):
            with self.path.open("a", newline="") as file:
                csv.DictWriter(file, self._columns()).writerow(values)
            return
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._columns())
            writer.writeheader()
            writer.writerows(self.rows)

    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rows = state["rows"]


class TensorBoardLogger(Logger):
    """Log events of TensorBoard to a folder.

    Args:
        folder: Folder, which is created.

    Example:
        >>> from ordinate import Training
        >>> training = Training(callbacks=[TensorBoardLogger("runs/first")])
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)

    def begin(self) -> Any:
        return import_module("torch.utils.tensorboard").SummaryWriter(str(self.folder))

    def write(self, values: dict[str, float], epoch: int) -> None:
        for name, value in values.items():
            self.run.add_scalar(name, value, epoch)

    def end(self) -> None:
        self.run.close()


class WandbLogger(Logger):
    """Log to a run of Weights & Biases.

    Args:
        name: Name of the run.
        options: Options of ``wandb.init``, such as ``project``.

    Example:
        >>> from ordinate import Training
        >>> training = Training(callbacks=[WandbLogger("first", project="knees")])
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__()
        self.options = {"name": name, **options}

    def begin(self) -> Any:
        return import_module("wandb").init(**self.options)

    def write(self, values: dict[str, float], epoch: int) -> None:
        self.run.log(values, step=epoch)

    def end(self) -> None:
        self.run.finish()


class MLflowLogger(Logger):
    """Log to a run of MLflow.

    Args:
        experiment: Name of the experiment, which is created if there is none.
        name: Name of the run.

    Example:
        >>> from ordinate import Training
        >>> training = Training(callbacks=[MLflowLogger("knees", "first")])
    """

    def __init__(self, experiment: str, name: str) -> None:
        super().__init__()
        self.experiment = experiment
        self.name = name

    def begin(self) -> Any:
        self.client = import_module("mlflow").MlflowClient()
        found = self.client.get_experiment_by_name(self.experiment)
        known = self.client.create_experiment(self.experiment) if found is None else found.experiment_id
        return self.client.create_run(known, run_name=self.name).info.run_id

    def write(self, values: dict[str, float], epoch: int) -> None:
        for name, value in values.items():
            self.client.log_metric(self.run, re.sub(r"[^\w\-. /]", "_", name), value, step=epoch)

    def end(self) -> None:
        self.client.set_terminated(self.run)
