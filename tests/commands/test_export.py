"""``ordinate export``: what it writes, prints and refuses."""

import re

import pytest
import torch

from ordinate.cli import main
from ordinate.commands.export import export
from tests.estimators.examples import draw_table, otd, ranks_of


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table()
    model = otd(epochs=1).fit(X, ranks_of(target))
    model.save("knees-model")
    return model


def names(folder):
    return {path.name for path in folder.iterdir()} - {"knees-model"}


def test_the_graph_lies_in_this_folder_under_the_models_name(model, tmp_path, capsys):
    export("knees-model/", "torch", None)
    assert names(tmp_path) == {"knees-model.pt2", "knees-model.pt2.json"}
    out = capsys.readouterr().out
    width = model.reader_.width
    assert re.sub(r"\d\.\de-1\d", "0.0e+00", out).splitlines() == [
        "graph: knees-model.pt2",
        f"  input samples (n, {width})",
        "  output embedding (n, 8), at most 0.0e+00 from the model on check samples",
        "  output probability (n, 3), at most 0.0e+00 from the model on check samples",
        "  output rank (n,), as the model decides on check samples",
        "how a row becomes the input, and what the outputs mean: knees-model.pt2.json",
    ]
    probability = torch.export.load("knees-model.pt2").module()(torch.zeros(2, width))["probability"]
    assert probability.sum(1).tolist() == pytest.approx([1, 1])


@pytest.mark.thorough
def test_out_names_another_file(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    export("knees-model", "onnx", "grades.onnx")
    assert names(tmp_path) == {"grades.onnx", "grades.onnx.json"}
    assert capsys.readouterr().out.startswith("graph: grades.onnx\n")


def test_a_name_of_another_format_is_refused(tmp_path, capsys):
    assert main(["export", "knees-model", "--out", "grades.pt2"]) == 2
    said = capsys.readouterr().err
    assert "--out: got 'grades.pt2', expected a name that ends in .onnx, as --format is onnx" in said
    assert names(tmp_path) == set()
