"""A fit that is killed in the middle of an epoch continues from a batch of it, and ends where it would have."""

import signal
from functools import partial

import pytest
import torch

from ordinate.encoders import MLP
from ordinate.training import loop as training
from ordinate.training.staged_method import StagedMethod
from ordinate_papers.methods.imbalance import Imbalance
from tests import processes
from tests.estimators.examples import cloc, otd, supcr, supremix
from tests.estimators.test_kill_and_resume import assert_same_fit, fit, fit_and_die_in_batch
from tests.methods.examples import StopBefore


def with_dropout(embedding_dim):
    """Every step draws random numbers."""
    return MLP(3, embedding_dim, widths=(16,), dropout=0.3)


def fit_dropout(make, **options):
    return fit(make, **{"encoder": with_dropout, "accelerator": "cpu", "batch_size": 8, **options})  # six batches


@pytest.fixture
def trained_batches(monkeypatch):
    """The epochs and batches that this process trained, as they come."""
    batches, step = [], StagedMethod.training_step

    def record(method, *data):
        batches.append((method.current_epoch, method.step))
        return step(method, *data)

    monkeypatch.setattr(StagedMethod, "training_step", record)
    return batches


FEATURES = Imbalance(lds="sqrt_inverse", fds=True, ranksim=1.0)
CASES = {
    "cloc": (cloc, {"validation_fraction": 0.3}),
    "cloc with patience": (cloc, {"validation_fraction": 0.3, "patience": 2, "epochs": (2, 9)}),
    "otd": (otd, {"validation_fraction": 0.3}),
    "supcr": (supcr, {"scheme": "fine_tune"}),
    "supcr, accumulated": (supcr, {"accumulate_grad_batches": 2}),
    "supcr for rare labels": (supcr, {"scheme": "regularise", "epochs": (6, 1), "imbalance": FEATURES}),
    "supremix": (supremix, {}),
}


@pytest.mark.typical("cloc", "supcr, accumulated", "supremix")
@pytest.mark.parametrize(("make", "options"), CASES.values(), ids=CASES)
def test_a_fit_killed_within_epochs_ends_with_the_weights_and_the_history_of_one_that_was_not(
    make, options, tmp_path, trained_batches
):
    whole = fit_dropout(make, **options)
    options = {**options, "checkpoint_dir": tmp_path}
    last = whole.n_iter_ - 1
    for epoch in (0, last):  # in the first stage and in the last
        died = processes.run(fit_and_die_in_batch, partial(fit_dropout, make), options, epoch, 3, 0.0)
        assert died == -signal.SIGKILL
    trained_batches.clear()
    resumed = fit_dropout(make, **options)
    assert trained_batches[0] == (last, 2 if "accumulate_grad_batches" in options else 3)
    assert_same_fit(resumed, whole)
    assert resumed.history_ == whole.history_


def fit_stopped_and_resumed(_, folder):
    options = {"imbalance": FEATURES, "scheme": "regularise", "epochs": (4, 1)}
    whole = fit_dropout(supcr, **options)
    options["checkpoint_dir"] = folder
    training.CHECKPOINT_SECONDS = 0.0
    with pytest.raises(ConnectionError):
        fit_dropout(supcr, **options, callbacks=[StopBefore(1, 4)])  # The third batch is in the checkpoint.
    resumed = fit_dropout(supcr, **options)
    return [(model.method_.state_dict(), model.history_) for model in (whole, resumed)]


def test_every_process_continues_with_its_own_random_numbers_and_statistics(tmp_path):
    (whole, resumed), _ = processes.together(2, fit_stopped_and_resumed, tmp_path / "meeting", tmp_path / "kept")
    assert [name for name, value in whole[0].items() if not torch.equal(value, resumed[0][name])] == []
    assert whole[1] == resumed[1]
