"""What a run measures, by its protocol."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report, rank_report
from ordinate_papers.datasets import catalogue, reading
from ordinate_papers.datasets.reading import Split
from ordinate_papers.protocols.classifiers import knn_error
from ordinate_papers.tables.budgets import Budget
from ordinate_papers.tables.execute import execute, validation
from ordinate_papers.tables.metric_names import CONTINUOUS_METRICS, METRICS, RANK_METRICS
from ordinate_papers.tables.models import build
from ordinate_papers.tables.run import Run

BUDGET = Budget(6, 2, 2, 32)


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """A set of ranks and one of targets, 90 samples each, in place of the real ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    split = Split(np.arange(60), np.arange(60, 60), np.arange(60, 90))
    labels = {"ranks": np.digitize(X[:, 0], [-0.5, 0.5]), "targets": 10 * X[:, 0]}
    airfoil = catalogue.dataset("airfoil")
    sets = {"ranks": replace(airfoil, task="ranks"), "targets": airfoil}
    monkeypatch.setattr(catalogue, "TABLE_SETS", sets)
    monkeypatch.setattr(reading, "load", lambda name, seed: (X, labels[name], split))
    return X, labels


def run(dataset, name, kind="plain", **settings):
    return Run(dataset, name, kind, settings, 2, {"budget": BUDGET.to_dict()})


def test_ranks_are_measured_as_the_estimator_predicts_them(small_sets, tmp_path):
    X, labels = small_sets
    y = labels["ranks"]
    metrics = execute(run("ranks", "otd"), tmp_path)
    model = build("otd", "ranks", budget=BUDGET, seed=2, num_classes=3).fit(X[:60], y[:60])
    report = rank_report(y[60:], model.predict(X[60:]), 3)
    assert {name: metrics[name] for name in report} == report
    assert metrics["knn_error"] == knn_error(model.transform(X[:60]), y[:60], model.transform(X[60:]), y[60:], 3)
    assert set(RANK_METRICS) <= set(metrics) <= set(METRICS)
    assert metrics["knn_accuracy"][-1] is not None


def test_targets_are_measured_as_the_estimator_predicts_them(small_sets, tmp_path):
    X, labels = small_sets
    y = labels["targets"]
    metrics = execute(run("targets", "supcr"), tmp_path)
    predicted = build("supcr", "continuous", budget=BUDGET, seed=2).fit(X[:60], y[:60]).predict(X[60:])
    report = continuous_report(y[60:], predicted)
    assert {name: metrics[name] for name in report} == report
    assert metrics["mse"] == pytest.approx(metrics["rmse"] ** 2, rel=1e-12)
    assert set(CONTINUOUS_METRICS) - {"angular_error"} <= set(metrics) <= set(METRICS)


def test_the_same_run_gives_the_same_figures_and_takes_up_its_state(tmp_path):
    first = execute(run("targets", "supcr"), tmp_path / "one")
    again = execute(run("targets", "supcr"), tmp_path / "one")
    other = execute(run("targets", "supcr"), tmp_path / "two")
    without = [{k: v for k, v in metrics.items() if k != "seconds"} for metrics in (first, again, other)]
    assert without[0] == without[1] == without[2]
    assert again["seconds"] < first["seconds"]


APART = {"beside": ("n_pair",), "also": {"n_pair_1000": {"model": "n_pair", "batch_size": 1000}}, "rounds": 1}


@pytest.mark.parametrize(
    ("dataset", "model", "protocol", "conditions", "expected"),
    [
        ("targets", "l1", "reduced_data", {"samples": 20}, {"mae", "r2"}),
        ("targets", "l1", "reduced_data", {"share": 0.5}, {"mae", "r2"}),
        ("targets", "l1", "unseen_targets", {"ranges": ((-5, -2), (3, 6))}, {"mae_all", "mae_seen", "mae_unseen"}),
        ("targets", "l1", "unseen_targets", {}, {"mae_all", "geometric_mean_error_unseen"}),
        ("targets", "l1", "imbalance", {}, {"mae_all", "mae_few"}),
        ("targets", "supcr", "label_permutation", {}, {"mae_genuine", "order_permuted", "places_genuine"}),
        ("ranks", "otd", "label_bias", {"boundary": (0, 1)}, {"accuracy", "mae", "critical_error"}),
        ("targets", "l1", "transfer", {"source": "targets", "scheme": "linear_probe", "samples": 30}, {"mae", "r2"}),
        ("targets", "supcr", "epoch_time", {"beside": ("supremix",), "rounds": 1}, {"seconds_supcr", "ratio_supcr"}),
        ("ranks", "otd", "embedding_order", {}, {"order", "cosine_distances", "neighbours", "neighbour_accuracy"}),
        pytest.param("ranks", "otd", "embedding_map", {}, {"order", "places", "labels"}, marks=pytest.mark.thorough),
        ("ranks", "supremix", "logits", {}, {"logit_gap", "positive_logits", "hard_negative_counts", "logit_edges"}),
        ("ranks", "otd", "epoch_time", APART, {"seconds_otd", "seconds_n_pair", "seconds_n_pair_1000"}),
        ("ranks", "otd", "pairing_time", APART, {"seconds_otd", "seconds_n_pair", "seconds_n_pair_1000"}),
    ],
)
def test_every_protocol_gives_its_metrics(dataset, model, protocol, conditions, expected, tmp_path):
    assert expected <= set(execute(run(dataset, model, protocol, protocol=conditions), tmp_path))


def test_what_cannot_be_run_says_why(tmp_path):
    with pytest.raises(OrdinateError, match="protocol: got 'guess'"):
        execute(run("ranks", "otd", "guess"), tmp_path)
    with pytest.raises(OrdinateError, match="otd, which is for ranks"):
        execute(run("targets", "otd"), tmp_path)


@pytest.mark.parametrize("validated", [0, 10])
def test_a_choice_sees_no_test_sample(validated):
    places = np.random.default_rng(0).permutation(90)
    split = Split(places[: 60 - validated], places[60 - validated : 60], places[60:])
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append(X[:, 0])
            return self

        def predict(self, X):
            seen.append(X[:, 0])
            return np.zeros(len(X), dtype=np.int64)

    trial = SimpleNamespace(
        X=np.arange(90)[:, None],
        y=np.arange(90) % 3,
        split=split,
        task="ranks",
        ranks=3,
        run=SimpleNamespace(seed=0),
        build=Model,
    )
    assert set(validation(trial)) >= {"validation_mae", "validation_accuracy"}
    trained, judged = map(set, seen)
    assert len(judged) == (validated or 12)
    assert not trained & judged
    assert trained | judged == set(places[:60])
