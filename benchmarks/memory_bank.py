"""Does it pay to contrast a batch with embeddings of earlier batches too?

    python benchmarks/memory_bank.py [--seeds 5] [--jobs 2]

The task of README's loop: on the wines that come along, an encoder learns from ten columns which wines have similar
alcohol, with SupCR or SupReMix, in 20 epochs of batches of 32 or 128, with a memory of the last 0, 256 or 1,024
embeddings. Measured is the average precision of neighbours within 0.5% among new wines, by the similarity of the loss.
Every finished run is kept in the results file; the script continues where it was stopped.
"""

from importlib.resources import files

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ordinate import SupCRLoss, SupReMixLoss
from ordinate.metrics import mean_average_precision
from ordinate.options import Similarity
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

LOSSES: dict[str, tuple[torch.nn.Module, Similarity]] = {
    "SupCR": (SupCRLoss(temperature=2.0), "neg_l2"),
    "SupReMix": (SupReMixLoss(window=1.0), "cosine"),
}
BATCHES, MEMORIES, EPOCHS = (32, 128), (0, 256, 1024), 20


def measure(loss: str, batch: int, memory: int, seed: int) -> Run:
    """Return the average precision of one training."""
    torch.set_num_threads(1)
    wines = pd.read_csv(str(files("ordinate.commands.examples").joinpath("wine.csv")))
    new = np.random.default_rng(seed).permutation(len(wines))[: len(wines) // 4]
    old = np.setdiff1d(np.arange(len(wines)), new)
    columns = wines.drop(columns=["alcohol", "quality"])
    scaled = (columns - columns.iloc[old].mean()) / columns.iloc[old].std()
    x, y = torch.tensor(scaled.to_numpy(), dtype=torch.float32), torch.tensor(wines["alcohol"].to_numpy())

    torch.manual_seed(seed)
    encoder = nn.Sequential(nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Linear(128, 32))
    optimizer, (loss_of, similarity) = torch.optim.AdamW(encoder.parameters(), lr=1e-3), LOSSES[loss]
    kept, of_kept = torch.zeros(0, 32), torch.zeros(0, dtype=y.dtype)
    for _ in range(EPOCHS):
        for inputs, targets in DataLoader(TensorDataset(x[old], y[old]), batch, shuffle=True, drop_last=True):
            embeddings = encoder(inputs)
            every, of_every = torch.cat([embeddings, kept]), torch.cat([targets, of_kept])
            optimizer.zero_grad()
            loss_of(embeddings, targets, every, of_every, self_index=torch.arange(batch)).backward()
            optimizer.step()
            kept, of_kept = every.detach()[:memory], of_every[:memory]  # The latest come first.
    with torch.no_grad():
        found = encoder(x[new])
    return {"precision": mean_average_precision(found, y[new], within=0.5, similarity=similarity)}


def show(runs: list[Run]) -> None:
    """Print the mean average precision of neighbours by loss, batch and memory, with its deviation over seeds."""
    rows = []
    for loss in LOSSES:
        for batch in BATCHES:
            rows.append([loss, str(batch)])
            for memory in MEMORIES:
                found = [run["precision"] for run in where(runs, loss=loss, batch=batch, memory=memory)]
                rows[-1].append(f"{np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}" if len(found) > 1 else "")
    print("Average precision of neighbours within 0.5% alcohol, by size of the memory")
    print(table(["loss", "batch", *map(str, MEMORIES)], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    options = parser_of(__file__, __doc__, seeds=5).parse_args()
    wanted = [
        (loss, batch, memory, seed)
        for seed in range(options.seeds)
        for loss in LOSSES
        for batch in BATCHES
        for memory in MEMORIES
    ]
    show(complete(measure, wanted, ("loss", "batch", "memory", "seed"), options))


if __name__ == "__main__":
    main()
