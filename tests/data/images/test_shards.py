"""Images in tar shards: found once, read in any order, with their labels; local or in a store."""

import io
import itertools
import json
import pickle
import tarfile

import fsspec
import numpy as np
import pandas as pd
import pytest

from ordinate.data.images.labelled import holds_images, read_images, read_labelled_images
from ordinate.data.images.shards import Shards, index_shards
from ordinate.data.labels_file import Columns
from ordinate.data.registry import modality_of_files
from ordinate.errors import OrdinateError
from tests.data import pictures, shards

RANKS = np.arange(12) % 3
DRAWN = pictures.draw(RANKS)
LONG = "a-long-folder-name/" * 7  # beyond the 100 letters of a header


def content(files):
    return np.stack([np.asarray(image) for image in files])[:, None]


def write(folder, **columns):
    for number in range(3):
        part = slice(4 * number, 4 * number + 4)
        known = {name: values[part] for name, values in columns.items()}
        shards.write(folder / f"shard-{number:03}.tar", DRAWN[part], RANKS[part].tolist(), **known)
    return folder


def test_a_folder_of_shards_gives_images_and_labels(tmp_path):
    folder = write(tmp_path / "knees")
    assert holds_images(folder)
    read = read_labelled_images(folder, Columns("cls"))
    assert read.labels.tolist() == RANKS.tolist()
    assert (content(read.samples) == DRAWN).all()
    some = read.take(np.array([7, 2]))
    assert (content(some.samples) == DRAWN[[7, 2]]).all()
    assert some.samples.paths.tolist() == [
        f"{folder}/shard-001.tar/shard-001-003.png", f"{folder}/shard-000.tar/shard-000-002.png",
    ]  # fmt: skip
    assert (content(pickle.loads(pickle.dumps(some.samples))) == DRAWN[[7, 2]]).all()
    assert (content(read_images(folder)) == DRAWN).all()
    assert read.samples.places.nbytes == 8 * 12
    assert read_labelled_images(folder).labels.tolist() == RANKS.tolist()


def test_one_shard_is_read_alone_and_recognised(tmp_path):
    shard = write(tmp_path / "knees") / "shard-001.tar"
    assert modality_of_files(shard).name == "images"
    assert (content(read_labelled_images(shard, Columns("cls")).samples) == DRAWN[4:8]).all()


def test_json_has_labels_splits_groups_and_weights(tmp_path):
    split = ["train"] * 6 + ["val"] * 3 + ["test"] * 3
    subjects = [f"s{i // 2}" for i in range(12)]
    folder = write(tmp_path / "knees", split=split, subject=subjects, box=[[1, 2]] * 12, age=list(range(12)))
    read = read_labelled_images(folder, Columns("grade", group="subject", weight="age"))
    assert read.labels.tolist() == RANKS.tolist()
    assert read.splits.tolist() == ["train"] * 6 + ["validation"] * 3 + ["test"] * 3
    assert read.groups.tolist() == subjects
    assert read.weights.tolist() == list(range(12))


def test_folders_of_shards_are_splits(tmp_path):
    for side, part in (("train", slice(0, 6)), ("val", slice(6, 9)), ("test", slice(9, 12))):
        shards.write(tmp_path / "knees" / side / "000.tar", DRAWN[part], RANKS[part])
    read = read_labelled_images(tmp_path / "knees", Columns("cls"))
    assert read.splits.value_counts().to_dict() == {"train": 6, "validation": 3, "test": 3}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_every_form_of_tar_and_long_names_are_read_as_tarfile_does(tmp_path, form):
    keys = [f"{LONG}{i}" for i in range(3)] + ["short.of/1"]
    with tarfile.open(tmp_path / "a.tar", "w", format=form) as tar:
        for key, rank in zip(keys, RANKS, strict=False):
            shards.add(tar, f"{key}.cls", str(rank).encode())
            shards.add(tar, f"{key}.jpg", f"picture {key}".encode())
    images, frame = index_shards([str(tmp_path / "a.tar")])
    assert frame["cls"].tolist() == RANKS[:4].tolist()
    assert [images.content(row).decode() for row in range(4)] == [f"picture {key}" for key in keys]
    assert images.name(3) == f"{tmp_path}/a.tar/short.of/1.jpg"


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_a_store_is_read_the_same(tmp_path, protocol, monkeypatch):
    write(tmp_path / "knees")
    pictures.write(tmp_path / "files", DRAWN, [f"{rank}/{i:02}.png" for i, rank in enumerate(RANKS)])
    url = f"file://{tmp_path}"
    if protocol == "memory":
        url = "memory://bucket"
        store = fsspec.filesystem("memory")
        store.put(str(tmp_path), "/bucket", recursive=True)
    expected = read_labelled_images(tmp_path / "files")
    assert modality_of_files(f"{url}/files").name == "images"
    read = read_labelled_images(f"{url}/files")
    assert read.labels.tolist() == expected.labels.tolist()
    assert (content(read.samples) == content(expected.samples)).all()
    assert (read.samples.stamps()[:, 0] == expected.samples.stamps()[:, 0]).all()
    assert read.samples.digest() == read_labelled_images(f"{url}/files").samples.digest()
    for data in (f"{url}/knees", f"{url}/knees/shard-002.tar"):
        read = read_labelled_images(data, Columns("cls"))
        assert (content(read.samples) == DRAWN[-len(read) :]).all()
        assert read.labels.tolist() == RANKS[-len(read) :].tolist()
    monkeypatch.setattr("ordinate.data.images.shards.READ_AT_ONCE", 600)  # less than an image
    assert (content(read.samples) == DRAWN[-4:]).all()
    assert read.samples.name(0) == f"{url}/knees/shard-002.tar/shard-002-000.png"


