"""Measure how far the gradient of float32 embeddings is from that of a brute force in float64.

    python benchmarks/gradient_error.py [--sizes 256 1024 4096] [--losses supcr mmnp supremix angular_triangle]

The brute force takes one anchor at a time and writes its formula out over all its pairs of pairs: a value, and what
the sum of the values is divided by; torch differentiates it. At n = 4096 it takes minutes a loss. What is measured is
kept in the results file, and not measured again.
"""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ordinate import functional
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "gradient_error.json"
DIM, CLASSES, TEMPERATURE, MARGIN, NEIGHBOURS = 128, 5, {"supcr": 2.0, "supremix": 0.5}, 0.75, 8


def batch(name: str, n: int) -> tuple[Tensor, Tensor, float]:
    """Embeddings in float32, targets or ranks, and SupReMix's window."""
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(n, DIM, generator=generator)
    if name in ("mmnp", "angular_triangle"):
        return z, torch.randperm(n, generator=generator) % CLASSES, 0.0
    return z, 100 * torch.rand(n, generator=generator), 100 * NEIGHBOURS / n


def supcr(z: Tensor, y: Tensor, i: int, _: float) -> tuple[Tensor, int]:
    """Eq. 1 of anchor i: every positive against all that lie at least as far."""
    others = torch.arange(len(z)) != i
    logits = -(z[i] - z[others]).norm(dim=1) / TEMPERATURE["supcr"]
    distance = (y[i].double() - y[others].double()).abs()
    denominators = (distance >= distance[:, None]).double() @ logits.exp()
    return (denominators.log() - logits).mean(), 1


def mmnp(z: Tensor, y: Tensor, i: int, _: float) -> tuple[Tensor, int]:
    """Eq. 2 of anchor i, the mean over its pairs."""
    cosine = normalize(z) @ normalize(z[i], dim=0)
    positive = (y == y[i]) & (torch.arange(len(z)) != i)
    shifted = (cosine + MARGIN * (y - y[i]).abs())[y != y[i]]
    return (shifted[:, None] - cosine[positive]).relu().mean(), 1


def supremix(z: Tensor, y: Tensor, i: int, window: float) -> tuple[Tensor, int]:
    """Eq. 6 of anchor i without Mix-neg, whose shares are random; 0 where it has no positive."""
    u, difference = normalize(z), y[i].double() - y.double()
    below, above = (difference > 0) & (difference <= window), (difference < 0) & (-difference <= window)
    others = torch.arange(len(z)) != i
    same = (difference == 0) & others
    up, down = -difference[above], difference[below][:, None]
    share = (up / (up + down))[..., None]
    mixed = normalize(share * u[below][:, None] + (1 - share) * u[above], dim=2).flatten(0, 1) @ u[i]
    positive = torch.cat([mixed, u[same] @ u[i]]) / TEMPERATURE["supremix"]
    if len(positive) == 0:
        return z.sum() * 0, 0
    real = (u[others] @ u[i]) / TEMPERATURE["supremix"] + difference[others].abs().log1p()
    return torch.cat([real, mixed / TEMPERATURE["supremix"]]).logsumexp(0) - positive.mean(), 1


def angular_triangle(z: Tensor, y: Tensor, i: int, _: float) -> tuple[Tensor, int]:
    """The squared errors of all triplets around anchor i, and how many there are."""
    u, others = normalize(z), torch.arange(len(z)) != i
    angle = torch.acos(u[others] @ u[i]) / math.pi
    rank = y[others]
    error = (angle - (rank - y[i]).abs().double() / (CLASSES - 1)).square()
    alike = error[rank == y[i]]
    pairs = (alike[:, None] + alike)[~torch.eye(len(alike), dtype=torch.bool)]
    if y[i] > 0:
        ends = error[rank == 0][:, None] + error[rank == CLASSES - 1]
        pairs = torch.cat([pairs, ends.flatten()])
    return pairs.sum(), len(pairs)


LOSSES: dict[str, tuple[Callable[..., tuple[Tensor, int]], Callable[..., Tensor]]] = {
    "supcr": (supcr, lambda z, y, _: functional.supcr(z, y, temperature=TEMPERATURE["supcr"])),
    "mmnp": (mmnp, lambda z, y, _: functional.mmnp(z, y, z.new_full((CLASSES - 1,), MARGIN))),
    "supremix": (
        supremix,
        lambda z, y, window: functional.supremix(
            z, y, temperature=TEMPERATURE["supremix"], window=window, mix_negatives=False, reduction="mean"
        ),
    ),
    "angular_triangle": (angular_triangle, lambda z, y, _: functional.angular_triangle(z, y, CLASSES)),
}


def measure(name: str, n: int) -> float:
    """Norm of the float32 gradient's error relative to that of the gradient."""
    brute_force, loss = LOSSES[name]
    z, y, window = batch(name, n)
    narrow, exact = z.clone().requires_grad_(), z.double().requires_grad_()
    loss(narrow, y, window).backward()
    count = 0
    for i in range(n):
        value, of_anchor = brute_force(exact, y, i, window)
        value.backward()
        count += of_anchor
    assert narrow.grad is not None
    assert exact.grad is not None
    expected = exact.grad / count
    return float((narrow.grad - expected).norm() / expected.norm())


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 1024, 4096])
    parser.add_argument("--losses", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results: dict[str, dict[str, float]] = json.loads(options.results.read_text()) if options.results.exists() else {}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for n in options.sizes:
        for name in options.losses:
            of_loss = results.setdefault(name, {})
            if str(n) not in of_loss:
                of_loss[str(n)] = measure(name, n)
                pending = options.results.with_suffix(".tmp")
                pending.write_text(json.dumps(results, indent=1) + "\n")
                pending.replace(options.results)
                print(f"{name} {n}: {of_loss[str(n)]:.1e}", flush=True)
    sizes = sorted({int(n) for of_loss in results.values() for n in of_loss})
    rows = [
        [name, *(f"{of_loss[str(n)]:.1e}" if str(n) in of_loss else "-" for n in sizes)]
        for name, of_loss in results.items()
    ]
    print(table(["loss", *(f"n = {n}" for n in sizes)], rows))


if __name__ == "__main__":
    main()
