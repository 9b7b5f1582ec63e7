"""Compare losses of ranks, end to end in the same network, on four ordinal tables.

    python benchmarks/ordinal_losses.py [--seeds 5] [--jobs 2]

Random 70/30 splits of the leaderboard, numbered by the seed. All losses train the same small network, two hidden layers
of 64 units, with the same optimizer for 100 epochs; nothing was tuned. They predict by the rule of their papers, the
most probable rank or the median. Figures are those of the test part. Every finished run is kept in the results file.
"""

import warnings
from typing import Any, get_args

import torch
from torch import Tensor

import leaderboard
from ordinate.data.rows import take
from ordinate.data.tables.features import TableFeatures
from ordinate.encoders import MLP
from ordinate.methods.plain import CrossEntropy
from ordinate.metrics import amae, mmae, rank_report, ranked_probability_score
from ordinate.report.text import table
from ordinate.training.optimization import Optimization, undecayed_parameters
from ordinate_papers.methods.ordinal import LOSSES, Ordinal
from ordinate_papers.methods.rank_losses import LaterOrdinal, RankLossName
from runs import Run, complete, parser_of, spread, where

TABLES = ("swd", "era", "esl", "lev")
LATER = get_args(RankLossName)
MODELS = ("cross_entropy", *LOSSES, *LATER)
FIGURES = ("accuracy", "mae", "amae", "mmae", "quadratic_weighted_kappa", "ranked_probability_score")
WIDTHS, DIM = (64, 64), 64
BATCH, EPOCHS, RATE, DECAY = 256, 100, 3e-3, 1e-4


def train(model: CrossEntropy, x: Tensor, y: Tensor, seed: int) -> None:
    """Train with AdamW, a warm-up over a tenth of the steps and a cosine schedule."""
    batches = -(-len(x) // BATCH)
    optimizer: Any = Optimization(torch.optim.AdamW, RATE, DECAY).build(model.parameters(), undecayed_parameters(model))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * batches, pct_start=0.1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x), generator=generator).tensor_split(batches):
            optimizer.zero_grad()
            model.batch_loss(x[rows], y[rows]).backward()
            optimizer.step()
            schedule.step()


def measure(name: str, loss: str, seed: int) -> Run:
    """Return the figures of a loss on the test part of a split."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    warnings.simplefilter("ignore")
    X, labels, training, test = leaderboard.load(name, seed)
    features = TableFeatures.fit(take(X, training))
    x, y = torch.from_numpy(features.transform(X)).float(), torch.from_numpy(labels)
    encoder = MLP(x.shape[1], DIM, WIDTHS, "tanh")
    num_classes = int(labels.max()) + 1
    model = CrossEntropy(encoder, DIM, num_classes)
    if loss != "cross_entropy":
        kind: Any = LaterOrdinal if loss in LATER else Ordinal
        model = kind(encoder, DIM, num_classes, loss=loss)
    train(model, x[training], y[training], seed)
    with torch.no_grad():
        probabilities = model.eval().probabilities(model.encoder(x[test]))
        predicted = model.decide(probabilities).numpy()
    report = rank_report(labels[test], predicted, num_classes)
    shares = probabilities.double().numpy()
    return {
        **{figure: value for figure, value in report.items() if figure in FIGURES},
        "amae": amae(labels[test], predicted),
        "mmae": mmae(labels[test], predicted),
        "ranked_probability_score": ranked_probability_score(labels[test], shares / shares.sum(1, keepdims=True)),
    }


def main() -> None:
    """Run what is missing and print a table per set."""
    options = parser_of(__file__, __doc__, seeds=5).parse_args()
    wanted = [(name, loss, seed) for seed in range(options.seeds) for name in TABLES for loss in MODELS]
    runs = complete(measure, wanted, ("set", "loss", "seed"), options)
    for name in TABLES:
        print(f"\n{name}")
        rows = [
            [loss, *(spread(where(runs, set=name, loss=loss), figure, ".3f") for figure in FIGURES)] for loss in MODELS
        ]
        print(table(["loss", *FIGURES], rows))


if __name__ == "__main__":
    main()
