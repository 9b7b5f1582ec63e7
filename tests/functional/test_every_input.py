"""Every tensor that requires a gradient gets that of brute force, whichever of the others require one."""

from itertools import combinations

import pytest
import torch

from ordinate import functional
from ordinate.errors import OrdinateError
from tests.functional import brute_force
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.every_loss import for_every_loss

RANKS = torch.tensor([0, 1, 2, 2, 1, 0])
REFERENCE_RANKS = torch.tensor([0, 0, 1, 2, 2])
MARGINS = torch.tensor([0.6, 0.9], dtype=torch.float64)
NEG_MIX = {"batch": torch.full((6, 6), 0.3), "references": torch.full((6, 5), 0.3)}
CALLS = {
    "supcr": lambda module, given, _: module.supcr(given.pop("embeddings"), RANKS, **given),
    "supcr_cosine": lambda module, given, _: module.supcr(
        given.pop("embeddings"), RANKS, similarity="cosine", temperature=0.5, **given
    ),
    "mmnp": lambda module, given, _: module.mmnp(given.pop("embeddings"), RANKS, given.pop("margins"), **given),
    "supremix": lambda module, given, against: module.supremix(
        given.pop("embeddings"),
        RANKS,
        temperature=0.5,
        window=1.0,
        neg_mix=NEG_MIX[against],
        **{"reduction": "mean"} | given,
    ),
    "angular_triangle": lambda module, given, _: module.angular_triangle(given.pop("embeddings"), RANKS, 3, **given),
}
TENSORS = {
    "embeddings": brute_force.embeddings(6).detach(),
    "ref_emb": brute_force.embeddings(5, seed=1).detach(),
    "weights": torch.tensor([0.5, 2.0, 1.0, 0.3, 1.5, 0.7], dtype=torch.float64),
    "margins": MARGINS,
}


def subsets(names):
    return [chosen for count in range(1, len(names) + 1) for chosen in combinations(names, count)]


CASES = [
    (loss, against, chosen)
    for loss in CALLS
    for against in ("batch", "references")
    for chosen in subsets(
        ["embeddings", "weights"]
        + (["ref_emb"] if against == "references" else [])
        + (["margins"] if loss == "mmnp" else [])
    )
]


@pytest.mark.pairwise
@pytest.mark.parametrize("reduction", ["default", "sum", "none"])
@pytest.mark.parametrize(
    ("loss", "against", "chosen"), CASES, ids=lambda value: "-".join([value] * isinstance(value, str) or value)
)
def test_every_set_of_inputs_that_require_a_gradient_gets_that_of_brute_force(loss, against, chosen, reduction):
    outcomes = []
    for module in (functional, brute_force):
        given = {name: tensor.clone().requires_grad_(name in chosen) for name, tensor in TENSORS.items()}
        leaves = [given[name] for name in chosen]
        if loss != "mmnp":
            del given["margins"]
        if against == "batch":
            del given["ref_emb"]
        else:
            given["ref_labels"] = REFERENCE_RANKS
        options = {} if reduction == "default" else {"reduction": reduction}
        value = CALLS[loss](module, given | options, against)
        direction = torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
        outcomes.append([value, *torch.autograd.grad((value * direction).sum(), leaves)])
    for fast, slow in zip(*outcomes, strict=True):
        torch.testing.assert_close(fast, slow, rtol=0, atol=1e-9)


@for_every_loss
def test_labels_that_require_a_gradient_are_an_error(loss):
    z = brute_force.embeddings(6)
    with pytest.raises(OrdinateError, match=r"^labels: got a tensor that requires a gradient"):
        loss(z, RANKS.double().requires_grad_())


def test_shares_that_require_a_gradient_are_an_error():
    shares = torch.full((6, 6), 0.3, requires_grad=True)
    with pytest.raises(OrdinateError, match=r"^neg_mix: got a tensor that requires a gradient"):
        functional.supremix(brute_force.embeddings(6), RANKS, temperature=0.5, window=1.0, neg_mix=shares)
