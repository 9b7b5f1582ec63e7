"""Compare exported graphs with their models on tables of small whole numbers, with many equally near rows.

    python benchmarks/export_ties.py [--models otd supcr ...] [--jobs 1]

Every model that ranks or targets of a table can train is fitted for a few epochs to 300 rows of few distinct ones,
with labels that differ between equal rows, and written as ONNX. Then ONNX Runtime and the model predict 10,000 other
rows. Figures are the rows whose ranks differ, of regressors those whose targets differ by more than 1e-9 of the
largest, and the largest difference of a probability or target. Models that cannot be exported say why. Finished runs
are kept in the results file and not repeated.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from ordinate import Head
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import build, models, unavailable
from ordinate.estimators.samples import check_input
from ordinate.extensions import Task
from ordinate.model.export import export_model
from ordinate.report.text import table
from runs import Run, complete, parser_of

ROWS, NEW_ROWS = 300, 10_000
TABLES = {"3 columns of 2 values": (3, 2), "4 columns of 3 values": (4, 3), "2 columns of 5 values": (2, 5)}
NEIGHBOURS = {f"{name}, neighbours": name for name in ("supcr", "supremix")}


def draw(name: str, n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows of small whole numbers, and targets that they tell up to noise."""
    columns, values = TABLES[name]
    random = np.random.default_rng(seed)
    X = random.integers(0, values, (n, columns)).astype(np.float64)
    return X, X.sum(axis=1) + random.integers(-1, 2, n)


def built(model: str, task: Task) -> Any:
    """Return the unfitted estimator of a model, with few epochs."""
    estimator = build(NEIGHBOURS.get(model, model), task, random_state=0)
    if model in NEIGHBOURS:
        estimator.set_params(head=Head("neighbours"))
    usual = estimator.get_params().get("epochs", 1)
    if "epochs" in estimator.get_params():
        estimator.set_params(epochs=(5, 5) if isinstance(usual, tuple) or model == "cloc" else 5)
    return estimator


def measure(name: str, model: str, task: Task) -> Run:
    """Return how many of the new rows an exported graph predicts differently from the model."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, target = draw(name, ROWS, seed=0)
    y: NDArray[Any] = target
    if task == "ranks":
        y = np.digitize(target, np.quantile(target, [0.25, 0.5, 0.75]))
    estimator = built(model, task).fit(X, y)
    new, _ = draw(name, NEW_ROWS, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = export_model(estimator.fitted, Path(folder) / "model.onnx").path
        except OrdinateError as error:
            return {"refused": str(error).split("\x1b")[0].split("; ")[0]}
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        samples = estimator.reader_.read(check_input(estimator, new, reset=False)).numpy()
        outputs = dict(zip(names, session.run(names, {"samples": samples}), strict=True))
    if task == "ranks":
        probabilities = estimator.rank_probabilities(new)
        differs = outputs["rank"] != estimator.decide(probabilities)
        largest = np.abs(outputs["probability"] - probabilities).max()
    else:
        predicted = estimator.predict(new)
        difference = np.abs(outputs["prediction"] - predicted)
        differs, largest = difference > 1e-9 * np.abs(predicted).max(), difference.max()
    return {"rows": len(new), "differing": int(differs.sum()), "largest": float(f"{largest:.1e}")}


def known() -> list[tuple[str, Task]]:
    """Return the models that can be trained here on a table, with their tasks."""
    found: list[tuple[str, Task]] = []
    for name, model in models().items():
        if unavailable(name) is None and name != "simcse":  # It is for texts.
            found += [(name, task) for task in model.estimators if "random_state" in build(name, task).get_params()]
    return [*found, *((name, "continuous") for name in NEIGHBOURS)]


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=1, jobs=1)
    parser.add_argument("--models", nargs="+", help="some of the models (all)")
    options = parser.parse_args()
    wanted = [
        (name, model, task)
        for name in TABLES
        for model, task in known()
        if options.models is None or model in options.models
    ]
    rows = []
    for run in complete(measure, wanted, ("table", "model", "task"), options):
        result = [run["refused"]] if "refused" in run else [str(run["differing"]), f"{run['largest']:.0e}"]
        rows.append([run["table"], run["model"], run["task"], *result, ""][:5])
    print(table(["table", "model", "task", f"of {NEW_ROWS} rows differ", "largest difference"], rows))


if __name__ == "__main__":
    main()
