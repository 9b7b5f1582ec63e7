"""The threads of a training follow from the size of its network and batches, and are as before when it ends."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from ordinate import OTDClassifier
from ordinate.data.samplers import ShuffledBatches
from ordinate.methods import OTD
from ordinate.training import loop as training
from ordinate.training.machine import SMALL, single_thread_if_small
from tests.methods.examples import encoder, ranks

TABLE = torch.zeros(4, 10)
WEIGHTS = 1000  # of the network below


@pytest.fixture(autouse=True, params=[3, 1], ids=["three", "one"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def used(x, batch_size):
    with single_thread_if_small(nn.Linear(10, 100, bias=False), x, batch_size):
        return torch.get_num_threads()


def test_small_networks_of_tables_have_one_thread(threads):
    assert used(TABLE, SMALL // WEIGHTS) == 1
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("x", "batch_size"),
    [(TABLE, SMALL // WEIGHTS + 1), (torch.zeros(4, 3, 8, 8), 1), (TABLE.int(), 1)],
    ids=["large", "images", "tokens"],
)
def test_others_have_as_many_as_before(threads, x, batch_size):
    assert used(x, batch_size) == threads


def test_an_error_leaves_as_many_as_before(threads):
    with pytest.raises(KeyError), single_thread_if_small(nn.Linear(10, 100), TABLE, 1):
        raise KeyError
    assert torch.get_num_threads() == threads


def test_training_and_prediction_run_with_them(threads, monkeypatch):
    seen = []
    step, forward = OTD.training_step, OTD.forward
    monkeypatch.setattr(OTD, "training_step", lambda *args: seen.append(torch.get_num_threads()) or step(*args))
    data = ranks()
    training.train(OTD(encoder(), num_classes=4, epochs=1), data, ShuffledBatches(len(data), 16), progress=False)
    assert seen == [1, 1, 1]
    model = OTDClassifier(encoder=encoder(), embedding_dim=None, epochs=1).fit(data.x.numpy(), data.y.numpy())
    monkeypatch.setattr(OTD, "forward", lambda *args: seen.append(torch.get_num_threads()) or forward(*args))
    model.transform(data.x.numpy())
    assert set(seen) == {1}
    assert torch.get_num_threads() == threads


FORKS = """
import os, numpy as np, torch
from ordinate import CLOCClassifier
torch.set_num_threads(2)
X, y = np.random.default_rng(0).normal(size=(2000, 30)), np.arange(2000) % 3
fit = lambda: CLOCClassifier(epochs=(1, 1), random_state=0).fit(X, y).predict(X)
expected = fit()
process = os.fork()
if process == 0:
    os._exit(0 if (fit() == expected).all() and torch.get_num_threads() == 1 else 1)
assert os.waitpid(process, 0)[1] == 0
assert torch.get_num_threads() == 2
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_a_process_forked_after_a_fit_of_two_threads_fits_too(threads):
    if threads == 3:
        subprocess.run(
            [sys.executable, "-c", FORKS], check=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "2"}
        )
