import os
import pickle
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ordinate.data.images.files import ImageFiles
from ordinate.errors import OrdinateError
from tests.data import pictures

DRAWN = pictures.draw(np.arange(40) % 3)


@pytest.fixture
def paths(tmp_path):
    return pictures.write(tmp_path, DRAWN, [f"{i}.png" for i in range(40)])


@pytest.fixture
def archive(tmp_path, paths):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as made:
        for path in paths:
            made.write(path, f"deep/{path.name}")
    return tmp_path / "all.zip"


def content(files):
    return np.stack([np.asarray(image) for image in files])[:, None]


def test_files_are_read_in_their_order_and_selections_keep_it(paths):
    files = ImageFiles(paths)
    assert len(files) == 40
    assert (content(files) == DRAWN).all()
    assert (content(files[np.array([5, 1])]) == DRAWN[[5, 1]]).all()
    assert (content(files[np.arange(40) < 3]) == DRAWN[:3]).all()
    assert (content(files[2:9:3]) == DRAWN[2:9:3]).all()


def test_a_zip_is_read_the_same_by_many_threads_and_after_pickling(archive):
    files = ImageFiles([f"deep/{i}.png" for i in range(40)], archive)
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(files.open, [*range(40)] * 5))
    assert all((np.asarray(image) == DRAWN[i % 40, 0]).all() for i, image in enumerate(opened))
    assert (content(pickle.loads(pickle.dumps(files))) == DRAWN).all()


def test_the_digest_follows_the_files_and_the_rows(paths):
    digest = ImageFiles(paths).digest()
    assert ImageFiles(paths).digest() == ImageFiles([*paths, "a/longer/path.png"])[:40].digest() == digest
    assert ImageFiles(paths)[:39].digest() != digest
    os.utime(paths[7], ns=(0, 0))
    assert ImageFiles(paths).digest() != digest


def spoil(path, how):
    whole = path.read_bytes()
    if how == "absent":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        path.write_bytes({"empty": b"", "text": b"grade,path\n" * 20, "noise in it": whole[:60] + b"\0" * 200}[how])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("empty", "is empty, expected an image"),
        ("text", "is no image that can be read"),
        ("truncated", "is damaged or truncated"),
        ("noise in it", "is damaged or truncated"),
        ("absent", "no such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(paths, how, message):
    spoil(paths[7], how)
    with pytest.raises(OrdinateError, match=f"7.png: {message}"):
        ImageFiles(paths).open(7)


def test_a_name_that_the_zip_lacks_is_named(archive):
    with pytest.raises(OrdinateError, match=r"other\.png: is not in .*all\.zip"):
        ImageFiles(["other.png"], archive).open(0)


def test_a_folder_that_moved_is_named_by_its_file(tmp_path, paths):
    files = ImageFiles(paths)
    shutil.rmtree(tmp_path)
    with pytest.raises(OrdinateError, match=r"0\.png: no such file"):
        files.open(0)


def test_what_only_another_program_could_draw_is_no_image(tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.check_call", lambda *_, **__: pytest.fail("started a program"))
    (tmp_path / "t.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(OrdinateError, match=r"t\.png: is no image that can be read"):
        ImageFiles([tmp_path / "t.png"]).open(0)
