"""DINO: the loss of its formula, a teacher that is the student's moving average, and a head on the teacher."""

import copy

import pytest
import torch
from torch import nn

from ordinate.errors import OrdinateError
from ordinate.methods import Optimization
from ordinate.training import loop as training
from ordinate_papers.methods.dino import (
    DINO,
    DINOHead,
    DINORegression,
    Distillation,
    distillation_loss,
    teacher_momentum,
)
from ordinate_papers.methods.pair_views import TableViews
from tests.functional.brute_force import embeddings
from tests.methods.examples import DIM, StopBefore, encoder, ranks, targets, train, watch

VIEWS = TableViews([1, 1, 1])
FAST = Optimization("adam", 0.01, 0.0)


def formula(student, teacher, centre):
    """DINO, eq. 3 with the centring of Section 3.1: each view of the student with the other one of the teacher."""
    losses = []
    for i in range(len(student)):
        wanted = ((teacher[i ^ 1] - centre) / 0.04).exp()
        log_share = student[i] / 0.1 - (student[i] / 0.1).exp().sum().log()
        losses.append(-(wanted / wanted.sum() * log_share).sum())
    return sum(losses) / len(losses)


def test_the_loss_and_its_gradient_are_those_of_the_formula():
    student, teacher, centre = embeddings(8, 5), embeddings(8, 5, seed=1).detach(), embeddings(1, 5, seed=2)[0].detach()
    actual, expected = distillation_loss(student, teacher, centre), formula(student, teacher, centre)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    gradients = [torch.autograd.grad(value, student)[0] for value in (actual, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-9)


def test_the_head_scores_unit_vectors_against_unit_prototypes():
    head = DINOHead(8)
    scores = head(torch.randn(20, 8))
    assert scores.abs().max() <= 1 + 1e-6
    before = head(torch.ones(1, 8))
    with torch.no_grad():
        head.prototypes.mul_(7)
    torch.testing.assert_close(head(torch.ones(1, 8)), before, rtol=0, atol=1e-6)


def test_a_batch_moves_the_centre_and_gives_the_student_alone_a_gradient():
    teacher, x = encoder(), torch.randn(10, 3)
    distillation = Distillation(teacher, DIM)
    with torch.no_grad():
        expected = 0.1 * distillation.teacher_head(teacher(x)).mean(0)
    distillation(x, teacher).backward()
    torch.testing.assert_close(distillation.centre, expected, rtol=0, atol=1e-7)
    assert all(parameter.grad is not None for parameter in distillation.trained_parameters())
    untouched = [*teacher.parameters(), *distillation.teacher_head.parameters()]
    assert all(parameter.grad is None for parameter in untouched)


def test_the_teacher_follows_the_student_by_the_momentum():
    teacher = encoder()
    distillation = Distillation(teacher, DIM)
    for network in (distillation.student, distillation.head):
        for parameter in network.parameters():
            nn.init.constant_(parameter, 2.0)
    before = copy.deepcopy([*teacher.parameters(), *distillation.teacher_head.parameters()])
    distillation.follow(teacher, 0.75)
    after = [*teacher.parameters(), *distillation.teacher_head.parameters()]
    for old, new in zip(before, after, strict=True):
        torch.testing.assert_close(new, 0.75 * old + 0.25 * 2.0, rtol=0, atol=1e-6)


def dino(**options):
    torch.manual_seed(0)
    return DINO(encoder(), DIM, **{"draw": VIEWS, "epochs": 3, "optimization": FAST, **options})


def regression(**options):
    torch.manual_seed(0)
    method = DINORegression(
        encoder(), DIM, **{"draw": VIEWS, "epochs": (2, 3), "optimization": FAST, "head_optimization": FAST, **options}
    )
    method.head.standardise(targets().y)
    return method


def test_the_encoder_is_the_moving_average_of_the_student():
    """One batch an epoch: the average is recomputed here from the student's weights after every epoch."""
    method = dino(epochs=4)
    watched = watch(method, ranks(48), batch_size=48)
    names = [name.removeprefix("encoder.") for name in watched.states[0] if name.startswith("encoder.")]
    expected = {name: watched.states[0][f"encoder.{name}"] for name in names}
    for step, state in enumerate(watched.states[1:], 1):
        momentum = teacher_momentum(step, 4)
        for name in names:
            expected[name] = momentum * expected[name] + (1 - momentum) * state[f"distillation.student.{name}"]
            torch.testing.assert_close(state[f"encoder.{name}"], expected[name], rtol=0, atol=1e-6)


def test_a_training_stopped_within_an_epoch_continues_with_the_teacher_it_had(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    whole, stopped, resumed = dino(), dino(), dino()
    train(whole, ranks())
    with pytest.raises(ConnectionError):
        train(stopped, ranks(), folder=tmp_path, callbacks=[StopBefore(1, 3)])
    train(resumed, ranks(), folder=tmp_path)
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value), name


def test_a_probe_leaves_the_teacher_as_it_is_and_fine_tuning_does_not():
    assert watch(regression(), targets()).changes("encoder") == [True, True, False, False, False]
    assert watch(regression(scheme="fine_tune"), targets()).changes("encoder") == [True] * 5


def test_regularising_is_refused():
    with pytest.raises(OrdinateError, match="scheme: got 'regularise', expected"):
        regression(scheme="regularise")
