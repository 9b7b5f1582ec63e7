"""What weight decay belongs to, that every step of a training moves what it trains, and by PyTorch's own formulas."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from ordinate.encoders.mlp import PeriodicEmbedding
from ordinate.methods import CLOC, Optimization
from ordinate.training.adam import FusedAdam
from ordinate.training.optimization import undecayed_parameters
from tests.methods.every_method import METHODS
from tests.methods.examples import DIM, encoder, ranks, train, watch


@pytest.mark.parametrize("build", METHODS.values(), ids=METHODS)
def test_a_single_step_trains_every_stage(build):
    method, data = build()
    watched = watch(method, data, batch_size=len(data))
    assert len(watched.rates) == len(method.stages)
    assert watched.changes("") == [True] * len(method.stages)
    assert all(rate > 0 for rate in watched.rates)


class Tokens(nn.Module):
    """Names what has no decay, as networks of timm do."""

    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.ones(2, 3))
        self.table = nn.Parameter(torch.ones(2, 3))

    def no_weight_decay(self):
        return {"place"}


def names_of(parameters, module):
    wanted = {id(parameter) for parameter in parameters}
    return {name for name, parameter in module.named_parameters() if id(parameter) in wanted}


def test_biases_gains_and_what_a_module_names_have_no_decay_and_matrices_have():
    module = nn.ModuleDict(
        {"linear": nn.Linear(3, 4), "norm": nn.LayerNorm(4), "waves": PeriodicEmbedding(3, [0, 2]), "deep": Tokens()}
    )
    undecayed = {"linear.bias", "norm.weight", "norm.bias", "waves.bias", "deep.place"}
    assert names_of(undecayed_parameters(module), module) == undecayed
    assert module["waves"].bias.ndim == 2  # known by its name, not by its shape
    decayed, others = (
        Optimization("adamw", 1e-3, 7.0).build(module.parameters(), undecayed_parameters(module)).param_groups
    )
    assert (decayed["weight_decay"], others["weight_decay"]) == (7.0, 0.0)
    assert names_of(others["params"], module) == undecayed
    assert names_of(decayed["params"], module) == {name for name, _ in module.named_parameters()} - undecayed


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [("adamw", {}), ("adamw", {"margins": {(1, 2): 0.9}}), ("adam", {"shared": True}), ("sgd", {"floor": 0.4})],
)
def test_margins_without_a_gradient_stay_where_they_are(optimizer, options):
    heavy = Optimization(optimizer, 1e-2, 3.0)
    method = CLOC(encoder(), DIM, 4, mmnp_weight=0.0, phase_epochs=(2, 2), optimization=heavy, **options)
    before = method.mmnp.raw.detach().clone()
    train(method, ranks())
    assert torch.equal(method.mmnp.raw, before)


AS_PYTORCH_HAS_IT = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": partial(torch.optim.SGD, momentum=0.9),
}


@pytest.mark.parametrize("optimizer", AS_PYTORCH_HAS_IT)
def test_steps_on_the_processor_are_those_of_pytorch(optimizer):
    torch.manual_seed(0)
    ours = [nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in ((5, 3), (5,), ())]
    theirs = [nn.Parameter(parameter.detach().clone()) for parameter in ours]
    stepped = Optimization(optimizer, 1e-2, 0.3).build(ours, undecayed=ours[1:])
    groups = [{"params": theirs[:1], "weight_decay": 0.3}, {"params": theirs[1:], "weight_decay": 0.0}]
    expected = AS_PYTORCH_HAS_IT[optimizer](groups, lr=1e-2)
    assert isinstance(stepped, FusedAdam) == (optimizer != "sgd")
    for step in range(20):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        for each in (stepped, expected):
            each.param_groups[0]["lr"] = 1e-2 / (1 + step)
            each.step()
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.allclose(mine, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_fused_steps_are_those_of_pytorch_bit_for_bit_also_after_a_state_was_restored(optimizer):
    torch.manual_seed(0)
    ours = [nn.Parameter(torch.randn(shape)) for shape in ((5, 3), (5,))]
    theirs = [nn.Parameter(parameter.detach().clone()) for parameter in ours]
    stepped = Optimization(optimizer, 1e-2, 0.3).build(ours)
    expected = AS_PYTORCH_HAS_IT[optimizer](theirs, lr=1e-2, weight_decay=0.3, fused=True)
    for step in range(6):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        if step < 3:  # A parameter without a gradient stays.
            ours[1].grad = theirs[1].grad = None
        stepped.step()
        expected.step()
        state = copy.deepcopy(stepped.state_dict())
        stepped = Optimization(optimizer, 1e-2, 0.3).build(ours)
        stepped.load_state_dict(state)
    assert all(map(torch.equal, ours, theirs))


def test_sparse_gradients_are_steps_of_sgd():
    words = nn.Embedding(5, 2, sparse=True)
    before = words.weight.detach().clone()
    optimizer = Optimization("sgd", 0.1, 0.0).build(words.parameters())
    words(torch.tensor([3])).sum().backward()
    optimizer.step()
    assert ((words.weight != before).any(dim=1) == torch.arange(5).eq(3)).all()
