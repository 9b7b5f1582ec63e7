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
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from scipy.stats import t as student_t
from sklearn.linear_model import RidgeCV
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, l1_loss, mse_loss
from torch.optim import Optimizer

from grid import append, parts, read_cells
from ordinate.estimators.supremix import usual_window
from ordinate.functional import mmnp, supcr, supremix
from ordinate.randomness import own_random_numbers
from ordinate.training.optimization import Optimization, undecayed_parameters
from ordinate_papers.published.cloc import cloc_loop, margin_loss, starting_margins
from ordinate_papers.published.epochs import (
    Rate,
    constant,
    cosine_by_epoch,
    keep_best,
    tenth_after,
    trained_epochs,
    with_errors,
)
from ordinate_papers.published.supcr import absolute_error, features_of, l1_loop, supcr_loop
from ordinate_papers.published.supremix import projection_head, supremix_loop, supremix_loss

RESULTS = Path(__file__).parent / "results" / "published_loops.jsonl"
EPOCHS = {"supcr": 50, "supremix": 12, "probe": 30, "l1": 50, "cloc": 12}
BATCH = {"supcr": 128, "supremix": 32, "cloc": 64}
WINDOW, TEMPERATURE = 7.0, 1.0
RANKS = 5
Figures = dict[str, float]
Optimize = Callable[[list[nn.Module]], Optimizer]


# Data and networks


@dataclass(frozen=True)
class Samples:
    """Samples to train on, to choose an epoch on, and to measure errors on."""

    x: Tensor
    y: Tensor
    x_choice: Tensor
    y_choice: Tensor
    x_held_out: Tensor
    y_held_out: Tensor


@cache
def airfoil() -> Samples:
    """Read airfoil with standardised inputs."""
    data = parts("airfoil")
    x, x_others = (torch.tensor(np.asarray(some, dtype=np.float32)) for some in (data.X, data.X_validation))
    y, y_others = (torch.tensor(some, dtype=torch.float32) for some in (data.y, data.y_validation))
    mean, deviation = x.mean(0), x.std(0)
    x, x_others = (x - mean) / deviation, (x_others - mean) / deviation
    chosen = len(y_others) // 3
    return Samples(x, y, x_others[:chosen], y_others[:chosen], x_others[chosen:], y_others[chosen:])


@cache
def retinas() -> Samples:
    """Read RetinaMNIST with pixels from -1 to 1; no epoch is chosen on it."""
    data = parts("retinamnist")
    x, x_others = (torch.tensor(some, dtype=torch.float32) / 127.5 - 1 for some in (data.X, data.X_validation))
    y, y_others = torch.tensor(data.y), torch.tensor(data.y_validation)
    return Samples(x, y, x[:0], y[:0], x_others, y_others)


def perceptron(seed: int) -> nn.Sequential:
    """Return the network of airfoil, whose features are not negative."""
    with own_random_numbers(seed):
        widths = (airfoil().x.shape[1], 256, 256, 256)
        layers = [nn.Sequential(nn.Linear(*pair), nn.ReLU()) for pair in pairwise(widths)]
        return nn.Sequential(*layers)


def with_last_layer(encoder: nn.Sequential, embedding_dim: int | None, seed: int) -> tuple[nn.Sequential, int]:
    """Return a network with the linear layer that `fit` adds, or as it is for None, and its width."""
    if embedding_dim is None:
        return encoder, 256
    with own_random_numbers(seed):
        return nn.Sequential(*encoder, nn.Linear(256, embedding_dim)), embedding_dim


