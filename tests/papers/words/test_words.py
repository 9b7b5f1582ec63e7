import gzip

import numpy as np
import pytest

from ordinate import OrdinateError
from ordinate_papers.words.words import read_word_vectors, tokenize

VECTORS = {"the": [0.5, -1.0], "dog": [2.0, 0.25], ". . .": [1.5, 3.0], "été": [-0.5, 0.0]}
LINES = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A woman is dancing.", ["a", "woman", "is", "dancing", "."]),
        ("They can't, and won\u2019t!", ["they", "ca", "n't", ",", "and", "wo", "n't", "!"]),
        ("It's the dogs' home; we'll see", ["it", "'s", "the", "dogs", "'", "home", ";", "we", "'ll", "see"]),
        ("Up 3.5% to $1,200 at 10:30", ["up", "3.5", "%", "to", "$", "1,200", "at", "10:30"]),
        ("well-known \u00c9T\u00c9", ["well", "-", "known", "\u00e9t\u00e9"]),
        (" \n", []),
    ],
)
def test_a_text_is_divided_as_the_treebank_divides_it(text, words):
    assert tokenize(text) == words


def write(folder, kind):
    path = folder / f"vectors.{kind}"
    if kind == "txt":
        path.write_text(LINES, encoding="utf-8")
    elif kind == "vec":  # word2vec's: with a header
        path.write_text(f"{len(VECTORS)} 2\n{LINES}", encoding="utf-8")
    elif kind == "txt.gz":
        path.write_bytes(gzip.compress(LINES.encode()))
    else:
        np.savez(path, words="\n".join(VECTORS), vectors=np.array([*VECTORS.values()], dtype=np.float16))
    return path


@pytest.mark.parametrize("kind", ["txt", "vec", "txt.gz", "npz"])
def test_vectors_are_read_from_every_format(tmp_path, kind):
    words, vectors = read_word_vectors(write(tmp_path, kind))
    assert words == [*VECTORS]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [*VECTORS.values()])


def test_an_npz_may_hold_words_one_by_one(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b"]), vectors=np.eye(2))
    assert read_word_vectors(tmp_path / "v.npz")[0] == ["a", "b"]


def test_read_are_the_first_words_and_those_that_are_needed(tmp_path):
    words, vectors = read_word_vectors(write(tmp_path, "txt"), needed={"été", "unheard"}, most_frequent=1)
    assert words == ["the", "été"]
    np.testing.assert_array_equal(vectors, [VECTORS["the"], VECTORS["été"]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", "line 2 does not hold a word and 2 numbers"),
        ("a 1 2\nb 1 x\n", "could not convert string to float: 'x'"),
        ("a 1 nan\n", "NaN or infinity"),
        ("", "holds no words"),
        ("3 2\n", "line 2 does not hold a word"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, content, message):
    (tmp_path / "v.txt").write_text(content)
    with pytest.raises(OrdinateError, match=f"^word_vectors: .*v.txt .*{message}"):
        read_word_vectors(tmp_path / "v.txt")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OrdinateError, match=r"^word_vectors: .*No such file"):
        read_word_vectors(tmp_path / "absent.txt")
