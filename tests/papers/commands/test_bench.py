"""``ordinate bench``: figures and a picture of what ran, in a folder of their own."""

import json
from statistics import median

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from ordinate.cli import main
from ordinate.report import figures
from ordinate_papers.bench import climb
from ordinate_papers.bench.contenders import PRODUCTS, SUPCON, TRIPLET
from ordinate_papers.bench.measure import Probe
from ordinate_papers.commands import bench

FILES = {"results.json", "bench.png"}
FIELDS = {
    "n", "milliseconds", "mebibytes", "published_time", "published_memory", "to_supcon", "to_triplet", "to_products",
    "gradient_error",
}  # fmt: skip
SMALL = ["bench", "--losses", "mmnp", "--repeats", "2", "--device", "cpu", "--dim", "8"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Passes that take no process and no memory."""
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: Probe(n, 1e-3, 1024 * n))


def read(path="ordinate-bench"):
    """JSON as the standard has it: without NaN."""
    with open(f"{path}/results.json") as file:  # noqa: PTH123
        return json.load(file, parse_constant=pytest.fail)


def one_line(capsys):
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("ordinate: ").strip()


@pytest.mark.thorough
def test_a_bench_leaves_every_figure_and_a_picture(folder, capsys):
    assert main([*SMALL, "--sizes", "128", "16"]) == 0
    out, err = capsys.readouterr()
    assert {path.name for path in folder.iterdir()} == {"ordinate-bench"}
    assert {path.name for path in (folder / "ordinate-bench").iterdir()} == FILES
    results = read()
    assert results["settings"] == {"losses": ["mmnp"], "sizes": [16, 128], "dim": 8, "dtype": "float32", "repeats": 2}
    assert results["machine"]["threads"] == torch.get_num_threads()
    assert results["machine"]["torch"] == torch.__version__
    assert results["stopped"] == {}
    contenders = ["mmnp", "mmnp published", SUPCON, TRIPLET, PRODUCTS]
    assert [(run["n"], run["contender"]) for run in results["runs"]] == [(n, c) for n in (16, 128) for c in contenders]
    for run in results["runs"]:
        assert len(run["seconds"]) == 2
        assert run["median_seconds"] == median(run["seconds"]) > 0
        assert (run["peak_bytes"] is None) == (run["n"] == 16)
        assert (run["gradient_error"] is None) == (run["contender"] != "mmnp")
    small, large = results["figures"]["mmnp"]
    assert small.keys() == FIELDS
    assert {name for name, value in small.items() if value is None} == {"mebibytes", "published_memory"}
    assert all(value is not None for value in large.values())
    lines = [line.split() for line in out.splitlines()]
    assert ["128", f"{large['milliseconds']:.3g}"] in [line[:2] for line in lines]
    assert ["n", "=", "128;"] in [line.split()[:3] for line in err.splitlines()]
    assert len(np.unique(matplotlib.image.imread("ordinate-bench/bench.png").reshape(-1, 4), axis=0)) > 20


def test_ratios_are_those_of_the_medians_and_peaks(quick, monkeypatch):
    seconds = {"mmnp": 2.0, "mmnp published": 30.0, SUPCON: 4.0, TRIPLET: 16.0, PRODUCTS: 0.5}
    monkeypatch.setattr(bench, "rounds", lambda names, *_: {name: [seconds[name]] * 2 for name in names})
    peaks = dict(zip(seconds, (2**20, 3 * 2**20, 1, 1, 1), strict=True))
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: Probe(n, 1e-3, peaks[name]))
    assert main([*SMALL, "--sizes", "16"]) == 0
    (row,) = read()["figures"]["mmnp"]
    assert 0 < row.pop("gradient_error") < 1e-5
    assert row == {
        "n": 16, "milliseconds": 2000, "mebibytes": 1, "published_time": 15, "published_memory": 3,
        "to_supcon": 0.5, "to_triplet": 0.125, "to_products": 4,
    }  # fmt: skip


def test_what_goes_no_farther_is_left_open_and_said(monkeypatch, capsys):
    monkeypatch.setattr(climb, "LARGEST", 6 * 2**30)
    monkeypatch.setattr(climb, "available_memory", lambda device: 20 * 2**30)
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: Probe(n, 1e-3, n * 2**26))
    assert main([*SMALL, "--sizes", "16", "32"]) == 0
    out = capsys.readouterr().out
    why = "n = 32: a pass takes about 8.0 GiB, more than 6.0 GiB"
    assert read()["stopped"] == {"mmnp published": why, TRIPLET: why}
    assert f"note: mmnp published ends before {why}\n" in out
    first, second = read()["figures"]["mmnp"]
    assert first["published_time"] > 0
    assert (second["published_time"], second["to_triplet"]) == (None, None)
    assert second["to_supcon"] > 0
    (row,) = [line.split() for line in out.splitlines() if line.startswith("32 ")]
    assert row[3:5] == ["-", "-"]


def test_gradients_are_compared_while_float64_is_cheap(quick, monkeypatch):
    monkeypatch.setattr(bench, "LARGEST_EXACT", 16)
    assert main([*SMALL, "--sizes", "16", "17"]) == 0
    first, second = read()["figures"]["mmnp"]
    assert first["gradient_error"] is not None
    assert second["gradient_error"] is None


def test_a_stop_keeps_what_was_measured(quick, monkeypatch, capsys):
    measured = bench.rounds

    def rounds(names, n, *rest):
        if n == 32:
            raise KeyboardInterrupt
        return measured(names, n, *rest)

    monkeypatch.setattr(bench, "rounds", rounds)
    assert main([*SMALL, "--sizes", "16", "32"]) == 130
    assert capsys.readouterr().err.endswith("ordinate: stopped; ordinate-bench holds what was measured\n")
    assert {run["n"] for run in read()["runs"]} == {16}


def test_a_picture_that_fails_leaves_the_earlier_files(quick, monkeypatch):
    assert main([*SMALL, "--sizes", "16"]) == 0

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(figures, "save", fail)
    assert main([*SMALL, "--sizes", "32"]) == 70
    plt.close("all")
    assert read()["settings"]["sizes"] == [16]


def test_a_bench_may_run_again(quick, folder):
    for size in ("16", "32"):
        assert main([*SMALL, "--sizes", size]) == 0
        assert read()["settings"]["sizes"] == [int(size)]
    assert {path.name for path in (folder / "ordinate-bench").iterdir()} == FILES


def test_without_pytorch_metric_learning_a_note_says_so(quick, monkeypatch, capsys):
    monkeypatch.setattr("ordinate_papers.bench.contenders.find_spec", lambda name: None)
    assert main([*SMALL, "--sizes", "16"]) == 0
    assert "note: without SupConLoss and TripletMarginLoss" in capsys.readouterr().out
    assert read()["figures"]["mmnp"][0]["to_supcon"] is None


# errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "64", "8"], "--sizes: got 8, expected at least 16"),
        (["--dim", "0"], "--dim: got 0, expected at least 1"),
        (["--repeats", "0"], "--repeats: got 0, expected at least 1"),
        (
            ["--out", "used"],
            "--out: used holds other things, expected a new or empty folder, or one of an earlier bench",
        ),
        (["--out", "theirs"], "--out: theirs holds other things"),
        (["--out", "drawn"], "--out: drawn holds other things"),
        (["--out", "file"], "--out: file holds other things"),
        (["--out", "file/bench"], "--out: file/bench cannot be written: Not a directory"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_used_is_one_line(arguments, message, folder, capsys):
    for path, text in (("used/model.txt", ""), ("theirs/results.json", '{"accuracy": 1}'), ("drawn/bench.png", "")):
        (folder / path).parent.mkdir()
        (folder / path).write_text(text)
    (folder / "file").touch()
    before = set(folder.rglob("*"))
    assert main([*SMALL, *arguments]) == 2
    assert one_line(capsys).startswith(message)
    assert set(folder.rglob("*")) == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_gpu_that_is_not_there_is_one_line(capsys):
    assert main(["bench", "--device", "cuda"]) == 2
    assert one_line(capsys) == "--device: got 'cuda', and this machine has no GPU, expected 'auto' or 'cpu'"


def test_a_size_that_nothing_reaches_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(climb, "probe", lambda name, n, setting: "its process ended with code -9")
    assert main([*SMALL, "--sizes", "64"]) == 2
    err = capsys.readouterr().err
    why = "n = 64: its process ended with code -9"
    assert err == f"ordinate: --sizes: got 64, which no loss can be measured at; {why}\n"


def test_an_unknown_loss_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "--losses", "cloc"])
    assert "invalid choice: 'cloc'" in one_line(capsys)


def test_the_sizes_double_to_16384_on_a_cpu_and_to_131072_on_a_gpu():
    last = {device: 2 ** powers[-1] for device, powers in bench.SIZES.items()}
    assert last == {"cpu": 16384, "cuda": 131072}
    assert {2 ** powers[0] for powers in bench.SIZES.values()} == {128}
