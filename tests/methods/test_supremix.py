"""SupReMix: its projection head is for the mixtures, and the head works on the encoder."""

import pytest
import torch

from ordinate import functional
from ordinate.methods import Optimization, SupReMix
from tests.methods.examples import DIM, encoder, targets, train, watch

FAST = Optimization("adam", 0.01, 0.0)


def supremix(**options):
    torch.manual_seed(0)
    options = {"window": 1.5, "epochs": (3, 4), "optimization": FAST, "head_optimization": FAST, **options}
    method = SupReMix(encoder(), DIM, **options)
    method.head.standardise(targets().y)
    return method


def tied_targets():
    """Whole targets, so that anchors have positives of their own label."""
    data = targets()
    return type(data)(data.x, data.y.round())


@pytest.mark.parametrize(
    ("scheme", "encoder", "projection", "head"),
    [
        ("linear_probe", [True] * 3 + [False] * 4, [True] * 3 + [False] * 4, [False] * 3 + [True] * 4),
        ("fine_tune", [True] * 7, [True] * 3 + [False] * 4, [False] * 3 + [True] * 4),
        ("regularise", [True] * 3, [True] * 3, [True] * 3),
    ],
)
def test_what_each_scheme_trains_in_each_epoch(scheme, encoder, projection, head):
    watched = watch(supremix(scheme=scheme), targets())
    assert watched.changes("encoder") == encoder
    assert watched.changes("projection") == projection
    assert watched.changes("head.linear") == head


@pytest.mark.parametrize(
    "options",
    [{}, {"mix_positives": False}, {"renormalize": False, "detach_mixtures": True, "label_range": 9.0}],
    ids=["default", "no mixed positives", "as published"],
)
def test_the_loss_is_that_of_the_projected_embeddings(options):
    method, data = supremix(temperature=0.7, beta=(3.0, 5.0), **options), tied_targets()
    projected = method.projection(method.encoder(data.x))
    torch.manual_seed(5)
    expected = functional.supremix(
        projected, data.y, temperature=0.7, window=1.5, beta=(3.0, 5.0), reduction="mean", **options
    )
    torch.manual_seed(5)
    torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-6)


def test_each_batch_draws_mixtures_of_its_own():
    method, data = supremix(), targets()
    assert method.batch_loss(data.x, data.y) != method.batch_loss(data.x, data.y)


def test_the_contrastive_loss_falls_and_the_head_predicts_targets_in_their_units():
    method, data = supremix(epochs=(60, 60), head_optimization=Optimization("adam", 0.03, 0.0)), targets()
    losses = [entry["train_loss"] for entry in train(method, data)]
    assert losses[59] < losses[0] - 0.05
    with torch.no_grad():
        assert (method.predict(data.x) - data.y).abs().mean() < 0.35 * (data.y - data.y.median()).abs().mean()


def test_a_validation_set_without_positives_has_no_contrastive_loss():
    held_out = targets(2, seed=1)
    history = train(supremix(window=1e-3, epochs=(1, 1), mix_positives=True), tied_targets(), held_out)
    assert "val_contrast" not in history[0]
    assert "val_loss" in history[1]
