import copy

import pytest
import torch
from torch import nn

from ordinate.functional import supcr
from ordinate_papers.published.supcr import l1_loop, supcr_loop
from tests.functional.brute_force import embeddings
from tests.papers.published.toy import toy


def network(out):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, out))


def rank_n_contrast(x, labels, temperature=2.0):
    """The loss of two views, one term after the other."""
    n, total = len(x), 0.0
    for i in range(n):
        others = [k for k in range(n) if k != i]
        for j in others:
            apart = abs(labels[i] - labels[j])
            far = [-(x[i] - x[k]).norm() / temperature for k in others if abs(labels[i] - labels[k]) >= apart]
            total = total + torch.stack(far).logsumexp(0) + (x[i] - x[j]).norm() / temperature
    return total / (n * (n - 1))


@pytest.mark.parametrize("labels", [[1.0, 3.0, 3.0, 5.0], [2.0, 7.5, 0.0, 4.0]], ids=["ties", "distinct"])
def test_the_loss_of_two_views_is_that_of_loops(labels):
    x, y = embeddings(8), torch.tensor(labels * 2, dtype=torch.float64)
    ours, theirs = supcr(x, y), rank_n_contrast(x, y)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad(loss, x)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def train(seed=0, epochs=(20, 30), **options):
    encoder = network(8)
    return supcr_loop(encoder, *toy(), epochs=epochs, batch_size=40, learning_rate=0.1, seed=seed, **options)


def test_the_loop_learns():
    trained = train()
    of_encoder, of_probe = ([epoch for epoch in trained.history if epoch.stage == s] for s in ("encoder", "probe"))
    assert (len(of_encoder), len(of_probe)) == (20, 30)
    assert of_encoder[-1].loss < of_encoder[0].loss - 0.1
    y_val = toy()[3]
    assert min(epoch.error for epoch in of_probe) < 0.5 * float((y_val - y_val.median()).abs().mean())


def error_of(module, x, y):
    with torch.no_grad():
        return float((module(x)[:, 0] - y).abs().mean())


def test_the_probe_has_the_weights_of_its_best_validation_epoch():
    trained = train(epochs=(20, 4), probe_learning_rate=2.0)
    errors = [epoch.error for epoch in trained.history if epoch.stage == "probe"]
    assert min(errors) < errors[-1]
    _, _, x_val, y_val = toy()
    assert error_of(nn.Sequential(trained.encoder, trained.probe), x_val, y_val) == pytest.approx(min(errors), rel=1e-6)


def test_the_probe_does_not_change_the_encoder():
    x, y, x_val, y_val = toy()
    options = {"batch_size": 40, "learning_rate": 0.1}
    encoder = supcr_loop(network(8), x, y, x_val, y_val, epochs=(3, 1), **options).encoder
    again = supcr_loop(network(8), x, y, x_val, y_val, epochs=(3, 9), **options).encoder
    for one, other in zip(encoder.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


def test_both_views_of_a_batch_and_the_probes_one_are_drawn():
    sizes = []

    def augment(batch):
        sizes.append(len(batch))
        return batch + 0.01 * torch.randn_like(batch)

    supcr_loop(network(8), *toy(), epochs=(1, 1), batch_size=40, probe_batch_size=50, augment=augment)
    assert sizes == [40, 40, 40, 40, 50, 30]


def test_weight_decay_is_on_biases_too():
    encoder = network(8)
    encoder[2].bias.data.fill_(1.0)  # The loss does not change if all embeddings move by the same vector.
    x, y, x_val, y_val = toy()
    before = encoder[2].bias.detach().clone()
    supcr_loop(encoder, x, y, x_val, y_val, epochs=(5, 1), batch_size=80, learning_rate=0.5)
    after = encoder[2].bias.detach()
    assert (after < before).all()
    assert (after > 0.99 * before).all()


def test_targets_may_have_several_dimensions():
    x, y, x_val, y_val = toy()
    columns = [torch.stack([targets, -targets], 1) for targets in (y, y_val)]
    trained = supcr_loop(network(8), x, columns[0], x_val, columns[1], epochs=(1, 1), batch_size=40)
    assert trained.probe(trained.encoder(x)).shape == (80, 2)


def test_the_loop_reproduces_from_its_seed_and_leaves_random_numbers_as_they_were():
    state = torch.get_rng_state()
    first, again, other = train(), train(), train(seed=1)
    assert first.history == again.history != other.history
    assert torch.equal(state, torch.get_rng_state())


def test_the_l1_loop_learns_keeps_its_best_epoch_and_reproduces_from_its_seed():
    first, again = network(1), network(1)
    histories = [l1_loop(one, *toy(), epochs=40, batch_size=40, seed=3) for one in (first, again)]
    assert histories[0] == histories[1]
    _, _, x_val, y_val = toy()
    best = min(epoch.error for epoch in histories[0])
    assert best < 0.3 * float((y_val - y_val.median()).abs().mean())
    assert error_of(first, x_val, y_val) == pytest.approx(best, rel=1e-6)


def test_a_network_of_dropout_is_validated_without_it():
    module = nn.Sequential(nn.Linear(2, 32), nn.Dropout(0.5), nn.Linear(32, 1))
    history = l1_loop(module, *toy(), epochs=3, batch_size=40)
    _, _, x_val, y_val = toy()
    assert not copy.deepcopy(module).training
    assert error_of(module, x_val, y_val) == pytest.approx(min(epoch.error for epoch in history), rel=1e-6)
