"""A fit that is killed with SIGKILL, at any moment, resumes and ends where it would have, bit for bit."""

import os
import pickle
import shutil
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.training import loop as training
from ordinate.training.staged_method import StagedMethod
from tests import processes
from tests.estimators.examples import (
    Trap,
    cloc,
    draw_series,
    draw_table,
    for_every_estimator,
    labels_for,
    otd,
    supcr,
    supremix,
)

X, TARGET = draw_table()  # 48 samples, in batches of 24: two an epoch


def fit(make, X=X, target=TARGET, **options):
    """Fit without a second training, which has checkpoints of its own (test_probabilities.py).

    A contrastive regressor trains a head, in a second stage.
    """
    if make in (supcr, supremix):
        options = {"head": "linear", **options}
    return make(calibration=False, **options).fit(X, labels_for(make, target))


def fit_series(**options):
    """The batch norm of the encoder for series has running statistics to keep, too."""
    X, target = draw_series()
    return fit(supcr, X, target, epochs=(2, 3), **options)


def scaled(a, b, scale):
    return scale * (a[:, None] - b[None]).abs().sum(2)


def distance(kind):
    """A label distance made anew, wherever and whenever it is asked for."""
    return partial(scaled, scale=3.0) if kind == "partial" else lambda a, b: (a[:, None] - b[None]).abs().sum(2)


def fit_by_callable(kind="lambda", **options):
    return fit(supcr, epochs=(3, 3), label_distance=distance(kind), **options)


def fit_in_turn(make, draws=0, random_state=None, **options):
    """A generator that has been drawn from is another one each time."""
    state = None if random_state is None else np.random.RandomState(random_state)
    for _ in range(draws):
        state.randint(9)
    return fit(make, random_state=state, **options)


def fit_and_die_in_batch(fit, options, epoch, batch, seconds=training.CHECKPOINT_SECONDS):
    """Die in a batch, with a checkpoint within an epoch every so many seconds."""
    training.CHECKPOINT_SECONDS = seconds
    step = StagedMethod.training_step

    def step_and_die(method, *data):
        loss = step(method, *data)
        if (method.current_epoch, method.step) == (epoch, batch):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    fit(**options)


def fit_and_die_before_checkpoint_takes_its_place(make, options, epoch):
    places = iter(range(1000))
    processes.kill_me_at_audit(
        "os.rename", lambda _, target, *__: Path(target).name == "last.ckpt" and next(places) == epoch
    )
    fit(make, **options)


@pytest.fixture
def trained_epochs(monkeypatch):
    """The epochs that this process trained, as they come."""
    epochs, step = [], StagedMethod.training_step

    def record(method, *data):
        epochs.append(method.current_epoch)
        return step(method, *data)

    monkeypatch.setattr(StagedMethod, "training_step", record)
    return epochs


def assert_same_fit(actual, expected, X=X):
    weights, wanted = actual.method_.state_dict(), expected.method_.state_dict()
    assert weights.keys() == wanted.keys()
    assert [name for name in wanted if not torch.equal(weights[name], wanted[name])] == []
    assert (actual.predict(X) == expected.predict(X)).all()
    assert (actual.transform(X) == expected.transform(X)).all()


CASES = {
    "cloc": (cloc, {"epochs": (4, 5), "target_accuracy": 1.0}),
    "cloc whose phase one ends early": (cloc, {"epochs": (9, 6), "target_accuracy": 0.4}),
    "cloc with patience": (cloc, {"epochs": (2, 9), "patience": 6, "validation_fraction": 0.3}),
    "otd": (otd, {"epochs": 9}),
    "otd with patience": (otd, {"epochs": 9, "patience": 6, "validation_fraction": 0.3}),
    "supcr": (supcr, {"epochs": (4, 5)}),
    "supcr, fine-tuned": (supcr, {"epochs": (4, 5), "scheme": "fine_tune"}),
    "supcr, regularised": (supcr, {"epochs": (9, 1), "scheme": "regularise"}),
    "supremix": (supremix, {"epochs": (4, 5)}),
    "supremix with patience": (supremix, {"epochs": (4, 9), "patience": 3, "scheme": "fine_tune"}),
}


