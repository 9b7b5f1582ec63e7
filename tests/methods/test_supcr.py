"""SupCR's stages: the encoder under the contrastive loss, the head after it, beside it or on it frozen."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from ordinate import functional
from ordinate.errors import OrdinateError
from ordinate.methods import Optimization, SupCR
from tests.methods.examples import DIM, encoder, targets, train, watch

FAST = {"optimization": Optimization("adam", 0.01, 0.0), "head_optimization": Optimization("adam", 0.05, 0.0)}


def supcr(data=None, *layers, **options):
    data = data or targets()
    torch.manual_seed(0)
    method = SupCR(encoder(0, *layers), DIM, data.y.shape[1], **{"epochs": (3, 4), **FAST, **options})
    method.head.standardise(data.y)
    return method


def test_a_linear_probe_leaves_the_encoder_as_it_is_to_the_bit():
    layers = nn.BatchNorm1d(32), nn.Dropout(0.3)
    watched = watch(supcr(None, *layers), targets())
    assert watched.stages == [0, 0, 0, 1, 1, 1, 1]
    assert watched.changes("encoder") == [True, True, True, False, False, False, False]
    assert watched.changes("head.linear") == [False, False, False, True, True, True, True]


def test_the_head_of_a_linear_probe_is_trained_on_embeddings_without_dropout():
    method, data = supcr(None, nn.Dropout(0.9), epochs=(1, 1), head_optimization=Optimization("sgd", 1e-12)), targets()
    history = train(method, data, batch_size=48)
    method.eval()
    with torch.no_grad():
        assert history[1]["train_loss"] == pytest.approx(method.head.loss(method(data.x), data.y).item(), abs=1e-6)


def test_a_linear_probe_sees_embeddings_on_the_scale_of_the_first_batch():
    data = targets()
    method = supcr(data, epochs=(1, 2))
    train(method, data, batch_size=len(data))
    with torch.no_grad():
        embeddings = method(data.x)
    torch.testing.assert_close(method.head.embedding_mean, embeddings.mean(0), rtol=0, atol=1e-5)
    torch.testing.assert_close(method.head.embedding_scale, embeddings.std(0, correction=0), rtol=0, atol=1e-5)


def test_the_loss_of_each_stage():
    data = targets()
    for scheme in ("linear_probe", "fine_tune", "regularise"):
        method = supcr(scheme=scheme, contrast_weight=0.3, temperature=1.5, label_distance="l2", num_positives=5)
        embeddings = method.encoder(data.x)
        contrast = functional.supcr(embeddings, data.y, temperature=1.5, label_distance="l2", num_positives=5)
        head = (method.head(embeddings) - data.y).abs().mean() / data.y.std(correction=0)
        expected = contrast if scheme != "regularise" else head + 0.3 * contrast
        torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-5)
        if scheme != "regularise":
            method.stage_index = 1
            torch.testing.assert_close(method.batch_loss(data.x, data.y), head, rtol=0, atol=1e-5)


class Views:
    """Counts its calls and adds their number to the batch."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x + 0.1 * self.calls


def test_two_views_are_contrasted_each_sample_with_its_label():
    views, data = Views(), targets(12)
    method = supcr(data, augment=views)
    embeddings = torch.cat([method.encoder(data.x + 0.1), method.encoder(data.x + 0.2)])
    expected = functional.supcr(embeddings, torch.cat([data.y, data.y]))
    torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("scheme", "calls"), [("linear_probe", 18), ("fine_tune", 18), ("regularise", 18)])
def test_views_are_drawn_for_the_contrastive_loss_only(scheme, calls):
    views = Views()
    train(supcr(scheme=scheme, augment=views), targets(), targets(seed=1))
    assert views.calls == calls  # two a batch, three batches, three epochs; none for validation or the head


def test_the_contrastive_loss_falls_and_the_head_predicts_targets_in_their_units():
    method, data = supcr(epochs=(60, 60)), targets()
    losses = [entry["train_loss"] for entry in train(method, data)]
    assert losses[59] < 0.8 * losses[0]
    assert losses[-1] < 0.3 * losses[60]
    with torch.no_grad():
        assert (method.predict(data.x) - data.y).abs().mean() < 0.25 * (data.y - data.y.median()).abs().mean()


