"""Measure how each difference between the authors' code and Ordinate changes the error of held-out samples.

    ORDINATE_DATA=DIR python benchmarks/published_loops.py [--papers supcr ...] [--seeds 3]
    python benchmarks/published_loops.py --table

The reference of a paper is its authors' code as :mod:`ordinate_papers.published` has it, with another network, other
data and fewer epochs. Each arm replaces one thing by what Ordinate does, with the same network, first weights, batches
and number of steps, except where the arm is about these. The pages of docs/fidelity take their effects from here.

- airfoil, standardised inputs, a network of 3 x 256 that ends in ReLU. SupCR: batches of 128, 50 epochs of the encoder
  and 30 of the probe; L1: 50 epochs at a learning rate of 0.02, because it diverges at the 0.2 of the code. SupReMix:
  batches of 32, 12 epochs and 30 of the probe, window 7 and temperature 1 (Table 13 of its paper). No views are drawn:
  two views of a sample are equal.
- RetinaMNIST, a small convolutional network, batches of 64, 12 epochs. CLOC.

Encoders are compared by ridge regression on their frozen features, probes and networks of L1 by their own predictions,
classifiers by their most probable ranks. Training samples, and the samples that errors are measured on, are those of
benchmarks/grid.py, which are no test samples of the owners. On airfoil, a third of the latter chooses the best epoch
and is left out of the error. No setting was tuned.

Every run is a line of the results file as soon as it has ended, and does not run again. ``--table`` writes the effects
next to it, as JSON for the pages and as a table.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student_t
from torch.nn.functional import l1_loss

from grid import append, read_cells
from ordinate_papers.published.epochs import constant
from ordinate_papers.published.supremix import supremix_loss
from published_arms import (
    EPOCHS,
    TEMPERATURE,
    WINDOW,
    Figures,
    by_step,
    of_cloc,
    of_l1,
    of_supcr_encoder,
    of_supcr_probe,
    of_supremix_encoder,
    of_supremix_probe,
    ordinate_mmnp,
    ordinate_supremix,
    sgd_without_decay_of_biases,
    usual,
)

RESULTS = Path(__file__).parent / "results" / "published_loops.jsonl"


# Arms


@dataclass(frozen=True)
class Arm:
    """What Ordinate does instead of the authors' code.

    Args:
        measure: Function from a seed and the differences to figures.
        differences: What replaces the authors' way; none for the reference.
        reference: Name of the arm that it is compared with.
    """

    measure: Callable[..., Figures]
    differences: Mapping[str, Any] = field(default_factory=dict)
    reference: str = ""


WITHOUT_ERRORS = partial(
    supremix_loss, window=WINDOW, temperature=TEMPERATURE, scrambled_labels=False, separate_shifts=False
)
ARMS: dict[str, dict[str, Arm]] = {
    "supcr": {
        "encoder": Arm(of_supcr_encoder),
        "one view": Arm(of_supcr_encoder, {"views": 1}, "encoder"),
        "incomplete batches": Arm(of_supcr_encoder, {"drop_last": False}, "encoder"),
        "rate by step": Arm(of_supcr_encoder, {"rate": by_step(0.5, EPOCHS["supcr"])}, "encoder"),
        "no decay of biases": Arm(of_supcr_encoder, {"optimize": sgd_without_decay_of_biases}, "encoder"),
        "AdamW": Arm(
            of_supcr_encoder, {"optimize": usual, "rate": by_step(1e-3, EPOCHS["supcr"], warmup=0.1)}, "encoder"
        ),
        "64 dimensions": Arm(of_supcr_encoder, {"embedding_dim": 64}, "encoder"),
        "a tenth of the steps": Arm(of_supcr_encoder, {"share_of_epochs": 0.1}, "encoder"),
        "probe": Arm(of_supcr_probe),
        "last epoch of the probe": Arm(of_supcr_probe, {"keeps_best": False}, "probe"),
        "targets standardised": Arm(of_supcr_probe, {"standardises_targets": True}, "probe"),
        "features standardised": Arm(of_supcr_probe, {"standardises_features": True}, "probe"),
        "both standardised": Arm(
            of_supcr_probe, {"standardises_features": True, "standardises_targets": True}, "probe"
        ),
        "ridge regression": Arm(of_supcr_probe, {"solves": True}, "probe"),
        "L1": Arm(of_l1),
        "last epoch of L1": Arm(of_l1, {"keeps_best": False}, "L1"),
        "L1 in deviations": Arm(of_l1, {"standardises": True, "rate": 0.05, "keeps_best": False}, "L1"),
        "L1 by AdamW": Arm(of_l1, {"standardises": True, "optimize": usual}, "L1"),
    },
    "supremix": {
        "encoder": Arm(of_supremix_encoder),
        "labels in order": Arm(
            of_supremix_encoder,
            {"loss": partial(supremix_loss, window=WINDOW, temperature=TEMPERATURE, scrambled_labels=False)},
            "encoder",
        ),
        "one shift": Arm(
            of_supremix_encoder,
            {"loss": partial(supremix_loss, window=WINDOW, temperature=TEMPERATURE, separate_shifts=False)},
            "encoder",
        ),
        "both corrected": Arm(of_supremix_encoder, {"loss": WITHOUT_ERRORS}, "encoder"),
        "mixtures of norm 1 with gradient": Arm(of_supremix_encoder, {"loss": ordinate_supremix}, "both corrected"),
        "one view": Arm(
            of_supremix_encoder, {"loss": ordinate_supremix, "views": 1}, "mixtures of norm 1 with gradient"
        ),
        "window of fit": Arm(
            of_supremix_encoder,
            {"loss": partial(ordinate_supremix, window=None)},
            "mixtures of norm 1 with gradient",
        ),
        "temperature of fit": Arm(
            of_supremix_encoder,
            {"loss": partial(ordinate_supremix, temperature=0.2)},
            "mixtures of norm 1 with gradient",
        ),
        "whole targets": Arm(of_supremix_encoder, {"rounds_targets": True}),
        "whole targets, window inclusive": Arm(
            of_supremix_encoder,
            {
                "rounds_targets": True,
                "loss": partial(supremix_loss, window=WINDOW + 0.5, temperature=TEMPERATURE),
            },
            "whole targets",
        ),
        "64 dimensions": Arm(of_supremix_encoder, {"embedding_dim": 64}, "encoder"),
        "no batch normalisation": Arm(of_supremix_encoder, {"normalises_batches": False}, "encoder"),
        "AdamW": Arm(
            of_supremix_encoder,
            {"optimize": usual, "rate": by_step(1e-3, EPOCHS["supremix"], warmup=0.1)},
            "encoder",
        ),
        "probe": Arm(of_supremix_probe),
        "best epoch of the probe": Arm(of_supremix_probe, {"keeps_best": True}, "probe"),
        "probe of the recipe": Arm(
            of_supremix_probe,
            {
                "loss": l1_loss,
                "batch_size": 32,
                "rate": constant(1e-3),
                "standardises_features": True,
                "standardises_targets": True,
            },
            "probe",
        ),
        "ridge regression": Arm(of_supremix_probe, {"solves": True}, "probe"),
    },
    "cloc": {
        "logits": Arm(of_cloc),
        "embeddings": Arm(of_cloc, {"contrasted": "embeddings"}, "logits"),
        "cross-entropy alone": Arm(of_cloc, {"contrasted": "nothing"}, "logits"),
        "mean over pairs": Arm(of_cloc, {"contrasted": "embeddings", "loss": ordinate_mmnp}, "embeddings"),
        "sum over pairs": Arm(
            of_cloc, {"contrasted": "embeddings", "loss": partial(ordinate_mmnp, reduction="sum")}, "embeddings"
        ),
        "two layers": Arm(of_cloc, {"contrasted": "embeddings", "layers": 2}, "embeddings"),
        "AdamW": Arm(
            of_cloc,
            {
                "optimize": partial(usual, weight_decay=0.05),
                "rate": by_step(1e-3, EPOCHS["cloc"], warmup=0.1),
            },
            "logits",
        ),
        "margins fixed": Arm(of_cloc, {"first_phase": 3}, "logits"),
    },
}


# Runs and table


@dataclass(frozen=True)
class Effect:
    """How an arm changes the error, in pairs of runs of one seed.

    Args:
        compared_with: Name of the reference.
        error: Mean error of the arm.
        reference: Mean error of its reference.
        change: Mean difference of the two.
        interval: Half the width of its 95% interval by Student's t.
        seeds: Number of seeds.
        share: Mean ratio of the contrastive loss to the cross-entropy in training, of CLOC.
        reference_share: That of the reference.
    """

    compared_with: str
    error: float
    reference: float
    change: float
    interval: float
    seeds: int
    share: float | None = None
    reference_share: float | None = None


def effect_of(runs: Iterable[dict[str, Any]], paper: str, arm: str) -> Effect:
    """Return the effect of an arm."""
    by_seed: dict[str, dict[int, dict[str, Any]]] = {}
    for run in runs:
        if run["paper"] == paper:
            by_seed.setdefault(run["arm"], {})[run["seed"]] = run
    with_it, without = by_seed[arm], by_seed[ARMS[paper][arm].reference or arm]
    seeds = sorted(set(with_it) & set(without))
    errors, references = (np.array([some[seed]["error"] for seed in seeds]) for some in (with_it, without))
    changes = errors - references
    standard_error = changes.std(ddof=1) / np.sqrt(len(seeds))
    return Effect(
        compared_with=ARMS[paper][arm].reference,
        error=rounded(errors.mean()),
        reference=rounded(references.mean()),
        change=rounded(changes.mean()),
        interval=rounded(student_t(len(seeds) - 1).ppf(0.975) * standard_error),
        seeds=len(seeds),
        share=mean_share(with_it.values()),
        reference_share=mean_share(without.values()),
    )


def mean_share(runs: Iterable[dict[str, Any]]) -> float | None:
    """Return the mean share of runs that have one."""
    shares = [run["share"] for run in runs if "share" in run]
    return rounded(np.mean(shares)) if shares else None


def rounded(value: Any) -> float:
    """Return a number with six digits after the point."""
    return round(float(value), 6)


def summary(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the effects of all arms that are compared with another, by paper and arm."""
    return {
        paper: {name: asdict(effect_of(runs, paper, name)) for name, arm in arms.items() if arm.reference}
        for paper, arms in ARMS.items()
    }