def test_the_digest_follows_the_shards_and_the_rows(tmp_path):
    folder = write(tmp_path / "knees")
    digest = read_images(folder).digest()
    assert read_images(folder).digest() == digest
    assert read_images(folder)[np.arange(11)].digest() != digest
    (folder / "shard-001.tar").touch()
    assert read_images(folder).digest() != digest


WRONG = {
    "a target that is not there": (lambda folder: None, "no column 'grade'; it has 'cls'"),
    "a label missing": (lambda folder: rewrite(folder, [("a.png", b"")]), "1 of 9 labels in 'cls' are missing"),
    "two images": (lambda folder: rewrite(folder, [("a.png", b""), ("a.jpg", b"")]), "holds two images of 'a'"),
    "no JSON": (lambda folder: rewrite(folder, [("a.json", b"{")]), "shard-002.tar/a.json: is no JSON"),
    "a list": (lambda folder: rewrite(folder, [("a.json", b"[]")]), "a.json: got list, expected an object"),
    "compressed": (lambda folder: (folder / "shard-002.tar").write_bytes(b"\x1f\x8b" * 600), "damaged, or compressed"),
    "truncated": (lambda folder: cut(folder / "shard-002.tar"), "is truncated: shard-002-000.png ends beyond it"),
    "no image": (lambda folder: [cut(shard, 0) for shard in folder.iterdir()], "its 3 shards hold no image (.bmp"),
}


def rewrite(folder, files):
    with tarfile.open(folder / "shard-002.tar", "w") as tar:
        for name, held in files:
            shards.add(tar, name, held)


def cut(shard, size=1600):
    shard.write_bytes(shard.read_bytes()[:size])


