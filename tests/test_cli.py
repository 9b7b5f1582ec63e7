"""The command line: from a file to a model folder, and one line for whatever a user can mend."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import torch

import ordinate
from ordinate.cli import main
from ordinate.data.splits import split_rows
from tests import processes
from tests.estimators.examples import draw_frame, draw_series, ranks_of

ORDINATE = Path(sys.executable).with_name("ordinate")
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
QUICK = ["--epochs", "4", "--quiet"]
FILES = {
    "config.json", "weights.safetensors", "metrics.json", "history.json", "held_out.json", "held_out.safetensors",
    "split.json", "report.html",
}  # fmt: skip
PICTURES = {
    "cloc": {
        "embedding.png",
        "predictions.png",
        "cosine_matrix.png",
        "knn_curve.png",
        "margins.png",
        "margins_over_training.png",
    },
    "otd": {"embedding.png", "predictions.png", "cosine_matrix.png", "knn_curve.png"},
    "supcr": {"embedding.png", "predictions.png"},
    "supremix": {"embedding.png", "predictions.png"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def draw(n=48):
    frame, target = draw_frame(n)
    grades = np.array(["low", "mid", "high"])[ranks_of(target)]
    return frame.assign(grade=ranks_of(target), word=grades, target=target)


@pytest.fixture
def table(folder):
    draw().drop(columns=["word", "target"]).to_csv(folder / "ranks.csv", index=False)
    return "ranks.csv"


def ordinate_command(*arguments):
    return subprocess.run([ORDINATE, *arguments], capture_output=True, text=True, check=False, env=ONE_THREAD)


def read(path):
    """JSON as the standard has it: without NaN."""
    return json.loads(Path(path).read_text(), parse_constant=pytest.fail)


def assert_is_model(path, method, samples):
    assert {file.name for file in Path(path).iterdir()} == FILES | PICTURES[method]
    metrics = read(f"{path}/metrics.json")
    assert metrics["method"] == method
    assert metrics["training_samples"] + metrics["test_samples"] == samples
    assert len(read(f"{path}/history.json")) > 0
    for name in PICTURES[method]:
        pixels = matplotlib.image.imread(f"{path}/{name}")[..., :3]
        assert min(pixels.shape[:2]) >= 300
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20  # colours: a blank picture has one


@pytest.mark.parametrize("method", ["cloc", "otd"])
def test_fit_on_a_csv_of_ranks_leaves_a_model_with_its_metrics_and_pictures(method, table, folder, capsys):
    assert main(["fit", table, "--target", "grade", "--method", method, *QUICK]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert {path.name for path in folder.iterdir()} == {table, "ranks-model"}
    assert_is_model("ranks-model", method, 48)
    metrics = read("ranks-model/metrics.json")
    assert ["accuracy", f"{metrics['accuracy']:.4f}"] in [line.split() for line in out.splitlines()]
    assert "48 samples of 7 columns, 3 ranks, 0 < 1 < 2; 39 to train, 9 held out" in out
    assert type(ordinate.load("ranks-model")).__name__.lower() == f"{method}classifier"


@pytest.mark.parametrize("method", ["supcr", "supremix"])
def test_fit_on_a_parquet_of_a_continuous_target(method, folder, capsys):
    draw().drop(columns=["word", "grade"]).to_parquet(folder / "data.parquet")
    arguments = ["fit", "data.parquet", "--target", "target", "--method", method, "--out", "new/model"]
    assert main([*arguments, *QUICK]) == 0
    assert capsys.readouterr().err == ""
    assert_is_model("new/model", method, 48)
    assert [path.name for path in (folder / "new").iterdir()] == ["model"]


def test_fit_on_an_npz_of_series_chooses_a_method_and_predicts(folder, capsys):
    X, target = draw_series()
    np.savez(folder / "series.npz", X=X, target=target)
    assert main(["fit", "series.npz", "--target", "target", "--epochs", "1", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    method = read("series-model/metrics.json")["method"]
    assert method in {"supcr", "supremix"}
    assert "trying supcr\ntrying supremix\nvalidation MAE: supcr" in out
    assert_is_model("series-model", method, 32)
    np.savez(folder / "new.npz", X=X[:5])
    assert main(["predict", "series-model", "new.npz"]) == 0
    predictions = pd.read_csv(io.StringIO(capsys.readouterr().out))["prediction"]
    np.testing.assert_allclose(predictions, ordinate.load("series-model").predict(X[:5]), rtol=1e-5)


@pytest.mark.parametrize("name", ["data.csv.gz", "data.tsv"])
def test_fit_reads_other_tables(name, folder, capsys):
    draw().drop(columns=["word", "grade"]).to_csv(folder / name, index=False, sep="\t" if "tsv" in name else ",")
    assert main(["fit", name, "--target", "target", "--method", "supcr", *QUICK]) == 0
    assert capsys.readouterr().err == ""
    assert_is_model("data-model", "supcr", 48)


def test_what_was_measured_is_what_the_saved_model_does_on_the_rows_held_out(table, folder):
    assert main(["fit", table, "--target", "grade", "--method", "cloc", *QUICK]) == 0
    frame = pd.read_csv(folder / table)
    model = ordinate.load("ranks-model")
    metrics = read("ranks-model/metrics.json")
    _, test = split_rows(frame["grade"].to_numpy(), 0.2, 0, stratify=True)
    held_out = frame.iloc[test]
    assert model.score(held_out.drop(columns="grade"), held_out["grade"]) == pytest.approx(metrics["accuracy"])
    assert model.margins_.tolist() == pytest.approx(metrics["margins"], abs=1e-6)


def test_text_with_an_order_and_a_fixed_margin(folder, capsys):
    draw().drop(columns=["grade", "target"]).to_csv(folder / "words.csv", index=False)
    arguments = ["fit", "words.csv", "--target", "word", "--order", "low,mid,high", "--margin", "low,mid=0.8"]
    assert main([*arguments, *QUICK]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "margin between low | mid" in out
    model = ordinate.load("words-model")
    assert model.ordered_classes_.tolist() == ["low", "mid", "high"]
    assert model.margins_[0] == pytest.approx(0.8, abs=1e-7)
    assert_is_model("words-model", "cloc", 48)


def test_an_ordered_category_of_parquet_brings_its_order(folder):
    frame = draw().drop(columns=["grade", "target"])
    frame["word"] = pd.Categorical(frame["word"], ["low", "mid", "high"], ordered=True)
    frame.to_parquet(folder / "words.parquet")
    assert main(["fit", "words.parquet", "--target", "word", "--method", "otd", *QUICK]) == 0
    assert ordinate.load("words-model").ordered_classes_.tolist() == ["low", "mid", "high"]


def test_columns_are_dropped_and_codes_are_categories(folder, capsys):
    frame = draw().drop(columns=["word", "target"])
    frame["id"] = [f"patient {i}" for i in range(48)]
    frame["postcode"] = np.random.default_rng(0).choice([94103, 94110, 94122], 48)
    frame.to_csv(folder / "data.csv", index=False)
    arguments = ["--drop", "id", "--categorical", "postcode", "--method", "otd"]
    assert main(["fit", "data.csv", "--target", "grade", *arguments, *QUICK]) == 0
    model = ordinate.load("data-model")
    assert "id" not in model.feature_names_in_
    (column,) = (column for column in model.reader_.columns if column.name == "postcode")
    assert column.categories == ("94103", "94110", "94122")
    assert main(["predict", "data-model", "data.csv"]) == 0
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted")
    draw().drop(columns=["word", "target"]).to_csv(path / "data.csv", index=False)
    arguments = [str(path / "data.csv"), "--target", "grade", "--method", "cloc", "--out", str(path / "model")]
    assert main(["fit", *arguments, *QUICK]) == 0
    return path / "model"


def test_predict_prints_a_line_a_row(model, folder, capsys):
    frame = draw(10)
    frame[frame.columns[::-1]].to_csv(folder / "new.csv", index=False)  # in another order, with columns to ignore
    assert main(["predict", str(model), "new.csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    printed = pd.read_csv(io.StringIO(out))
    assert list(printed.columns) == ["prediction", "probability_0", "probability_1", "probability_2"]
    loaded = ordinate.load(model)
    X = pd.read_csv("new.csv")[list(loaded.feature_names_in_)]
    assert (printed["prediction"] == loaded.predict(X)).all()
    np.testing.assert_allclose(printed.filter(like="probability"), loaded.predict_proba(X), rtol=0, atol=1e-5)


def test_predict_writes_a_file_and_no_file_twice(model, folder, capsys):
    draw(10).to_csv(folder / "new.csv", index=False)
    assert main(["predict", str(model), "new.csv", "--out", "predictions.csv"]) == 0
    assert capsys.readouterr().out == "10 predictions: predictions.csv\n"
    written = (folder / "predictions.csv").read_text()
    assert main(["predict", str(model), "new.csv"]) == 0
    assert capsys.readouterr().out == written
    assert main(["predict", str(model), "new.csv", "--out", "predictions.csv"]) == 2
    assert capsys.readouterr().err == "ordinate: --out: predictions.csv exists, expected a new file\n"
    assert (folder / "predictions.csv").read_text() == written
    assert {path.name for path in folder.iterdir()} == {"new.csv", "predictions.csv"}


def test_predict_quotes_classes_that_hold_commas(folder, capsys):
    draw().assign(word=lambda frame: frame["word"] + ", say").to_csv(folder / "a.csv", index=False)
    frame = pd.read_csv("a.csv").drop(columns=["grade", "target"])
    frame["word"] = pd.Categorical(frame["word"], ["low, say", "mid, say", "high, say"], ordered=True)
    frame.to_parquet("words.parquet")
    assert main(["fit", "words.parquet", "--target", "word", "--method", "otd", *QUICK]) == 0
    capsys.readouterr()
    assert main(["predict", "words-model", "words.parquet"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["prediction"] for row in rows} <= {"low, say", "mid, say", "high, say"}


# what a user can mend


def csv_of(frame, name="data.csv"):
    return lambda: frame.to_csv(name, index=False)


def npz_of(**arrays):
    return lambda: np.savez("data.npz", **arrays)


def bytes_of(content, name="data.csv"):
    return lambda: Path(name).write_bytes(content)


def one_line(err):
    assert err.endswith("\n")
    (line,) = err.splitlines()
    return line


GOOD = draw().drop(columns=["word", "target"])
TWO_RANKS = np.arange(12) % 2
FILE_ERRORS = {
    "no such file": ("data.csv", list, "data.csv: no such file"),
    "a file of a like name": ("data.csv", csv_of(GOOD, "date.csv"), "data.csv: no such file; did you mean date.csv?"),
    "another kind of file": ("data.txt", csv_of(GOOD, "data.txt"), "data.txt: expected a file that ends in .csv"),
    "an empty file": ("data.csv", bytes_of(b""), "data.csv: could not be read"),
    "a header only": ("data.csv", csv_of(GOOD[:0]), "data.csv: holds no rows"),
    "bytes": ("data.csv", bytes_of(bytes(range(128, 256)) * 9), "data.csv: could not be read"),
    "a csv named parquet": ("a.parquet", csv_of(GOOD, "a.parquet"), "a.parquet: could not be read"),
    "a csv named npz": ("a.npz", csv_of(GOOD, "a.npz"), "a.npz: could not be read"),
    "half a parquet": ("a.parquet", bytes_of(GOOD.to_parquet()[:999], "a.parquet"), "a.parquet: could not be read"),
    "no X": ("data.npz", npz_of(grade=TWO_RANKS), "data.npz: holds no array 'X'"),
    "no target": ("data.npz", npz_of(X=np.zeros((12, 2))), "data.npz: holds no array 'grade'"),
    "two lengths": (
        "data.npz",
        npz_of(X=np.zeros((11, 2)), grade=TWO_RANKS),
        "data.npz: X holds 11 samples and 'grade' 12, expected one label per sample",
    ),
    "objects": ("data.npz", npz_of(X=np.array([{}] * 12), grade=TWO_RANKS), "data.npz: could not be read"),
    "two targets": ("data.npz", npz_of(X=np.zeros((12, 2)), grade=np.zeros((12, 2))), "data.npz: "),
    "one number for a target": ("data.npz", npz_of(X=np.zeros((12, 2)), grade=1.0), "data.npz: "),
    "six dimensions": ("data.npz", npz_of(X=np.zeros((12, 1, 3, 4, 4, 4)), grade=TWO_RANKS), "data.npz: "),
    "bright images": ("data.npz", npz_of(X=np.full((12, 3, 4, 4), 7.5), grade=TWO_RANKS), "X: got float64 from 7.5"),
    "a vector": ("data.npz", npz_of(X=np.zeros(12), grade=TWO_RANKS), "data.npz: "),
    "infinity": ("data.npz", npz_of(X=np.full((12, 2), np.inf), grade=TWO_RANKS), "data.npz: "),
    "text": ("data.npz", npz_of(X=np.full((12, 2), "a"), grade=TWO_RANKS), "data.npz: "),
}
TABLE_ERRORS = {
    "no such column": (
        GOOD.rename(columns={"grade": "grades"}),
        "",
        "data.csv: no column 'grade'; did you mean 'grades'?",
    ),
    "no other column": (GOOD[["grade"]], "", "data.csv: no column is left beside the target, expected at least one"),
    "no column to drop": (GOOD, "--drop id", "data.csv: no column 'id'; it has"),
    "text without an order": (
        GOOD.assign(grade=draw()["word"]),
        "",
        "column 'grade': holds text without an order; give it with --order, lowest first, as in --order high,low,mid",
    ),
    "an order that lacks a rank": (GOOD, "--order 0,1", "--order: column 'grade' also holds 2, expected every rank"),
    "an order that repeats a rank": (GOOD, "--order 0,1,1,2", "--order: got 0,1,1,2, expected two or more different"),
    "an order of a continuous target": (GOOD, "--order 0,1,2 --task continuous", "--order: is for ranks"),
    "missing labels": (
        GOOD.assign(grade=GOOD["grade"].where(GOOD["grade"] > 0)),
        "",
        "data.csv: 16 of 48 labels in 'grade' are missing, expected one label per row; remove those rows",
    ),
    "no labels at all": (GOOD.assign(grade=np.nan), "", "data.csv: 48 of 48 labels in 'grade' are missing"),
    "two rows": (GOOD[:2], "", "data.csv: holds 2 rows, expected at least 10"),
    "one class": (GOOD.assign(grade=1), "", "column 'grade': every row has the one value"),
    "one class of text": (GOOD.assign(grade="mild"), "", "column 'grade': every row has the one value"),
    "a constant target": (GOOD.assign(grade=1.5), "--task continuous", "column 'grade': every row has the one value"),
    "an infinite target": (GOOD.assign(grade=np.r_[np.inf, :47]), "", "column 'grade': holds infinity"),
    "fractions as ranks": (
        GOOD.assign(grade=np.r_[:48] / 7),
        "--task ranks",
        "column 'grade': holds fractions such as",
    ),
    "a rank a row": (GOOD[:12].assign(grade=np.r_[:12]), "", "--test-fraction: leaves 12 rows to train and 0"),
    "infinity in a column": (GOOD.assign(number=np.inf), "", "column 'number': got infinity"),
    "identifiers": (
        pd.concat([GOOD] * 3).assign(id=[f"p{i}" for i in range(144)]),
        "--keep id",
        "column 'id': got text with",
    ),
    "a method for another label": (
        GOOD,
        "--method supcr",
        "--method: supcr is not for ranks, expected one of cloc, otd, ",
    ),
    "a method that there is not": (GOOD, "--method svm", "--method: got 'svm', expected auto, cloc, otd, "),
    "a method that is almost there": (GOOD, "--method supcor", "--method: got 'supcor'; did you mean 'supcr'?"),
    "a margin for another method": (GOOD, "--method otd --margin 0,1=0.5", "--margin: is for CLOC"),
    "a margin of no boundary": (
        GOOD,
        "--margin 0,2=0.5",
        "--margin: got '0,2', expected two adjacent ranks of 0, 1, 2",
    ),
    "a margin that is no number": (GOOD, "--margin 0,1=wide", "--margin: got '0,1=wide', expected two adjacent ranks"),
    "a negative margin": (GOOD, "--margin 0,1=-1", "--margin: got"),
    "no epochs": (GOOD, "--epochs 0", "--epochs: got 0, expected a whole number of at least 1"),
    "no share to test on": (GOOD, "--test-fraction 1.5", "--test-fraction: got 1.5"),
    "a negative seed": (GOOD, "--seed -1", "--seed: got -1"),
    "a seed too large": (GOOD, "--seed 4294967296", "--seed: got 4294967296"),
    "this folder as output": (GOOD, "--out .", "--out: . already holds something"),
    "a file as output": (GOOD, "--out data.csv", "--out: data.csv already holds something"),
    "an output inside a file": (GOOD, "--out data.csv/model", "--out: data.csv/model cannot be written"),
}


def assert_refused(arguments, message, folder, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["fit", "--target", "grade", *QUICK, *arguments]) == 2
    assert one_line(capsys.readouterr().err).startswith(f"ordinate: {message}")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not any(path.is_dir() for path in folder.iterdir())


@pytest.mark.parametrize(("name", "write", "message"), FILE_ERRORS.values(), ids=FILE_ERRORS)
def test_a_file_that_cannot_be_used_is_one_line_and_leaves_nothing(name, write, message, folder, capsys):
    write()
    assert_refused([name], message, folder, capsys)


@pytest.mark.parametrize(("frame", "options", "message"), TABLE_ERRORS.values(), ids=TABLE_ERRORS)
def test_a_table_or_an_option_that_cannot_be_used_is_one_line_and_leaves_nothing(
    frame, options, message, folder, capsys
):
    frame.to_csv("data.csv", index=False)
    assert_refused(["data.csv", *options.split()], message, folder, capsys)


def test_a_gpu_that_is_not_there(table, folder, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["fit", table, "--target", "grade", "--accelerator", "gpu", *QUICK]) == 2
    assert "accelerator: got 'gpu', and this machine has no GPU" in one_line(capsys.readouterr().err)
    assert [path.name for path in folder.iterdir()] == [table]


def test_an_output_that_holds_something_is_left_alone(table, folder, capsys):
    (folder / "mine").mkdir()
    (folder / "mine" / "note.txt").write_text("kept")
    assert main(["fit", table, "--target", "grade", "--out", "mine", *QUICK]) == 2
    line = one_line(capsys.readouterr().err)
    assert line == "ordinate: --out: mine already holds something, expected a new or empty folder"
    assert sorted(path.name for path in folder.rglob("*")) == ["mine", "note.txt", table]


def test_a_folder_above_the_output_is_not_left_behind(table, folder, capsys):
    assert main(["fit", table, "--target", "grade", "--out", "a/b/model", "--test-fraction", "0.01"]) == 2
    assert one_line(capsys.readouterr().err).startswith("ordinate: --test-fraction: leaves")
    assert [path.name for path in folder.iterdir()] == [table]


PREDICT_ERRORS = {
    "no such model": ("absent new.csv", "model: absent holds no config.json"),
    "no such file": ("MODEL absent.csv", "absent.csv: no such file"),
    "columns that lack": ("MODEL narrow.csv", "narrow.csv: lacks the columns other, noise"),
    "text for numbers": ("MODEL text.csv", "column 'number': expected numbers"),
    "infinity": ("MODEL infinity.csv", "column 'number': got infinity"),
    "series for a table": ("MODEL series.npz", "series.npz: holds no table, expected one with the columns"),
    "an array of another width": ("MODEL array.npz", "array.npz: holds no table, expected one with the columns"),
    "no folder to write to": ("MODEL new.csv --out a/b.csv", "--out: a/b.csv cannot be written: No such"),
}


@pytest.mark.parametrize(("arguments", "message"), PREDICT_ERRORS.values(), ids=PREDICT_ERRORS)
def test_an_error_of_predict_is_one_line_and_writes_nothing(arguments, message, model, folder, capsys):
    frame = draw(10)
    frame.to_csv("new.csv", index=False)
    frame.drop(columns=["other", "noise"]).to_csv("narrow.csv", index=False)
    frame.assign(number="many").to_csv("text.csv", index=False)
    frame.assign(number=-np.inf).to_csv("infinity.csv", index=False)
    np.savez("series.npz", X=np.zeros((3, 2, 9)))
    np.savez("array.npz", X=np.zeros((3, 4)))
    before = sorted(folder.rglob("*"))
    assert main(["predict", *arguments.replace("MODEL", str(model)).split()]) == 2
    out, err = capsys.readouterr()
    assert one_line(err).startswith(f"ordinate: {message}")
    assert out == ""
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["train"], "invalid choice: 'train'"),
        (["fit"], "the following arguments are required: data"),
        (["fit", "data.csv", "--target", "a", "--epochs", "many"], "invalid int value: 'many'"),
    ],
)
def test_a_wrong_command_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    line = one_line(capsys.readouterr().err)
    assert line.startswith("ordinate: ")
    assert message in line


# the command as a process


def test_an_error_as_a_process_has_exit_code_2_one_line_and_no_traceback(folder):
    ended = ordinate_command("fit", "data.csv", "--target", "grade")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "ordinate: data.csv: no such file\n")
    assert list(folder.iterdir()) == []


def test_help_comes_within_half_a_second():
    def seconds():
        start = time.perf_counter()
        ended = ordinate_command("--help")
        assert ended.returncode == 0
        assert "fit" in ended.stdout
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 0.5


def fit_quietly(arguments, kill_at=None):
    """A fit in a process of its own; ``kill_at=("otd-trial", 5)`` kills it at the sixth checkpoint of that stage."""
    if kill_at is not None:
        stage, count = kill_at
        places = iter(range(count))
        processes.kill_me_at_audit(
            "os.rename",
            lambda _, target, *__: str(target).endswith(f"{stage}/last.ckpt") and next(places, None) is None,
        )
    with contextlib.redirect_stdout(io.StringIO()):
        sys.exit(main(arguments))


def content(path):
    return {file.name: file.read_bytes() for file in Path(path).iterdir()}


def test_a_fit_killed_again_and_again_ends_with_the_files_of_one_that_was_not(table, folder):
    command = ["fit", table, "--target", "grade", "--epochs", "9", "--quiet", "--out"]
    assert processes.run(fit_quietly, [*command, "whole"]) == 0
    chosen = read("whole/metrics.json")["method"]
    for kill_at in [("cloc-trial", 0), ("otd-trial", 2), (f"{chosen}-final", 4)]:  # one in each stage
        assert processes.run(fit_quietly, [*command, "killed"], kill_at) == -signal.SIGKILL
        assert {path.name for path in folder.iterdir()} == {table, "whole", "killed.partial"}
    assert processes.run(fit_quietly, [*command, "killed"]) == 0
    assert content("killed") == content("whole")
    assert {path.name for path in folder.iterdir()} == {table, "whole", "killed"}


@pytest.fixture
def command(table):
    return ["fit", table, "--target", "grade", "--method", "cloc", "--epochs", "80", "--quiet", "--out"]


@pytest.fixture
def running(command):
    """A fit under way, in a process that shares nothing with this one."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([ORDINATE, *command, "model"], env=ONE_THREAD, **streams)
    until = time.monotonic() + 60
    while not Path("model.partial/checkpoints/cloc-final/last.ckpt").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    yield process
    process.kill()
    process.communicate()


