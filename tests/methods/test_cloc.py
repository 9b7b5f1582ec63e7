"""CLOC's two phases and its margins, as Section 3.3 and Section 4 have them."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from ordinate import functional
from ordinate.methods import CLOC, Optimization
from tests.methods.examples import DIM, encoder, ranks, train, watch

FAST = Optimization("adam", 0.01, 0.0, schedule="constant", warmup=0.0)
NAMES = [f"margin_{h}|{h + 1}" for h in range(3)]


def cloc(**options):
    torch.manual_seed(0)
    return CLOC(encoder(), DIM, 4, **{"optimization": FAST, "phase_epochs": (6, 6), "target_accuracy": 1.0, **options})


def margins_in(history, stage=None):
    """(epochs, C-1), as logged."""
    return torch.tensor([[entry[name] for name in NAMES] for entry in history if stage in (None, entry["stage"])])


def test_phase_one_ends_with_the_epoch_that_reaches_the_training_accuracy():
    history = train(cloc(phase_epochs=(200, 3), target_accuracy=0.9), ranks())
    first = [entry["train_accuracy"] for entry in history if entry["stage"] == 0]
    assert 1 < len(first) < 200
    assert max(first[:-1]) < 0.9 <= first[-1]
    assert len(history) == len(first) + 3


def test_the_training_accuracy_is_the_share_of_the_epochs_samples_that_were_right():
    method, data, right = cloc(phase_epochs=(3, 3)), ranks(), {}
    loss = method.batch_loss

    def count(x, y):
        right.setdefault(method.current_epoch, []).append(method.classifier(method(x)).argmax(1) == y)
        return loss(x, y)

    method.batch_loss = count
    logged = [entry["train_accuracy"] for entry in train(method, data)]
    assert logged == pytest.approx([torch.cat(right[epoch]).float().mean().item() for epoch in range(6)], abs=1e-7)


def test_phase_two_freezes_the_margins_and_trains_the_rest():
    decaying = Optimization("adamw", 0.02, 0.5, schedule="constant", warmup=0.0)
    method = cloc(phase_epochs=(4, 5), optimization=decaying)
    watched = watch(method, ranks())
    assert watched.stages == [0] * 4 + [1] * 5
    assert watched.changes("mmnp.raw") == [True] * 4 + [False] * 5
    assert watched.changes("encoder") == watched.changes("classifier") == [True] * 9
    assert method.mmnp.raw.requires_grad  # as before the training


def test_phase_two_ends_after_patience_epochs_without_a_lower_validation_loss_and_goes_back_to_the_best():
    method, held_out = cloc(phase_epochs=(3, 300), patience=10), ranks(noise=0.5, seed=1)
    history = train(method, ranks(), held_out)
    second = [entry["val_loss"] for entry in history if entry["stage"] == 1]
    best = min(range(len(second)), key=second.__getitem__)
    assert len(second) < 300
    assert best == len(second) - 11
    with torch.no_grad():
        loss = method.validate_embeddings(method(held_out.x), held_out.y)["val_loss"].item()
    assert loss == pytest.approx(second[best], abs=1e-6)


def test_without_validation_data_phase_two_watches_the_training_loss():
    history = train(cloc(phase_epochs=(3, 300), patience=3), ranks(noise=2.0))
    second = [entry["train_loss"] for entry in history if entry["stage"] == 1]
    assert len(second) < 300
    assert min(range(len(second)), key=second.__getitem__) == len(second) - 4


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "adamw"])
def test_learned_margins_only_shrink(optimizer):
    """The gradient of a hinge with respect to its margin is never negative."""
    optimization = Optimization(optimizer, 0.02, 0.0, schedule="constant", warmup=0.0)
    method = cloc(phase_epochs=(8, 1), optimization=optimization)
    start = method.mmnp.margins.detach()
    assert ((start >= 0.5) & (start <= 1.0)).all()
    logged = torch.cat([start[None], margins_in(train(method, ranks(noise=1.0)), stage=0)])
    assert (logged.diff(dim=0) <= 0).all()
    assert (logged[-1] < logged[0]).all()


def test_fixed_margins_never_move_and_the_others_are_learned():
    decaying = Optimization("adamw", 0.02, 0.5, schedule="constant", warmup=0.0)
    method = cloc(margins={(0, 1): 0.8, (2, 3): 1.3}, optimization=decaying)
    logged = margins_in(train(method, ranks(noise=1.0)))
    assert (logged[:, [0, 2]] == torch.tensor([0.8, 1.3])).all()
    assert (logged[:6, 1].diff() != 0).all()


def test_margins_that_are_all_fixed_leave_nothing_to_learn():
    method = cloc(margins={(0, 1): 0.8, (1, 2): 0.6, (2, 3): 1.3})
    raw = method.mmnp.raw.detach().clone()
    assert (margins_in(train(method, ranks())) == torch.tensor([0.8, 0.6, 1.3])).all()
    assert torch.equal(method.mmnp.raw, raw)


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_margins_stay_above_their_floor(floor):
    pressed = Optimization("adam", 0.3, 0.0, schedule="constant", warmup=0.0)
    logged = margins_in(train(cloc(floor=floor, phase_epochs=(25, 1), optimization=pressed), ranks(noise=3.0)))
    assert (logged > floor).all()
    assert (logged[-1] < floor + 0.1).all()


def test_shared_margins_stay_equal_and_are_learned():
    logged = margins_in(train(cloc(shared=True), ranks(noise=1.0)))
    assert (logged == logged[:, :1]).all()
    assert (logged[:6, 0].diff() < 0).all()


def test_margins_that_shrank_to_nothing_are_reported():
    pressed = Optimization("adam", 0.3, 0.0, schedule="constant", warmup=0.0)
    method = cloc(margins={(1, 2): 0.01}, phase_epochs=(25, 1), optimization=pressed)
    assert method.collapsed_boundaries == []
    train(method, ranks(noise=3.0))
    assert method.collapsed_boundaries == [(0, 1), (2, 3)]  # the fixed one is as the user wants it


@pytest.mark.parametrize("reduction", ["sum", "pair_mean", "published"])
@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
def test_the_loss_is_cross_entropy_and_the_weighted_mmnp_loss(weight, reduction):
    method, data = cloc(mmnp_weight=weight, reduction=reduction), ranks()
    embeddings = method.encoder(data.x)
    expected = cross_entropy(method.classifier(embeddings), data.y)
    expected += weight * functional.mmnp(embeddings, data.y, method.mmnp.margins, reduction=reduction)
    method.log_mean = lambda *_: None
    torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(method.validate_embeddings(embeddings, data.y)["val_loss"], expected, rtol=0, atol=1e-6)


def test_validation_samples_of_one_rank_have_a_loss_too():
    held_out = ranks()
    one = type(held_out)(held_out.x[held_out.y == 1], held_out.y[held_out.y == 1])
    history = train(cloc(phase_epochs=(1, 1)), ranks(), one)
    assert all(torch.isfinite(torch.tensor(entry["val_loss"])) for entry in history)


def test_easy_ranks_are_classified():
    method, data = cloc(phase_epochs=(60, 5), target_accuracy=0.99), ranks()
    train(method, data)
    assert (method.classifier(method(data.x)).argmax(1) == data.y).float().mean() > 0.95
