import json

import numpy as np
import pytest

from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import as_texts
from ordinate_papers.words.reader import WordReader

VECTORS = "the 1 2\ndog 3 4\nruns 5 6\nof 7 8\n"


@pytest.fixture
def options(tmp_path):
    (tmp_path / "vectors.txt").write_text(VECTORS)
    return TextOptions(word_vectors=tmp_path / "vectors.txt", max_length=4)


def test_words_become_the_numbers_of_their_vectors(options):
    texts = as_texts([("The dog runs", "the zyzzyva"), ("", "dog dog dog dog dog")])
    reader = WordReader.fit(texts, options)
    expected = [[[2, 3, 4, 0], [2, 1, 0, 0]], [[1, 0, 0, 0], [3, 3, 3, 3]]]  # 0 past the end, 1 unknown
    np.testing.assert_array_equal(reader.transform(texts), expected)
    np.testing.assert_array_equal(reader.vectors, [[0, 0], [4, 5], [1, 2], [3, 4], [5, 6], [7, 8]])  # the mean: unknown
    assert reader.notes == ["text: 1 of 10 words have no vector, and share one"]
    assert reader.sample_shape == (2, 4)


def test_without_a_file_words_that_occur_twice_get_vectors_the_same_each_time():
    texts = as_texts(["a dog runs", "a dog", "a cat"])
    one, two = WordReader.fit(texts, TextOptions()), WordReader.fit(texts, TextOptions())
    assert one.words == ["a", "dog"]
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert one.vectors.shape == (4, 100)
    assert not one.vectors[0].any()
    assert np.abs(one.vectors[1:]).min(axis=1).all()


def test_a_reader_reads_the_same_after_json(options):
    texts = as_texts(["the dog of dogs"])
    reader = WordReader.fit(texts, options)
    again = WordReader.from_dict(json.loads(json.dumps(reader.to_dict())))
    np.testing.assert_array_equal(again.transform(texts), reader.transform(texts))
    assert again.vectors.shape == reader.vectors.shape
