"""Measure how far the gradient of float32 embeddings is from that of a brute force in float64.

    python benchmarks/gradient_error.py [--sizes 256 1024 4096] [--losses supcr mmnp supremix angular_triangle]

At n = 4096 the brute force (anchor_formulas.py) takes minutes per loss. Measurements are kept in the results file and
not repeated.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from anchor_formulas import Formula, angular_triangle, brute_force, mmnp, supcr, supremix
from ordinate import functional
from ordinate.report.text import table
from runs import read, results_of, write

DIM, CLASSES, TEMPERATURE, MARGIN, NEIGHBOURS = 128, 5, {"supcr": 2.0, "supremix": 0.5}, 0.75, 8


LOSSES: dict[str, tuple[Formula, Callable[..., Tensor]]] = {
    "supcr": (supcr, functional.supcr),
    "mmnp": (mmnp, functional.mmnp),
    "supremix": (supremix, partial(functional.supremix, mix_negatives=False, reduction="mean")),
    "angular_triangle": (angular_triangle, functional.angular_triangle),
}


def batch(name: str, n: int) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Embeddings in float32, targets or ranks, and the options of the loss."""
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(n, DIM, generator=generator)
    if name in ("mmnp", "angular_triangle"):
        ranks = torch.randperm(n, generator=generator) % CLASSES
        return z, ranks, {"margins": torch.full((CLASSES - 1,), MARGIN)} if name == "mmnp" else {"num_classes": CLASSES}
    only_supremix = {"window": 100 * NEIGHBOURS / n, "label_range": 100.0} if name == "supremix" else {}
    targets = 100 * torch.rand(n, generator=generator)
    return z, targets, {"temperature": TEMPERATURE[name], **only_supremix}


def measure(name: str, n: int) -> float:
    """Norm of the float32 gradient's error relative to that of the gradient."""
    formula, loss = LOSSES[name]
    z, y, options = batch(name, n)
    narrow = z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(narrow, y, **options), narrow)
    _, (expected,) = brute_force(formula, z.double().requires_grad_(), y, **options)
    return float((gradient - expected).norm() / expected.norm())


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 1024, 4096])
    parser.add_argument("--losses", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    options = parser.parse_args()
    file = results_of(__file__)
    results: dict[str, dict[str, float]] = read(file) or {}
    for n in options.sizes:
        for name in options.losses:
            of_loss = results.setdefault(name, {})
            if str(n) not in of_loss:
                of_loss[str(n)] = measure(name, n)
                write(file, results)
                print(f"{name} {n}: {of_loss[str(n)]:.1e}", flush=True)
    sizes = sorted({int(n) for of_loss in results.values() for n in of_loss})
    rows = [
        [name, *(f"{of_loss[str(n)]:.1e}" if str(n) in of_loss else "-" for n in sizes)]
        for name, of_loss in results.items()
    ]
    print(table(["loss", *(f"n = {n}" for n in sizes)], rows))


if __name__ == "__main__":
    main()
