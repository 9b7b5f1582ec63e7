"""Batches of extreme values: a loss gives a finite value and gradient, or says which limit was passed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attack_trial import Outcome, refusal_of
from ordinate import functional

Random = np.random.Generator
SCALES = (
    1e-320,
    1e-310,
    1e-200,
    1e-160,
    1e-45,
    1e-38,
    1e-20,
    1e-7,
    1e-3,
    1.0,
    1e3,
    6e4,
    1e8,
    1e19,
    1e38,
    1e150,
    1e200,
    1e308,
)
DTYPES = (torch.float64, torch.float64, torch.float32, torch.float32, torch.float16, torch.bfloat16)
NUMBERS = (1e-300, 1e-30, 1e-9, 1e-3, 0.05, 0.5, 2.0, 50.0, 1e4, 1e12, 1e300)
NAMES = (
    "embeddings",
    "labels",
    "temperature",
    "margins",
    "weights",
    "window",
    "label_range",
    "ref_",
)  # that errors have


class Losses:
    """Batches of all losses, some of whose values are extreme."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Nothing is kept."""

    def draw(self, random: Random) -> tuple[str, Callable[[], Outcome]]:
        """Return what is tried, and the trial."""
        name = str(random.choice(["supcr", "mmnp", "supremix", "angular_triangle"]))
        embeddings, what = _embeddings(random)
        labels, of_labels = _labels(random, len(embeddings), ranks=name in ("mmnp", "angular_triangle"))
        options = {**OPTIONS[name](random), **_shared(random, embeddings, labels, name)}
        shown = {key: value for key, value in options.items() if not isinstance(value, Tensor)}
        return f"{name}: {what}; {of_labels}; {shown}", lambda: _outcome(name, embeddings, labels, options)


def _embeddings(random: Random) -> tuple[Tensor, str]:
    n, d = int(random.integers(3, 24)), int(random.choice([2, 3, 16]))
    scale, dtype = float(random.choice(SCALES)), DTYPES[random.integers(len(DTYPES))]
    x = random.normal(size=(n, d))
    kind = str(
        random.choice(["any", "equal", "a zero row", "two points", "mixed scales", "one direction", "offset", "sparse"])
    )
    if kind == "equal":
        x[:] = x[0]
    elif kind == "a zero row":
        x[random.integers(n)] = 0
    elif kind == "two points":
        x[: n // 2], x[n // 2 :] = x[0], x[-1]
    elif kind == "mixed scales":
        x *= random.choice(SCALES, (n, 1)) / scale
    elif kind == "one direction":
        x = x[:1] * random.normal(size=(n, 1))
    elif kind == "offset":
        x += 1e9
    elif kind == "sparse":
        x *= random.random((n, d)) < 0.3
    with np.errstate(over="ignore", under="ignore"):
        values = torch.from_numpy(x * scale).to(dtype)
    return values.requires_grad_(), f"{n} x {d} {dtype}, {kind}, scale {scale:g}"


def _labels(random: Random, n: int, *, ranks: bool) -> tuple[Tensor, str]:
    dtype = (torch.int64, torch.uint8, torch.float32, torch.float64, torch.float16)[random.integers(5)]
    drawn = torch.from_numpy(random.integers(0, 5, n))
    if ranks or dtype in (torch.int64, torch.uint8):
        return drawn.to(dtype), f"ranks as {dtype}"
    scale = float(random.choice(SCALES))
    with np.errstate(over="ignore", under="ignore"):
        values = torch.from_numpy(random.normal(size=n) * scale)
    values = values.to(dtype)
    return torch.where(drawn == 0, values[0], values), f"targets as {dtype}, scale {scale:g}"


OPTIONS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "supcr": lambda random: {
        "temperature": float(random.choice(NUMBERS)),
        "similarity": str(random.choice(["neg_l2", "neg_l1", "cosine"])),
        "label_distance": str(random.choice(["l1", "l2"])),
        "num_positives": [None, None, 1, 2][random.integers(4)],
    },
    "mmnp": lambda random: {"margins": torch.from_numpy(random.choice(NUMBERS, 4)).requires_grad_()},
    "supremix": lambda random: {
        "temperature": float(random.choice(NUMBERS)),
        "window": float(random.choice([1e-3, 1.0, 3.0, 1e30])),
        "label_range": [None, None, 1e-200, 1e200][random.integers(4)],
        "renormalize": bool(random.integers(2)),
        "generator": torch.Generator().manual_seed(int(random.integers(2**31))),
    },
    "angular_triangle": lambda _: {"num_classes": 5},
}


def _shared(random: Random, embeddings: Tensor, labels: Tensor, name: str) -> dict[str, Any]:
    """Return options that all losses have: weights, references, a reduction."""
    n, options = len(embeddings), dict[str, Any]()
    if random.random() < 0.3:
        scale = random.choice([1e-300, 1e-30, 1.0, 1e30, 1e300])
        options["weights"] = torch.from_numpy(random.random(n) * scale)
    if random.random() < 0.3:
        rows = torch.from_numpy(random.integers(0, n, n + 3))
        options |= {"ref_emb": embeddings.detach()[rows], "ref_labels": labels[rows]}
    reductions = ["none", "pair_mean" if name == "mmnp" else "mean"]
    return options | {"reduction": str(random.choice(reductions))}


def _outcome(name: str, embeddings: Tensor, labels: Tensor, options: dict[str, Any]) -> Outcome:
    try:
        value = getattr(functional, name)(embeddings, labels, **options)
        value.sum().backward()
    except Exception as error:  # which is what is looked for
        return refusal_of(error, *NAMES)
    leaves = [x for x in (embeddings, *options.values()) if isinstance(x, Tensor) and x.requires_grad]
    for what, x in (("value", value), *(("gradient", x.grad) for x in leaves)):
        if x is None or not bool(x.isfinite().all()):
            if what == "gradient" and embeddings.dtype == torch.float16:  # by whose infinity loss scaling goes
                return _outcome(name, embeddings.detach().float().requires_grad_(), labels, options)
            return "not finite", f"its {what} is {x}"
    return "finite", ""
