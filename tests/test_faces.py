"""The faces of the library held to each other: what a model predicts is the same wherever it is asked.

Python, the saved and loaded model, the command line, the report, samples held out, measures, protocols, and exported
graphs, for every model that ``fit --method`` trains; and for every decision.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

import ordinate
from ordinate.cli import main
from ordinate.decisions import cost_matrix, predict_ranks
from ordinate.estimators.registry import models
from ordinate.model.evaluation import evaluate
from ordinate.model.export import export_model
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import gather
from ordinate_papers.protocols.trial import score
from ordinate_papers.tables.models import build
from tests.estimators.examples import draw_table

X, TARGET = draw_table(60)
NEW = draw_table(80, seed=1)[0]
NAMES = ["very low", "low", "mid", "high", "very high"]  # whose order is not the alphabet's
NOISY = TARGET + np.random.default_rng(2).normal(scale=0.8, size=60)
TEXT = np.array(NAMES, dtype=object)[np.digitize(NOISY, [-1.2, -0.3, 0.3, 1.2])]
QUICK = {"embedding_dim": 8, "batch_size": 32, "random_state": 0}
COSTS = cost_matrix(5, {(1, 2): 6.0}).tolist()

pytestmark = pytest.mark.usefixtures("unpainted", "few_trees")

RANKS = [name for name, model in models().items() if "ranks" in model.estimators and model.embeds]
CONTINUOUS = [name for name, model in models().items() if "continuous" in model.estimators and name != "simcse"]


def fitted(name, task, epochs=4, **options):
    model = build(name, task).set_params(**QUICK)
    halves = (epochs // 2, epochs // 2)
    if name == "cloc":
        model.set_params(epochs=halves)
    else:
        model.set_params(epochs=halves if isinstance(model.epochs, tuple) else epochs)
    if task == "ranks":
        options["class_order"] = NAMES
    model.set_params(**options)
    return model.fit(frame(X), TEXT if task == "ranks" else TARGET)


def frame(values):
    return pd.DataFrame(values, columns=["a", "b", "c"])


def by_command(folder, *arguments):
    frame(NEW).to_csv(folder / "new.csv", index=False)
    assert (
        main(["predict", str(folder / "model"), str(folder / "new.csv"), *arguments, "--out", str(folder / "out.csv")])
        == 0
    )
    printed = pd.read_csv(folder / "out.csv")
    (folder / "out.csv").unlink()
    return printed


def hold_ranks_together(model, folder):
    """Ask every face for the ranks of new samples, and return the Python answer."""
    new, ordered = frame(NEW), model.ordered_classes_
    labels, probabilities = model.predict(new), model.rank_probabilities(new)
    assert (labels == ordered[predict_ranks(probabilities, model.rule)]).all()
    truth = np.array(NAMES, dtype=object)[np.arange(len(NEW)) % 5]
    true, ranks = np.arange(len(NEW)) % 5, np.array([NAMES.index(label) for label in labels])

    model.save(folder / "model")
    loaded = ordinate.load(folder / "model")
    assert (loaded.predict(new) == labels).all()
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))

    printed = by_command(folder)
    assert printed["prediction"].tolist() == labels.tolist()
    columns = printed[[f"probability_{name}" for name in NAMES]].to_numpy()
    np.testing.assert_allclose(columns, probabilities, rtol=0, atol=1e-6)

    page = gather(Predictions.of(model.fitted, new, truth))
    assert page.predicted.tolist() == ranks.tolist()
    np.testing.assert_allclose(page.probabilities, probabilities, rtol=0, atol=1e-12)

    held_out = HeldOut.measure(model.fitted, new, truth)
    assert held_out.labels.tolist() == true.tolist()
    np.testing.assert_allclose(held_out.predicted, probabilities, rtol=0, atol=1e-12)

    expected = {"accuracy": (ranks == true).mean(), "mae": np.abs(ranks - true).mean()}
    assert {name: evaluate(model.fitted, new, truth)[name] for name in expected} == pytest.approx(expected)
    assert {name: score(model, new, truth)[name] for name in expected} == pytest.approx(expected)
    assert model.score(new, truth) == pytest.approx(expected["accuracy"])
    return labels


@pytest.mark.typical(
    "blend", "cloc", "otd", "cross_entropy", "coral", "corn_ranks", "gol", "poe", "mwr", "triplet", "supcon", "dino"
)
@pytest.mark.parametrize("name", RANKS)
def test_every_model_of_ranks_predicts_the_same_at_every_face(name, tmp_path):
    hold_ranks_together(fitted(name, "ranks"), tmp_path)


@pytest.mark.parametrize("name", ["cloc", "coral", "otd"])
def test_every_decision_is_the_same_at_every_face(name, tmp_path):
    answers = {}
    model = fitted(name, "ranks", 30)
    by_default = model.predict(frame(NEW)).tolist()
    for key, decision in {"mode": "mode", "median": "median", "costs": COSTS}.items():
        (tmp_path / key).mkdir()
        answers[key] = hold_ranks_together(model.set_params(decision=decision), tmp_path / key).tolist()
    assert answers["mode"] != answers["costs"]
    if name != "otd":  # whose three neighbours seldom tell mode from median
        assert answers["mode"] != answers["median"]
    assert by_default == answers["median" if name == "coral" else "mode"]


def test_predict_takes_another_decision_than_the_model_was_trained_with(tmp_path):
    model = fitted("cloc", "ranks")
    model.save(tmp_path / "model")
    probabilities = model.rank_probabilities(frame(NEW))
    for decision in ("mode", "median"):
        expected = np.array(NAMES)[predict_ranks(probabilities, decision)]
        assert by_command(tmp_path, "--decision", decision)["prediction"].tolist() == expected.tolist()


@pytest.mark.typical("blend", "supcr", "supremix", "l1", "dldl_v2", "corn", "supcr_or", "supremix_huber", "dino")
@pytest.mark.parametrize("name", CONTINUOUS)
def test_every_model_of_a_continuous_target_predicts_the_same_at_every_face(name, tmp_path):
    model = fitted(name, "continuous")
    new, predicted = frame(NEW), model.predict(frame(NEW))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").predict(new), predicted)
    np.testing.assert_allclose(by_command(tmp_path)["prediction"], predicted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        gather(Predictions.of(model.fitted, new, NEW[:, 0])).predicted, predicted, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(HeldOut.measure(model.fitted, new, NEW[:, 0]).predicted, predicted, rtol=0, atol=1e-12)
    error = pytest.approx(np.abs(predicted - NEW[:, 0]).mean())
    assert evaluate(model.fitted, new, NEW[:, 0])["mae"] == score(model, new, NEW[:, 0])["mae"] == error


@pytest.mark.parametrize(("suffix", "decision"), [(".onnx", COSTS), (".pt2", "median")], ids=["costs", "median"])
def test_an_exported_graph_decides_as_the_model(decision, suffix, tmp_path):
    model = fitted("cloc", "ranks", decision=decision)
    exported = export_model(model.fitted, tmp_path / f"model{suffix}")
    samples = model.fitted.read(frame(NEW))
    if suffix == ".onnx":
        import onnxruntime

        session = onnxruntime.InferenceSession(exported.path, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        outputs = dict(zip(names, session.run(names, {"samples": samples.numpy()}), strict=True))
    else:
        outputs = {
            key: value.detach().numpy() for key, value in torch.export.load(exported.path).module()(samples).items()
        }
    record = json.loads(exported.description.read_text())
    np.testing.assert_allclose(outputs["probability"], model.rank_probabilities(frame(NEW)), rtol=0, atol=1e-6)
    assert np.array(record["classes"])[outputs["rank"]].tolist() == model.predict(frame(NEW)).tolist()


@pytest.mark.parametrize("method", ["coral", "cloc"])
def test_fit_measures_reports_and_predicts_the_same(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = frame(X).assign(grade=TEXT)
    data.to_csv("data.csv", index=False)
    arguments = ["--target", "grade", "--order", ",".join(NAMES), "--test-fraction", "0.5", "--epochs", "6"]
    assert main(["fit", "data.csv", *arguments, "--method", method, "--out", "model", "--quiet"]) == 0
    rows = json.loads((tmp_path / "model" / "split.json").read_text())["test"]
    unseen = data.iloc[rows]
    unseen.to_csv("unseen.csv", index=False)
    assert main(["predict", "model", "unseen.csv", "--out", "out.csv"]) == 0
    predicted = np.array([NAMES.index(label) for label in pd.read_csv("out.csv")["prediction"]])
    true = np.array([NAMES.index(label) for label in unseen["grade"]])
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert metrics["accuracy"] == pytest.approx((predicted == true).mean())
    assert metrics["mae"] == pytest.approx(np.abs(predicted - true).mean())
    page = (tmp_path / "model" / "report.html").read_text()
    shown = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))
    assert shown["predicted"] == predicted.tolist()
    assert shown["true"] == true.tolist()
