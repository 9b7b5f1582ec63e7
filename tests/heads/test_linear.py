import numpy as np
import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.heads import LinearHead, build_head

RNG = np.random.default_rng(0)
X, Y = (torch.from_numpy(RNG.normal(3, 4, size=(20, d))) for d in (5, 2))
LOSSES = {
    "l1": np.abs,
    "mse": np.square,
    "huber": lambda e: np.where(np.abs(e) < 1, e**2 / 2, np.abs(e) - 1 / 2),
}


def standardised_head(loss="l1"):
    head = LinearHead(5, target_dim=2, loss=loss).double()
    head.standardise(Y)
    return head


def linear(head):
    return X.numpy() @ head.linear.weight.detach().numpy().T + head.linear.bias.detach().numpy()


def test_predictions_are_linear_in_units_of_the_targets():
    head = standardised_head()
    expected = linear(head) * Y.numpy().std(0) + Y.numpy().mean(0)
    np.testing.assert_allclose(head(X).detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_is_that_of_standardised_targets(loss):
    head = standardised_head(loss)
    error = linear(head) - (Y.numpy() - Y.numpy().mean(0)) / Y.numpy().std(0)
    assert head.loss(X, Y).item() == pytest.approx(LOSSES[loss](error).mean(), abs=1e-12)
    assert 0 < (abs(error) > 1).mean() < 1  # both branches of Huber's


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_multiply_each_samples_loss(loss):
    head = standardised_head(loss)
    weights = torch.from_numpy(RNG.uniform(size=20))
    error = linear(head) - (Y.numpy() - Y.numpy().mean(0)) / Y.numpy().std(0)
    expected = (weights.numpy() * LOSSES[loss](error).mean(1)).mean()
    assert head.loss(X, Y, weights).item() == pytest.approx(expected, abs=1e-12)


def test_the_loss_has_the_dtype_of_the_embeddings():
    head = LinearHead(5, target_dim=2)
    head.standardise(Y)
    assert head.loss(X.float(), Y).dtype == torch.float32


def test_the_unit_of_the_targets_does_not_change_the_loss():
    metres, feet = standardised_head(), LinearHead(5, target_dim=2).double()
    feet.standardise(Y / 0.3048 + 7)
    feet.linear.load_state_dict(metres.linear.state_dict())
    torch.testing.assert_close(feet.loss(X, Y / 0.3048 + 7), metres.loss(X, Y), rtol=0, atol=1e-12)
    torch.testing.assert_close(feet(X), metres(X) / 0.3048 + 7, rtol=0, atol=1e-10)


def test_constant_targets_are_predicted_around_their_value():
    head = LinearHead(5, target_dim=1).double()
    head.standardise(torch.full((20, 1), 4.0))
    assert head.target_mean == 4
    assert head.target_scale == 1


@pytest.mark.parametrize("loss", ["mae", "L1", None])
def test_an_unknown_loss_is_an_error_that_lists_the_others(loss):
    with pytest.raises(OrdinateError, match=f"loss: got {loss!r}, expected one of 'l1', 'mse', 'huber'"):
        LinearHead(5, loss=loss)


@pytest.mark.parametrize("kind", ["l1", "dex", "corn"])
def test_standardised_embeddings_are_part_of_the_head(kind):
    torch.manual_seed(0)
    plain, standardised = (build_head(kind, 5, 2).double() for _ in range(2))
    for head in (plain, standardised):
        head.standardise(Y)
    standardised.standardise_embeddings(X)
    standardised.load_state_dict(
        {name: value for name, value in plain.state_dict().items() if not name.startswith("embedding_")}, strict=False
    )
    seen = torch.from_numpy((X.numpy() - X.numpy().mean(0)) / X.numpy().std(0))
    assert (standardised(X) - plain(seen)).abs().max() < 1e-12
    assert standardised.loss(X, Y).item() == pytest.approx(plain.loss(seen, Y).item(), abs=1e-12)


def test_a_coordinate_that_hardly_moves_is_not_blown_up():
    head = LinearHead(3).double()
    embeddings = torch.stack([X[:, 0], X[:, 1] * 1e-9, torch.full((20,), 7.0, dtype=torch.float64)], dim=1)
    head.standardise_embeddings(embeddings)
    assert head.standardised(embeddings)[:, 0].std(correction=0).item() == pytest.approx(1, abs=1e-12)
    assert head.standardised(embeddings)[:, 1].abs().max() < 1e-5
    assert (head.standardised(embeddings)[:, 2] == 0).all()


def test_embeddings_that_are_all_the_same_leave_the_head_finite():
    head = LinearHead(3)
    head.standardise_embeddings(torch.ones(4, 3))
    assert head.standardised(torch.zeros(1, 3)).tolist() == [[-1.0] * 3]
