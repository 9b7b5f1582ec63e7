"""The formulas of one anchor at a time against those of one index at a time."""

import pytest
import torch

import anchor_formulas
from tests.functional import brute_force

N, M = 11, 9
RANKS = torch.arange(N) % 4
TARGETS = torch.linspace(0, 1, N).square() * 10
WEIGHTS = torch.linspace(0, 2, N, dtype=torch.float64)
NEG_MIX = torch.rand(N, N, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
SUPREMIX = {"temperature": 0.5, "window": 4.0, "label_range": 10.0}
CASES = {
    "supcr": ("supcr", TARGETS, {"temperature": 2.0}),
    "supcr, ties": ("supcr", RANKS, {"temperature": 0.5}),
    "mmnp": ("mmnp", RANKS, {"margins": torch.tensor([0.3, 0.9, 0.5], dtype=torch.float64, requires_grad=True)}),
    "supremix": ("supremix", TARGETS, SUPREMIX),
    "supremix, ties": ("supremix", RANKS, {**SUPREMIX, "renormalize": False}),
    "supremix, detached": ("supremix", TARGETS, {**SUPREMIX, "detach_mixtures": True}),
    "otd": ("angular_triangle", RANKS, {"num_classes": 4}),
}


@pytest.mark.parametrize("among_references", [False, True], ids=["batch", "references"])
@pytest.mark.parametrize(("name", "labels", "options"), CASES.values(), ids=CASES)
def test_they_agree(name, labels, options, among_references):
    z, refs = brute_force.embeddings(N), brute_force.embeddings(M, seed=1)
    references = {"ref_emb": refs, "ref_labels": labels[-M:]} if among_references else {}
    if name == "supremix":
        options = {**options, "neg_mix": NEG_MIX[:, : M if among_references else N]}
    value, gradients = anchor_formulas.brute_force(
        getattr(anchor_formulas, name), z, labels, weights=WEIGHTS, **references, **options
    )
    mean = {"reduction": "pair_mean" if name == "mmnp" else "mean"}
    expected = getattr(brute_force, name)(z, labels, weights=WEIGHTS, **references, **options, **mean)
    leaves = [z, *([refs] if among_references else []), *([options["margins"]] if name == "mmnp" else [])]
    torch.testing.assert_close(value, expected.detach(), rtol=1e-12, atol=0)
    torch.testing.assert_close(gradients, list(torch.autograd.grad(expected, leaves)), rtol=0, atol=1e-12)
