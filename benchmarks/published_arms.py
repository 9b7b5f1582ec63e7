"""How the arms of published_loops.py train: data, networks, optimizers, and a loop with one thing replaced."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from sklearn.linear_model import RidgeCV
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, l1_loss, mse_loss
from torch.optim import Optimizer

from grid import parts
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