def convolutions(seed: int) -> nn.Sequential:
    """Return the network of RetinaMNIST up to its features."""
    with own_random_numbers(seed):
        widths = (3, 16, 32, 64)
        layers = [
            nn.Sequential(nn.Conv2d(*pair, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(pair[1]), nn.ReLU())
            for pair in pairwise(widths)
        ]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


# Optimizers, as Ordinate has them


def usual(modules: list[nn.Module], weight_decay: float = 1e-4) -> Optimizer:
    """Return AdamW of 1e-3 without decay of biases and norms, as in `fit`."""
    return _built(Optimization("adamw", 1e-3, weight_decay), modules)


def sgd(modules: list[nn.Module]) -> Optimizer:
    """Return the optimizer of SupCR's code."""
    return torch.optim.SGD(_parameters(modules), 0.5, momentum=0.9, weight_decay=1e-4)


def sgd_without_decay_of_biases(modules: list[nn.Module]) -> Optimizer:
    """Return SGD as in the recipes of SupCR."""
    return _built(Optimization("sgd", 0.5, 1e-4), modules)


def adam(modules: list[nn.Module]) -> Optimizer:
    """Return the optimizer of the codes of SupReMix and CLOC."""
    return torch.optim.Adam(_parameters(modules), 1e-3)


def by_step(rate: float, epochs: int, warmup: float = 0.0) -> Rate:
    """Return a cosine that falls with every step to 0, as in Ordinate."""
    optimization = Optimization("sgd", rate, warmup=warmup)
    return lambda progress: optimization.learning_rate_at(progress / epochs)


def _parameters(modules: Iterable[nn.Module]) -> list[nn.Parameter]:
    return [parameter for module in modules for parameter in module.parameters()]


def _built(optimization: Optimization, modules: list[nn.Module]) -> Any:
    undecayed = [parameter for module in modules for parameter in undecayed_parameters(module)]
    return optimization.build(_parameters(modules), undecayed)


# SupCR


def supcr_encoder(
    seed: int,
    *,
    views: int = 2,
    drop_last: bool = True,
    optimize: Optimize = sgd,
    rate: Rate | None = None,
    embedding_dim: int | None = None,
    share_of_epochs: float = 1.0,
) -> nn.Module:
    """Train an encoder by SupCR; by default as :func:`ordinate_papers.published.supcr.supcr_loop` does."""
    data = airfoil()
    encoder, _ = with_last_layer(perceptron(seed), embedding_dim, seed)
    epochs = round(share_of_epochs * EPOCHS["supcr"])

    def contrast(rows: Tensor) -> Tensor:
        return supcr(encoder(torch.cat([data.x[rows]] * views)), torch.cat([data.y[rows]] * views))

    with own_random_numbers(seed):
        losses = trained_epochs(
            contrast,
            optimize([encoder]),
            len(data.x),
            epochs=epochs,
            batch_size=BATCH["supcr"],
            rate=rate or cosine_by_epoch(0.5, epochs, 0.0005),
            drop_last=drop_last,
        )
        list(losses)
    return encoder.eval()


@cache
def published_supcr(seed: int) -> Any:
    """Train as the authors of SupCR do."""
    data, encoder = airfoil(), perceptron(seed)
    return supcr_loop(
        encoder, data.x, data.y, data.x_choice, data.y_choice,
        epochs=(EPOCHS["supcr"], EPOCHS["probe"]), batch_size=BATCH["supcr"], seed=seed,
    )  # fmt: skip


def of_supcr_encoder(seed: int, **differences: Any) -> Figures:
    """Return the error of ridge regression on an encoder."""
    if differences:
        return by_ridge(supcr_encoder(seed, **differences))
    return by_ridge(published_supcr(seed).encoder)


def of_supcr_probe(seed: int, **differences: Any) -> Figures:
    """Return the error of a probe on the authors' encoder."""
    trained = published_supcr(seed)
    if not differences:
        return of_predictions(lambda x: trained.probe(trained.encoder(x)))
    of_code: dict[str, Any] = {
        "loss": l1_loss,
        "batch_size": 64,
        "optimize": lambda probe: torch.optim.SGD(probe.parameters(), momentum=0.9),
        "rate": cosine_by_epoch(0.05, EPOCHS["probe"], 0.0004),
    }
    return probe_on(trained.encoder, seed, **(of_code | differences))


def of_l1(
    seed: int, *, keeps_best: bool = True, standardises: bool = False, rate: float = 0.02, optimize: Any = None
) -> Figures:
    """Return the error of the network that is trained by L1; by default as the authors of SupCR do."""
    data = airfoil()
    network = nn.Sequential(perceptron(seed), _linear(256, seed))
    centre, scale = _scales(data.y, are_used=standardises)
    y, y_choice = (data.y - centre) / scale, (data.y_choice - centre) / scale
    if keeps_best and optimize is None:
        l1_loop(
            network, data.x, y, data.x_choice, y_choice,
            epochs=EPOCHS["l1"], batch_size=BATCH["supcr"], learning_rate=rate, seed=seed,
        )  # fmt: skip
        return of_predictions(lambda x: network(x) * scale + centre)
    falling = cosine_by_epoch(rate, EPOCHS["l1"], rate / 1000)
    optimizer: Any = torch.optim.SGD(network.parameters(), momentum=0.9, weight_decay=1e-4)
    if optimize is not None:
        optimizer, falling = optimize([network]), by_step(1e-3, EPOCHS["l1"], warmup=0.1)
    with own_random_numbers(seed):
        losses = trained_epochs(
            lambda rows: l1_loss(network(data.x[rows])[:, 0], y[rows]),
            optimizer,
            len(y),
            epochs=EPOCHS["l1"],
            batch_size=BATCH["supcr"],
            rate=falling,
        )
        list(losses)
    return of_predictions(lambda x: network(x) * scale + centre)


# SupReMix


def supremix_encoder(
    seed: int,
    *,
    embedding_dim: int | None = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    views: int = 2,
    normalises_batches: bool = True,
    rounds_targets: bool = False,
    optimize: Optimize = adam,
    rate: Rate | None = None,
) -> nn.Module:
    """Train an encoder by SupReMix; by default as :func:`ordinate_papers.published.supremix.supremix_loop` does."""
    data, encoder, epochs = airfoil(), perceptron(seed), EPOCHS["supremix"]
    encoder, width = with_last_layer(encoder, embedding_dim, seed)
    y = data.y
    if rounds_targets:
        y = y.round()
    loss_of = loss or partial(supremix_loss, window=WINDOW, temperature=TEMPERATURE)
    with own_random_numbers(seed):
        projection = projection_head(width, 128)
        if not normalises_batches:
            projection = nn.Sequential(*(layer for layer in projection if not isinstance(layer, nn.BatchNorm1d)))

        def contrast(rows: Tensor) -> Tensor:
            embeddings = projection(encoder(torch.cat([data.x[rows]] * views)))
            return loss_of(embeddings, torch.cat([y[rows]] * views))

        losses = trained_epochs(
            contrast,
            optimize([encoder, projection]),
            len(y),
            epochs=epochs,
            batch_size=BATCH["supremix"],
            rate=rate or tenth_after(1e-3, 0.8 * epochs),
            drop_last=True,
        )
        list(losses)
    return encoder.eval()


@cache
def published_supremix(seed: int) -> Any:
    """Train as the authors of SupReMix do."""
    data, encoder = airfoil(), perceptron(seed)
    return supremix_loop(
        encoder, data.x, data.y, data.x_choice, data.y_choice,
        window=WINDOW, temperature=TEMPERATURE, batch_size=BATCH["supremix"], seed=seed,
        epochs=(EPOCHS["supremix"], EPOCHS["probe"]),
    )  # fmt: skip


def of_supremix_encoder(seed: int, **differences: Any) -> Figures:
    """Return the error of ridge regression on an encoder."""
    if differences:
        return by_ridge(supremix_encoder(seed, **differences))
    return by_ridge(published_supremix(seed).encoder)


def of_supremix_probe(seed: int, **differences: Any) -> Figures:
    """Return the error of a probe on the authors' encoder."""
    trained, epochs = published_supremix(seed), EPOCHS["probe"]
    if not differences:
        return of_predictions(lambda x: trained.probe(trained.encoder(x)))
    of_code: dict[str, Any] = {
        "loss": mse_loss,
        "batch_size": 16,
        "optimize": lambda probe: torch.optim.Adam(probe.parameters()),
        "rate": tenth_after(0.1, 0.6 * epochs, 0.8 * epochs),
        "keeps_best": False,
    }
    return probe_on(trained.encoder, seed, **(of_code | differences))


def ordinate_supremix(embeddings: Tensor, y: Tensor, window: float | None = WINDOW, **options: Any) -> Tensor:
    """Return Ordinate's loss, by default with the window of the paper; None takes the window of `fit`."""
    if window is None:
        window = usual_window(airfoil().y.numpy(), BATCH["supremix"])
    options.setdefault("temperature", TEMPERATURE)
    return supremix(embeddings, y, window=window, reduction="mean", **options)


# Heads


def probe_on(
    encoder: nn.Module,
    seed: int,
    *,
    loss: Callable[[Tensor, Tensor], Tensor],
    batch_size: int,
    optimize: Callable[[nn.Module], Optimizer],
    rate: Rate,
    standardises_features: bool = False,
    standardises_targets: bool = False,
    keeps_best: bool = True,
    solves: bool = False,
) -> Figures:
    """Return the error of a probe, or of ridge regression if it ``solves``.

    Features are standardised by the first 256 samples, as Ordinate's linear head has them by its first batch.
    """
    if solves:
        return by_ridge(encoder)
    data, epochs = airfoil(), EPOCHS["probe"]
    features, choice, held_out = (features_of(encoder, x) for x in (data.x, data.x_choice, data.x_held_out))
    if standardises_features:
        first = features[:256]
        deviation = first.std(0, correction=0)
        deviation = deviation.clamp(min=1e-3 * float(deviation.max()))
        features, choice, held_out = ((each - first.mean(0)) / deviation for each in (features, choice, held_out))
    centre, scale = _scales(data.y, are_used=standardises_targets)
    y, y_choice = ((some[:, None] - centre) / scale for some in (data.y, data.y_choice))
    probe = _linear(features.shape[1], seed)
    with own_random_numbers(seed):
        losses = trained_epochs(
            lambda rows: loss(probe(features[rows]), y[rows]),
            optimize(probe),
            len(y),
            epochs=epochs,
            batch_size=batch_size,
            rate=rate,
        )
        with_choice = with_errors("probe", losses, lambda: absolute_error(probe, choice, y_choice))
        if keeps_best:
            keep_best(probe, with_choice)
        else:
            list(with_choice)
    predicted = features_of(probe, held_out) * scale + centre
    return {"error": float((predicted[:, 0] - data.y_held_out).abs().mean())}


def by_ridge(encoder: nn.Module) -> Figures:
    """Return the error of ridge regression on frozen, standardised features."""
    data = airfoil()
    train, held_out = (features_of(encoder, x).double().numpy() for x in (data.x, data.x_held_out))
    centre, deviation = train.mean(0), train.std(0)
    deviation = np.maximum(deviation, 1e-3 * deviation.max())
    ridge = RidgeCV(alphas=np.logspace(-3, 5, 17)).fit((train - centre) / deviation, data.y.numpy())
    predicted = ridge.predict((held_out - centre) / deviation)
    return {"error": float(np.abs(predicted - data.y_held_out.numpy()).mean())}


def of_predictions(network: Callable[[Tensor], Tensor]) -> Figures:
    """Return the error of a network's predictions."""
    data = airfoil()
    with torch.no_grad():
        return {"error": float((network(data.x_held_out)[:, 0] - data.y_held_out).abs().mean())}


def _linear(width: int, seed: int) -> nn.Linear:
    with own_random_numbers(seed):
        return nn.Linear(width, 1)


def _scales(y: Tensor, *, are_used: bool) -> tuple[float, float]:
    if not are_used:
        return 0.0, 1.0
    return float(y.mean()), float(y.std())


# CLOC


def of_cloc(
    seed: int,
    *,
    contrasted: Literal["logits", "embeddings", "nothing"] = "logits",
    loss: Callable[..., Tensor] = margin_loss,
    layers: int = 1,
    optimize: Optimize = adam,
    rate: Rate | None = None,
    first_phase: int = 0,
) -> Figures:
    """Return the errors of a classifier, and the share of its contrastive loss in the cross-entropy."""
    data, encoder, epochs = retinas(), convolutions(seed), EPOCHS["cloc"]
    with own_random_numbers(seed):
        classifier = nn.Sequential(nn.Linear(64, RANKS))
        if layers == 2:
            classifier = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, RANKS))
    network = nn.Sequential(encoder, classifier)
    loop = partial(cloc_loop, network, data.x, data.y, RANKS, batch_size=BATCH["cloc"])
    if first_phase:
        first = loop(epochs=first_phase, seed=seed)
        loop(epochs=epochs - first_phase, margins=first.margins, seed=seed + 1)
        return of_ranks(network)

    share: list[float] = []
    with own_random_numbers(seed):
        margins = _Margins()

        def both_losses(rows: Tensor) -> Tensor:
            embeddings = encoder(data.x[rows])
            logits = classifier(embeddings)
            classification = cross_entropy(logits, data.y[rows])
            if contrasted == "nothing":
                return classification
            contrast = loss({"logits": logits, "embeddings": embeddings}[contrasted], data.y[rows], margins())
            share.append(float(contrast.detach() / classification.detach()))
            return classification + contrast

        network.train()
        losses = trained_epochs(
            both_losses,
            optimize([network, margins]),
            len(data.x),
            epochs=epochs,
            batch_size=BATCH["cloc"],
            rate=rate or constant(1e-3),
        )
        list(losses)
    figures = of_ranks(network.eval())
    if share:
        figures["share"] = float(np.mean(share))
    return figures


def ordinate_mmnp(embeddings: Tensor, ranks: Tensor, margins: Tensor, **options: Any) -> Tensor:
    """Return Ordinate's loss, 0 for a small last batch without a pair: Ordinate's batches are never without one."""
    sizes = torch.bincount(ranks)
    if sizes.max() < 2 or (sizes > 0).sum() < 2:
        return 0 * embeddings.sum()
    return mmnp(embeddings, ranks, margins, **options)


class _Margins(nn.Module):
    """Learned margins."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.Parameter(starting_margins(RANKS).detach())

    def forward(self) -> Tensor:
        return nn.functional.softplus(self.raw)


def of_ranks(network: nn.Module) -> Figures:
    """Return the mean absolute error and the accuracy of the most probable ranks."""
    data = retinas()
    with torch.no_grad():
        predicted = network(data.x_held_out).argmax(1)
    apart = (predicted - data.y_held_out).abs().double()
    return {"error": float(apart.mean()), "accuracy": float((apart == 0).double().mean())}


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
