"""Mistakes that show before anything heavy is imported."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ordinate.cli import main
from ordinate.commands.early_checks import check_accelerator, check_images, check_listed_images
from ordinate.data.csv_format import recognise
from ordinate.data.images.labelled import read_labelled_images
from ordinate.errors import OrdinateError
from tests.command_line import one_line

# Runs commands, one a line, in a process that cannot import what is heavy.
WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "pandas", "numpy", "sklearn", "scipy", "lightning"):
            raise RuntimeError(f"{name} is imported")
sys.meta_path.insert(0, Refuse())
from ordinate.cli import main
for line in sys.argv[1:]:
    try:
        code = main(line.split())
    except SystemExit as stop:
        code = stop.code
    print(code, file=sys.stderr)
"""
MISTAKES = {
    "fit k.csv": "--target: got none, expected the column of the label, one of 'age', 'size', 'grade'",
    "fit k.csv --target grad": "k.csv: no column 'grad'; did you mean 'grade'?",
    "fit k.pdf --target grade": "k.pdf: its ending names no known format, expected a table (.csv, .csv.gz",
    "fit empty.csv --target grade": "empty.csv: is empty, expected a table with a header and samples",
    "fit empty.xlsx --target grade": "empty.xlsx: is empty, expected a table with a header and samples",
    "fit header.csv --target grade": "header.csv: holds no rows, expected a table with a header and samples",
    "fit unlabelled.csv --target grade": "unlabelled.csv: no row has a label in 'grade'",
    "fit one.csv --target grade": "column 'grade': every row has the one value 4",
    "fit images --target grade": "images/labels.csv: 1 of its images is not there: b.png; --skip-unreadable",
    "fit scans.csv --target grade": "scans.csv: none of its images is there, such as s/0.png, below /",
    "fit k.csv --target grade --drop agee": "k.csv: no column 'agee'; did you mean 'age'?",
    "fit k.csv --target grade --keep agee": "k.csv: no column 'agee'; did you mean 'age'?",
    "fit k.csv --target grade --categorical agee": "k.csv: no column 'agee'; did you mean 'age'?",
    "fit text.csv --target word --text agee": "text.csv: no column 'agee'; did you mean 'age'?",
    "tune k.csv --target grade --weight sizes": "--weight: no column 'sizes' in k.csv; did you mean 'size'?",
    "fit k.csv --target grade --group sizes": "--group: no column 'sizes' in k.csv; did you mean 'size'?",
    "fit k.csv --target grade --split sizes": "--split: no column 'sizes' in k.csv; did you mean 'size'?",
    "fit k.csv --target grade --costs c.csv": "--costs: c.csv cannot be read: no such file",
    "predict saved k.csv --costs c.csv": "--costs: c.csv cannot be read: no such file",
    "predict saved k.csv --coverage 90": "--coverage: got 90.0, expected a share above 0 and below 1, such as 0.9",
    "fit k.csv --target grade --epochs ten": "--epochs: got 'ten', expected a whole number (see ordinate fit --help)",
    "fit k.csv --target grade --time-limit 2m": "--time-limit: got '2m', expected a number (see",
    "fit k.csv --target grade --drop age --drop=size": "--drop: is given twice, expected once, with commas (see",
    "fit k.csv --target grade --order 0 --order 1": "--order: is given twice, expected once, with commas (see",
    "fit k.csv --target grade --missing 0 --seed 1 --missing 1": "--missing: is given twice, expected once, with",
    "fit images --target grade --drop a": "--drop: is for a table, and images holds images",
    "fit images.zip --target grade --categorical a": "--categorical: is for a table, and images.zip holds images",
    "tune images --target grade --keep a": "--keep: is for a table, and images holds images",
    "fit k.csv --target grade --set training.accelerator=cuda": "--set training.accelerator: got 'cuda', and this mach",
    "fit k.csv --target grade --method supcr": "--method: supcr is not for ranks, expected --task continuous",
    "fit k.csv --target size --method cloc": "--method: cloc is not for a continuous target, expected --task ranks",
    "fit k.csv --target size --task ranks --method supcr": "--method: supcr is not for ranks",
    "fit k.csv --target grade --out k.csv": "--out: k.csv already holds something",
    "fit k.csv --target grade --gpu": "--gpu: no such option; did you mean --set training.accelerator=gpu?",
    "fit k.csv --target grade --epoch 3": "--epoch: no such option; did you mean --epochs?",
    "fit k.csv --label grade": "--label: no such option; did you mean --target?",
    "predict model k.csv": "model: model holds no config.json",
    "fit text.csv --target word --order low,middel,high": "--order: column 'word' also holds middle, expected every "
    "rank of the data; write 'middle' for 'middel'",
    "predict model k.csv --gpu": "--gpu: no such option; a model runs on a GPU if there is one (see",
    "evaluate model k.csv --cpu": "--cpu: no such option; a model runs on a GPU if there is one",
    "evaluate model k.csv --epochs 3": "--epochs: no such option; --epochs is an option of ordinate fit, which trains",
    "search model k.csv --epoch 3": "--epoch: no such option; --epochs is an option of ordinate fit, which trains",
    "predict model k.csv --batch-size 3": "--batch-size: no such option; --set batch_size=64 is an option of",
    "predict model k.csv --output a.csv": "--output: no such option; did you mean --out?",
    "suspects k.csv --gpu": "--gpu: no such option; did you mean --set training.accelerator=gpu?",
    "report model k.csv --out -": "--out: got '-', expected the name of a file; standard output takes tables alone",
    "fit k.csv --target grade --out -": "--out: got '-', expected the name of a folder",
    "report model k.csv --out x.txt": "--out: got 'x.txt', expected a name that ends in .html",
    "report model k.csv --out x.csv": "--out: got 'x.csv', expected a name that ends in .html",
    "predict model k.csv --out x.xlsx": "--out: got 'x.xlsx', expected a name that ends in .csv or .parquet",
    "evaluate model k.csv --out x.html": "--out: got 'x.html', expected a name that ends in .csv or .parquet",
    "suspects k.csv --target grade --out x": "--out: got 'x', expected a name that ends in .csv or .parquet",
    "transform model k.csv --out x.npz": "--out: got 'x.npz', expected a name that ends in .csv or .parquet or .npy",
    "search model k.csv --among k.csv --out x.pdf": "--out: got 'x.pdf', expected a name that ends in .csv or .parquet "
    "or .html",
    "report k.csv model": "model: k.csv is a file, expected a folder that `save`",
    "predict savde k.csv": "model: there is no folder savde, expected a folder that `save` or `ordinate fit` wrote; "
    "did you mean 'saved'?",
    "export saved --out x.txt": "--out: got 'x.txt', expected a name that ends in .onnx, as --format is onnx",
    "export saved --format torch --out x.onnx": "--out: got 'x.onnx', expected a name that ends in .pt2",
    "evaluate saved ./saved k.csv": "models: got saved twice, expected different ones",
    "predict saved nothing": "nothing: no such file",
    "predict saved image": "image: no such file; did you mean images?",
    "fit nothing --target grade": "nothing: no such file",
    "evaluate words mistyped.csv": "column 'word': holds 'midle', expected the ranks of the model: low, middle, high; "
    "did you mean 'middle'?",
    "report words mistyped.csv --target word --out a.html": "column 'word': holds 'midle'",
    "evaluate eyes mistyped-eyes.csv --target word": "label 'word': holds 'midle'",
    "evaluate words saved": "data: saved is a model, expected a file or folder of samples, after the models",
    "evaluate words k.csv": "k.csv: no column 'word'; give that of the label with --target",
    "report words other.csv --out a.html": "other.csv: no column 'word'; did you mean --target Word?",
    "explain eyes images --out images": "--out: images already holds something",
    "explain eyes images --out a.png": "--out: got 'a.png', expected the name of a new folder for the pictures",
    "predict eyes eyes.csv": "eyes.csv: 1 of its images is not there: images/b.png in row 1 (rows count from 0); -",
    "explain eyes eyes.csv": "eyes.csv: 1 of its images is not there: images/b.png in row 1 (rows count from 0)",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + row},{row / 7:.3f},{row % 3}\n" for row in range(30))
    Path("k.csv").write_text("age,size,grade\n" + rows)
    words = "".join(f"{row},{('low', 'middle', 'high')[row % 3]}\n" for row in range(30))
    Path("text.csv").write_text("age,word\n" + words)
    scans = "".join(f"{row},s/{row}.png,{row % 3}\n" for row in range(30))
    Path("scans.csv").write_text("age,scan,grade\n" + scans)
    Path("header.csv").write_text("age,size,grade\n")
    Path("unlabelled.csv").write_text("age,size,grade\n" + "1,2,\n2,3,NA\n" * 20)
    Path("one.csv").write_text("age,grade\n" + "".join(f"{row},4\n" for row in range(30)))
    for name in ("empty.csv", "empty.xlsx"):
        Path(name).touch()
    Path("k.pdf").write_text("text")
    for name in ("model", "images", "saved"):
        Path(name).mkdir()
    Path("saved/config.json").touch()
    for name, columns in {"words": ["age"], "eyes": []}.items():
        Path(name).mkdir()
        labels, reader = {"classes": ["low", "middle", "high"]}, {"kind": "table" if columns else "images"}
        described = {"feature_names_in": columns, "labels": labels, "reader": reader}
        Path(name, "config.json").write_text(json.dumps(described))
    kept = {"target": "word", "data": "", "train": [], "test": []}
    Path("words/split.json").write_text(json.dumps(kept))
    Path("mistyped.csv").write_text("age,word\n1,low\n2, middle\n3,midle\n4,\n5,refused\n")
    Path("other.csv").write_text("age,Word\n1,low\n2,middle\n")
    Path("mistyped-eyes.csv").write_text("scan,word\nimages/a.png,midle\n")
    Path("eyes.csv").write_text("scan,word\nimages/a.png,low\nimages/b.png,high\n")
    Path("images/a.png").touch()
    Path("images/labels.csv").write_text("path,grade\na.png,1\nb.png,2\n")
    with zipfile.ZipFile("images.zip", "w") as archive:
        archive.write("images/a.png", "mild/a.png")


