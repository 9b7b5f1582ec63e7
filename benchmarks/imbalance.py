"""Imbalanced targets: vanilla regression and SupReMix, with and without LDS, FDS and RankSim (SupReMix's Table 7).

    ORDINATE_DATA=DIR python benchmarks/imbalance.py [--seeds 3] [--jobs 2]

The set has the ages and the split of AgeDB-DIR, whose images are not at hand: `draw_imbalanced` draws features for
them, anew for every seed, in a way that was fixed before anything was measured. The network is the estimators' own.

Chosen by the error over all samples of the validation part of seed 0 (MAE, years):
- vanilla: 5 epochs (7.84) over 10, SupReMix's number (7.97), and 20 (8.55), the learning rate always falling to 0;
- the weighting of LDS: the inverse square root, beside SupReMix (7.59) and FDS, over the inverse (8.19);
- RankSim: weight 0.01 (7.85) over 0.1 (8.31), 1 (18.7) and 100 (18.8), lambda 2 as in its paper;
- SupReMix: 5 epochs and 5 to fine-tune (7.80) over 5 to probe (8.35) and over a learning rate of 3e-4 (7.85);
  temperature and window are the estimator's own.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from joblib import Parallel, delayed

from ordinate import SupReMixRegressor
from ordinate.estimators.plain import EndToEndRegressor
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.methods.imbalance import Imbalance
from ordinate.report.text import table
from ordinate_papers.protocols.imbalance import draw_imbalanced, evaluate_shots

RESULTS = Path(__file__).parent / "results" / "imbalance.json"
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


def measure(variant: str, seed: int) -> dict[str, Any]:
    """Return the test errors of one variant in each region."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    build, imbalance = VARIANTS[variant]
    start = time.perf_counter()
    report = evaluate_shots(build(seed, imbalance), draw_imbalanced(seed))
    regions = {name: {key: report[name][key] for key in ("samples", *METRICS)} for name in REGIONS}
    return {"variant": variant, "seed": seed, "regions": regions, "seconds": time.perf_counter() - start}


def show(runs: list[dict[str, Any]]) -> None:
    """Print the errors of every variant, and how far the few-shot ones lie below vanilla's."""
    by_variant = {
        variant: sorted((run for run in runs if run["variant"] == variant), key=lambda run: run["seed"])
        for variant in VARIANTS
    }
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    runs = json.loads(options.results.read_text()) if options.results.exists() else []
    done = {(run["variant"], run["seed"]) for run in runs}
    wanted = [
        (variant, seed) for seed in range(options.seeds) for variant in options.variants if (variant, seed) not in done
    ]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    finished = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(delayed(measure)(*run) for run in wanted)
    for number, run in enumerate(finished, start=1):
        runs.append(run)
        pending = options.results.with_suffix(".tmp")
        pending.write_text(json.dumps(sorted(runs, key=lambda r: (r["seed"], r["variant"])), indent=1) + "\n")
        pending.replace(options.results)
        left = (time.monotonic() - started) / number * (len(wanted) - number)
        print(
            f"{number}/{len(wanted)} {run['variant']} {run['seed']}: few-shot MAE {run['regions']['few']['mae']:.2f}, "
            f"{left / 60:.0f} min left",
            flush=True,
        )
    show(runs)


if __name__ == "__main__":
    main()
