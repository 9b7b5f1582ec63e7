"""Plant a boundary that is hard, and read CLOC's learned margins: is the hard one's the smallest?

    python benchmarks/planted_margin.py [--seeds 5] [--jobs 2]

A table of 1,000 samples in five ranks, of a position that eight columns show by curves of it. Near one boundary labels
are drawn with three times the noise, so that its two ranks are confused more often; every boundary is the hard one in
turn, and none, where all have the same noise. CLOC has its defaults, or the paper's optimizer and sum over pairs. Its
margins are compared with their values after one epoch and with other properties of a boundary: whether it is the
planted one, how often test samples next to it are predicted on its wrong side, and the mean cosine of its two ranks.
The errors and the cosines are also tested as indicators of the planted boundary.
Every finished run is kept in the results file; the script continues where it was stopped.
"""

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from ordinate import CLOCClassifier, Training
from ordinate.metrics import accuracy, adjacent_error_rates, rank_cosine_matrix
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

RANKS, SAMPLES, COLUMNS = 5, 1000, 8
WAYS: dict[str, dict[str, Any]] = {"fit": {}, "paper": {"training": Training(optimization="paper"), "reduction": "sum"}}
NOISE, HARDER = 0.12, 3.0  # Standard deviation of the label noise in ranks, and its factor at the hard boundary.


def draw(hard: int | None, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return samples (n, f) and ranks (n,), with more noise around the boundary of the ranks ``hard``, ``hard`` + 1."""
    position = random.uniform(0, RANKS, SAMPLES)
    near = np.zeros(SAMPLES, bool) if hard is None else np.abs(position - (hard + 1)) < 0.5
    read = position + random.normal(size=SAMPLES) * np.where(near, HARDER * NOISE, NOISE)
    places = np.linspace(0, RANKS, COLUMNS)
    X = np.tanh(position[:, None] - places) + random.normal(scale=0.05, size=(SAMPLES, COLUMNS))
    return X, np.clip(np.floor(read), 0, RANKS - 1).astype(np.int64)


def measure(way: str, hard: int | None, seed: int) -> Run:
    """Return the margins of one training, and what is known of its boundaries."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    random = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = draw(hard, random), draw(hard, random)
    model = CLOCClassifier(random_state=seed, **WAYS[way]).fit(X, y)
    predicted = model.predict(X_test)
    cosines = rank_cosine_matrix(model.transform(X_test), y_test, RANKS)
    first = model.history_[0]
    return {
        "after one epoch": [first[f"margin_{low}|{low + 1}"] for low in range(RANKS - 1)],
        "margins": model.margins_.tolist(),
        "errors": [float(error) for error in adjacent_error_rates(y_test, predicted, RANKS)],
        "cosines": [float(cosines[low, low + 1]) for low in range(RANKS - 1)],
        "accuracy": accuracy(y_test, predicted),
    }


def show(runs: list[Run]) -> None:
    """Print how often margins, errors and cosines find the planted boundary, and what margins correlate with."""
    rows = []
    for way in WAYS:
        planted = [run for run in where(runs, way=way) if run["hard"] is not None]
        if not planted:
            continue
        hard = np.array([run["hard"] for run in planted])
        margins, cosines, errors = (
            np.array([run[name] for run in planted]) for name in ("margins", "cosines", "errors")
        )
        found = [np.mean(at == hard) for at in (margins.argmin(1), cosines.argmax(1), errors.argmax(1))]
        rows.append([way, str(len(planted)), *(f"{share:.0%}" for share in found)])
        for name in ("after one epoch", "errors", "cosines"):
            each = [spearmanr(run["margins"], run[name]).statistic for run in planted]
            rows[-1].append(f"{np.mean(each):.2f} ± {np.std(each, ddof=1):.2f}")
    indicators = ("smallest margin", "largest cosine", "most errors")
    correlated = ("margins after one epoch", "errors", "cosines")
    print("Share of runs in which the planted boundary has the ..., and rank correlation of margins with ...")
    print(table(["by", "runs", *indicators, *correlated], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    options = parser_of(__file__, __doc__, seeds=5).parse_args()
    boundaries = (None, *range(RANKS - 1))
    wanted = [(way, hard, seed) for seed in range(options.seeds) for way in WAYS for hard in boundaries]
    show(complete(measure, wanted, ("way", "hard", "seed"), options))


if __name__ == "__main__":
    main()
