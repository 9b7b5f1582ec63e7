"""Measure headline claims of the four papers on the data at hand; docs/claims.md has the verdicts.

    ORDINATE_DATA=DIR python benchmarks/claims.py [--only CLAIM ...] [--seeds 3] [--jobs 2]

Every arm of a claim has the same network, optimizer, epochs, batches and augmentation. All arms of a seed run before
the next seed. A finished run is kept as a line of the results file; a run that was stopped continues from its last
epoch when the script is given again. With --quick every run is a tiny one, to see whether all of them work.
"""

import argparse
import os
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ImageOps

from ordinate.data.images.files import ImageFiles
from ordinate.estimators.recipes import read_recipe
from ordinate.metrics import rank_report
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.images.folds import random_blocks
from ordinate_papers.tables.budgets import Budget, budget
from ordinate_papers.tables.execute import PROTOCOLS, Trial
from ordinate_papers.tables.results import Metrics, ResultsFile
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

RESULTS = Path(__file__).parent / "results" / "claims.jsonl"
MOST_NUMBERS = 20  # A metric with more numbers, such as a picture, is not kept.


@dataclass(frozen=True)
class Arm:
    """One of the models that a claim compares.

    Args:
        model: Name of the model.
        settings: Settings of the model.
        budget: Fields of the claim's budget that differ for this arm.
        conditions: Settings of the protocol for this arm alone.
    """

    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A claim and the runs that test it.

    Args:
        dataset: Name of the data set.
        budget: Budget of all arms.
        arms: Arms by name.
        protocol: Name of the evaluation: ``"scores"``, or one of ``ordinate_papers.tables.execute``.
        conditions: Settings of the protocol.
    """

    dataset: str
    budget: Budget
    arms: Mapping[str, Arm]
    protocol: str = "scores"
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def runs(self, seed: int, arms: Collection[str] = ()) -> Iterator[Run]:
        """Yield the runs of a seed, of all arms or of those with these names."""
        for name, arm in self.arms.items():
            if not arms or name in arms:
                yield self.run(arm, seed)

    def run(self, arm: Arm, seed: int) -> Run:
        """Return the run of an arm."""
        settings = {"model": arm.settings, "protocol": {**self.conditions, **arm.conditions}}
        facts = {
            "data": reading.digest(self.dataset),
            "budget": replace(self.budget, **arm.budget).to_dict(),
        }
        return Run(self.dataset, arm.model, self.protocol, {k: v for k, v in settings.items() if v}, seed, facts)


def _koa(height: int, width: int) -> Budget:
    """Return twelve epochs of EfficientNet-Lite0 with ImageNet weights; the rest is the recipe's."""
    images = {**read_recipe("cloc-koa").settings["images"], "size": [height, width]}
    return replace(
        budget("koa", "cloc"), epochs=12, phase_one=2, patience=None, encoder="efficientnet_lite0", images=images
    )


def _idrid() -> Budget:
    """Return twelve epochs of EfficientNet-Lite0 with ImageNet weights at 112 x 112; the rest is the recipe's."""
    images = {**read_recipe("cloc-idrid").settings["images"], "size": 112}
    return replace(
        budget("idrid", "cloc"), epochs=12, phase_one=2, patience=None, encoder="efficientnet_lite0", images=images
    )


def _margin(value: float) -> dict[str, Any]:
    return {"critical_margins": {"1|2": value}}


def _with(arm: Arm, **settings: Any) -> Arm:
    """Return an arm with other settings."""
    return replace(arm, settings={**arm.settings, **settings})


def _without(*parts: str) -> Arm:
    """Return SupReMix without parts of its loss (SupReMix, Table 9)."""
    return _with(SUPREMIX, loss=dict.fromkeys(parts, False))


# OTD's Table 1: the best epoch on a fifth of the training images, O-Net's by accuracy.
BEST_EPOCH = {"validation_fraction": 0.2, "patience": 1000}
O_NET = Arm("otd", {"by_rank": False, "monitored": "accuracy", **BEST_EPOCH})
OTD_NETWORKS = {
    "O-Net": O_NET,
    "S-Net": Arm("siamese", BEST_EPOCH),
    "T-Net": Arm("triplet", BEST_EPOCH),
    "Q-Net": Arm("quadruplet", BEST_EPOCH),
    "N-Net1": Arm("n_pair", BEST_EPOCH),
    "N-Net2": Arm("n_pair", {**BEST_EPOCH, "batch_size": 1000}),
}

