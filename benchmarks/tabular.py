"""Compare OTD, CLOC, SupCR and SupReMix, with their defaults, with simple models on the same splits of five UCI sets.

    ORDINATE_DATA=DIR python benchmarks/tabular.py [--sets car airfoil ...] [--seeds 10] [--jobs 2]

Ranks: random 70/30 splits; airfoil: 1203 to train, 150 to validate, 150 to test. Errors are those of the test part,
which no choice has seen. Every finished run is kept in the results file; the script continues where it was stopped.
The columns of Hayes-Roth are codes and are read as categories; those of Balance Scale are amounts and read as numbers.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from skordinal import classifiers as skordinal
from torch import nn

from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor
from ordinate.data.tables.features import TableFeatures
from ordinate.encoders import MLP, build_encoder
from ordinate.estimators.cloc import CLOCMethod
from ordinate.report.text import table
from ordinate.training.optimization import Optimization, undecayed_parameters
from ordinate_papers.protocols.classifiers import knn_error
from runs import Run, complete, parser_of, spread, where

ORDERS: dict[str, list[Any]] = {
    "car": ["unacc", "acc", "good", "vgood"],
    "nursery": ["not_recom", "recommend", "very_recom", "priority", "spec_prior"],
    "hayes_roth": [1, 2, 3],
    "balance_scale": ["L", "B", "R"],
}
PAPER = {"car": 3.1, "nursery": 0.8, "hayes_roth": 16.0, "balance_scale": 6.1, "airfoil": 4.88}
SKORDINAL: dict[str, Callable[[], BaseEstimator]] = {
    "LogisticAT": skordinal.LogisticAT,
    "LogisticIT": skordinal.LogisticIT,
    "NNOP": lambda: skordinal.NNOP(random_state=0),
    "NNPOM": lambda: skordinal.NNPOM(random_state=0),
    "ELMOP": lambda: skordinal.ELMOP(random_state=0),
    "SVOR": skordinal.SVOR,
    "REDSVM": skordinal.REDSVM,
}
OF_ALL = ", validation samples too"  # Our `fit` holds out validation samples itself and trains on them at the end.
TOO_SLOW_FOR_NURSERY = ("SVOR", "REDSVM")
STEPS, BATCH = 3000, 256  # The baseline networks train for at most as many steps as ours.

Split = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def read(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return the samples and the labels of a set, ranks as 0..C-1."""
    root = Path(os.environ["ORDINATE_DATA"])
    if name == "airfoil":
        frame = pd.read_csv(root / "uci_airfoil" / "airfoil_self_noise.csv.gz")
        return frame.drop(columns="sound_pressure_db"), frame["sound_pressure_db"].to_numpy()
    frame = pd.read_csv(root / "uci_ordinal" / f"{name}.csv.gz").drop(columns="split", errors="ignore")
    ranks = frame.pop("class").map({label: rank for rank, label in enumerate(ORDERS[name])}).to_numpy()
    return (frame.astype("category") if name == "hayes_roth" else frame), ranks


def split(name: str, n: int, seed: int) -> Split:
    """Indices to train, to validate (airfoil only) and to test."""
    order = np.random.default_rng(seed).permutation(n)
    if name == "airfoil":
        return order[:1203], order[1203:1353], order[1353:]
    cut = round(0.7 * n)
    return order[:cut], order[:0], order[cut:]


def encode(X: pd.DataFrame, train: NDArray[np.int64]) -> tuple[NDArray[np.float32], list[int]]:
    """Standardised numbers and one-hot codes for the rivals, and where the numbers stand."""
    features = TableFeatures.fit(X.iloc[train])
    return features.transform(X), features.numeric_positions


