"""SupReMix's Table 5 (UCI airfoil) as the paper has it: vanilla regression, SupCon and SupReMix on its small network.

    ORDINATE_DATA=DIR python benchmarks/supremix_table5.py [--seeds 10] [--jobs 2] [--standardise-inputs]

From the paper (Section 4, Tables 12 and 13, Appendix C.1): an MLP d-20-30-10-1, batches of 32, Adam with 1e-3,
temperature 1.0, window 7, Beta(2, 8), a two-layer projection head to 128, a linear probe for 100 epochs, and
1203/150/150 samples. SupCon takes samples with the same target as positives, from pytorch-metric-learning.
The paper does not say how many epochs the encoder trains, whether inputs are scaled, or which loss the predictor has:
here all encoders train for the same number of epochs as vanilla does, the predictor's loss is L1, and its targets are
standardised (errors are in dB all the same). Inputs are those of the file, in Hz, m and m/s, with which SupCon and
SupReMix come near the paper's figures; with --standardise-inputs every method does far better.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from pytorch_metric_learning.losses import SupConLoss
from torch import Tensor, nn

from ordinate.losses import SupReMixLoss
from ordinate.metrics import geometric_mean_error
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "supremix_table5.json"
PAPER = {"vanilla": (6.56, 69.32, 8.33), "SupCon": (5.68, 48.90, 6.99), "SupReMix": (4.88, 39.70, 6.30)}
BATCH, PROBE_EPOCHS, LEARNING_RATE = 32, 100, 1e-3


def epochs_of(x: Tensor, y: Tensor, epochs: int, generator: torch.Generator) -> Any:
    """Batches of 32 of every epoch; the last, smaller one is left out."""
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for rows in order.split(BATCH)[: len(x) // BATCH]:
            yield x[rows], y[rows]


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Take one step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def measure(method: str, seed: int, encoder_epochs: int, standardise_inputs: bool) -> dict[str, Any]:
    """Return the test errors of one method on one split."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    frame = pd.read_csv(Path(os.environ["ORDINATE_DATA"]) / "uci_airfoil" / "airfoil_self_noise.csv.gz")
    data = frame.to_numpy(dtype=np.float32)
    order = np.random.default_rng(seed).permutation(len(data))
    train, test = order[:1203], order[1353:]
    x, y = torch.from_numpy(data[:, :-1]), torch.from_numpy(data[:, -1])
    centre, scale = float(y[train].mean()), float(y[train].std())
    if standardise_inputs:
        x = (x - x[train].mean(0)) / x[train].std(0)
    encoder = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10), nn.ReLU())
    head, projection = nn.Linear(10, 1), nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 128))
    trained = head if method == "vanilla" else projection
    optimizer = torch.optim.Adam([*encoder.parameters(), *trained.parameters()], LEARNING_RATE)
    label_range = float(y[train].max() - y[train].min())
    supremix = SupReMixLoss(temperature=1.0, window=7.0, label_range=label_range, reduction="mean")
    supcon = SupConLoss(temperature=1.0)
    for inputs, targets in epochs_of(x[train], y[train], encoder_epochs, generator):
        if method == "vanilla":
            loss = nn.functional.l1_loss(head(encoder(inputs))[:, 0], (targets - centre) / scale)
        elif method == "SupReMix":
            loss = supremix(projection(encoder(inputs)), targets)
        else:
            loss = supcon(projection(encoder(inputs)), targets.unique(return_inverse=True)[1])
        descend(loss, optimizer)
    if method != "vanilla":
        optimizer = torch.optim.Adam(head.parameters(), LEARNING_RATE)
        with torch.no_grad():
            frozen = encoder(x[train])
        for embeddings, targets in epochs_of(frozen, y[train], PROBE_EPOCHS, generator):
            descend(nn.functional.l1_loss(head(embeddings)[:, 0], (targets - centre) / scale), optimizer)
    with torch.no_grad():
        predicted = head(encoder(x[test]))[:, 0].numpy().astype(np.float64) * scale + centre
    wanted = y[test].numpy().astype(np.float64)
    error = predicted - wanted
    return {
        "method": method,
        "seed": seed,
        "mae": float(np.abs(error).mean()),
        "mse": float((error**2).mean()),
        "gm": geometric_mean_error(wanted, predicted),
    }


def main() -> None:
    """Measure every method on every split and show them beside the paper's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--encoder-epochs", type=int, default=100)
    parser.add_argument("--standardise-inputs", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    wanted = [(method, seed) for seed in range(options.seeds) for method in PAPER]
    start, runs = time.monotonic(), []
    work = (delayed(measure)(*run, options.encoder_epochs, options.standardise_inputs) for run in wanted)
    for number, run in enumerate(Parallel(n_jobs=options.jobs, return_as="generator_unordered")(work), start=1):
        runs.append(run)
        left = (time.monotonic() - start) / number * (len(wanted) - number)
        print(f"{number}/{len(wanted)} {run['method']} {run['seed']}: MAE {run['mae']:.2f}, {left / 60:.0f} min left")
    options.results.parent.mkdir(parents=True, exist_ok=True)
    record = {"encoder_epochs": options.encoder_epochs, "standardise_inputs": options.standardise_inputs, "runs": runs}
    options.results.write_text(json.dumps(record, indent=1) + "\n")
    rows = []
    for method, paper in PAPER.items():
        values = {key: [run[key] for run in runs if run["method"] == method] for key in ("mae", "mse", "gm")}
        cells = [f"{np.mean(v):.2f} ± {np.std(v):.2f}" for v in values.values()]
        rows.append([method, *(cell for pair in zip(map(str, paper), cells, strict=True) for cell in pair)])
    print("\n" + table(["method", "MAE paper", "ours", "MSE paper", "ours", "GM paper", "ours"], rows))


if __name__ == "__main__":
    main()