# The network, optimizer and batches of SupReMix's Table 5, with 30 epochs of the encoder and 100 of the head.
AIRFOIL = replace(budget("airfoil", "supremix"), epochs=30)
SUPCON = Arm("supcon", {"temperature": 1.0, "projection_dim": 128})
SUPREMIX = Arm("supremix_l1", {"temperature": 1.0, "window": 7.0})
TABLE_5 = {"vanilla": Arm("l1"), "SupCon": SUPCON, "SupReMix": SUPREMIX}
SCALES = {f"CLOC, {name}": Arm("cloc", {"reduction": name}) for name in ("sum", "pair_mean", "published")}
CONTRASTIVE = {"SupCon": Arm("supcon"), "RnC": Arm("rnc")}
SUPCR = Arm("supcr_l1")
SIMILARITIES = {  # The rows of SupCR's Table 7; the last one is its method.
    "SimCLR, projected": Arm("simclr", {"projection_dim": 128}),
    "SupCon, projected": Arm("supcon", {"projection_dim": 128}),
    "SupCon": Arm("supcon", {"projection_dim": None}),
    "SupCR, cosine, projected": _with(SUPCR, similarity="cosine", projection=128),
    "SupCR, cosine": _with(SUPCR, similarity="cosine"),
    "SupCR, L1 norm": _with(SUPCR, similarity="neg_l1"),
    "SupCR": SUPCR,
}
SCHEMES = {  # The rows of its Table 8 that Table 7 lacks.
    "SupCR, fine-tuned": _with(SUPCR, scheme="fine_tune"),
    "SupCR as regularisation": _with(SUPCR, scheme="regularise"),
    "L1": Arm("l1"),
}
BY_NUMBER = {  # The same on ranks: SupCon and SimCLR predict numbers, too.
    name: replace(arm, conditions={"task": "continuous"} if arm.model in ("simclr", "supcon") else {})
    for name, arm in {**SIMILARITIES, **SCHEMES}.items()
}
POSITIVES = {f"SupCR, {count} positives": _with(SUPCR, num_positives=count) for count in (16, 64, 128)}  # Table 13
ORDINAL = {name: Arm(name.lower()) for name in ("ORCNN", "POE", "GOL", "MWR", "RnC", "SupCon", "SimCLR", "DINO")}
MARGINS: Mapping[str, Mapping[str, Any]] = {  # The rows of CLOC's Table 4, by the reduction of the authors' code.
    "CLOC": {},
    "CLOC, phase 1": {"stages": 1},
    "CLOC, shared margins": {"shared_margins": True},
    "CLOC, margins of 1": {"margins": 1.0},
}
SMALL_FUNDUS = replace(budget("retinamnist", "supcr", quick=True), patience=None)
RATE = {"learning_rate": 1e-4}  # The rate of the siamese and the triplet network in OTD's Appendix B.
# About as many steps as on RetinaMNIST.
SMALL_KNEES = replace(budget("koa", "supcr", quick=True), patience=None, epochs=8, head_epochs=4)
DOUBLED = replace(budget("busi", "otd", quick=True), epochs=8)  # As many steps as 16 epochs of half the images.
CLAIMS = {
    "busi, pretrained": Claim("busi", budget("busi", "otd", quick=True), OTD_NETWORKS, "embedding_order"),
    "busi, mirrored before the split": Claim(
        "busi",
        DOUBLED,
        {**OTD_NETWORKS, "N-Net2": replace(OTD_NETWORKS["N-Net2"], budget={"epochs": 16})},  # A batch is an epoch.
        "embedding_order",
        {"mirrored": "before the split"},
    ),
    "busi, 64 x 64": Claim(
        "busi",
        replace(budget("busi", "otd"), images={**(budget("busi", "otd").images or {}), "size": 64}),
        {
            "O-Net": O_NET,
            "O-Net, rate of the others": _with(O_NET, **RATE),
            "O-Net, rate of the others, ReLU": _with(O_NET, **RATE, ends_in_relu=True),
        },
        "embedding_order",
    ),
    "busi": Claim(
        "busi",
        budget("busi", "otd"),
        {
            **{name: OTD_NETWORKS[name] for name in ("O-Net", "S-Net", "T-Net")},
            "O-Net, rate of the others": _with(O_NET, **RATE),
            "O-Net, rate of the others, ReLU": _with(O_NET, **RATE, ends_in_relu=True),
            "O-Net, ten times the epochs": replace(O_NET, budget={"epochs": 500}),
        },
        "embedding_order",
    ),
    "fingers": Claim("fingers", budget("fingers", "otd", quick=True), OTD_NETWORKS, "embedding_order"),
    "koa": Claim("koa", _koa(120, 200), {"cross-entropy": Arm("cross_entropy"), **SCALES, **CONTRASTIVE}),
    "koa, fixed margin": Claim(
        "koa",
        _koa(120, 200),
        {
            f"CLOC, {name}, 1|2 at {value}": Arm("cloc", {"reduction": name, **_margin(value)})
            for name in ("sum", "pair_mean")
            for value in (1.0, 1.5, 2.0)
        },
    ),
    "koa, biased labels": Claim(
        "koa",
        _koa(60, 100),
        {
            "cross-entropy": Arm("cross_entropy"),
            **SCALES,
            **{
                f"{name}, 1|2 at 1.5": replace(arm, settings={**arm.settings, **_margin(1.5)})
                for name, arm in SCALES.items()
            },
            **CONTRASTIVE,
        },
        "label_bias",
        {"boundary": (1, 2), "up": 0.6, "down": 0.3},
    ),
    "retinamnist, CLOC": Claim(
        "retinamnist",
        replace(budget("retinamnist", "cloc", quick=True), patience=None),
        {
            **{name: Arm("cloc", {"reduction": "published", **settings}) for name, settings in MARGINS.items()},
            **ORDINAL,
        },
    ),
    "idrid": Claim(
        "idrid",
        _idrid(),
        {
            "cross-entropy": Arm("cross_entropy"),
            **SCALES,
            "CLOC, published, 1|2 at 1.5": Arm("cloc", {"reduction": "published", **_margin(1.5)}),
            **CONTRASTIVE,
            "POE": Arm("poe"),
            "GOL": Arm("gol"),
        },
    ),
    "idrid, biased labels": Claim(
        "idrid",
        _idrid(),
        {
            "CLOC, published, 1|2 at 1.5": Arm("cloc", {"reduction": "published", **_margin(1.5)}),
            "CLOC, published": SCALES["CLOC, published"],
            "cross-entropy": Arm("cross_entropy"),
            **CONTRASTIVE,
            "POE": Arm("poe"),
            "GOL": Arm("gol"),
        },
        "label_bias",
        {"boundary": (1, 2), "up": 0.6, "down": 0.3},
    ),
    "airfoil, similarities": Claim(
        "airfoil",
        budget("airfoil", "supcr"),
        {**SIMILARITIES, **SCHEMES, **POSITIVES},
        "plain",
        {"targets": "as in the file"},
    ),
    "retinamnist, corruptions": Claim(
        "retinamnist", SMALL_FUNDUS, {"L1": Arm("l1"), "SupCR": SUPCR}, "corruption_robustness"
    ),
    "koa, corruptions": Claim("koa", SMALL_KNEES, {"L1": Arm("l1"), "SupCR": SUPCR}, "corruption_robustness"),
    "koa, similarities": Claim("koa", SMALL_KNEES, BY_NUMBER, "plain"),
    "retinamnist, similarities": Claim("retinamnist", SMALL_FUNDUS, BY_NUMBER, "plain"),
    "airfoil, time of an epoch": Claim(  # SupCR, Table 14
        "airfoil",
        budget("airfoil", "supcr"),
        {"SupCR": SUPCR},
        "epoch_time",
        {"beside": ["supcon"], "targets": "as in the file"},
    ),
    "retinamnist, time of an epoch": Claim(
        "retinamnist", SMALL_FUNDUS, {"SupCR": SUPCR}, "epoch_time", {"beside": ["supcon"], "task": "continuous"}
    ),
    "airfoil, Table 5": Claim(
        "airfoil",
        budget("airfoil", "supremix"),
        {
            **TABLE_5,
            **{
                f"{name}, standardised": replace(arm, budget={"encoder": "airfoil_standardised"})
                for name, arm in TABLE_5.items()
            },
        },
        "plain",
    ),
    "airfoil, parts": Claim(
        "airfoil",
        AIRFOIL,
        {
            "SupReMix": SUPREMIX,
            "Mix-neg + weight": _without("mix_positives"),
            "Mix-neg": _without("mix_positives", "distance_magnifying"),
            "weight": _without("mix_negatives", "mix_positives"),
            "none": _without("mix_negatives", "mix_positives", "distance_magnifying"),
        },
        "plain",
    ),
    "airfoil, logits": Claim("airfoil", AIRFOIL, {"SupCon": SUPCON, "SupReMix": SUPREMIX}, "logits"),
    "airfoil, permuted labels": Claim(
        "airfoil", AIRFOIL, {"SupCon": SUPCON, "SupReMix": SUPREMIX}, "label_permutation"
    ),
    "airfoil, unseen targets": Claim(
        "airfoil",
        AIRFOIL,
        {
            "vanilla": Arm("l1", budget={"epochs": AIRFOIL.epochs + AIRFOIL.head_epochs}),
            "SupCon": SUPCON,
            "SupCR": Arm("supcr_l1"),
            "SupReMix": SUPREMIX,
        },
        "unseen_targets",
    ),
    "airfoil, bins of SupCon": Claim(
        "airfoil", AIRFOIL, {f"{size} dB": _with(SUPCON, bin_size=size) for size in (1.0, 5.0, 10.0)}, "plain"
    ),
    "airfoil, mixtures": Claim(  # SupReMix, Tables 10 and 11
        "airfoil",
        AIRFOIL,
        {
            "SupReMix": SUPREMIX,
            **{f"window {window:g}": _with(SUPREMIX, window=window) for window in (1.0, 3.0, 1000.0)},
            **{f"Beta{beta}": _with(SUPREMIX, beta=list(beta)) for beta in ((5.0, 5.0), (8.0, 2.0))},
        },
        "plain",
    ),
    "airfoil, batch size": Claim(
        "airfoil",
        AIRFOIL,
        {
            f"{name}, {size}": _with(arm, batch_size=size)
            for size in (64, 512)
            for name, arm in (("SupCon", SUPCON), ("SupReMix", SUPREMIX))
        },
        "plain",
    ),
}