def test_a_folder_in_use_is_refused_and_an_interrupted_run_continues(running, command, capsys):
    running.send_signal(signal.SIGSTOP)
    assert main([*command, "model"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line == "ordinate: --out: model is in use by another run, expected another folder"
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    _, err = running.communicate(timeout=60)
    assert err == "ordinate: stopped; the same command continues where it was\n"
    assert running.returncode == 130
    assert Path("model.partial/checkpoints/cloc-final/last.ckpt").exists()
    assert main([*command, "model", "--seed", "1"]) == 2
    assert "keeps the state of a run with other data or settings" in one_line(capsys.readouterr().err)
    ended = ordinate_command(*command, "model")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("continuing the run that was stopped\n")
    assert main([*command, "whole"]) == 0
    assert content("model") == content("whole")


def test_a_reader_that_leaves_early_is_no_error(model):
    pd.concat([draw()] * 100).to_csv("new.csv", index=False)
    command = f"{ORDINATE} predict {model} new.csv | head -n 1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=ONE_THREAD)
    assert ended.stdout == "prediction,probability_0,probability_1,probability_2\n"
    assert ended.stderr == ""


@pytest.mark.parametrize(("given", "policy"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_without_spinning_unless_the_environment_says_otherwise(given, policy, monkeypatch, capsys):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    assert main(["fit", "nowhere.csv", "--target", "y"]) == 2
    assert os.environ["OMP_WAIT_POLICY"] == policy
    capsys.readouterr()