@pytest.mark.usefixtures("files")
def test_a_mistake_is_answered_before_anything_heavy_is_imported():
    mistakes = dict(MISTAKES)
    if Path("/dev/nvidiactl").exists():  # A GPU is no mistake where there is one.
        mistakes = {line: said for line, said in mistakes.items() if "accelerator=" not in line}
    run = subprocess.run([sys.executable, "-c", WITHOUT, *mistakes], capture_output=True, text=True, check=True)
    *said, last = run.stderr.split("\n2\n")
    assert last == ""
    for line, expected in zip(said, mistakes.values(), strict=True):
        assert line.removeprefix("ordinate: ").startswith(expected)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", ["fit k.csv --target age --method supcr", "fit k.csv --target grade --method cloc"])
def test_a_method_for_the_label_is_not_refused(line, monkeypatch):
    monkeypatch.setattr("ordinate.commands.fit.command.fit", lambda options, started: None)
    assert main(line.split()) == 0


@pytest.mark.usefixtures("files")
def test_values_of_other_kinds_are_left_to_the_reader(monkeypatch):
    """What --missing, --order or text make of a label shows only when it is read."""
    monkeypatch.setattr("ordinate.commands.fit.command.fit", lambda options, started: None)
    Path("words.csv").write_text("age,grade\n" + "1,low\n2,high\n" * 10)
    Path("ranks.csv").write_text("age,grade\n" + "1,NA\n2,Po\n" * 10)
    assert main(["fit", "ranks.csv", "--target", "grade", "--order", "NA,Po"]) == 0
    Path("coded.csv").write_text("age,grade\n" + "1,4\n2,0.5\n" * 10)
    assert main(["fit", "words.csv", "--target", "grade", "--method", "cloc"]) == 0
    assert main(["fit", "coded.csv", "--target", "grade", "--missing", "0.5", "--method", "cloc"]) == 0


