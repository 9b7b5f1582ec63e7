"""``--config``: options in a file train what the same options typed do."""

import numpy as np
import pandas as pd
import pytest

from ordinate import load
from ordinate.cli import build_parser, main
from ordinate.commands.config_file import read_config, with_config, write_config
from ordinate.commands.fit_options import FitOptions
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_table, ranks_of

TYPED = ["--target", "grade", "--method", "cloc", "--epochs", "3", "--set", "training.optimizer=sgd",
         "--set", "training.learning_rate=0.05", "--set", "training.gradient_clip_val=1", "--set", "batch_size=16",
         "--no-report", "--quiet"]  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table(60)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "grade": ranks_of(target)}).to_csv("table.csv", index=False)
    return X[:, :2]


def weights_of(folder):
    return {name: value.numpy() for name, value in load(folder).encoder_.state_dict().items()}


def test_an_order_may_be_a_list(tmp_path):
    (tmp_path / "run.toml").write_text('order = ["a, b", "c"]')
    assert read_config(str(tmp_path / "run.toml"), FitOptions)["order"] == '["a, b", "c"]'


def test_the_file_that_fit_writes_trains_the_same_model(table, tmp_path):
    assert main(["fit", "table.csv", *TYPED, "--out", "first"]) == 0
    config = tmp_path / "first" / "run.toml"
    assert "training.learning_rate=0.05" in read_config(str(config), FitOptions)["set"]
    assert main(["fit", "--config", str(config), "--out", "second", "--no-report", "--quiet"]) == 0
    first, second = weights_of("first"), weights_of("second")
    for name, value in first.items():
        np.testing.assert_array_equal(second[name], value)
    assert (tmp_path / "second" / "run.toml").read_text() == config.read_text()


def test_what_is_typed_comes_first(table, tmp_path):
    (tmp_path / "run.toml").write_text(
        'data = "nowhere.csv"\ntarget = "grade"\nmethod = "cloc"\nepochs = 2\nseed = 5\n'
    )
    options = [
        "fit", "table.csv", "--config", "run.toml", "--method", "otd", "--out", "model", "--no-report", "--quiet",
    ]  # fmt: skip
    assert main(options) == 0
    model = load("model")
    assert (type(model).__name__, model.epochs, model.random_state) == ("OTDClassifier", 2, 5)


def test_a_default_that_is_typed_comes_first(tmp_path):
    (tmp_path / "run.toml").write_text("seed = 5\nfolds = 2\n")
    words = ["fit", "table.csv", "--config", str(tmp_path / "run.toml"), "--seed", "0"]
    typed = vars(build_parser().parse_args(words))
    del typed["parser"]
    options = FitOptions.of(with_config(typed, FitOptions))
    assert (options.seed, options.folds) == (0, 2)


def test_a_list_that_is_typed_takes_the_place_of_the_files(table, tmp_path):
    (tmp_path / "run.toml").write_text('data = "table.csv"\ntarget = "grade"\nmargin = ["0,1=2"]\nembedding_dim = 8\n')
    rest = ["--method", "cloc", "--epochs", "2", "--no-report", "--quiet"]
    assert main(["fit", "--config", "run.toml", "--margin", "1,2=0.5", "--out", "model", *rest]) == 0
    assert load("model").critical_margins == {(1, 2): 0.5}
    assert load("model").embedding_dim == 8


CONFIG = """
data = "table.csv"
target = "grade"
method = "cloc"
epochs = 2
mmnp_weight = 0.5
embedding_dim = "none"

[training]
patience = "none"
optimizer = "sgd"
learning_rate = 0.05
"""


def test_tables_hold_settings_and_those_that_are_typed_come_first(table, tmp_path):
    (tmp_path / "run.toml").write_text(CONFIG)
    typed = ["--set", "training.learning_rate=0.1", "--set", "batch_size=8", "--no-report", "--quiet", "--out", "model"]
    assert main(["fit", "--config", "run.toml", *typed]) == 0
    model = load("model")
    assert (model.mmnp_weight, model.embedding_dim, model.batch_size) == (0.5, None, 8)
    training = model.training
    assert (training.optimizer, training.learning_rate, training.patience) == ("sgd", 0.1, None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("learning-rate = 0.1", "--set: there is no setting 'learning_rate'; did you mean training.learning_rate?"),
        ("epoch = 3", "--set: there is no setting 'epoch'; did you mean epochs?"),
        ("[trainning]\nwarmup = 0.1", "--set: got 'trainning.warmup', expected a name, or one in training, head"),
        ("[training]\nwarm_up = 0.1", "--set: there is no setting 'training.warm_up'; did you mean training.warmup?"),
    ],
)
def test_what_is_neither_an_option_nor_a_setting_is_refused(table, tmp_path, capsys, line, message):
    (tmp_path / "run.toml").write_text(f'data = "table.csv"\ntarget = "grade"\nmethod = "cloc"\n{line}\n')
    assert main(["fit", "--config", "run.toml", "--out", "model"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_options_come_back_as_they_were(tmp_path):
    settings = ["temperature=0.5", "training.optimizer='sgd'"]
    options = FitOptions(
        "a b.csv", 'the "grade"', margin=["1,2=0.5", "2,3=1"], keep_missing=True, time_limit=2, set=settings
    )
    write_config(tmp_path / "run.toml", options, leave_out=())
    assert FitOptions(**read_config(str(tmp_path / "run.toml"), FitOptions)) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = ", "config: run.toml is no TOML"),
        ("time_limit = true", "config: got time_limit = True in run.toml, expected float"),
        ('epochs = "3"', "config: got epochs = '3' in run.toml, expected int"),
        ('margin = "1,2=1"', "config: got margin = '1,2=1' in run.toml, expected a list of str"),
        ('task = "grades"', "config: got task = 'grades' in run.toml, expected one of auto, ranks, continuous"),
        ('config = "other.toml"', "there is no option 'config'"),
        (None, "config: run.toml: No such file"),
    ],
)
def test_a_file_that_cannot_be_is_an_error_that_names_it(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    with pytest.raises(OrdinateError, match=message):
        read_config("run.toml", FitOptions)


def test_numbers_out_of_range_are_refused_wherever_they_come_from(table, tmp_path, capsys):
    (tmp_path / "run.toml").write_text('data = "table.csv"\ntarget = "grade"\n[training]\nwarmup = 1.0\n')
    assert main(["fit", "--config", "run.toml"]) == 2
    assert "--set training.warmup: got 1.0, expected a share from 0 to below 1" in capsys.readouterr().err
    assert main(["fit", "--target", "grade"]) == 2
    assert "data: is missing, expected DATA, or a --config that names it" in capsys.readouterr().err
