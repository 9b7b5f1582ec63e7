"""Imbalanced targets: vanilla regression and SupReMix, with and without LDS, FDS and RankSim (SupReMix's Table 7).

    ORDINATE_DATA=DIR python benchmarks/imbalance.py [--seeds 3] [--jobs 2]

The set has the ages and the split of AgeDB-DIR, whose images are not at hand: `draw_imbalanced` draws features for
them, anew for every seed, in a way that was fixed before anything was measured. The network is the estimators' own.

Chosen by the error over all samples of the validation part of seed 0 (MAE, years):
- vanilla: 5 epochs (7.84) over 10, SupReMix's number (7.97), and 20 (8.55), the learning rate always falling to 0;
- the weighting of LDS: the inverse square root, with SupReMix (7.59) and FDS, over the inverse (8.19);
- RankSim: weight 0.01 (7.85) over 0.1 (8.31), 1 (18.7) and 100 (18.8), lambda 2 as in its paper;
- SupReMix: 5 epochs and 5 to fine-tune (7.80) over 5 to probe (8.35) and over a learning rate of 3e-4 (7.85);
  temperature and window are the estimator's own.
"""

import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
import torch

from ordinate import SupReMixRegressor
from ordinate.estimators.plain import EndToEndRegressor
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.report.text import table
from ordinate_papers.methods.imbalance import Imbalance
from ordinate_papers.protocols.imbalance import draw_imbalanced, evaluate_shots
from runs import Run, complete, parser_of, where

LDS: Final = "sqrt_inverse"
REGIONS = ("all", "many", "medium", "few")
METRICS = {"mae": "MAE", "geometric_mean_error": "GM"}


def vanilla(seed: int, imbalance: Imbalance | None = None) -> EndToEndRegressor:
    """The encoder and a linear head trained end to end with L1."""
    return EndToEndRegressor(epochs=5, imbalance=imbalance, random_state=seed)


def supremix(seed: int, imbalance: Imbalance | None = None) -> SupReMixRegressor:
    """The same network under SupReMix, then fine-tuned with the same head."""
    return SupReMixRegressor(epochs=(5, 5), scheme="fine_tune", imbalance=imbalance, random_state=seed, head="linear")


VARIANTS: dict[str, tuple[Callable[..., TargetRegressor], Imbalance | None]] = {
    "vanilla": (vanilla, None),
    "vanilla + LDS + FDS": (vanilla, Imbalance(lds=LDS, fds=True)),
    "vanilla + RankSim": (vanilla, Imbalance(ranksim=0.01)),
    "SupReMix": (supremix, None),
    "SupReMix + LDS": (supremix, Imbalance(lds=LDS)),
    "SupReMix + FDS": (supremix, Imbalance(fds=True)),
    "SupReMix + LDS + FDS": (supremix, Imbalance(lds=LDS, fds=True)),
}


def measure(variant: str, seed: int) -> Run:
    """Return the test errors of one variant in each region."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    build, imbalance = VARIANTS[variant]
    report = evaluate_shots(build(seed, imbalance), draw_imbalanced(seed))
    return {"regions": {name: {key: report[name][key] for key in ("samples", *METRICS)} for name in REGIONS}}


def show(runs: list[Run]) -> None:
    """Print the errors of every variant, and how far the few-shot ones lie below vanilla's."""
    by_variant = {variant: where(runs, variant=variant) for variant in VARIANTS}
    for metric, name in METRICS.items():
        rows = []
        for variant, own in by_variant.items():
            if own:
                errors = [[run["regions"][region][metric] for run in own] for region in REGIONS]
                rows.append([variant, *(f"{np.mean(e):.2f} ± {np.std(e):.2f}" for e in errors), str(len(own))])
        print(f"\n{name}, years\n" + table(["", *REGIONS, "seeds"], rows))
    few = {variant: {run["seed"]: run["regions"]["few"]["mae"] for run in own} for variant, own in by_variant.items()}
    ours, theirs = few["SupReMix + LDS + FDS"], few["vanilla"]
    both = sorted(ours.keys() & theirs.keys())
    if both:
        share = 1 - np.mean([ours[seed] for seed in both]) / np.mean([theirs[seed] for seed in both])
        print(f"\nFew-shot MAE of SupReMix + LDS + FDS: {100 * share:.0f} % below vanilla ({len(both)} seeds).")


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=3)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), metavar="VARIANT")
    options = parser.parse_args()
    wanted = [(variant, seed) for seed in range(options.seeds) for variant in options.variants]
    show(complete(measure, wanted, ("variant", "seed"), options))


if __name__ == "__main__":
    main()
