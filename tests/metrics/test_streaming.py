"""Metrics over batches and processes against the functions over everything at once."""

import subprocess
import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
import torchmetrics
from torchmetrics import MetricCollection

from ordinate import metrics
from ordinate.errors import OrdinateError
from ordinate.metrics import streaming
from tests import processes

C = 5
RANKS = {
    "AccuracyWithin": ({"k": 1}, lambda true, pred: metrics.accuracy_within(true, pred, 1)),
    "AdjacentErrorRates": ({"num_classes": C}, lambda true, pred: metrics.adjacent_error_rates(true, pred, C)),
}
TORCHMETRICS = {
    "mae": torchmetrics.MeanAbsoluteError,
    "mse": torchmetrics.MeanSquaredError,
    "rmse": partial(torchmetrics.MeanSquaredError, squared=False),
    "r2": torchmetrics.R2Score,
    "pearson": torchmetrics.PearsonCorrCoef,
    "spearman": torchmetrics.SpearmanCorrCoef,
    "kendall": torchmetrics.KendallRankCorrCoef,
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
    for p in (1, 3):
        yield "GeometricMeanError", {"dimensions": p}, metrics.geometric_mean_error, targets(p)
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


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize(("name", "make"), TORCHMETRICS.items(), ids=TORCHMETRICS)
def test_torchmetrics_has_the_other_metrics_of_targets(name, make, p):
    true, pred = targets(p)
    metric = make() if name == "r2" else make(num_outputs=p)
    value = metric(torch.tensor(pred).squeeze(1), torch.tensor(true).squeeze(1))
    assert value.mean().item() == pytest.approx(getattr(metrics, name)(true, pred), rel=1e-6)


def test_torchmetrics_has_the_other_metrics_of_ranks():
    true, pred = ranks()
    accuracy = torchmetrics.classification.MulticlassAccuracy(C, average="micro")
    kappa = torchmetrics.classification.MulticlassCohenKappa(C, weights="quadratic")
    given = torch.tensor(pred), torch.tensor(true)
    assert accuracy(*given).item() == pytest.approx(metrics.accuracy(true, pred), rel=1e-6)
    assert kappa(*given).item() == pytest.approx(metrics.quadratic_weighted_kappa(true, pred), rel=1e-6)


@pytest.mark.filterwarnings("ignore:The variance of predictions or target is close to zero:UserWarning")
@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [("r2", 1.0, 0.0), ("pearson", np.nan, 0.0), ("spearman", 0.0, 0.0), ("kendall", np.nan, 0.0)],
)
def test_constants_differ_from_torchmetrics_as_the_documentation_says(name, theirs, ours):
    constant = torch.full((7,), 3.0)
    np.testing.assert_equal(TORCHMETRICS[name]()(constant, constant).item(), theirs)
    assert getattr(metrics, name)(constant.numpy(), constant.numpy()) == ours


def test_agreement_on_one_rank_has_no_kappa_in_torchmetrics():
    same = torch.tensor([2, 2, 2])
    assert torch.isnan(torchmetrics.classification.MulticlassCohenKappa(C, weights="quadratic")(same, same))
    assert metrics.quadratic_weighted_kappa(same.numpy(), same.numpy()) == 1.0


def test_a_collection_takes_float32_predictions_with_a_gradient():
    true, pred = targets(1)
    preds = torch.tensor(pred - 1e5, dtype=torch.float32, requires_grad=True)
    together = MetricCollection([streaming.GeometricMeanError(), torchmetrics.MeanAbsoluteError()])
    together.update(preds[:, 0], torch.tensor(true[:, 0] - 1e5, dtype=torch.float32))
    values = {name: value.item() for name, value in together.compute().items()}
    assert values["GeometricMeanError"] == pytest.approx(metrics.geometric_mean_error(true, pred), rel=1e-10)
    assert values["MeanAbsoluteError"] == pytest.approx(metrics.mae(true, pred), rel=1e-6)


def test_the_functions_need_neither_torch_nor_torchmetrics():
    script = "import sys, ordinate.metrics; print({'torch', 'torchmetrics'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


one = torch.ones(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: streaming.GeometricMeanError().update(torch.ones(2, 3), torch.ones(2, 3)),
            r"preds: got shape \(2, 3\), expected \(n,\)",
        ),
        (
            lambda: streaming.GeometricMeanError().update(torch.ones(2), torch.ones(3)),
            "preds: got 2 samples, expected 3",
        ),
        (lambda: streaming.GeometricMeanError().update(one[:0], one[:0]), "preds: got shape .* at least one sample"),
        (
            lambda: streaming.GeometricMeanError(dimensions=2).update(one, one),
            r"preds: got shape \(1,\), expected \(n, 2\)",
        ),
        (lambda: streaming.GeometricMeanError().update(one, one / 0), "target: got NaN or infinity"),
        (lambda: streaming.AccuracyWithin(0).update(one / 2, one), "preds: got fractions"),
        (lambda: streaming.AccuracyWithin(0).update(one, -one), "target: got ranks -1 to -1"),
        (lambda: streaming.AdjacentErrorRates(3).update(one * 3, one), "preds: got ranks 3 to 3, expected 0 to 2"),
        (lambda: streaming.AdjacentErrorRates(1), "num_classes: got 1"),
        (lambda: streaming.AccuracyWithin(-1), "k: got -1"),
        (lambda: streaming.GeometricMeanError(dimensions=0), "dimensions: got 0"),
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
