"""Running a method: seeded epochs, checkpoints, resuming and quiet."""

import numpy as np
import pytest
import torch

from ordinate.data.samplers import ShuffledBatches
from ordinate.errors import OrdinateError
from ordinate.methods import OTD, Optimization
from ordinate.training import loop as training
from ordinate.training.loop import CHECKPOINT, ArrayBatches, check_accelerator
from tests.methods.examples import encoder, ranks, train


class Recorder(OTD):
    """Keeps what every epoch drew: its batches, and a number."""

    def __init__(self, epochs=4, dies_at=None, **options):
        super().__init__(encoder(), 4, epochs=epochs, **options)
        self.drawn = {}
        self.dies_at = dies_at

    def batch_loss(self, x, y):
        if self.current_epoch == self.dies_at:
            raise ConnectionError
        self.drawn.setdefault(self.current_epoch, []).append((x.sum().item(), torch.rand(1).item()))
        return super().batch_loss(x, y)


def drawn_by(seed=0, validation=None):
    torch.manual_seed(np.random.default_rng().integers(1000))
    method = Recorder()
    train(method, ranks(), validation, seed=seed)
    return method.drawn


def test_what_an_epoch_draws_follows_from_the_seed_and_its_number():
    first = drawn_by()
    assert drawn_by() == first
    assert drawn_by(validation=ranks(seed=1)) == first
    numbers = [{number for _, number in drawn_by(seed)[epoch]} for seed in (0, 1) for epoch in range(4)]
    assert len(set.union(*numbers)) == 2 * 4 * 3


def test_a_resumed_run_draws_what_it_would_have_drawn(tmp_path):
    whole = drawn_by()
    for dies_at in (0, 1, 3):
        stopped, resumed = Recorder(dies_at=dies_at), Recorder()
        with pytest.raises(ConnectionError):
            train(stopped, ranks(), folder=tmp_path / str(dies_at))
        train(resumed, ranks(), folder=tmp_path / str(dies_at))
        assert stopped.drawn | resumed.drawn == whole
        assert sorted(resumed.drawn) == list(range(dies_at, 4))


def test_the_checkpoint_is_the_only_file_and_holds_the_last_epoch(tmp_path):
    method = Recorder()
    train(method, ranks(), folder=tmp_path / "made" / "when needed")
    (path,) = (tmp_path / "made" / "when needed").iterdir()
    assert path.name == CHECKPOINT
    state = torch.load(path, weights_only=True)["state_dict"]
    assert all(torch.equal(value.cpu(), state[name].cpu()) for name, value in method.state_dict().items())


def test_a_finished_run_is_read_and_not_trained(tmp_path):
    first, again = Recorder(), Recorder()
    history = train(first, ranks(), folder=tmp_path)
    with torch.no_grad():
        again.encoder[0].weight.zero_()
    assert train(again, ranks(), folder=tmp_path) == history
    assert again.drawn == {}
    assert all(torch.equal(value, first.state_dict()[name]) for name, value in again.state_dict().items())


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(Recorder(), ranks())
    assert list(tmp_path.iterdir()) == []


def test_validation_sees_the_whole_set_at_once():
    seen = []

    class Watcher(Recorder):
        def validate_embeddings(self, x, y):
            seen.append((len(x), y))
            return {}

    large = ranks(9000, seed=1)
    train(Watcher(epochs=1), ranks(), large)
    assert seen[0][0] == 9000
    assert torch.equal(seen[0][1].cpu(), large.y)


def test_a_batch_is_read_by_its_indices():
    data = ArrayBatches(torch.arange(10.0)[:, None], torch.arange(10))
    x, y = data[[3, 1, 7]]
    assert (x[:, 0].tolist(), y.tolist(), len(data)) == ([3, 1, 7], [3, 1, 7], 10)


def test_training_says_nothing(capfd, recwarn):
    train(Recorder(), ranks(), ranks(seed=1))
    assert capfd.readouterr() == ("", "")
    assert [str(warning.message) for warning in recwarn] == []


def test_progress_names_the_stage_and_counts_the_epochs(capfd):
    data = ranks()
    training.train(Recorder(), data, ShuffledBatches(48, 16), progress=True)
    err = capfd.readouterr().err
    assert "triplets" in err
    assert "4/4" in err
    assert "train_loss" in err


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("gpu", "cuda"):
        with pytest.raises(OrdinateError, match=f"accelerator: got '{name}', and this machine has no GPU"):
            check_accelerator(name)
    check_accelerator("cpu")
    check_accelerator("auto")


def test_an_error_in_training_is_raised_as_it_is_and_leaves_the_last_whole_epoch(tmp_path):
    method = Recorder(dies_at=2, optimization=Optimization("sgd", 0.1))
    with pytest.raises(ConnectionError):
        train(method, ranks(), folder=tmp_path)
    assert len(torch.load(tmp_path / CHECKPOINT, weights_only=True)["place"]["history"]) == 2
