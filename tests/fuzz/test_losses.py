"""A loss of extreme values is finite, with a finite gradient, or an error names the argument that passed a limit."""

import numpy as np
import pytest
import torch

from ordinate import functional
from tests.fuzz.damage import pick
from tests.fuzz.trials import seeds, succeeds_or_is_refused

SCALES = [
    1e-320, 1e-310, 1e-200, 1e-160, 1e-45, 1e-38, 1e-20, 1e-7, 1e-3, 1.0, 1e3, 6e4, 1e8, 1e19, 1e38, 1e150, 1e200,
    1e308,
]  # fmt: skip
NUMBERS = [1e-300, 1e-30, 1e-9, 1e-3, 0.05, 0.5, 2.0, 50.0, 1e4, 1e12, 1e300]
NAMES = ("embeddings", "labels", "temperature", "margins", "weights", "window", "label_range", "ref_")
EMBEDDINGS = {
    "any": lambda x, random: x,
    "equal": lambda x, random: x[:1].repeat(len(x), axis=0),
    "a zero row": lambda x, random: x * (np.arange(len(x)) != random.integers(len(x)))[:, None],
    "two points": lambda x, random: x[np.arange(len(x)) % 2],
    "mixed scales": lambda x, random: x * random.choice(SCALES, (len(x), 1)),
    "one direction": lambda x, random: x[:1] * random.normal(size=(len(x), 1)),
    "offset": lambda x, random: x + 1e9,
    "sparse": lambda x, random: x * (random.random(x.shape) < 0.3),
}
OPTIONS = {
    "supcr": lambda random: {
        "temperature": pick(random, NUMBERS),
        "similarity": pick(random, ["neg_l2", "neg_l1", "cosine"]),
        "label_distance": pick(random, ["l1", "l2"]),
        "num_positives": pick(random, [None, None, 1, 2]),
    },
    "mmnp": lambda random: {"margins": torch.from_numpy(random.choice(NUMBERS, 4)).requires_grad_()},
    "supremix": lambda random: {
        "temperature": pick(random, NUMBERS),
        "window": pick(random, [1e-3, 1.0, 3.0, 1e30]),
        "label_range": pick(random, [None, None, 1e-200, 1e200]),
        "renormalize": pick(random, [True, False]),
        "generator": torch.Generator().manual_seed(int(random.integers(2**31))),
    },
    "angular_triangle": lambda random: {"num_classes": 5},
}


@pytest.mark.parametrize("seed", seeds(quick=6, thorough=120))
@pytest.mark.parametrize("name", OPTIONS)
def test_a_loss_is_finite_or_refused(name, seed):
    for trial in range(25):
        random = np.random.default_rng([seed, trial])
        with np.errstate(over="ignore", under="ignore"):
            embeddings = draw_embeddings(random)
            labels = draw_labels(random, len(embeddings), ranks=name in ("mmnp", "angular_triangle"))
        options = OPTIONS[name](random) | draw_shared_options(name, random, embeddings, labels)
        with succeeds_or_is_refused(*NAMES):
            check(name, embeddings, labels, options)


def check(name, embeddings, labels, options):
    """Compute the loss and its gradients, and see that all are finite."""
    value = getattr(functional, name)(embeddings, labels, **options)
    value.sum().backward()
    assert value.isfinite().all()
    if embeddings.dtype == torch.float16 and not embeddings.grad.isfinite().all():
        # The scaling of losses relies on infinite gradients in float16, so the check goes on in float32.
        check(name, embeddings.detach().float().requires_grad_(), labels, options)
        return
    assert embeddings.grad.isfinite().all()
    if "margins" in options:
        assert options["margins"].grad.isfinite().all()


def draw_embeddings(random):
    x = random.normal(size=(random.integers(3, 24), pick(random, [2, 3, 16])))
    x = EMBEDDINGS[pick(random, list(EMBEDDINGS))](x, random) * pick(random, SCALES)
    dtypes = [torch.float64, torch.float64, torch.float32, torch.float32, torch.float16, torch.bfloat16]
    return torch.from_numpy(x).clamp(-1e308, 1e308).to(pick(random, dtypes)).requires_grad_()


def draw_labels(random, n, *, ranks):
    dtype = pick(random, [torch.int64, torch.uint8, torch.float32, torch.float64, torch.float16])
    drawn = torch.from_numpy(random.integers(0, 5, n))
    if ranks or dtype in (torch.int64, torch.uint8):
        return drawn.to(dtype)
    targets = torch.from_numpy(random.normal(size=n) * pick(random, SCALES)).to(dtype)
    return torch.where(drawn == 0, targets[0], targets)


def draw_shared_options(name, random, embeddings, labels):
    """Return options that all losses have: weights, references and a reduction."""
    n = len(embeddings)
    options = {"reduction": pick(random, ["none", "pair_mean" if name == "mmnp" else "mean"])}
    if random.random() < 0.3:
        options["weights"] = torch.from_numpy(random.random(n) * pick(random, [1e-300, 1e-30, 1.0, 1e30, 1e300]))
    if random.random() < 0.3:
        rows = torch.from_numpy(random.integers(0, n, n + 3))
        options |= {"ref_emb": embeddings.detach()[rows], "ref_labels": labels[rows]}
    return options
