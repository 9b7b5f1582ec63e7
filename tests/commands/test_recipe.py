"""``ordinate fit --recipe`` on tables and text, and what a recipe is not for."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from tests.papers.datasets.trees import WORDS


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(48, 5)), columns=list("abcde"))
    table["target"] = table["a"] * 2 + 5
    table.to_csv("table.csv", index=False)
    pairs = pd.DataFrame([[" ".join(rng.choice(WORDS, 4)) for _ in range(2)] for _ in range(48)], columns=["s", "t"])
    pairs.assign(target=np.arange(48) % 6 + 0.5).to_csv("pairs.csv", index=False)


def fit(*arguments):
    return main(["fit", *arguments, "--target", "target", "--quick", "--no-report", "--quiet", "--out", "model"])


def test_a_table_trains_as_supremix_does_on_airfoil_and_the_model_predicts():
    assert fit("table.csv", "--recipe", "supremix-airfoil") == 0
    params = json.loads(Path("model/config.json").read_text())["params"]
    assert [params[name] for name in ("encoder", "embedding_dim", "window")] == ["airfoil", 10, 7.0]
    assert params["training"]["optimizer"] == "adam"
    assert main(["predict", "model", "table.csv", "--out", "predicted.csv"]) == 0
    assert pd.read_csv("predicted.csv")["prediction"].notna().all()


@pytest.mark.thorough
def test_text_trains_as_supremix_does_on_sentences():
    assert fit("pairs.csv", "--text", "s", "t", "--recipe", "supremix-stsb_dir") == 0
    params = json.loads(Path("model/config.json").read_text())["params"]
    assert (params["encoder"], params["data"]["text"]["hidden"]) == ("bilstm", 128)
    assert params["data"]["text"]["max_length"] == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table.csv", "--recipe", "supremix-stsb_dir"], "supremix-stsb_dir is for text, and table.csv holds a table"),
        (["pairs.csv", "--text", "s", "t", "--recipe", "supremix-airfoil"], "is for tables, and pairs.csv holds text"),
    ],
)
def test_a_recipe_for_other_data_is_refused(arguments, message, capsys):
    assert fit(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("model").exists()