def test_validation_is_logged_stage_by_stage():
    method, held_out = supcr(epochs=(1, 1)), targets(seed=1)
    _, second = train(method, targets(), held_out)
    with torch.no_grad():
        error = (method.predict(held_out.x) - held_out.y).abs().mean().item()
        loss = method.head.loss(method(held_out.x), held_out.y).item()
    assert second["val_mae"] == pytest.approx(error, abs=1e-5)
    assert second["val_loss"] == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize(("batch_size", "size"), [(2, 8), (4, 5)], ids=["all", "last"])
def test_a_batch_of_two_from_which_nothing_is_learned_is_an_error(batch_size, size):
    with pytest.raises(OrdinateError, match=r"^embeddings: got 2, expected at least 3 samples"):
        train(supcr(), targets(size), batch_size=batch_size)


def test_a_validation_set_of_two_has_no_contrastive_loss():
    history = train(supcr(epochs=(1, 1)), targets(), targets(2, seed=1))
    assert "val_contrast" not in history[0]
    assert "val_loss" in history[1]


def test_the_encoder_is_validated_by_ridge_regression_on_the_embeddings_of_the_epoch():
    data, held_out = targets(48), targets(30, seed=1)
    still = Optimization("sgd", 1e-12, 0.0)
    method = supcr(data, epochs=(1, 1), patience=1, optimization=still)
    first, second = train(method, data, held_out, batch_size=16)
    with torch.no_grad():
        probe = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 4, 21))).fit(method(data.x), data.y)
        expected = np.abs(probe.predict(method(held_out.x)).reshape(-1, 1) - held_out.y.numpy()).mean()
        assert first["val_mae"] == pytest.approx(expected, abs=1e-4)
        assert second["val_mae"] == pytest.approx(
            (method.predict(held_out.x) - held_out.y).abs().mean().item(), abs=1e-4
        )
    assert method.seen == []


def test_patience_ends_the_encoder_where_its_embeddings_become_worse_and_leaves_the_head_its_epochs():
    data, held_out = targets(), targets(seed=1)

    class Worsening(SupCR):
        def error(self, predicted, y, weights=None):
            epoch = self.current_epoch
            return super().error(y + (abs(epoch - 4) + 1.0 if self.stage_index == 0 else epoch), y, weights)

    torch.manual_seed(0)
    method = Worsening(encoder(0), DIM, 1, epochs=(30, 12), patience=3, **FAST)
    history = train(method, data, held_out)
    assert [entry["stage"] for entry in history] == 8 * [0] + 12 * [1]
    assert [round(entry["val_mae"]) for entry in history[:8]] == [5, 4, 3, 2, 1, 2, 3, 4]


def test_of_epochs_that_validation_cannot_tell_apart_the_last_is_the_best():
    method, lowest_yet = supcr(patience=3), float("inf")
    lowest = torch.tensor([1.0, 1.0, 1.0, 1.0])
    scattered = torch.tensor([0.0, 2.2, 0.0, 2.2])  # higher by 0.1, a sixth of its standard error
    for errors, best in ((lowest, True), (scattered, True), (lowest + 0.1, False), (lowest - 0.1, True)):
        method.errors = errors
        assert method.is_best(float(errors.mean()), lowest_yet) == best
        lowest_yet = min(lowest_yet, float(errors.mean()))


def test_a_batch_of_equal_labels_is_passed_over():
    method = SupCR(nn.Linear(3, 8), embedding_dim=8, epochs=(2, 1))
    x = torch.randn(6, 3)
    loss = method.batch_loss(x, torch.full((6, 1), 2.5))
    loss.backward()
    assert loss == 0
    assert all(not weight.grad.any() for weight in method.encoder.parameters())
    assert method.batch_loss(x, torch.arange(6.0)[:, None]) > 0
