"""The losses' kernels against brute force in float64: value and gradients, of typical batches and of awkward ones."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from anchor_formulas import Formula, angular_triangle, brute_force, mmnp, supcr, supremix
from ordinate import functional, kernels

CLASSES, TARGETS = 5, 100.0
SIZES = ((19, 3), (257, 65), (1025, 128), (2049, 512))  # (n, d); 1024 columns are a kernel's chunk
AWKWARD = (300, 33)
SMOKE_SIZES, SMOKE_AWKWARD, SMOKE_CASES = ((13, 3),), (11, 3), ("typical", "ties", "mixtures as they are")
EMBEDDINGS = ("embeddings", "ref_emb")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
VALUE_TOLERANCE = 1e-5  # Values are computed in float32.
# Each allows half a unit in the last place.
GRADIENT_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float16: 5e-4}


@dataclass(frozen=True)
class Case:
    """A batch, and the options of the loss."""

    name: str
    z: Tensor
    y: Tensor
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Loss:
    """A loss, its formula, the options of both, and those of the loss alone."""

    fast: Callable[..., Tensor]
    formula: Formula
    ranks: bool
    options: dict[str, Any]
    fast_options: dict[str, Any] = field(default_factory=dict)


LOSSES = {
    "supcr": Loss(functional.supcr, supcr, False, {"temperature": 2.0}),
    "mmnp": Loss(functional.mmnp, mmnp, True, {"margins": torch.tensor([0.3, 0.6, 0.5, 0.9])}),
    "supremix": Loss(
        functional.supremix, supremix, False, {"temperature": 0.5, "label_range": TARGETS}, {"reduction": "mean"}
    ),
    "angular_triangle": Loss(functional.angular_triangle, angular_triangle, True, {"num_classes": CLASSES}),
}


def check(name: str, device: str, end: float, *, smoke: bool) -> Iterator[dict[str, Any]]:
    """Compare the kernels of a loss with brute force and yield a row per case, until the time is over."""
    loss = LOSSES[name]
    for case, dtype in _cases(name, loss, smoke=smoke):
        if time.monotonic() > end:
            break
        yield _compare(loss, case, dtype, device, on_a_processor=smoke)


def _cases(name: str, loss: Loss, *, smoke: bool) -> Iterator[tuple[Case, torch.dtype]]:
    """Yield what awkward batches there are in float32, and typical ones in every dtype, the smallest first."""
    for case in _awkward_cases(name, loss, *(SMOKE_AWKWARD if smoke else AWKWARD)):
        if not smoke or case.name in SMOKE_CASES:
            yield case, torch.float32
    for size in SMOKE_SIZES if smoke else SIZES:
        for dtype in DTYPES:
            yield _draw(loss, *size), dtype


def _draw(loss: Loss, n: int, d: int) -> Case:
    """Return a typical batch: targets that differ, or ranks of about equal sizes."""
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(n, d, generator=generator)
    y = torch.randperm(n, generator=generator) % CLASSES if loss.ranks else TARGETS * torch.rand(n, generator=generator)
    return Case("typical", z, y, _window(loss, n) | _shares(loss, n, n))


def _window(loss: Loss, n: int) -> dict[str, Any]:
    return {"window": TARGETS * 4 / n} if loss.formula is supremix else {}


def _shares(loss: Loss, n: int, m: int) -> dict[str, Any]:
    if loss.formula is not supremix:
        return {}
    return {"neg_mix": torch.rand(n, m, generator=torch.Generator().manual_seed(n + m))}


def _awkward_cases(name: str, loss: Loss, n: int, d: int) -> Iterator[Case]:
    usual = _draw(loss, n, d)
    z, y, options = usual.z, usual.y, usual.options
    ranks = torch.arange(n) % CLASSES
    m = n - 5
    references = {"ref_emb": z[5:] + torch.roll(z, 1, 0)[5:], "ref_labels": y[5:]} | _shares(loss, n, m)
    yield Case("weights", z, y, options | {"weights": torch.linspace(0, 2, n)})
    yield Case("references", z, y, options | references)
    views = (z[: n // 2].repeat_interleave(2, 0) + 0.1 * z[: n // 2 * 2], y[: n // 2].repeat_interleave(2))
    yield Case("two views", *views, options | _shares(loss, n // 2 * 2, n // 2 * 2))
    if loss.ranks:
        yield Case("a rank missing", z, torch.where(ranks == 2, 3, ranks), options)
        lonely = torch.where(ranks == 2, 3, ranks).index_fill(0, torch.tensor(4), 2)
        yield Case("a rank of one sample", z, lonely, options)
        yield Case("two ranks", z, torch.where(ranks < 2, 0, 4), options)
    else:
        tied = options | ({"window": 1.5} if name == "supremix" else {})
        yield Case("ties", z, ranks.float(), tied)
    if name == "supcr":
        yield Case("one label", z, torch.zeros(n), options)
        yield Case("mirror images", z, torch.arange(n) * 0.5, options)
        yield Case("far apart", 100 * z, y, options)
        yield Case("close together", 1e-3 * z, y, options)
    if name == "supremix":
        yield Case("mixtures as they are", z, y, options | {"renormalize": False})
        yield Case("mixtures detached", z, y, options | {"detach_mixtures": True})
        yield Case("cold", z, y, options | {"temperature": 1 / 40})


def _compare(loss: Loss, case: Case, dtype: torch.dtype, device: str, *, on_a_processor: bool) -> dict[str, Any]:
    """Return a row: relative errors of value and gradients; brute force gets the same rounded embeddings."""
    given = {"embeddings": case.z, "labels": case.y, **loss.options, **case.options}
    given = {name: value.to(device) if isinstance(value, Tensor) else value for name, value in given.items()}
    given |= {name: given[name].to(dtype) for name in EMBEDDINGS if name in given}
    leaves = [name for name in (*EMBEDDINGS, "margins") if name in given]
    narrow = given | {name: given[name].clone().requires_grad_() for name in leaves}
    exact = given | {name: given[name].double().requires_grad_() for name in leaves}

    expected, gradients = brute_force(loss.formula, **exact)
    # Scale the gradients as a gradient scaler does for float16.
    scale = 2.0 ** -math.ceil(math.log2(float(gradients[0].abs().max())))
    with _counted_rows(on_a_processor=on_a_processor) as rows:
        value = loss.fast(**narrow, **loss.fast_options)
        scaled = torch.autograd.grad(scale * value, [narrow[name] for name in leaves])
    value_error = _relative_error(value.detach(), expected)
    gradient_error = max(
        _relative_error(ours.double() / scale, its) for ours, its in zip(scaled, gradients, strict=True)
    )
    return {
        "case": case.name, "n": len(case.z), "d": case.z.shape[1], "dtype": str(dtype).removeprefix("torch."),
        "value error": value_error,
        "gradient error": gradient_error, "rows in kernels": sum(rows),
        "right": value_error <= VALUE_TOLERANCE and gradient_error <= GRADIENT_TOLERANCE[dtype],
    }  # fmt: skip


def _relative_error(ours: Tensor, its: Tensor) -> float:
    """Norm of the difference relative to that of brute force; what is not finite is infinitely wrong."""
    error = float((ours.double() - its).norm() / its.norm().clamp(min=1e-30))
    return error if math.isfinite(error) else math.inf


@contextmanager
def _counted_rows(*, on_a_processor: bool) -> Iterator[list[int]]:
    """Yield how many rows each use of the kernels is for; on a processor they are made to run in the interpreter."""
    rows: list[int] = []
    uses_triton, numba = kernels.uses_triton, kernels.NUMBA

    def counted(block: Tensor) -> bool:
        used = on_a_processor or uses_triton(block)
        rows.append(len(block) if used else 0)
        return used

    kernels.uses_triton = counted
    kernels.NUMBA = numba and not on_a_processor
    try:
        yield rows
    finally:
        kernels.uses_triton, kernels.NUMBA = uses_triton, numba
