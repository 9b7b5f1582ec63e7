"""Every option that is given has an effect, or the command says before training that it has none."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from ordinate.cli import build_parser, main
from ordinate.commands.fit.read import read
from ordinate.commands.fit_options import FitOptions
from ordinate.data import modalities

N = 24


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    """A file or folder of each kind of data."""
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    ranks = np.arange(N) % 3
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    frame["text"] = np.array(["bad day", "so so", "good day"])[ranks]
    frame["side"], frame["subject"] = np.repeat(["train", "test"], [16, 8]), np.arange(N) // 2
    frame.assign(grade=ranks).to_csv(place / "table.csv", index=False)
    pd.DataFrame(1 - np.eye(3, dtype=int), range(3), range(3)).to_csv(place / "costs.csv")
    frame.assign(grade=ranks).to_parquet(place / "table.parquet", index=False)
    np.savez(place / "series.npz", X=rng.normal(size=(N, 2, 20)), grade=ranks)
    np.savez(place / "images.npz", X=rng.random((N, 1, 8, 8)), grade=ranks)
    for number in range(N):
        path = place / "images" / str(ranks[number]) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (8, 8), dtype=np.uint8)).save(path)
    (place / "series").mkdir()
    for number in range(N):
        np.save(place / "series" / f"{number}.npy", rng.normal(size=(2, 20)))
    names = [f"{number}.npy" for number in range(N)]
    pd.DataFrame({"path": names, "label": ranks}).to_csv(place / "series" / "labels.csv", index=False)
    return place


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


TABLE, SPLIT = "table.csv --target grade", "table.csv --target grade --split side"
REFUSED = [  # what is given to fit, and how its error begins
    (f"{SPLIT} --test-fraction 0.3", "--test-fraction: got 0.3 and --split side"),
    (f"{TABLE} --skip-unreadable", "--skip-unreadable: got True, and table.csv is one file"),
    ("images.npz --target grade --skip-unreadable", "--skip-unreadable: got True, and images.npz is one file"),
    (f"{TABLE} --image-size 8", "--image-size: is for images, and table.csv holds a table"),
    ("table.parquet --target grade --image-size 8", "--image-size: is for images, and table.parquet holds a table"),
    (f"{TABLE} --set data.augmentation=flip", "--set data.augmentation: is for images, and table.csv holds a table"),
    (f"{TABLE} --pretrained", "--pretrained: is for images, and table.csv holds a table"),
    ("series.npz --target grade --pretrained", "--pretrained: is for images, and series.npz holds series"),
    ("series --image-size 8", "--image-size: is for images, and series holds series"),
    ("images --drop a", "--drop: is for a table, and images holds images"),
    ("images --keep a", "--keep: is for a table, and images holds images"),
    ("images --categorical a", "--categorical: is for a table, and images holds images"),
    ("series --drop a", "--drop: is for a table, and series holds series"),
    ("series.npz --target grade --drop a", "--drop: series.npz holds arrays"),
    ("series.npz --target grade --categorical a", "--categorical: series.npz holds arrays"),
    ("series.npz --target grade --keep a", "--keep: got a, and series.npz holds arrays"),
    ("series.npz --target grade --split a", "--split: series.npz holds arrays"),
    ("images --split side", "--split: got 'side', a column of labels.csv"),
    (f"{TABLE} --drop grade", "--drop: got 'grade', which --target has already"),
    (f"{SPLIT} --drop side", "--drop: got 'side', which --split has already"),
    (f"{TABLE} --group grade", "--group: got 'grade', which --target has already"),
    (f"{SPLIT} --group side", "--group: got 'side', which --split has already"),
    (f"{TABLE} --drop a --keep a", "--keep: got 'a', which --drop has already"),
    (f"{TABLE} --drop a --categorical a", "--categorical: a is the target or dropped"),
    (f"{TABLE} --order 0,1,2 --task continuous", "--order: is for ranks"),
    (f"{TABLE} --task continuous --margin 0,1=1", "--margin: is for"),
]
FIT_REFUSES = [
    (f"{TABLE} --text text --drop a", "--drop: got 'a' and --text"),
    (f"{TABLE} --text text --keep a", "--keep: got 'a' and --text"),
    (f"{TABLE} --text text --categorical a", "--categorical: got 'a' and --text"),
    (f"{SPLIT} --text side", "--text: got 'side', which --split has already"),
    ("images --text text", "--text: is for a table, and images holds images"),
    ("series --text text", "--text: is for a table, and series holds series"),
    ("series.npz --target grade --text text", "--text: series.npz holds no table"),
    (f"{TABLE} --set data.word_vectors=glove.txt", "--set data.word_vectors: is for text"),
    (f"{TABLE} --set data.crop=10", "--set data.crop: is for series or images"),
    (f"{TABLE} --set data.max_length=10", "--set data.max_length: is for text, and table.csv holds a table"),
    (f"{TABLE} --set data.spacing=1", "--set data.spacing: is for volumes, and table.csv holds a table"),
    (f"{TABLE} --recipe cloc-koa", "--recipe: cloc-koa is for images, and table.csv holds a table"),
    (f"{TABLE} --quick", "--quick: is the small version of a recipe"),
    ("images --set data.frozen=true", "--set data.frozen: got True with pretrained=False"),
    ("series --pretrained --set data.frozen=true", "--pretrained: is for images"),
    (f"{TABLE} --decision median --costs costs.csv", "--decision: got 'median' and --costs"),
    (f"{TABLE} --task continuous --decision median", "--decision: is for ranks"),
    (f"{TABLE} --method otd --margin 0,1=1", "--margin: is for CLOC"),
    (f"{TABLE} --task continuous --costs costs.csv", "--costs: is for ranks"),
]
OTHERS = [
    (f"suspects images --{option} a", f"--{option}: is for a table, and images holds images")
    for option in ("drop", "keep", "categorical")
] + [
    ("suspects series --drop a", "--drop: is for a table, and series holds series"),
    ("suspects series.npz --target grade --drop a", "--drop: series.npz holds arrays"),
    ("suspects series.npz --target grade --keep a", "--keep: got a, and series.npz holds arrays"),
    ("table --tune 3", "--tune: got no table to run"),
    ("table --jobs 2", "--jobs: got no table to run"),
    ("table --dry-run", "--dry-run: got no table to run"),
    ("table --retry-failed", "--retry-failed: got no table to run"),
    ("table supcr-1 --dry-run --retry-failed", "--retry-failed: runs them again, and --dry-run runs nothing"),
    ("datasets --download folder", "--download: expected the name of a set"),
]
COMMANDS = [
    *((f"fit {given}", error) for given, error in REFUSED + FIT_REFUSES),
    *OTHERS,
]


@pytest.mark.parametrize(("command", "error"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_an_option_without_effect_is_an_error_before_training(command, error, capsys, folder):
    before = sorted(folder.iterdir())
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"ordinate: {error}")
    assert "training" not in out
    assert sorted(folder.iterdir()) == before


def test_an_image_set_that_comes_with_its_label_and_split_refuses_columns(capsys):
    for option in ("--target", "--split", "--group"):
        assert main(["fit", "retinamnist", option, "grade"]) == 2
        assert capsys.readouterr().err.startswith(f"ordinate: {option}: retinamnist is a data set with its own label")


def test_a_fifth_is_held_out_and_at_most_100_000_rows():
    assert FitOptions("table.csv").test_share(1000) == 0.2
    assert FitOptions("table.csv").test_share(1_000_000) == 0.1
    assert FitOptions("table.csv", test_fraction=0.5).test_share(1_000_000) == 0.5


def test_a_split_that_the_data_bring_along_refuses_a_test_fraction(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for side, rank, number in np.ndindex(2, 2, 6):
        path = tmp_path / "sides" / ("train", "test")[side] / str(rank) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (8, 8), dtype=np.uint8)).save(path)
    assert main(["fit", str(tmp_path / "sides"), "--test-fraction", "0.3"]) == 2
    assert "--test-fraction: got 0.3, and" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "note"), [(5, "note: 1 of 5 groups are in more than one part of the split\n"), (4, "")]
)
def test_groups_beside_a_split_are_held_to_it(size, note, tmp_path, capsys):
    pd.read_csv("table.csv").assign(subject=np.arange(N) // size).to_csv(tmp_path / "table.csv", index=False)
    table = str(tmp_path / "table.csv")
    read(FitOptions(table, target="grade", split="side", group="subject", drop="text"))
    assert capsys.readouterr().out == note


def test_the_options_of_one_kind_of_data_are_options_of_fit():
    fit = {each.name for each in fields(FitOptions)}
    assert {name for modality in modalities() for name in modality.command_options} <= fit


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--order -2,-1,0", {"order": "-2,-1,0"}),
        ("--order=-2,-1,0", {"order": "-2,-1,0"}),
        ("--order --,-,0 --margin --,-=0.5 --out m", {"order": "--,-,0", "margin": ["--,-=0.5"], "out": "m"}),
        ("--margin -1,0=0.5 --margin=0,1=2 --quiet", {"margin": ["-1,0=0.5", "0,1=2"], "quiet": True}),
        ("--order -low,high --seed -1", {"order": "-low,high", "seed": -1}),
        ("--missing -9,-8 --quiet", {"missing": "-9,-8", "quiet": True}),
        ("--missing -- --quiet", {"missing": "--", "quiet": True}),
        ("--order a,b -- t.csv", {"order": "a,b"}),
    ],
)
def test_labels_that_begin_with_a_minus_sign_are_values_of_their_option(words, expected):
    table = [] if "t.csv" in words else ["t.csv"]
    options = vars(build_parser().parse_args(["fit", *table, *words.split()]))
    assert {name: options[name] for name in expected} == expected
    assert options["data"] == "t.csv"


@pytest.mark.parametrize("words", ["--order --out m", "--order", "--margin --order=a,b", "--order -h"])
def test_an_option_after_one_that_takes_labels_stays_an_option(words, capsys):
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["fit", "t.csv", *words.split()])
    assert ended.value.code == 2
    assert "expected one argument" in capsys.readouterr().err
