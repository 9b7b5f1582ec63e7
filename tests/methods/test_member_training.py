"""A blend's networks: parts of a batch have the gradients of the whole, and the mean of the weights is validated."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ordinate.data.samplers import ShuffledBatches
from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder, MemberEncoder, MemberLinear
from ordinate.methods.members import RankMembers, TargetMembers
from ordinate.methods.unseen_folds import FoldBatches
from ordinate.training.loop import train
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until


def members(ranks):
    torch.manual_seed(0)
    head = BlendHead(MemberLinear(4, 8, ranks or 1), ranks)
    return (RankMembers if ranks else TargetMembers)(
        BlendEncoder(MemberEncoder(5, 8, 4, numeric=[0, 1])), head, epochs=2
    )


def samples(module, rows, ranks):
    """Samples that the module is validated on."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 5, generator=generator)
    y = torch.randint(ranks, (rows,), generator=generator) if ranks else torch.randn(rows, 1, generator=generator)
    weights = torch.rand(rows, generator=generator)
    data = FoldBatches(x, y, weights, np.arange(rows) % 4, 4)
    module.validate_on(data, torch.arange(rows), x)
    module.begin_stage()
    return data


@pytest.mark.parametrize("ranks", [None, 3])
def test_parts_of_a_batch_have_the_gradients_of_the_whole(ranks):
    module = members(ranks).double()
    x, y, weights = samples(module, 50, ranks)[list(range(50))]
    weights[20:40] = 0
    found = []
    for module.chunk_size in (10, 50):
        module.zero_grad()
        total = torch.zeros(())
        for part, share in module.parts((x.double(), y, weights.double())):
            loss = share * module.batch_loss(*part)
            loss.backward()
            total = total + loss.detach()
        found.append([total, *(parameter.grad for parameter in module.parameters())])
    for of_parts, of_whole in zip(*found, strict=True):
        torch.testing.assert_close(of_parts, of_whole, rtol=1e-10, atol=1e-12)


def test_the_mean_of_the_weights_is_validated_and_the_weights_stay():
    module = members(None)
    samples(module, 40, None)
    before = [parameter.detach().clone() for parameter in module.parameters()]
    loss = module.validate([])["val_loss"]
    for mean in module.average:
        mean.zero_()
    assert module.validate([])["val_loss"] != loss
    kept = module.weights_to_keep()
    assert all((kept[name] == 0).all() for name, _ in module.named_parameters())
    assert all(map(torch.equal, module.parameters(), before))


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
    data = samples(module, 80, None)
    with training_until(TrainingEnd(TimeBudget(100, clock=lambda: now[0], start=0.0), 5.0)):
        history = train(module, data, ShuffledBatches(80, 10), progress=False)
    assert history[0]["passed"] < 1
    assert module.hurried


@pytest.mark.parametrize("slow_step", [0, 7])
def test_a_slow_start_or_a_busy_moment_changes_nothing_where_time_suffices(slow_step, monkeypatch):
    now, steps = [0.0], [0]
    loss = TargetMembers.batch_loss

    def count(*batch):
        now[0] += 15.0 if steps[0] == slow_step else 0.25
        steps[0] += 1
        return loss(*batch)

    monkeypatch.setattr(TargetMembers, "batch_loss", count)

    def weights(end):
        now[0], steps[0] = 0.0, 0
        module = members(None)
        falling = {"schedule": "cosine", "warmup": 0.0}
        module.stages = tuple(
            replace(stage, epochs=10, optimization=replace(stage.optimization, **falling)) for stage in module.stages
        )
        with training_until(end):
            train(module, samples(module, 80, None), ShuffledBatches(80, 10), progress=False)
        assert not module.hurried
        return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])

    unlimited = weights(None)
    assert now[0] < 100
    limited = weights(TrainingEnd(TimeBudget(100, clock=lambda: now[0], start=0.0), 100.0))
    assert torch.equal(limited, unlimited)
