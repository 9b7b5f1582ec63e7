"""Small data and encoders, and training as the estimators do it."""

import numpy as np
import torch
from torch import nn

from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.training import loop as training
from ordinate.training.callback import Callback
from ordinate.training.loop import ArrayBatches

DIM = 8


def encoder(seed=0, *layers):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 32), *layers, nn.ReLU(), nn.Linear(32, DIM))


def ranks(n=48, classes=4, noise=0.0, seed=0):
    """Samples whose rank is where their first column lies."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).astype(np.float32)
    position = x[:, 0] + noise * random.normal(size=n)
    y = np.searchsorted(np.quantile(position, np.linspace(0, 1, classes + 1)[1:-1]), position)
    return ArrayBatches(torch.from_numpy(x), torch.from_numpy(y))


def targets(n=48, dims=1, seed=0):
    """Samples whose targets are linear in their columns."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).astype(np.float32)
    return ArrayBatches(
        torch.from_numpy(x), torch.from_numpy(10 + x @ random.normal(size=(3, dims)).astype(np.float32))
    )


def train(method, data, validation=None, batch_size=16, **options):
    """Train with the batches that the method needs."""
    batches = ShuffledBatches(len(data), batch_size)
    if data.y.dim() == 1:
        batches = RankBatches(data.y.numpy(), batch_size, required={0: 1, int(data.y.max()): 2}, distinct=2)
    return training.train(method, data, batches, validation, progress=False, **options)


class Snapshots(Callback):
    """The state of the method before training and after every epoch, and the learning rates of its optimizers."""

    def __init__(self):
        self.states, self.stages, self.rates = [], [], []

    def on_start(self, loop):
        self._take(loop.method)

    def on_batch_end(self, loop):
        if loop.is_between_steps:
            self.rates.append(loop.optimizer.param_groups[0]["lr"])

    def on_epoch_end(self, loop):
        self.stages.append(loop.method.stage_index)
        self._take(loop.method)

    def _take(self, method):
        self.states.append({name: value.clone() for name, value in method.state_dict().items()})

    def changes(self, prefix):
        """Whether anything under a prefix changed in each epoch."""
        return [
            any(not torch.equal(before[name], after[name]) for name in before if name.startswith(prefix))
            for before, after in zip(self.states, self.states[1:], strict=False)
        ]


def watch(method, data, batch_size=16):
    """Train, and return what happened."""
    snapshots = Snapshots()
    train(method, data, batch_size=batch_size, callbacks=[snapshots])
    return snapshots


class StopBefore(Callback):
    """Stops a training before one of its batches but the first, and before the checkpoint of the one before."""

    def __init__(self, epoch, batch):
        self.place = (epoch, batch)

    def on_batch_end(self, loop):
        if (loop.method.current_epoch, loop.method.step) == self.place:
            raise ConnectionError
