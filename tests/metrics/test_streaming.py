"""Metrics over batches and processes against the functions over everything at once."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection

from ordinate import metrics
from ordinate.errors import OrdinateError
from ordinate.metrics import streaming
from tests import processes

C = 5
TARGETS = {
    "MAE": metrics.mae,
    "MSE": metrics.mse,
    "RMSE": metrics.rmse,
    "GeometricMeanError": metrics.geometric_mean_error,
    "R2": metrics.r2,
    "Pearson": metrics.pearson,
    "Spearman": metrics.spearman,
    "Kendall": metrics.kendall,
}
RANKS = {
    "Accuracy": ({}, metrics.accuracy),
    "AccuracyWithin": ({"k": 1}, lambda true, pred: metrics.accuracy_within(true, pred, 1)),
    "QuadraticWeightedKappa": ({}, metrics.quadratic_weighted_kappa),
    "AdjacentErrorRates": ({"num_classes": C}, lambda true, pred: metrics.adjacent_error_rates(true, pred, C)),
}


def targets(p, n=60, seed=0):
    """Targets far from 0, where sums of squares cancel, with ties, and predictions of them."""
    rng = np.random.default_rng(seed)
    true = 1e5 + rng.integers(0, 20, (n, p)).astype(float)
    return true, true + rng.integers(-4, 5, (n, p)) / 2


def ranks(n=60, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, C, n)
    return true, np.clip(true + rng.integers(-2, 3, n), 0, C - 1)


def cases():
    """Every metric: its name, its options, its function, and data for it."""
    for name, function in TARGETS.items():
        for p in (1, 3):
            yield name, {"dimensions": p}, function, targets(p)
    for name, (options, function) in RANKS.items():
        yield name, options, function, ranks()
    yield "AngularError", {}, metrics.angular_error, np.random.default_rng(0).uniform(-1, 1, (2, 60, 2))


CASES = list(cases())
NAMES = [f"{name}-{options}" for name, options, _, _ in CASES]


def feed(metric, true, pred, bounds):
    for start, stop in pairwise(bounds):
        metric.update(torch.tensor(pred[start:stop]), torch.tensor(true[start:stop]))
    return metric


@pytest.mark.parametrize(("name", "options", "function", "data"), CASES, ids=NAMES)
def test_batches_add_up_to_the_function(name, options, function, data):
    true, pred = data
    metric = feed(getattr(streaming, name)(**options), true, pred, [0, 1, 20, 23, 60])
    np.testing.assert_allclose(metric.compute().numpy(), function(true, pred), rtol=1e-10, atol=0)
    metric.reset()
    feed(metric, true, pred, [40, 60])
    np.testing.assert_allclose(metric.compute().numpy(), function(true[40:], pred[40:]), rtol=1e-10, atol=0)


@pytest.mark.parametrize(("name", "options", "function", "data"), CASES, ids=NAMES)
def test_forward_gives_the_batch_and_compute_everything(name, options, function, data):
    true, pred = data
    metric = getattr(streaming, name)(**options)
    for rows in (slice(0, 50), slice(50, 60)):
        value = metric(torch.tensor(pred[rows]), torch.tensor(true[rows]))
        np.testing.assert_allclose(value.numpy(), function(true[rows], pred[rows]), rtol=1e-10, atol=0)
    np.testing.assert_allclose(metric.compute().numpy(), function(true, pred), rtol=1e-10, atol=0)


def compute_everywhere(rank, bounds):
    values = []
    for name, options, _, (true, pred) in CASES:
        metric = getattr(streaming, name)(**options)
        values.append(feed(metric, true, pred, bounds[rank]).compute())
    return values


@pytest.mark.parametrize("bounds", [([0, 5, 9], [9, 40, 41, 60]), ([0, 60], [])], ids=["uneven", "one has none"])
def test_two_processes_with_unequal_batches_give_the_function_over_all(tmp_path, bounds):
    for values in processes.together(2, compute_everywhere, tmp_path / "meet", bounds):
        for value, (_, _, function, (true, pred)) in zip(values, CASES, strict=True):
            np.testing.assert_allclose(value.numpy(), function(true, pred), rtol=1e-10, atol=0)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
def test_constants_are_0_as_in_the_functions(constant):
    flat, varying = np.full(7, constant), np.arange(7.0)
    for true, pred in [(flat, flat), (flat, varying), (varying, flat)]:
        for name in ("R2", "Pearson", "Spearman", "Kendall"):
            metric = feed(getattr(streaming, name)(), true, pred, [0, 3, 7])
            assert metric.compute().item() == pytest.approx(TARGETS[name](true, pred), abs=1e-12)


def test_agreement_on_one_rank_has_kappa_1():
    metric = feed(streaming.QuadraticWeightedKappa(), np.array([2, 2, 2]), np.array([2, 2, 2]), [0, 1, 3])
    assert metric.compute().item() == metrics.quadratic_weighted_kappa([2, 2, 2], [2, 2, 2]) == 1.0


def test_a_collection_takes_float32_predictions_with_a_gradient():
    true, pred = targets(1)
    preds = torch.tensor(pred - 1e5, dtype=torch.float32, requires_grad=True)
    together = MetricCollection([streaming.RMSE(), streaming.Pearson(), streaming.Spearman()])
    together.update(preds, torch.tensor(true - 1e5, dtype=torch.float32))
    values = {name: value.item() for name, value in together.compute().items()}
    expected = {name: TARGETS[name](true, pred) for name in ("RMSE", "Pearson", "Spearman")}
    assert values == pytest.approx(expected, rel=1e-10)


def test_the_functions_need_neither_torch_nor_torchmetrics():
    script = "import sys, ordinate.metrics; print({'torch', 'torchmetrics'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


one = torch.ones(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: streaming.MAE().update(torch.ones(2, 3), torch.ones(2, 3)),
            r"preds: got shape \(2, 3\), expected \(n,\)",
        ),
        (lambda: streaming.MAE().update(torch.ones(2), torch.ones(3)), "preds: got 2 samples, expected 3"),
        (lambda: streaming.MAE().update(one[:0], one[:0]), "preds: got shape .* at least one sample"),
        (lambda: streaming.MAE(dimensions=2).update(one, one), r"preds: got shape \(1,\), expected \(n, 2\)"),
        (lambda: streaming.R2().update(one, one / 0), "target: got NaN or infinity"),
        (lambda: streaming.Accuracy().update(one / 2, one), "preds: got fractions"),
        (lambda: streaming.QuadraticWeightedKappa().update(one, -one), "target: got ranks -1 to -1"),
        (lambda: streaming.AdjacentErrorRates(3).update(one * 3, one), "preds: got ranks 3 to 3, expected 0 to 2"),
        (lambda: streaming.AdjacentErrorRates(1), "num_classes: got 1"),
        (lambda: streaming.AccuracyWithin(-1), "k: got -1"),
        (lambda: streaming.MAE(dimensions=0), "dimensions: got 0"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()


@pytest.mark.filterwarnings("ignore:The ``compute`` method:UserWarning")
@pytest.mark.parametrize(("name", "options"), [case[:2] for case in CASES], ids=NAMES)
def test_a_metric_without_a_batch_says_so(name, options):
    with pytest.raises(OrdinateError, match="compute: got no batch yet"):
        getattr(streaming, name)(**options).compute()