@pytest.mark.parametrize(("spoil", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(tmp_path, spoil, message):
    folder = write(tmp_path / "knees")
    spoil(folder)
    target = "grade" if "grade" in message else None if "no image" in message else "cls"
    with pytest.raises(OrdinateError) as caught:
        read_labelled_images(folder, Columns(target))
    assert message in str(caught.value)


def test_an_image_that_cannot_be_read_is_named(tmp_path):
    rewrite(tmp_path, [("a.cls", b"1"), ("a.png", b"no picture")])
    images, _ = index_shards([str(tmp_path / "shard-002.tar")])
    assert isinstance(images, Shards)
    with pytest.raises(OrdinateError, match=r"shard-002\.tar/a\.png: is no image that can be read"):
        images.open(0)
    (tmp_path / "shard-002.tar").unlink()
    with pytest.raises(OrdinateError, match=r"shard-002\.tar, byte 1024: no such file"):
        images.open(0)


@pytest.mark.parametrize("at_once", [1, 4, 5, 8, 12])
@pytest.mark.parametrize("layout", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_headers_are_followed_some_at_a_time(layout, at_once, tmp_path, monkeypatch):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=layout) as tar:  # 12 files, of which some images are without a label or an age
        for number, ending in itertools.product(range(5), ("png", "cls", "json")):
            if (number, ending) in MISSING:
                continue
            written = "view.PNG" if (number, ending) == (1, "png") else ending
            info = tarfile.TarInfo(f"{LONG if number == 3 else ''}{number}.{written}")
            age = json.dumps({"age": 60 + number} if number > 1 else {}).encode()
            file = age if ending == "json" else b"7" * number
            info.size = len(file)
            tar.addfile(info, io.BytesIO(file))
            if ending == "png":  # neither has a label or an age
                tar.addfile(tarfile.TarInfo(f"{info.name.removesuffix('png')}meta.json"))
                tar.addfile(tarfile.TarInfo(f"{info.name.removesuffix('png')}other.cls"))
    monkeypatch.setattr("ordinate.data.images.shards.HEADERS_AT_ONCE", at_once)
    images, known = index_shards([str(path)])
    with tarfile.open(path) as tar:
        names = [name for name in tar.getnames() if name.lower().endswith("png")]
    assert images.paths.tolist() == [f"{path}/{name}" for name in names]
    assert [images.content(number) for number in range(5)] == [b"7" * number for number in range(5)]
    assert known["age"].tolist()[2:4] == [62, 63]
    assert known["age"].isna().tolist() == [True, True, False, False, True]
    assert known["cls"].isna().tolist() == [True, False, False, True, False]


MISSING = {(0, "cls"), (3, "cls"), (4, "json")}


@pytest.mark.parametrize("byte", [0, 125, 130], ids=["of a name", "of a size", "of a size, far beyond the end"])
@pytest.mark.parametrize("spoilt", [ord("1"), ord("9"), 0x80])
def test_a_header_whose_sum_is_another_is_damaged(byte, spoilt, tmp_path):
    path = shards.write(tmp_path / "a.tar", DRAWN[:3], [0, 1, 2])
    content = bytearray(path.read_bytes())
    content[byte] = spoilt
    path.write_bytes(content)
    with pytest.raises(OrdinateError, match=r"a\.tar: is damaged: wrong checksum of the header at byte 0"):
        index_shards([str(path)])


@pytest.mark.parametrize("size", [b"-0000001000\0", b"-7777777777\0"], ids=["within the file", "before it"])
def test_a_size_below_0_is_damage_and_does_not_lead_round_in_circles(size, tmp_path):
    path = shards.write(tmp_path / "a.tar", DRAWN[:3], [0, 1, 2])
    content = bytearray(path.read_bytes())
    content[124:136] = size
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:512])
    path.write_bytes(content)
    with pytest.raises(OrdinateError, match=r"a\.tar: is damaged: a file in it has a negative size"):
        index_shards([str(path)])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([b" 2\n", b"10", b"2", b"-1"], np.array([2, 10, 2, -1], dtype=np.int32)),
        ([b"2", b"3000000000", b"2", b"0"], np.array([2, 3_000_000_000, 2, 0])),
        ([b"1.5", b"2", b"1e3", b"2"], np.array([1.5, 2, 1000, 2])),
        ([b"mild", b"1", b"mild ", b"severe"], np.array(["mild", "1", "mild", "severe"], dtype=object)),
        (["high", "high", "low", None], np.array(["high", "high", "low", None], dtype=object)),
        ([3, 4, 3.5, 4], np.array([3, 4, 3.5, 4])),
        ([False, 0, 3, 1], np.array([0, 0, 3, 1], dtype=np.int32)),
    ],
    ids=["whole", "large", "fractions", "text", "text in json", "numbers in json", "a flag among numbers"],
)
def test_labels_are_numbers_where_all_of_them_are(written, read, tmp_path):
    files = []
    for number, label in enumerate(written):
        of_label = ("cls", label) if isinstance(label, bytes) else ("json", json.dumps({"cls": label}).encode())
        files += [(f"in.a/folder.b/{number}.png", b""), (f"in.a/folder.b/{number}.{of_label[0]}", of_label[1])]
    rewrite(tmp_path, files)
    labels = index_shards([str(tmp_path / "shard-002.tar")])[1]["cls"]
    assert [None if pd.isna(label) else label for label in labels] == read.tolist()
    assert read.dtype == object or labels.dtype == read.dtype


@pytest.mark.parametrize("size", [b"-7777777777\0", b"00000001000\0"])
def test_what_follows_the_end_is_left_out(size, tmp_path):
    path = shards.write(tmp_path / "a.tar", DRAWN[:3], [0, 1, 2])
    path.write_bytes(path.read_bytes() + bytes(124) + size + bytes(376))
    assert index_shards([str(path)])[1]["cls"].tolist() == [0, 1, 2]