@pytest.mark.parametrize("name", ["a.png", "s/c.png", "c", "c.png", "./a.png", "s\\c.png"])
def test_an_image_may_be_named_in_every_way_that_reading_accepts(name, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "a.png").touch()
    (tmp_path / "s/c.png").touch()
    (tmp_path / "s/c.png.jpg").touch()
    (tmp_path / "labels.csv").write_text(f"path,grade\n{name},1\n")
    check_images(tmp_path)


def test_a_gpu_is_not_refused_where_there_is_a_device(tmp_path):
    (tmp_path / "device").touch()
    check_accelerator("gpu", there=[str(tmp_path / "device")])
    check_accelerator("cpu", there=[])
    if sys.platform == "linux":
        with pytest.raises(OrdinateError, match="this machine has no GPU"):
            check_accelerator("cuda", there=[])


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("data", ["images", "scans.csv"])
def test_the_reader_says_the_same_of_absent_images(data, capsys):
    main(["fit", data, "--target", "grade"])
    early = one_line(capsys.readouterr().err)
    with pytest.raises(OrdinateError) as late:
        read_labelled_images(data, skip_unreadable=False)
    assert early == f"ordinate: {late.value}"


@pytest.mark.parametrize("header", ["file,scan,grade", "scan,file,grade"])
def test_a_column_that_the_reader_takes_for_paths_decides_whether_a_table_is_of_images(header, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = {"file": "record {}", "scan": "s/{}.png", "grade": "1"}
    rows = [",".join(cells[name].format(row) for name in header.split(",")) for row in range(20)]
    Path("records.csv").write_text("\n".join([header, *rows, "more,cells,than,the,header"]))
    check_listed_images(Path("records.csv"), recognise(Path("records.csv"), "records.csv"))
