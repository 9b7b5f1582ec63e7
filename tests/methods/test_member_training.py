"""The loop of a blend's networks: its optimizer is PyTorch's, and parts of a batch have the gradients of the whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from ordinate.methods.member_training import AdamW, FoldBatches, LoopOptions, _Training

from ordinate.data.samplers import ShuffledBatches
from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder, MemberEncoder, MemberLinear
from ordinate.methods.members import RankMembers, TargetMembers
from ordinate.training.optimization import Optimization, undecayed_parameters
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until


def members(ranks):
    torch.manual_seed(0)
    head = BlendHead(MemberLinear(4, 8, ranks or 1), ranks)
    return (RankMembers if ranks else TargetMembers)(
        BlendEncoder(MemberEncoder(5, 8, 4, numeric=[0, 1])), head, epochs=2
    )


def training(module, rows, ranks, batch_size):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 5, generator=generator)
    y = torch.randint(ranks, (rows,), generator=generator) if ranks else torch.randn(rows, 1, generator=generator)
    weights = torch.rand(rows, generator=generator)
    fold = np.arange(rows) % 4
    data = FoldBatches(x, y, weights, fold, 4)
    batches = ShuffledBatches(rows, batch_size, 0)
    return _Training(module, data, batches, (torch.arange(rows), x), LoopOptions(device=torch.device("cpu")))


@pytest.mark.parametrize("ranks", [None, 3])
def test_the_optimizer_is_that_of_pytorch(ranks):
    optimization = Optimization(learning_rate=2e-3, weight_decay=0.1, schedule="constant", warmup=0.0)
    weights = []
    for own in (True, False):
        module = members(ranks)
        data = training(module, 40, ranks, 40).data
        x, y, seen = data[list(range(40))]
        if own:
            optimizer = AdamW(list(module.parameters()), undecayed_parameters(module), optimization)
        else:
            optimizer = optimization.build(module.parameters(), undecayed_parameters(module))
        for _ in range(20):
            optimizer.zero_grad()
            module.batch_loss(x, y, seen).backward()
            optimizer.step()
        weights.append(torch.nn.utils.parameters_to_vector(module.parameters()))
    assert torch.equal(*weights)


def test_a_state_is_copied_to_where_the_parameters_are():
    optimizers = []
    for _ in range(2):
        module = members(None)
        data = training(module, 40, None, 40).data
        optimizers.append(AdamW(list(module.parameters()), [], Optimization()))
    module.batch_loss(*data[list(range(40))]).backward()
    optimizers[1].step()
    own = optimizers[0].state[0][0][0]
    optimizers[0].load(optimizers[1].state)
    assert own is optimizers[0].state[0][0][0]
    assert own.abs().sum() > 0
    for first, second in zip(optimizers[0].state[0], optimizers[1].state[0], strict=True):
        assert all(map(torch.equal, first, second))


@pytest.mark.parametrize("ranks", [None, 3])
def test_parts_of_a_batch_have_the_gradients_of_the_whole(ranks):
    module = members(ranks).double()
    loop = training(module, 50, ranks, 50)
    x, y, weights = loop.data[list(range(50))]
    weights[20:40] = 0
    found = []
    for at_once in (10, 50):
        module.zero_grad()
        loss = loop._add_gradients(x.double(), y, weights.double(), at_once)
        found.append([loss, *(parameter.grad for parameter in module.parameters())])
    for of_parts, of_whole in zip(*found, strict=True):
        torch.testing.assert_close(of_parts, of_whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("epochs", [1, 3])
def test_epochs_that_time_cuts_say_so_even_the_only_one(epochs, monkeypatch):
    now = [0.0]
    loss = TargetMembers.batch_loss

    def slow(*batch):
        now[0] += 1
        return loss(*batch)

    monkeypatch.setattr(TargetMembers, "batch_loss", slow)
    module = members(None)
    module.stages = tuple(replace(stage, epochs=epochs) for stage in module.stages)
    with training_until(TrainingEnd(TimeBudget(100, clock=lambda: now[0], start=0.0), 5.0)):
        history = training(module, 80, None, 10).run_all()
    assert history[0]["passed"] < 1
    assert module.hurried
