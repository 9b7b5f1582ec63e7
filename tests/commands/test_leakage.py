"""``ordinate fit`` reports what stands on both sides of a split: copies of samples, and identifiers that repeat."""

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.data.images.modality import MODALITY as IMAGES
from ordinate.data.images.options import ImageOptions
from ordinate.data.splits import split_rows
from ordinate.data.tables.row_columns import find_group_columns
from ordinate.data.text.modality import MODALITY as TEXT
from ordinate.data.volumes.modality import MODALITY as VOLUMES
from ordinate.data.volumes.options import VolumeOptions
from tests.command_line import read

RNG = np.random.default_rng(0)
GRADES = np.arange(60) % 3
SPLITS = np.where(np.arange(60) < 48, "train", "test")


def printed_notes(data, capsys, *options):
    arguments = f"fit {data} --target grade --method otd --epochs 1 --no-report --quiet --out model".split()
    assert main([*arguments, *options]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if "among the training samples" in line]
    notes = list(dict.fromkeys(printed))
    assert printed == notes + notes  # Before the training, and at the end.
    return notes


def write_table(name, **columns):
    frame = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"]).assign(grade=GRADES, **columns)
    frame.iloc[50, :2] = frame.iloc[7, :2]  # A held-out row is a copy of a training row.
    frame.iloc[59, :2] = frame.iloc[55, :2]  # Both rows are held out.
    frame.to_parquet(name) if name.endswith("parquet") else frame.to_csv(name, index=False)


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_copies_of_rows_on_both_sides_are_counted(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_table(name, split=SPLITS)
    (note,) = printed_notes(name, capsys, "--split", "split")
    assert note.startswith("note: 1 of the 12 held-out samples has an exact copy among the training samples, such as")
    assert "row 50 = row 7" in note


@pytest.mark.parametrize("shape", [(3,), (2, 16)], ids=["rows", "series"])
def test_copies_in_arrays_stay_on_one_side(shape, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", X=np.tile(RNG.normal(size=(20, *shape)), (3, *[1] * len(shape))), grade=np.tile(GRADES[:20], 3))
    assert printed_notes("a.npz", capsys) == []
    split = read("model/split.json")
    assert len(split["test"]) == 9  # one of the six or seven different samples of each rank, three times
    assert {row % 20 for row in split["test"]}.isdisjoint(row % 20 for row in split["train"])


def copies_of(distinct, n=120, classes=3, seed=0):
    """Rows of random numbers, each several times with the same random rank."""
    random = np.random.default_rng(seed)
    rows, ranks = random.normal(size=(distinct, 4)).round(3), random.integers(0, classes, distinct)
    ranks[:classes] = range(classes)
    drawn = random.permutation(np.arange(n) % distinct)
    return pd.DataFrame(rows[drawn], columns=list("abcd")).assign(grade=ranks[drawn])


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")
@pytest.mark.parametrize("command", ["fit", "suspects"])
def test_one_note_counts_the_copies_that_stay_together(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    copies_of(40).to_csv("table.csv", index=False)
    arguments = [command, "table.csv", "--target", "grade", "--epochs", "1", "--quiet"]
    if command == "fit":
        arguments += ["--method", "otd", "--no-report"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    notes = [line for line in (captured.out + captured.err).splitlines() if "copies" in line]
    assert notes == ["note: exact copies of other samples: 80 of 120; copies stay on one side of every split"]


def test_of_too_few_different_samples_the_rows_are_split_and_a_note_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    copies_of(8).to_csv("table.csv", index=False)
    options = ["--target", "grade", "--method", "otd", "--epochs", "1", "--no-report", "--quiet"]
    assert main(["fit", "table.csv", *options]) == 0
    (note,) = (line for line in capsys.readouterr().out.splitlines() if "copies" in line)
    assert note == (
        "note: exact copies of other samples: 112 of 120; the 8 different ones are too few to keep copies on one side "
        "of a split, and scores on new samples may be worse"
    )
    rows, test = split_rows(pd.read_csv("table.csv")["grade"].to_numpy(), 0.2, 0, stratify=True)
    assert (read("table-model/split.json")["train"], read("table-model/split.json")["test"]) == (
        rows.tolist(), test.tolist()
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")
@pytest.mark.parametrize("method", ["blend", "otd"])
def test_random_labels_of_copies_are_predicted_no_better_than_by_chance(method, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    right = samples = 0
    for seed in range(3):
        copies_of(150, 600, seed=seed).to_csv(f"{seed}.csv", index=False)
        options = f"--target grade --method {method} --epochs 10 --no-report --quiet".split()
        assert main(["fit", f"{seed}.csv", *options]) == 0
        metrics = read(f"{seed}-model/metrics.json")
        right += metrics["accuracy"] * metrics["test_samples"]
        samples += metrics["test_samples"]
    # A third is right by chance, of about 90 different samples; copies on both sides would make it more than 0.9.
    assert abs(right / samples - 1 / 3) < 3 * np.sqrt(2 / 9 / 90)


@pytest.mark.parametrize(
    ("modality", "samples"),
    [
        (TEXT, ["a knee", "a hip", "a knee"]),
        (IMAGES, np.array([3, 9, 3], dtype=np.uint8).repeat(64).reshape(3, 1, 8, 8)),
        (VOLUMES, RNG.normal(size=(2, 1, 8, 8, 8))[[0, 1, 0]]),
    ],
    ids=["text", "images", "volumes"],
)
def test_copies_of_samples_have_the_same_code(modality, samples):
    if modality is not TEXT:
        options = ImageOptions(size=8) if modality is IMAGES else VolumeOptions(size=8)
        _, samples = modality.fit(samples, options, encoder="auto", progress=False)
    codes, copy = modality.copies(samples)
    assert (codes[0] == codes[2], codes[0] == codes[1], copy) == (True, False, "an exact copy")


def test_an_identifier_on_both_sides_is_named_with_the_way_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_table("table.csv", patient=RNG.permutation(60) // 2 + 500)
    (note,) = (note for note in printed_notes("table.csv", capsys) if "identifier" in note)
    assert note.startswith("note: column 'patient' looks like an identifier, and ")
    assert note.endswith("--group patient keeps the rows of each on one side")
    notes = printed_notes("table.csv", capsys, "--group", "patient", "--out", "other")
    assert not [note for note in notes if "identifier" in note]


GROUPS = {
    "pairs": ("knee", np.arange(100) // 2),
    "one row is missing": ("knee", np.append(np.arange(99) // 2, 70)),
    "nearly unique": ("patient_id", np.append(np.arange(98), [3, 5])),
    "blank cells": ("Subject No", np.append(np.arange(98) // 4, [np.nan, np.nan])),
    "text": ("scan", [f"s{row // 3}" for row in range(100)]),
}
FEATURES = {
    "age": RNG.integers(20, 90, 100),
    "count": RNG.poisson(30, 100),
    "month": np.arange(100) % 12 + 1,
    "income": RNG.integers(10**4, 10**5, 100),
    "patient_age": RNG.integers(20, 60, 100),
    "grid": np.arange(100) // 10,
    "length": np.arange(100) // 2 / 4,
}


@pytest.mark.parametrize(("name", "values"), GROUPS.values(), ids=GROUPS)
def test_a_column_of_groups_is_found(name, values):
    assert find_group_columns(pd.DataFrame({name: values})) == [name]


def test_measured_numbers_are_no_groups():
    assert find_group_columns(pd.DataFrame(FEATURES)) == []