@pytest.mark.typical("cloc whose phase one ends early", "supcr, fine-tuned")
@pytest.mark.parametrize(("make", "options"), CASES.values(), ids=CASES)
def test_a_fit_killed_again_and_again_ends_with_the_weights_of_one_that_was_not(
    make, options, tmp_path, trained_epochs
):
    uninterrupted = fit(make, **options)
    total = uninterrupted.n_iter_
    assert total >= 7  # each kill below strikes
    options = {**options, "checkpoint_dir": tmp_path}
    for epoch, batch in [(2, 0), (total - 1, 1)]:  # in the first stage and in the last
        assert processes.run(fit_and_die_in_batch, partial(fit, make), options, epoch, batch) == -signal.SIGKILL
    trained_epochs.clear()
    resumed = fit(make, **options)
    assert set(trained_epochs) == {total - 1}
    assert_same_fit(resumed, uninterrupted)


@pytest.mark.typical("cloc", "supremix")
@for_every_estimator
def test_a_fit_killed_between_two_epochs_has_the_history_of_one_that_was_not(make, tmp_path):
    options = {"checkpoint_dir": tmp_path, "validation_fraction": 0.3}
    assert processes.run(fit_and_die_in_batch, partial(fit, make), options, 1, 0) == -signal.SIGKILL
    assert fit(make, **options).history_ == fit(make, validation_fraction=0.3).history_


def test_a_fit_on_series_killed_in_the_head_stage_ends_with_the_weights_of_one_that_was_not(tmp_path):
    options = {"checkpoint_dir": tmp_path}
    assert processes.run(fit_and_die_in_batch, fit_series, options, 3, 1) == -signal.SIGKILL
    assert_same_fit(fit_series(**options), fit_series(), draw_series()[0])


@pytest.mark.typical("cloc", "supremix")
@for_every_estimator
def test_a_fit_killed_while_it_writes_a_checkpoint_resumes_from_the_one_before(make, tmp_path, trained_epochs):
    uninterrupted = fit(make)
    options = {"checkpoint_dir": tmp_path}
    assert processes.run(fit_and_die_before_checkpoint_takes_its_place, make, options, 1) == -signal.SIGKILL
    trained_epochs.clear()
    assert_same_fit(fit(make, **options), uninterrupted)
    assert set(trained_epochs) == {1}


def test_a_checkpoint_takes_its_place_by_a_rename_in_its_own_folder(tmp_path, monkeypatch):
    """From another folder it may come from another file system, where a move is a copy that a kill cuts in half."""
    moves = []
    for name in ("rename", "replace"):
        move = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda source, target, move=move: (moves.append((source, target)), move(source, target))
        )
    fit(otd, epochs=2, checkpoint_dir=tmp_path)
    folders = {Path(source).parent for source, target in moves if Path(target).name == "last.ckpt"}
    assert folders == {tmp_path}


@for_every_estimator
def test_a_fit_that_finished_is_not_trained_again(make, tmp_path, trained_epochs):
    first = fit(make, checkpoint_dir=tmp_path)
    trained_epochs.clear()
    again = fit(make, checkpoint_dir=tmp_path)
    assert trained_epochs == []
    assert_same_fit(again, first)
    assert again.history_ == first.history_
    assert again.n_iter_ == first.n_iter_


def test_cloc_that_ran_out_of_patience_is_not_trained_again(tmp_path, trained_epochs):
    options = {"epochs": (2, 50), "patience": 2, "learning_rate": 0.1, "checkpoint_dir": tmp_path}
    first = fit(cloc, **options)
    assert first.n_iter_ < 52
    trained_epochs.clear()
    again = fit(cloc, **options)
    assert trained_epochs == []
    assert_same_fit(again, first)


