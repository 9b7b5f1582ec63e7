"""A linear head that is trained on a frozen encoder, against ridge regression on the same embeddings.

    ORDINATE_DATA=DIR python benchmarks/linear_head.py [--seeds 3]

The encoder is a plain network that ends in a ReLU, so that some of its features are rarely active, and is trained by
SupCR on airfoil and concrete. Appends a line per run to ``benchmarks/results/linear_head.jsonl``: mean and worst error
on a fifth of the rows, in units of the target.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

from ordinate import SupCRRegressor, Training

RESULTS = Path(__file__).parent / "results" / "linear_head.jsonl"
FILES = {"airfoil": "uci_airfoil/airfoil_self_noise.csv.gz", "concrete": "uci_regression/concrete/data.txt"}


def read(path: Path) -> pd.DataFrame:
    """Return a table whose last column is the target."""
    return pd.read_csv(path) if path.suffix == ".gz" else pd.read_csv(path, sep=r"\s+", header=None)


def network(features: int) -> nn.Module:
    """Return an untrained network that ends in a ReLU."""
    layers: list[nn.Module] = []
    for width in (features, 256, 256):
        layers += [nn.Linear(width, 256), nn.ReLU()]
    return nn.Sequential(*layers)


def measure(name: str, seed: int) -> dict[str, float | str | int]:
    """Return the errors of both heads on the same encoder."""
    table = read(Path(os.environ["ORDINATE_DATA"]) / FILES[name])
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    torch.manual_seed(seed)
    training = Training(
        optimizer="sgd", learning_rate=0.5, head_learning_rate=0.05, weight_decay=1e-4
    )  # As in the paper.
    model = SupCRRegressor(
        network(X.shape[1]), head="linear", epochs=(100, 100), random_state=seed, training=training
    ).fit(X_train, y_train)
    scaler = StandardScaler().fit(model.transform(X_train).astype(float))
    ridge = RidgeCV(np.logspace(-6, 4, 21)).fit(scaler.transform(model.transform(X_train)), y_train)
    solved = np.abs(ridge.predict(scaler.transform(model.transform(X_test))) - y_test)
    trained = np.abs(model.predict(X_test) - y_test)
    return {
        "set": name, "seed": seed, "trained": trained.mean(), "solved": solved.mean(), "worst_trained": trained.max(),
        "worst_solved": solved.max(),
    }  # fmt: skip


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (%(default)s)")
    options = parser.parse_args()
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    done = {(run["set"], run["seed"]) for run in map(json.loads, lines)}
    for name in FILES:
        for seed in range(options.seeds):
            if (name, seed) not in done:
                run = measure(name, seed)
                print(run, flush=True)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(run) + "\n")


if __name__ == "__main__":
    main()
