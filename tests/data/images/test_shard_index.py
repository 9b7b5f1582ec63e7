"""The index of tar shards that is kept: the same as that of their headers, until a shard is changed."""

import os

import numpy as np
import pandas as pd
import pytest

from ordinate.data.images import shard_index
from ordinate.data.images import shards as read_shards
from ordinate.data.images.shards import index_shards
from tests.data import pictures, shards

RANKS = np.arange(12) % 3
KNOWN = {
    "age": [20.5, None] * 6,
    "visit": list(range(12)),
    "side": ["left", "right", "left"] * 4,
    "sex": ["f", None] * 6,
    "smokes": [True, False] * 6,
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Three shards, for which an index is kept however small they are."""
    monkeypatch.setenv("ORDINATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shard_index, "KEPT_FROM", 1)

    def write(**columns):
        drawn = pictures.draw(RANKS)
        names = [str(tmp_path / f"{number}.tar") for number in range(3)]
        for number, name in enumerate(names):
            part = slice(4 * number, 4 * number + 4)
            known = {column: values[part] for column, values in columns.items()}
            shards.write(tmp_path / name, drawn[part], RANKS[part].tolist(), **known)
        return names

    return write


def passes_over_headers(monkeypatch):
    """A list that grows with every pass."""
    made, read = [], read_shards._read_headers

    def counted(*given):
        made.append(given)
        return read(*given)

    monkeypatch.setattr(read_shards, "_read_headers", counted)
    return made


def test_the_kept_index_is_that_of_the_headers(written, monkeypatch):
    names = written(**KNOWN)
    places, table = read_shards._read_headers(names, None)
    made = passes_over_headers(monkeypatch)
    for _ in range(2):
        images, read = index_shards(names)
        assert (images.places == places).all()
        pd.testing.assert_frame_equal(read, table)
        assert not images.places.flags.owndata
    assert len(made) == 1
    assert index_shards(names, ["visit"])[1].columns.tolist() == ["visit"]
    assert len(made) == 2


def spoil_shard(names, kept):
    os.utime(names[1], (1, 1))


def spoil_index(names, kept):
    kept.write_bytes(kept.read_bytes()[:100])


@pytest.mark.parametrize("spoil", [spoil_shard, spoil_index])
def test_a_changed_shard_or_a_damaged_index_is_read_anew(written, monkeypatch, tmp_path, spoil):
    names = written()
    expected = index_shards(names)[0].places.copy()
    spoil(names, *(tmp_path / "cache" / "shards").iterdir())
    made = passes_over_headers(monkeypatch)
    assert (index_shards(names)[0].places == expected).all()
    assert len(made) == 1


def test_what_cannot_be_kept_is_read(written, monkeypatch, tmp_path):
    mixed = ["a", 1, None, 2.5] * 3
    assert index_shards(written(mixed=mixed))[1]["mixed"].tolist() == mixed
    assert not any((tmp_path / "cache" / "shards").glob("*"))
    monkeypatch.setenv("ORDINATE_CACHE", str(tmp_path / "0.tar"))  # no folder
    assert len(index_shards(written())[0]) == 12


def test_the_indices_used_last_are_kept(written, monkeypatch, tmp_path):
    monkeypatch.setattr(shard_index, "MOST_KEPT", 2)
    names = written()
    for part in (names[:1], names[:2], names):
        index_shards(part)
    assert len(list((tmp_path / "cache" / "shards").iterdir())) == 2
    made = passes_over_headers(monkeypatch)
    index_shards(names)
    assert not made