def measure(run: Run, folder: Path) -> Metrics:
    """Execute a run and return its metrics."""
    warnings.filterwarnings("ignore", message="the margins at the boundaries")  # The arms' margins are in the results.
    trial = Trial.of(run.dataset, run, folder, run.settings.get("data", {}))
    conditions = dict(run.settings.get("protocol", {}))
    if run.dataset == "airfoil" and conditions.pop("targets", None) is None:
        trial = replace(trial, y=np.round(trial.y))  # Bins of 1 dB (SupReMix, Table 12): positives share one.
    if conditions.pop("task", None) == "continuous":
        trial = replace(trial, task="continuous", y=trial.y.astype(np.float64))
    if conditions.pop("mirrored", None) is not None:
        trial = _mirrored_first(trial, folder / "mirrored")
    if run.protocol != "scores":
        found = PROTOCOLS[run.protocol](trial, **conditions)
        return {name: value for name, value in found.items() if np.size(value) <= MOST_NUMBERS}
    model = trial.fit()
    X, y = trial.test
    return dict(rank_report(y, model.predict(X), trial.ranks))


def _mirrored_first(trial: Trial, folder: Path) -> Trial:
    """Return a trial on the images and their mirror images, split over all of them into blocks.

    Mirror images of test images are then in the training data. OTD doubles the images of BUSI, and does not say whether
    before or after the split.
    """
    folder.mkdir(parents=True, exist_ok=True)
    images: Any = trial.X
    paths = [(folder / f"{i}.png", folder / f"{i} mirrored.png") for i in range(len(images))]
    for image, (plain, mirrored) in zip(images, paths, strict=True):
        image.convert("L").save(plain)
        ImageOps.mirror(image.convert("L")).save(mirrored)
    drawn, fold = divmod(trial.run.seed, 5)  # As the reader of the images does.
    block = random_blocks(2 * len(paths), drawn).to_numpy() == str(fold)
    split = replace(trial.split, train=np.flatnonzero(~block), test=np.flatnonzero(block))
    return replace(trial, X=ImageFiles(path for pair in paths for path in pair), y=np.repeat(trial.y, 2), split=split)