def as_markdown(runs: list[dict[str, Any]]) -> str:
    """Return a table per paper."""
    lines = []
    for paper, arms in ARMS.items():
        header = "| arm | compared with | error | of the reference | change, 95% interval | seeds |"
        lines += [f"## {paper}", "", header, "|---" * 6 + "|"]
        for name, arm in arms.items():
            effect = effect_of(runs, paper, name)
            change = ""
            if arm.reference:
                change = f"{effect.change:+.3f} ± {effect.interval:.3f}"
            row = [name, arm.reference, f"{effect.error:.3f}", f"{effect.reference:.3f}", change, str(effect.seeds)]
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    return "\n".join(lines)


def summary_of(results: Path) -> Path:
    """Return the file of effects next to a file of results."""
    return results.with_name(f"{results.stem}_summary.json")


def run(arguments: argparse.Namespace) -> None:
    """Measure what the results file lacks, all arms of a seed before the next seed."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    done = {(each["paper"], each["arm"], each["seed"]) for each in read_cells(arguments.results)}
    for seed in range(arguments.seeds):
        for paper in arguments.papers:
            for name, arm in ARMS[paper].items():
                if (paper, name, seed) in done:
                    continue
                start = time.perf_counter()
                figures = {key: rounded(value) for key, value in arm.measure(seed, **arm.differences).items()}
                seconds = round(time.perf_counter() - start, 1)
                line = {"paper": paper, "arm": name, "seed": seed, **figures, "seconds": seconds}
                append(arguments.results, line)
                print(json.dumps(line), flush=True)


def main() -> None:
    """Measure what is not in the results yet, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results (%(default)s)")
    parser.add_argument("--table", action="store_true", help="write the tables, and run nothing")
    arguments = parser.parse_args()
    if arguments.table:
        runs = read_cells(arguments.results)
        text = as_markdown(runs)
        arguments.results.with_suffix(".md").write_text(text, encoding="utf-8")
        summary_of(arguments.results).write_text(json.dumps(summary(runs), indent=1) + "\n", encoding="utf-8")
        print(text)
    else:
        run(arguments)


if __name__ == "__main__":
    main()
