"""OTD: ranks come to lie in order on a half circle."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from ordinate import functional
from ordinate.data.samplers import ShuffledBatches
from ordinate.methods import OTD, Optimization
from ordinate.metrics import is_rank_ordered, rank_cosine_matrix
from ordinate.training import loop as training
from tests.functional import brute_force
from tests.methods.examples import encoder, ranks, train

FAST = Optimization("adam", 0.01, 0.0, schedule="cosine", warmup=0.1)
STILL = Optimization("sgd", 1e-12)


@pytest.mark.typical("True")
@pytest.mark.parametrize("by_rank", [False, True])
def test_the_loss_falls_and_the_ranks_end_ordered_on_a_half_circle(by_rank):
    method, data = OTD(encoder(), 4, epochs=60, by_rank=by_rank, optimization=FAST), ranks(96)
    assert not is_rank_ordered(rank_cosine_matrix(method(data.x).detach().numpy(), data.y.numpy(), 4))
    losses = [entry["train_loss"] for entry in train(method, data)]
    assert losses[-1] < 0.1 * losses[0]
    matrix = rank_cosine_matrix(method(data.x).detach().numpy(), data.y.numpy(), 4)
    assert is_rank_ordered(matrix)
    angles = np.arccos(np.clip(matrix[0], -1, 1)) / np.pi
    assert angles == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=0.12)


def test_every_triplet_counts_the_same():
    data = ranks(20)
    embeddings = encoder()(data.x)
    expected = brute_force.angular_triangle(embeddings.double(), data.y, 4)
    loss = OTD(encoder(), 4).triangle(embeddings, data.y)
    torch.testing.assert_close(loss.double(), torch.as_tensor(expected).double(), rtol=0, atol=1e-6)


def test_balanced_every_rank_counts_the_same():
    data = ranks(20)
    uneven = torch.cat([torch.arange(20)[data.y == rank][: rank + 2] for rank in range(4)])
    embeddings, y = encoder()(data.x[uneven]), data.y[uneven]
    values = functional.angular_triangle(embeddings, y, 4, reduction="none")
    expected = torch.stack([values[y == rank].mean() for rank in range(4)]).mean()
    torch.testing.assert_close(OTD(encoder(), 4, by_rank=True).triangle(embeddings, y), expected, rtol=0, atol=1e-6)


def test_balanced_a_rank_that_the_batch_lacks_does_not_count():
    data = ranks(20)
    kept = data.y != 1
    embeddings, y = encoder()(data.x[kept]), data.y[kept]
    values = functional.angular_triangle(embeddings, y, 4, reduction="none")
    expected = torch.stack([values[y == rank].mean() for rank in (0, 2, 3)]).mean()
    torch.testing.assert_close(OTD(encoder(), 4, by_rank=True).triangle(embeddings, y), expected, rtol=0, atol=1e-6)


def test_the_validation_accuracy_is_that_of_the_three_nearest_training_embeddings():
    method, data, held_out = OTD(encoder(), 4, epochs=1, optimization=STILL), ranks(), ranks(30, seed=1)
    (entry,) = train(method, data, held_out, batch_size=48)
    with torch.no_grad():
        neighbours = KNeighborsClassifier(3, metric="cosine").fit(method(data.x), data.y)
        assert entry["val_accuracy"] == pytest.approx(neighbours.score(method(held_out.x), held_out.y), abs=1e-12)
        loss = functional.angular_triangle(method(held_out.x), held_out.y, 4)
    assert entry["val_loss"] == pytest.approx(loss.item(), abs=1e-6)


@pytest.mark.parametrize(("most", "kept"), [(20_000, 48), (32, 32), (33, 48)])
def test_the_newest_training_embeddings_of_an_epoch_are_kept_until_it_is_validated(most, kept):
    sizes = []

    class Watcher(OTD):
        most_seen = most

        def validate_embeddings(self, x, y):
            sizes.append(sum(len(y) for _, y in self.seen))
            return super().validate_embeddings(x, y)

    method = Watcher(encoder(), 4, epochs=3)
    training.train(method, ranks(), ShuffledBatches(48, 16), ranks(seed=1), progress=False)
    assert sizes == 3 * [kept]
    assert method.seen == []


def test_validation_samples_that_offer_no_triplet_have_no_loss_and_patience_watches_the_training():
    held_out = ranks(seed=1)
    few = type(held_out)(held_out.x[:2], torch.tensor([1, 2]))
    method = OTD(encoder(), 4, epochs=80, patience=2, optimization=Optimization("sgd", 5.0))
    history = train(method, ranks(), few)
    losses = [entry["train_loss"] for entry in history]
    assert len(losses) < 80
    assert losses.index(min(losses)) == len(losses) - 3
    assert all("val_accuracy" in entry and "val_loss" not in entry for entry in history)
