"""CPU time of a training step of ``fit`` over that of a bare PyTorch loop with the same network, loss and batches.

    python benchmarks/step_overhead.py [--repeats 5]

A table of SWD's shape (1000 rows, 10 numbers, 4 ranks), where a step is short and an epoch has few. The loop draws the
batches of the method's sampler, computes its loss and steps PyTorch's default AdamW, and does nothing else: no checks,
no log, no schedule. Both run in one thread, in turn; medians over the repeats.
Writes ``benchmarks/results/step_overhead.json``.
"""

import argparse
import json
import statistics
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor, Training
from ordinate.estimators.pipeline import learn_labels_and_reader, new_module
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "step_overhead.json"
EPOCHS = 40
MODELS: dict[str, Any] = {
    "CLOC": CLOCClassifier(epochs=(EPOCHS, 1), target_accuracy=1.0, random_state=0),
    "OTD": OTDClassifier(epochs=EPOCHS, random_state=0),
    "SupCR": SupCRRegressor(
        epochs=(EPOCHS, 1), random_state=0, training=Training(validation_fraction=0.0), head="linear"
    ),
    "SupReMix": SupReMixRegressor(
        epochs=(EPOCHS, 1), random_state=0, training=Training(validation_fraction=0.0), head="linear"
    ),
}


def draw() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a table and a target."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 10))
    return X, X[:, 0] + random.normal(size=1000)


def step_of_fit(model: Any, X: Any, y: Any) -> float:
    """Return seconds of CPU time per step, of a training and all around it."""
    start = time.process_time()
    model.fit(X, y)
    return (time.process_time() - start) / (model.n_iter_ * model.n_batches_)


def step_of_loop(model: Any, X: Any, y: Any) -> float:
    """Return seconds of CPU time per step of the bare loop, over the first stage."""
    model = clone(model)
    how = model.checked_method()
    data = learn_labels_and_reader(model, how, X, y)
    method, _ = new_module(model, how, data)
    x, labels = data.training.x, method.as_labels(data.training.y)
    optimization = replace(method.stages[0].optimization, optimizer=torch.optim.AdamW)
    optimizer = optimization.build(method.parameters_of_stage(0))
    steps, start = 0, time.process_time()
    for epoch in range(EPOCHS):
        data.batches.set_epoch(epoch)
        for rows in data.batches:
            loss = _loss(method, x[rows], labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    seconds = time.process_time() - start
    return seconds / steps


def _loss(method: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    embeddings = method(x)
    if hasattr(method, "classifier"):
        scores = method.classifier(embeddings)
        return torch.nn.functional.cross_entropy(scores, y) + method.mmnp(embeddings, y)
    return method.triangle(embeddings, y) if hasattr(method, "triangle") else method.contrast(embeddings, y)


def main() -> None:
    """Measure all methods."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    X, target = draw()
    rows = []
    for name, model in MODELS.items():
        y = np.digitize(target, [-1.0, 0.0, 1.0]) if name in ("CLOC", "OTD") else target
        step_of_fit(model, X, y)  # The first step imports modules and compiles loops.
        pairs = [(step_of_fit(model, X, y), step_of_loop(model, X, y)) for _ in range(repeats)]
        fit, loop = (statistics.median(one) for one in zip(*pairs, strict=True))
        ratio = statistics.median(of_fit / of_loop for of_fit, of_loop in pairs)
        rows.append({"method": name, "fit_ms": 1e3 * fit, "loop_ms": 1e3 * loop, "ratio": ratio, "repeats": repeats})
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    shown = [[row["method"], *(f"{row[key]:.2f}" for key in ("fit_ms", "loop_ms", "ratio"))] for row in rows]
    print(table(["method", "fit, ms", "loop, ms", "ratio"], shown))


if __name__ == "__main__":
    main()
