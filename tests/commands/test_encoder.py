"""The encoder on the command line: a network of transformers by its folder, how it ends, what is trained of it."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from tests.data import pictures
from tests.data.small_transformer import write_transformer
from tests.data.small_vision import write_vision_network

pytest.importorskip("transformers")
N = 30


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("encoder")
    write_vision_network(place / "vision")
    write_transformer(place / "words")
    ranks = np.arange(N) % 3
    np.savez(place / "images.npz", X=pictures.draw(ranks, channels=3, side=16), grade=ranks)
    pd.DataFrame(
        {"grade": ranks, "size": ranks, "text": np.array(["a dog runs", "a cat sleeps", "rain again"])[ranks]}
    ).to_csv(place / "table.csv", index=False)
    return place


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("command", "data", "width"),
    [
        ("images.npz --encoder hf:./vision --set embedding_dim=none --set training.train_encoder=1", "images.npz", 16),
        ("table.csv --text text --encoder hf:./words --set embedding_dim=5", "table.csv", 5),
    ],
    ids=["images", "text"],
)
def test_a_folder_of_transformers_is_trained_and_then_not_needed(command, data, width, tmp_path, capsys):
    out = str(tmp_path / "model")
    options = ["--target", "grade", "--method", "cloc", "--epochs", "3", "--no-report", "--quiet", "--out", out]
    assert main(["fit", *command.split(), *options]) == 0
    assert "--encoder hf:./" in json.loads((tmp_path / "model" / "metrics.json").read_text())["command"]
    moved = shutil.move("vision" if "vision" in command else "words", tmp_path / "network")
    assert main(["predict", out, data, "--out", str(tmp_path / "p.csv")]) == 0
    shutil.move(moved, "vision" if "vision" in command else "words")
    assert ordinate.load(out).embedding_dim_ == width


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--encoder hf:./visio", "--encoder: got 'hf:./visio', expected a folder with a config.json, or a name on the "
         "hub; did you mean hf:vision?"),
        ("--set embedding_dim=wide", "--set embedding_dim: got 'wide', expected a whole number"),
        ("--method cloc --set embedding_dim=-1 --drop text", "--set embedding_dim: got -1, expected a whole number"),
        ("--set training.train_encoder=some", "--set training.train_encoder: got 'some', expected 'all', 'none' or"),
        ("--method cloc --set training.train_encoder=2 --drop text", "--set training.train_encoder: got 2 with the "
         "encoder 'auto', which starts without weights"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_at_once(options, message, capsys):
    assert main(["fit", "table.csv", "--target", "grade", *options.split()]) == 2
    assert capsys.readouterr().err.startswith(f"ordinate: {message}")


def test_a_model_with_a_module_is_for_python(tmp_path, capsys):
    from torch import nn

    X, ranks = pd.DataFrame({"size": np.arange(12.0)}), np.arange(12) % 3
    ordinate.CLOCClassifier(nn.Linear(1, 4), epochs=(1, 1)).fit(X, ranks).save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), "table.csv"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ordinate: encoder: the model in ")
    assert "encoder=Linear(...)) in Python" in error
