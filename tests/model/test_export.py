"""An exported graph is the estimator: in ONNX Runtime and in torch, for batches of any size."""

import json
import sys
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
import torch

from ordinate import ImageOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.samples import check_input
from ordinate.heads import NeighbourVote
from ordinate.model.export import InferenceGraph, export_model
from tests.data import pictures
from tests.estimators.examples import (
    ALL,
    CLASSIFIERS,
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

TINY = {"data": ImageOptions(augmentation="none", workers=0), "batch_size": 8}
QUICK = {cloc: {"epochs": (1, 1)}, otd: {"epochs": 1}}
both_formats = pytest.mark.parametrize("name", ["model.onnx", "model.pt2"])


def fit(make, X, target, **options):
    return make(**{**QUICK.get(make, {"epochs": (1, 1)}), **options}).fit(X, labels_for(make, target))


def draw_images(side=16, n=24, seed=0):
    target = np.arange(n) % 3
    return pictures.draw(target, seed=seed, side=side), target.astype(float)


def run(path, samples):
    """The outputs of an exported graph, by name."""
    if path.suffix == ".pt2":
        return {name: value.detach().numpy() for name, value in torch.export.load(path).module()(samples).items()}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    assert {output.shape[0] for output in [*session.get_inputs(), *session.get_outputs()]} == {"n"}
    return dict(zip(names, session.run(names, {"samples": samples.numpy()}), strict=True))


def read(model, X):
    return model.reader_.read(check_input(model, X, reset=False))


def assert_is_the_model(model, X, path, atol, n):
    """Embeddings to ``atol``, and predictions, for the first n samples."""
    X = X[:n]
    outputs = run(path, read(model, X))
    np.testing.assert_allclose(outputs["embedding"], model.transform(X), rtol=0, atol=atol)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(outputs["probability"], model.predict_proba(X), rtol=0, atol=atol)
        assert (model.ordered_classes_[outputs.pop("rank")] == model.predict(X)).all()
    else:
        np.testing.assert_allclose(outputs["prediction"], model.predict(X), rtol=0, atol=10 * atol)
    assert {value.dtype for value in outputs.values()} == {np.dtype(np.float64)}


DATA = {
    "table": (draw_frame, {}, 1e-12),
    "series": (draw_series, {}, 1e-6),
    "images": (draw_images, {**TINY, "encoder": "test_resnet"}, 1e-6),
}


@pytest.mark.typical(
    "cloc-table-model.onnx",
    "supcr-series-model.onnx",
    "otd-images-model.onnx",
    "supremix-images-model.pt2",
)
@both_formats
@pytest.mark.parametrize(
    ("make", "kind"),
    [*product(ALL, ("table", "images")), (cloc, "series"), (supcr, "series")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_graph_is_the_estimator(make, kind, name, tmp_path):
    draw, options, atol = DATA[kind]
    model = fit(make, *draw(), **options)
    exported = export_model(model.fitted, tmp_path / name)
    for n in (1, 7):
        assert_is_the_model(model, draw(seed=1)[0], exported.path, atol, n)
    assert max(exported.differences.values()) < 10 * atol
    assert exported.input_shape == model.reader_.sample_shape
    if kind == "images":
        assert_describes_images(json.loads(exported.description.read_text()), make)
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}.json"}


def assert_describes_images(record, make):
    assert record["input"]["shape"] == ["n", 1, 16, 16]
    assert record["input"]["dtype"] == "uint8"
    assert record["reader"]["size"] == [16, 16]
    outputs = {"embedding": ("float64", ["n", 8]), "prediction": ("float64", ["n"])}
    if make in CLASSIFIERS:
        outputs = {
            "embedding": ("float64", ["n", 8]), "probability": ("float64", ["n", 3]), "rank": ("int64", ["n"])
        }  # fmt: skip
    assert record["outputs"] == [
        {"name": name, "dtype": dtype, "shape": shape} for name, (dtype, shape) in outputs.items()
    ]
    assert record.get("classes") == ([0, 1, 2] if make in CLASSIFIERS else None)


@pytest.mark.typical("linear-model.pt2", "neighbours-model.onnx")
@both_formats
@pytest.mark.parametrize("head", ["linear", "ridge", "neighbours"])
def test_every_head_predicts_in_units_of_the_labels(head, name, tmp_path):
    X, target = draw_table()
    model = fit(supcr, X, 1000 + 50 * target, head=head)
    path = export_model(model.fitted, tmp_path / name).path
    outputs = run(path, read(model, draw_table(seed=1)[0]))
    np.testing.assert_allclose(outputs["prediction"], model.predict(draw_table(seed=1)[0]), rtol=1e-12)


def test_several_targets_are_columns(tmp_path):
    X, target = draw_table()
    model = supcr(epochs=(1, 1)).fit(X, np.stack([target, -3 * target], axis=1))
    path = export_model(model.fitted, tmp_path / "model.pt2").path
    np.testing.assert_allclose(run(path, read(model, X))["prediction"], model.predict(X), rtol=0, atol=1e-12)


def test_queries_at_training_embeddings_and_more_than_a_block_of_them():
    X, target = draw_table(1100)
    model = fit(supcr, X, target, head="neighbours", batch_size=256, validation_fraction=0)
    predicted = InferenceGraph(model.fitted).head(model.predictor_.embeddings).detach()
    np.testing.assert_allclose(predicted, target, rtol=0, atol=1e-6)  # targets are float32
    outputs = InferenceGraph(model.fitted)(read(model, X))
    np.testing.assert_allclose(outputs["prediction"].detach(), model.predict(X), rtol=0, atol=1e-9)


def test_fewer_training_samples_than_neighbours_all_vote(tmp_path):
    X, target = draw_table(6)
    model = otd(n_neighbors=50, epochs=1).fit(X, ranks_of(target, 2))
    path = export_model(model.fitted, tmp_path / "model.pt2").path
    assert run(path, read(model, X))["probability"] == pytest.approx(model.predict_proba(X), abs=1e-12)


def encode_by_description(record, row):
    """A raw row of a table as the input, from what the JSON says alone."""
    values = []
    for column in record["reader"]["columns"]:
        x = row[column["name"]]
        if "categories" in column:
            values += [float(x is not None and str(x) == category) for category in column["categories"]]
            continue
        filled = column["median"] if x is None else float(x)
        values.append((filled - column["mean"]) / column["scale"] if column["scale"] else 0.0)
        if column["quantiles"]:
            knots = np.array(column["quantiles"])
            places = np.linspace(0, 1, len(knots))
            left, right = np.interp(filled, knots, places), 1 - np.interp(-filled, -knots[::-1], places)
            share = (left + right) / 2
            inside = 1e-9 < share < 1 - 1e-9
            values.append(np.clip(NormalDist().inv_cdf(share), -3, 3) if inside else 3 * np.sign(share - 0.5))
        if column["indicator"]:
            values.append(float(x is None))
    return values


def test_the_description_is_enough_to_make_the_input_of_a_raw_row(tmp_path):
    frame, target = draw_frame()
    model = fit(cloc, frame, target)
    exported = export_model(model.fitted, tmp_path / "model.pt2")
    record = json.loads(exported.description.read_text(), parse_constant=pytest.fail)
    new = draw_frame(12, seed=1)[0]
    rows = new.astype(object).where(new.notna(), None).to_dict("records")
    encoded = np.array([encode_by_description(record, row) for row in rows], dtype=np.float32)
    assert encoded.shape[1] == len(record["features"]) == record["input"]["shape"][1]
    np.testing.assert_allclose(encoded, read(model, new).numpy(), rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def fitted():
    return fit(otd, *draw_table())


@pytest.mark.typical("embedding-model.onnx", "rank-model.pt2")
@both_formats
@pytest.mark.parametrize(
    ("output", "change"),
    [("embedding", lambda x: x * 1.001), ("probability", lambda x: x * 1.001), ("rank", lambda x: (x + 1) % 3)],
    ids=["embedding", "probability", "rank"],
)
def test_a_graph_that_disagrees_is_an_error_and_leaves_no_file(output, change, name, fitted, tmp_path, monkeypatch):
    forward = InferenceGraph.forward

    def wrong(graph, samples):
        outputs = forward(graph, samples)
        return {**outputs, output: change(outputs[output])}

    monkeypatch.setattr(InferenceGraph, "forward", wrong)
    with pytest.raises(OrdinateError, match=f"export: {output} differs .*nothing was written"):
        export_model(fitted.fitted, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_that_cannot_be_exported_is_an_error_and_leaves_no_file(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(InferenceGraph, "forward", lambda _, samples: {"embedding": samples[: int(samples.sum())]})
    with pytest.raises(OrdinateError, match=r"encoder: cannot be exported as \.pt2: "):
        export_model(fitted.fitted, tmp_path / "model.pt2")
    assert list(tmp_path.iterdir()) == []


def draw_ties(n=90, seed=0):
    """Rows of three numbers of two values each, most of them several times and with different ranks."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    return X, np.clip(X.sum(axis=1).astype(int) + rng.integers(-1, 2, n), 0, 3)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_ranks_and_targets_are_the_models_where_training_samples_are_equally_near(make, tmp_path):
    X, y = draw_ties()
    model = fit(make, X, y.astype(float), head="neighbours") if make not in CLASSIFIERS else make().fit(X, y)
    path = export_model(model.fitted, tmp_path / "model.onnx").path
    assert_is_the_model(model, np.concatenate([X, draw_ties(seed=1)[0] / 2 + 0.25]), path, 1e-12, 180)


def test_numbers_near_0_stay_in_the_graph(fitted, tmp_path, monkeypatch):
    forward = InferenceGraph.forward

    def moved(graph, samples):
        outputs = forward(graph, samples)
        return {**outputs, "embedding": outputs["embedding"] + 9e-9}

    monkeypatch.setattr(InferenceGraph, "forward", moved)
    with pytest.raises(OrdinateError, match="export: embedding differs by 9e-09"):
        export_model(fitted.fitted, tmp_path / "model.onnx")


def test_ranks_that_depend_on_the_order_of_equally_near_neighbours_are_an_error(tmp_path, monkeypatch):
    model = otd(n_neighbors=3, calibration=False).fit(*draw_ties())
    exact = NeighbourVote._shares

    def first_come(self, queries):
        """Vote as a sort does that takes the last of equal values, where torch takes others."""
        if not torch.compiler.is_compiling():
            return exact(self, queries)
        cosine = (torch.nn.functional.normalize(queries) @ self.directions.T).flip(1)
        return self.votes.flip(0)[(cosine * 1e6).round().topk(self.k).indices].mean(1)

    monkeypatch.setattr(NeighbourVote, "_shares", first_come)
    with pytest.raises(OrdinateError, match=r"export: rank differs from the model's in \d+ of \d+ samples"):
        export_model(model.fitted, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_files_that_exist_are_kept(fitted, tmp_path):
    for name in ("model.onnx", "model.onnx.json"):
        (tmp_path / name).write_text("kept")
        with pytest.raises(OrdinateError, match=f"path: .*{name} exists, expected a new file"):
            export_model(fitted.fitted, tmp_path / "model.onnx")
        assert (tmp_path / name).read_text() == "kept"
        (tmp_path / name).unlink()


WRONG = {
    "another suffix": ("model.tflite", "path: got .*model.tflite, expected a name that ends in .onnx or .pt2"),
    "no folder": ("none/model.onnx", "path: .* cannot be written: No such folder"),
}


@pytest.mark.parametrize(("name", "message"), WRONG.values(), ids=WRONG)
def test_a_path_that_cannot_be_is_named(name, message, fitted, tmp_path):
    with pytest.raises(OrdinateError, match=message):
        export_model(fitted.fitted, tmp_path / name)


def test_a_package_that_is_missing_is_named(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OrdinateError, match=r'path: requires onnxruntime .* pip install "ordinate\[export\]"'):
        export_model(fitted.fitted, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_exporting_changes_neither_the_estimator_nor_random_numbers(fitted, tmp_path):
    before, state = {name: value.clone() for name, value in fitted.method_.state_dict().items()}, torch.get_rng_state()
    export_model(fitted.fitted, tmp_path / "model.pt2")
    assert all(torch.equal(value, before[name]) for name, value in fitted.method_.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