def quick(claim: Claim) -> Claim:
    """Return a claim with a tiny network and budget."""
    if claim.dataset == "airfoil":
        return replace(claim, budget=replace(claim.budget, epochs=2, head_epochs=1))
    if claim.dataset in ("busi", "fingers", "retinamnist"):
        images = {**(claim.budget.images or {}), "size": 28, "pretrained": False}
        small = replace(claim.budget, epochs=2, phase_one=1, encoder="test_resnet", images=images)
        arms = {name: replace(arm, budget={}) for name, arm in claim.arms.items()}
        return replace(claim, budget=small, arms=arms)
    images = {**(claim.budget.images or {}), "size": [30, 50], "equalize": False, "pretrained": False}
    small = replace(claim.budget, epochs=2, phase_one=1, head_epochs=1, encoder="test_resnet", images=images)
    return replace(claim, budget=small)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=CLAIMS, metavar="CLAIM", default=list(CLAIMS), help=", ".join(CLAIMS)
    )
    parser.add_argument("--arms", nargs="+", metavar="ARM", default=[], help="only the arms of these names")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny networks and two epochs")
    options = parser.parse_args()
    unknown = set(options.arms).difference(*(CLAIMS[name].arms for name in options.only))
    if unknown:
        parser.error(f"--arms: {', '.join(sorted(unknown))} in none of the claims {', '.join(options.only)}")
    claims = [quick(CLAIMS[name]) if options.quick else CLAIMS[name] for name in options.only]
    absent = sorted({reason for claim in claims if (reason := reading.unavailable(claim.dataset))})
    if absent:
        parser.error("; ".join(absent))
    runs = [run for seed in range(options.seeds) for claim in claims for run in claim.runs(seed, options.arms)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    complete(runs, measure, ResultsFile(options.results), jobs=options.jobs)


if __name__ == "__main__":
    main()
