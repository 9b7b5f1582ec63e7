"""Labels of a plain data loader: (n,) and (n, 1) train the same weights, other shapes are refused."""

from functools import cache

import pytest
import torch

from ordinate.data.samplers import ShuffledBatches
from ordinate.errors import OrdinateError
from ordinate.methods import SupCR
from ordinate.training.loop import ArrayBatches, train
from tests.methods.every_method import METHODS
from tests.methods.examples import DIM, encoder, targets

SEE_LABELS = {name: build for name, build in METHODS.items() if name not in ("simclr", "dino", "dino, then a head")}
for_every_method = pytest.mark.parametrize("build", METHODS.values(), ids=METHODS)


def fit(build, change=lambda y: y):
    """The weights and the history of a method trained and validated on changed labels."""
    torch.manual_seed(0)
    method, data = build()
    changed = ArrayBatches(data.x, change(data.y))
    train(method, changed, ShuffledBatches(len(changed), 24), changed, accelerator="cpu", progress=False)
    return method.state_dict(), method.history


@cache
def fit_once(build, change=lambda y: y):
    """What ``fit`` gives, for all tests that compare with it."""
    return fit(build, change)


def column(y):
    return y.reshape(-1, 1)


def vector(y):
    return y.reshape(-1)


def turned(y):
    return column(y) if y.ndim == 1 else vector(y)


def whole(y):
    return (y - y.min()).round()


@for_every_method
def test_a_label_per_row_and_a_column_of_labels_train_the_same_weights(build):
    (weights, history), (expected, expected_history) = fit(build, turned), fit_once(build)
    assert [name for name in expected if not torch.equal(weights[name], expected[name])] == []
    assert history == expected_history


@pytest.mark.typical("uint8", "float64")
@for_every_method
@pytest.mark.parametrize(
    "dtype", [torch.int32, torch.uint8, torch.float32, torch.float64], ids=["int32", "uint8", "float32", "float64"]
)
def test_the_dtype_of_labels_changes_nothing_but_rounding(build, dtype):
    (weights, _), (expected, _) = fit(build, lambda y: whole(y).to(dtype)), fit_once(build, whole)
    for name, value in expected.items():
        torch.testing.assert_close(weights[name], value, rtol=1e-4, atol=1e-4, check_dtype=False)


@pytest.mark.parametrize("build", SEE_LABELS.values(), ids=SEE_LABELS)
@pytest.mark.parametrize("shape", [(-1, 1, 1), (-1, 2)])
def test_labels_of_another_shape_are_refused(build, shape):
    with pytest.raises(OrdinateError, match=r"labels: got shape \(24, "):
        fit(build, lambda y: column(y).repeat(1, abs(shape[-1])).reshape(len(y), *shape[1:]))


def test_a_head_trained_on_labels_without_a_column_learns_more_than_a_constant():
    def build():
        method = SupCR(encoder(), DIM, epochs=(60, 60), augment=None)
        method.head.standardise(vector(targets().y))
        return method, targets()

    _, history = fit(build, vector)
    assert history[-1]["val_mae"] < 0.3 * targets().y.std()