def train_network(
    encoder: nn.Module, head: nn.Module, x: torch.Tensor, y: torch.Tensor, weight_decay: float, seed: int
) -> None:
    """End to end: cross-entropy on ranks, L1 on standardised targets; AdamW 1e-3, cosine, at most 3000 steps."""
    loss_of = nn.functional.cross_entropy if y.dtype == torch.int64 else nn.functional.l1_loss
    batches = max(1, -(-len(x) // BATCH))
    epochs = max(1, min(400 if y.dtype != torch.int64 else 300, STEPS // batches))
    both = nn.ModuleList([encoder, head])
    optimizer: Any = Optimization(torch.optim.AdamW, 1e-3, weight_decay).build(
        both.parameters(), undecayed_parameters(both)
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=epochs * batches, pct_start=0.1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=generator).tensor_split(batches):
            optimizer.zero_grad()
            loss_of(head(encoder(x[rows])), y[rows]).backward()
            optimizer.step()
            schedule.step()


def network(
    X: pd.DataFrame, y: NDArray[Any], train: NDArray[np.int64], test: NDArray[np.int64], seed: int, ours: bool
) -> dict[str, float]:
    """Return the errors of a plain network, or of our encoder and weight decay, trained end to end."""
    torch.manual_seed(seed)
    matrix, numeric = encode(X, train)
    x = torch.from_numpy(matrix)
    ranks = y.dtype.kind == "i"
    outputs = int(y.max()) + 1 if ranks else 1
    # Our estimators choose the activation in the same way.
    activation = "tanh" if ranks and len(numeric) == x.shape[1] else "relu"
    encoder = (
        build_encoder("mlp", x.shape[1:], 64, numeric=numeric, activation=activation) if ours else MLP(x.shape[1], 64)
    )
    head = nn.Linear(64, outputs)
    centre, scale = (0.0, 1.0) if ranks else (float(y[train].mean()), float(y[train].std()))
    wanted = torch.from_numpy(y if ranks else ((y - centre) / scale).astype(np.float32)[:, None])
    decay = CLOCMethod.usual_decay if ours and ranks else 1e-4  # CLOC and SupCR use these weight decays.
    train_network(encoder, head, x[train], wanted[train], decay, seed)
    with torch.no_grad():
        embeddings = encoder(x)
        output = head(embeddings).numpy()
    if not ranks:
        return {"error": float(np.abs(output[test, 0] * scale + centre - y[test]).mean())}
    embedded = embeddings.double().numpy()
    return {
        "error": 100 * float((output[test].argmax(1) != y[test]).mean()),
        "knn_error": 100 * knn_error(embedded[train], y[train], embedded[test], y[test], 3),
    }


def measure(name: str, model: str, seed: int) -> Run:
    """Return the test errors of one model on one split: percent for ranks, MAE for airfoil."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, validation, test = split(name, len(y), seed)
    if model in ("plain network", "same network, end to end"):
        result: dict[str, Any] = network(X, y, train, test, seed, ours=model != "plain network")
    elif model in ("OTD", "CLOC"):
        kind = OTDClassifier if model == "OTD" else CLOCClassifier
        fitted = kind(class_order=list(range(len(ORDERS[name]))), random_state=seed).fit(X.iloc[train], y[train])
        embedded = fitted.transform(X)
        result = {
            "error": 100 * float((fitted.predict(X.iloc[test]) != y[test]).mean()),
            "knn_error": 100 * knn_error(embedded[train], y[train], embedded[test], y[test], 3),
        }
    elif model.startswith("Sup"):
        regressor = (SupCRRegressor if model.startswith("SupCR") else SupReMixRegressor)(random_state=seed)
        if model.endswith(OF_ALL):
            given = np.concatenate([train, validation])
            regressor.fit(X.iloc[given], y[given])
        else:
            regressor.fit(X.iloc[train], y[train], validation=(X.iloc[validation], y[validation]))
        result = {"error": float(np.abs(regressor.predict(X.iloc[test]) - y[test]).mean())}
        result |= {"head": regressor.head_name_, "validation": regressor.head_scores_}
    else:
        matrix, _ = encode(X, train)
        rival = rivals(name)[model]()
        predicted = rival.fit(matrix[train], y[train]).predict(matrix[test])
        wrong = predicted != y[test] if name != "airfoil" else np.abs(predicted - y[test]) / 100
        result = {"error": 100 * float(wrong.mean())}
    return result


def rivals(name: str) -> dict[str, Callable[[], BaseEstimator]]:
    """Return what makes each rival that has no network."""
    if name == "airfoil":
        return {
            "k-NN on features": lambda: KNeighborsRegressor(5, weights="distance"),
            "gradient boosting": lambda: HistGradientBoostingRegressor(random_state=0),
        }
    ordinal = {f"skordinal {key}": make for key, make in SKORDINAL.items()
               if name != "nursery" or key not in TOO_SLOW_FOR_NURSERY}  # fmt: skip
    return {
        "k-NN on features": lambda: KNeighborsClassifier(3, metric="cosine"),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        **ordinal,
    }


def models(name: str) -> list[str]:
    """Return the models measured on a set, in the order of its table."""
    ours = ["SupCR", "SupReMix", f"SupCR{OF_ALL}", f"SupReMix{OF_ALL}"] if name == "airfoil" else ["OTD", "CLOC"]
    return [*rivals(name), "plain network", "same network, end to end", *ours]


def show(results: list[Run], names: list[str]) -> None:
    """Print a table a set."""
    for name in names:
        rows = []
        for model in models(name):
            runs = where(results, set=name, model=model)
            if runs:
                seconds = f"{np.median([run['seconds'] for run in runs]):.1f}"
                rows.append([model, spread(runs, "error"), spread(runs, "knn_error"), str(len(runs)), seconds])
        unit = "MAE" if name == "airfoil" else "error %"
        print(f"\n{name} (paper: {PAPER[name]})")
        print(table(["model", unit, "3-NN error %", "splits", "s a fit"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=10)
    parser.add_argument("--sets", nargs="+", default=[*ORDERS, "airfoil"], choices=[*ORDERS, "airfoil"])
    parser.add_argument("--models", nargs="+", help="some of the models (all)")
    options = parser.parse_args()
    wanted = [
        (name, model, seed)
        for name in options.sets
        for model in models(name)
        for seed in range(options.seeds)
        if options.models is None or model in options.models
    ]
    show(complete(measure, wanted, ("set", "model", "seed"), options), options.sets)


if __name__ == "__main__":
    main()
