"""Losses in several real processes: the value and every gradient are those of one process on the joined batch."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ordinate import functional
from ordinate.functional.global_batch import gathered, this_process_alone
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss
from tests import processes
from tests.pairwise import covering

N = 24
X = torch.randn(N, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
RANKS = torch.tensor([0, 1, 2, 3] * (N // 4))
WEIGHTS = torch.linspace(0.1, 2, N, dtype=torch.float64)
SHARES = {2: {"equal": [12, 12], "unequal": [19, 5]}, 4: {"equal": [6] * 4, "unequal": [11, 1, 9, 3]}}
LOSSES = {
    "supcr": SupCRLoss,
    "supcr_cosine": lambda **options: SupCRLoss(similarity="cosine", temperature=0.3, **options),
    "mmnp": lambda **options: MMNPLoss(4, **({"reduction": "pair_mean"} | options)),
    "supremix": lambda **options: SupReMixLoss(
        temperature=0.5, window=2.0, mix_negatives=False, **({"reduction": "mean"} | options)
    ),
    "angular_triangle": lambda **options: AngularTriangleLoss(4, **options),
}


class Model(nn.Module):
    """Encoder, loss and, where they are learned, weights in one: the gradients of all are averaged over processes."""

    def __init__(self, name, options, weighting):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()
        self.loss = LOSSES[name](**options).double()
        self.learned = nn.Sequential(nn.Linear(5, 1), nn.Softplus()).double() if weighting == "learned" else None

    def forward(self, x, y, weights):
        if self.learned is not None:
            weights = weights * self.learned(x)[:, 0]
        return self.loss(self.encoder(x), y, weights=weights)


def two_steps(model, x, y, weights):
    """The loss and the gradients of two steps."""
    outcomes = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(x, y, weights)
        loss.backward()
        outcomes.append([loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
        optimizer.step()
    return outcomes


CASES = list(product(LOSSES, ("default", "sum"), ("plain", "weights", "learned")))
USUAL = covering([dict(enumerate(case)) for case in CASES])


def every_case(rank, shares, cases):
    start = sum(shares[:rank])
    mine = slice(start, start + shares[rank])
    outcomes = {}
    for case in cases:
        name, reduction, weighting = case
        options = {} if reduction == "default" else {"reduction": reduction}
        model = DistributedDataParallel(Model(name, options, weighting))
        outcomes[case] = two_steps(model, X[mine], RANKS[mine], None if weighting == "plain" else WEIGHTS[mine])
    return outcomes


@pytest.fixture(
    scope="module",
    params=[
        (2, "unequal"),
        *(pytest.param(case, marks=pytest.mark.thorough) for case in [(2, "equal"), (4, "equal"), (4, "unequal")]),
    ],
    ids=str,
)
def outcomes(request, tmp_path_factory):
    count, kind = request.param
    folder = tmp_path_factory.mktemp("processes") / "meeting"
    here = (item for item in request.session.items if getattr(item, "module", None) is request.module)
    cases = sorted({item.callspec.params["case"] for item in here if "outcomes" in item.fixturenames})
    return processes.together(count, every_case, folder, SHARES[count][kind], cases)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if i in USUAL else pytest.mark.thorough, id="-".join(case))
        for i, case in enumerate(CASES)
    ],
)
def test_loss_and_gradients_are_those_of_the_joined_batch(outcomes, case):
    name, reduction, weighting = case
    options = {} if reduction == "default" else {"reduction": reduction}
    expected = two_steps(Model(name, options, weighting), X, RANKS, None if weighting == "plain" else WEIGHTS)
    for of_process in outcomes:
        for step, wanted in zip(of_process[case], expected, strict=True):
            for value, single in zip(step, wanted, strict=True):
                torch.testing.assert_close(value, single, rtol=1e-9, atol=1e-11)


def without_reduction(rank):
    mine = slice(0, 10) if rank == 0 else slice(10, N)
    z = X[mine].clone().requires_grad_()
    values = SupCRLoss(reduction="none")(z, RANKS[mine])
    with this_process_alone():
        alone = SupCRLoss()(z, RANKS[mine]).detach()
    references = SupCRLoss()(z, RANKS[mine], ref_emb=X, ref_labels=RANKS).detach()
    local = SupCRLoss(gather_distributed=False)(z, RANKS[mine]).detach()
    drawing = {"generator": torch.Generator().manual_seed(0), "group": torch.distributed.group.WORLD}
    mixed = functional.supremix(z, RANKS[mine], temperature=0.5, window=2.0, reduction="none", **drawing)
    return {"none": values.detach(), "alone": alone, "references": references, "local": local, "mixed": mixed.detach()}


def test_what_is_asked_of_one_process_is_its_own(tmp_path):
    outcomes = processes.together(2, without_reduction, tmp_path / "meeting")
    joined = torch.cat([outcome["none"] for outcome in outcomes])
    torch.testing.assert_close(joined, functional.supcr(X, RANKS, reduction="none"))
    for mine, outcome in zip((slice(0, 10), slice(10, N)), outcomes, strict=True):
        for kind in ("alone", "local"):
            torch.testing.assert_close(outcome[kind], functional.supcr(X[mine], RANKS[mine]))
        contrasted = functional.supcr(X[mine], RANKS[mine], ref_emb=X, ref_labels=RANKS)
        torch.testing.assert_close(outcome["references"], contrasted)
    assert not torch.isclose(outcomes[0]["mixed"][0], outcomes[1]["mixed"][0])  # shares are drawn anew in each


def rows_of_all(rank):
    labels = torch.arange(rank + 1)[:, None].expand(-1, 2) + 10 * rank
    return gathered(labels, torch.distributed.group.WORLD)


def test_rows_of_all_processes_stand_in_their_order(tmp_path):
    outcomes = processes.together(4, rows_of_all, tmp_path / "meeting")
    expected = torch.cat([torch.arange(rank + 1)[:, None].expand(-1, 2) + 10 * rank for rank in range(4)])
    for (rows, start), first in zip(outcomes, (0, 1, 3, 6), strict=True):
        assert torch.equal(rows, expected)
        assert start == first