@for_every_estimator
@pytest.mark.parametrize("change", ["data", "seed", "settings"])
def test_the_checkpoint_of_another_fit_is_refused(make, change, tmp_path):
    fit(make, checkpoint_dir=tmp_path)
    options = {"seed": {"random_state": 1}, "settings": {"learning_rate": 0.02}, "data": {"X": X[::-1]}}[change]
    with pytest.raises(OrdinateError, match="checkpoint_dir"):
        fit(make, **options, checkpoint_dir=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "emptied", "a pickle in its place"])
def test_a_damaged_checkpoint_is_refused_and_never_run(damage, tmp_path):
    fit(otd, epochs=2, checkpoint_dir=tmp_path / "run")
    checkpoint = tmp_path / "run" / "last.ckpt"
    content = checkpoint.read_bytes()
    damaged = {"cut": content[: len(content) // 2], "emptied": b""}
    checkpoint.write_bytes(damaged.get(damage, pickle.dumps(Trap(tmp_path / "sprung"))))
    with pytest.raises(OrdinateError, match=r"last\.ckpt"):
        fit(otd, epochs=2, checkpoint_dir=tmp_path / "run")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.typical("cloc")
@for_every_estimator
def test_a_fit_that_drew_its_seed_continues_with_it(make, tmp_path, trained_epochs):
    """The split and the batches are those of the first start."""
    options = {"validation_fraction": 0.3, "random_state": None}
    begun, whole = tmp_path / "begun", tmp_path / "whole"
    first = {**options, "checkpoint_dir": begun}
    assert processes.run(fit_and_die_in_batch, partial(fit_in_turn, make), first, 0, 1) == -signal.SIGKILL
    assert processes.run(fit_and_die_in_batch, partial(fit_in_turn, make), first, 1, 1) == -signal.SIGKILL
    resumed = fit_in_turn(make, checkpoint_dir=begun, **options)
    assert set(trained_epochs) == {1}
    whole.mkdir()
    shutil.copy(begun / "seed.json", whole)
    assert_same_fit(resumed, fit_in_turn(make, checkpoint_dir=whole, **options))


def test_another_generator_is_another_setting(tmp_path):
    first = fit_in_turn(otd, random_state=1, checkpoint_dir=tmp_path)
    assert_same_fit(fit_in_turn(otd, random_state=1, checkpoint_dir=tmp_path), first)
    with pytest.raises(OrdinateError, match="of a fit with other data or settings"):
        fit_in_turn(otd, random_state=2, checkpoint_dir=tmp_path)


def test_a_damaged_seed_is_refused(tmp_path):
    (tmp_path / "seed.json").write_text("{")
    with pytest.raises(OrdinateError, match=r"checkpoint_dir: .*seed\.json is damaged"):
        fit(otd, random_state=None, checkpoint_dir=tmp_path)


@pytest.mark.parametrize("kind", ["lambda", "partial"])
def test_a_fit_by_a_callable_continues_with_one_made_anew(kind, tmp_path, trained_epochs):
    options = {"kind": kind, "checkpoint_dir": tmp_path}
    assert processes.run(fit_and_die_in_batch, fit_by_callable, options, 4, 1) == -signal.SIGKILL
    assert_same_fit(fit_by_callable(**options), fit_by_callable(kind))
    assert set(trained_epochs[:4]) == {4, 5}


def test_another_callable_is_another_setting(tmp_path):
    fit_by_callable("partial", checkpoint_dir=tmp_path)
    with pytest.raises(OrdinateError, match="of a fit with other data or settings"):
        fit_by_callable("lambda", checkpoint_dir=tmp_path)
    with pytest.raises(OrdinateError, match="of a fit with other data or settings"):
        fit(supcr, epochs=(3, 3), label_distance=partial(scaled, scale=2.0), checkpoint_dir=tmp_path)
