"""A method whose loss remembers: what is remembered belongs to its best weights and to its checkpoints."""

import pytest
import torch

from ordinate.losses import EmbeddingMemory, SupCRLoss
from ordinate.training.optimization import Optimization
from ordinate.training.stages import Stage, StagedMethod
from tests.methods.examples import encoder, targets, train

FAST = Optimization("adam", 0.01, 0.0, schedule="constant", warmup=0.0)


class Remembering(StagedMethod):
    """SupCR with a memory; its validation loss is dictated, and it may die in an epoch."""

    def __init__(self, values, patience=2, dies_at=None):
        super().__init__((Stage("encoder", len(values), FAST, patience),))
        self.encoder = encoder()
        self.loss = EmbeddingMemory(SupCRLoss(), size=20)
        self.values = values
        self.dies_at = dies_at

    def batch_loss(self, x, y):
        if self.current_epoch == self.dies_at:
            raise ConnectionError
        return self.loss(self.embed(x), y)

    def validate_embeddings(self, x, y):
        return {"val_loss": torch.tensor(float(self.values[self.current_epoch]))}


def everything(method):
    """The weights, and what is remembered."""
    state = method.state_dict()
    remembered = state.pop("loss._extra_state")
    return state | {name: value for name, value in remembered.items() if value is not None}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(torch.as_tensor(value).cpu(), torch.as_tensor(second[name]).cpu()), name


def test_the_best_weights_come_back_with_what_was_remembered_then():
    best, method = Remembering([0, 0], patience=None), Remembering([2, 1, 3, 3, 3], patience=2)
    train(best, targets(), targets(seed=1))  # ends after the second epoch
    assert len(train(method, targets(), targets(seed=1))) == 4
    assert_same(everything(method), everything(best))


@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_run_that_is_killed_and_resumed_ends_as_it_would_have(tmp_path, dies_at):
    values = [2, 1, 3, 3, 3]
    whole = Remembering(values)
    train(whole, targets(), targets(seed=1))
    with pytest.raises(ConnectionError):
        train(Remembering(values, dies_at=dies_at), targets(), targets(seed=1), folder=tmp_path)
    resumed = Remembering(values)
    history = train(resumed, targets(), targets(seed=1), folder=tmp_path)
    assert history == whole.history
    assert_same(everything(resumed), everything(whole))
